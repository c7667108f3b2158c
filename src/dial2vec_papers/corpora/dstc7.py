"""DSTC7, track 1: conversations about Ubuntu, and of students with an advisor; official splits with 100 candidates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from conversations.dialogue import Origin, RecordError
from dial2vec.errors import CorpusError
from dial2vec_papers.corpora.file_corpus import CandidateCorpus, CorpusFiles, Placed, expect, known_id, literal
from dial2vec_papers.corpora.source_files import SourceFile, records_of, rows_of

# Test set of a file that names none.
FIRST_CASE = "1"
# Subtask whose candidates always include the right response.
SCENARIO = 1
MESSAGES, OPTIONS, ANSWERS = "messages-so-far", "options-for-next", "options-for-correct-answers"
# Parts of the names of files: before the split, and after it.
ADVISING = r"(?:advising[._-](?:scenario[._-]?1[._-])?|[a-z]+\d+[._-](?=.*(?:subtask|scenario)[._-]?1\b))"
SUBTASK = r"(?:[._-](?:subtask|scenario)[._-]?1)?"
CASE = r"(?:[._-](?:test)?case[._-]?(?P<part>\d))?"


class Dstc7(CandidateCorpus):
    """Base of the readers of subtask 1 (Gunasekara et al. 2019).

    A record is a context with 100 candidates. As a dialogue, it is the context with its first right response. The test
    file has no answers; they are in a table of example id, candidate id and text. Records of other subtasks are
    quarantined: their candidates may lack the right response.
    """

    # Speaker of the responses.
    answering = ""
    # Table with the answers of test.
    answers = ""

    def query_records(self, sources: CorpusFiles, split: str) -> Iterator[Placed]:
        """Yield the records of a split, those of test with their answers."""
        known = _answers(sources.matching(self.expected[self.answers])) if split == "test" else {}
        for file, groups in sources.matching(self.expected[self._file(split)]):
            group = f"{split}_case_{groups['part']}" if groups.get("part") else split
            for number, content in records_of(file):
                yield Origin(file.address, number), (group, content, known)

    def name(self, record: Any) -> str:
        """Return the id of a record."""
        group, content, _ = record
        return known_id(group, content, "example-id")

    def dialogue(self, record: Any) -> dict[str, Any]:
        """Convert a record to the context with its first right response."""
        content = _record(record)
        answer = _answer(content, record)[0]
        spoken = [*_messages(content), {"speaker": self.answering, "text": answer["utterance"]}]
        split = record[0].partition("_")[0]
        return {"dialogue_id": f"{record[0]}/{content['example-id']}", "turns": spoken, "split": split}

    def query(self, record: Any) -> dict[str, Any]:
        """Convert a record to the context with its candidates in upstream's order."""
        content = _record(record)
        options = [expect(option, dict, "an option") for option in expect(content[OPTIONS], list, f"'{OPTIONS}'")]
        right = {str(answer["candidate-id"]) for answer in _answer(content, record)}
        correct = [place for place, option in enumerate(options) if str(option["candidate-id"]) in right]
        if not correct:
            raise RecordError("its right response is not among its candidates")
        return {
            "query_id": f"{record[0]}/{content['example-id']}",
            "context": _messages(content),
            "speaker": self.answering,
            "responses": [option["utterance"] for option in options],
            "correct": correct,
        }

    def _file(self, split: str) -> str:
        return next(name for name in self.expected if f"_{split}_" in name)


class Dstc7Ubuntu(Dstc7):
    """Ubuntu: 100,000, 5,000 and 1,000 contexts; `participant_2` responds."""

    source = "https://ibm.github.io/dstc-noesis/public/datasets.html (or http://parl.ai/downloads/dstc7/dstc7_v2.tgz)"
    answering = "participant_2"
    answers = "ubuntu_responses_subtask_1.tsv"
    expected = literal(
        [*(f"ubuntu_{split}_subtask_1.json" for split in ("train", "dev", "test")), "ubuntu_responses_subtask_1.tsv"]
    )


class Dstc7Advising(Dstc7):
    """Advising: 100,000 and 500 contexts, and two test sets of 500 (`case_1`, `case_2`); the advisor responds.

    Copies differ in the names of their files, so that words decide: `advising`, the split and `1` for the subtask.
    Upstream's archives are `advising.scenario-1.train.json` with `may30.train.scenario-1.json` in it, and so on.
    """

    source = "https://ibm.github.io/dstc-noesis/public/datasets.html"
    answering = "advisor"
    answers = "advising_responses_subtask_1.tsv"
    expected: ClassVar[Mapping[str, str]] = {
        "advising_train_subtask_1.json": rf"{ADVISING}train{SUBTASK}\.json",
        "advising_dev_subtask_1.json": rf"{ADVISING}(?:dev|valid){SUBTASK}\.json",
        "advising_test_subtask_1.json": rf"{ADVISING}test{SUBTASK}{CASE}\.json",
        "advising_responses_subtask_1.tsv": rf"{ADVISING}responses?{SUBTASK}{CASE}\.tsv",
    }


def _record(record: Any) -> dict[str, Any]:
    content = expect(record[1], dict, "the record")
    if content["scenario"] != SCENARIO:
        raise RecordError(f"of subtask {content['scenario']!r}, expected {SCENARIO}")
    if type(content["example-id"]) not in (int, str):
        raise RecordError(f"'example-id' must be a number, found {content['example-id']!r}")
    return content


def _messages(content: dict[str, Any]) -> list[dict[str, Any]]:
    messages = [expect(message, dict, "a message") for message in expect(content[MESSAGES], list, f"'{MESSAGES}'")]
    return [{"speaker": message["speaker"], "text": message["utterance"]} for message in messages]


def _answer(content: dict[str, Any], record: Any) -> list[dict[str, Any]]:
    """Return the right responses of a record, from itself or from the table."""
    split, _, known = record
    answers = content.get(ANSWERS)
    if not answers:
        part = split.removeprefix("test_case_") if split != "test" else FIRST_CASE
        answers = known.get((part, str(content["example-id"])))
    if not answers:
        raise RecordError("its right response is unknown")
    return [expect(answer, dict, "an answer") for answer in expect(answers, list, f"'{ANSWERS}'")]


def _answers(files: list[tuple[SourceFile, Mapping[str, str]]]) -> dict[tuple[str, str], list[dict[str, str]]]:
    """Return part of test and example id -> right responses, from tables of example id, candidate id and text.

    :raises CorpusError: if a line has other cells.
    """
    known: dict[tuple[str, str], list[dict[str, str]]] = {}
    for file, groups in files:
        for number, cells in rows_of(file):
            if len(cells) < 3:
                raise CorpusError(
                    f"{file.address}:{number} has {len(cells)} cells; expected example id, candidate id and text. "
                    "Bring the file again."
                )
            answer = {"candidate-id": cells[1].strip(), "utterance": "\t".join(cells[2:])}
            known.setdefault((groups.get("part") or FIRST_CASE, cells[0].strip()), []).append(answer)
    return known
