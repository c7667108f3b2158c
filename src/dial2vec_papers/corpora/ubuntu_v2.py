"""Ubuntu Dialogue Corpus V2: conversations of two people about Ubuntu, official splits with candidates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from conversations.dialogue import Origin, Quarantined, RecordError
from dial2vec_papers.corpora.file_corpus import CandidateCorpus, CorpusFiles, Placed, literal
from dial2vec_papers.corpora.source_files import table_of

FILES = {"train": "train.csv", "dev": "valid.csv", "test": "test.csv"}
CONTEXT, RESPONSE, LABEL, TRUE = "Context", "Utterance", "Label", "Ground Truth Utterance"
DISTRACTORS = tuple(f"Distractor_{number}" for number in range(9))
COLUMNS = {"train": (CONTEXT, RESPONSE, LABEL), "dev": (CONTEXT, TRUE, *DISTRACTORS)}
COLUMNS["test"] = COLUMNS["dev"]
END_OF_UTTERANCE, END_OF_TURN = "__eou__", "__eot__"
SPEAKERS = ("participant_1", "participant_2")
# Values of `Label`; the generator's own tables have "1.0" after a pass through pandas.
RIGHT, WRONG = ("1", "1.0"), ("0", "0.0")


class UbuntuV2(CandidateCorpus):
    """Reader of the tables of upstream's generator (Lowe et al. 2015; V2 of ubuntu-ranking-dataset-creator).

    A row of dev and test is a context with its response and 9 others. As a dialogue, it is the context with its
    response. A row of train has one response: if its label is 1, the dialogue is both; if 0, the response is from
    another conversation, and the dialogue is the context alone. `__eot__` ends a turn, so that speakers alternate
    there; `__eou__` ends an utterance, each of which is a turn here. Ids are `<split>/<row>`.
    """

    source = "https://github.com/rkadlec/ubuntu-ranking-dataset-creator (train.csv, valid.csv, test.csv)"
    expected = literal(FILES.values())

    def records(self, sources: CorpusFiles, quarantine: list[Quarantined]) -> Iterator[Placed]:
        """Yield the rows of all three splits."""
        for split in FILES:
            yield from self._rows(sources, split)

    def dialogue(self, record: Any) -> dict[str, Any]:
        """Convert a row to the context, with its response if that is known."""
        split, number, row = record
        context = _cell(row, CONTEXT)
        turns = _turns(context)
        response = _cell(row, TRUE if split != "train" else RESPONSE)
        if split != "train" or _is_right(_cell(row, LABEL)):
            speaker = _next_speaker(context)
            turns += [{"speaker": speaker, "text": text} for text in _utterances(response)]
        return {"dialogue_id": f"{split}/{number}", "turns": turns, "split": split}

    def query_records(self, sources: CorpusFiles, split: str) -> Iterator[Placed]:
        """Yield the rows of dev or test; train has no candidates."""
        if split != "train":
            yield from self._rows(sources, split)

    def query(self, record: Any) -> dict[str, Any]:
        """Convert a row to the context with 10 candidates, the right one first."""
        split, number, row = record
        context = _cell(row, CONTEXT)
        return {
            "query_id": f"{split}/{number}",
            "context": _turns(context),
            "speaker": _next_speaker(context),
            "responses": [" ".join(_utterances(_cell(row, column))) for column in (TRUE, *DISTRACTORS)],
            "correct": [0],
        }

    def _rows(self, sources: CorpusFiles, split: str) -> Iterator[Placed]:
        file = sources.only(self.expected[FILES[split]])
        for number, (_, row) in enumerate(table_of(file, COLUMNS[split]), start=1):
            yield Origin(file.address, number), (split, number, row)


def _cell(row: Mapping[str | None, Any], column: str) -> str:
    if row.get(None):
        raise RecordError("the row has more cells than the table has columns")
    value = row[column]
    if value is None:
        raise RecordError(f"the row ends before {column!r}")
    return str(value)


def _is_right(label: str) -> bool:
    if label.strip() not in (*RIGHT, *WRONG):
        raise RecordError(f"'Label' must be 0 or 1, found {label[:40]!r}")
    return label.strip() in RIGHT


def _turns(context: str) -> list[dict[str, str]]:
    """Return the utterances of a context with their speakers."""
    if END_OF_UTTERANCE not in context:
        raise RecordError(f"its context has no {END_OF_UTTERANCE}, as version 2 has it")
    turns = [
        {"speaker": SPEAKERS[place % 2], "text": text}
        for place, part in enumerate(_parts(context))
        for text in _utterances(part)
    ]
    if not turns:
        raise RecordError("its context has no words")
    return turns


def _parts(context: str) -> list[str]:
    """Return what one speaker said at a time; a part without words counts, so that the next speaker stays another."""
    parts = context.split(END_OF_TURN)
    return parts if parts[-1].strip() else parts[:-1]


def _utterances(part: str) -> list[str]:
    texts = (text.strip() for text in part.replace(END_OF_TURN, " ").split(END_OF_UTTERANCE))
    return [text for text in texts if text]


def _next_speaker(context: str) -> str:
    return SPEAKERS[len(_parts(context)) % 2]
