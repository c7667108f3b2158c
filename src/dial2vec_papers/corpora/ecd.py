"""ECD (E-commerce Dialogue Corpus): Chinese dialogues of customers with shops, official splits with candidates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from conversations.dialogue import Origin, RecordError
from dial2vec_papers.corpora.file_corpus import CandidateCorpus, CorpusFiles, Placed
from dial2vec_papers.corpora.source_files import SourceFile, rows_of

# In the sample of upstream's repository the files are named `train`, `valid` and `test`.
PATTERNS = {"train.txt": r"train(?:\.txt)?", "dev.txt": r"(?:dev|valid)(?:\.txt)?", "test.txt": r"test(?:\.txt)?"}
RIGHT, WRONG = "1", "0"
SPEAKERS = ("customer", "shop")

# Line number and cells.
Row = tuple[int, list[str]]


class Ecd(CandidateCorpus):
    """Reader of `train.txt`, `dev.txt` and `test.txt` (Zhang et al. 2018).

    A line is a label, the utterances of a context and a response, separated by tabs. Lines with the same context follow
    each other, the right response first, and are one dialogue: the context with its right response. In test there are
    10 responses to a context, else 2. Nobody is named as speaker, so speakers alternate, and `customer` begins. Words
    stay separated by blanks, as upstream has them. Ids are `<split>/<first line>`.
    """

    source = "https://github.com/cooelf/DeepUtteranceAggregation (E-commerce dataset)"
    expected = PATTERNS

    def query_records(self, sources: CorpusFiles, split: str) -> Iterator[Placed]:
        """Yield the groups of lines with the same context."""
        file = sources.only(self.expected[f"{split}.txt"])
        for _, group in groupby(_rows(file), key=lambda row: row[1][1:-1]):
            for rows in _groups(group):
                yield Origin(file.address, rows[0][0]), (split, rows)

    def name(self, record: Any) -> str:
        """Return the id of a group."""
        split, rows = record
        return f"{split}/{rows[0][0]}"

    def dialogue(self, record: Any) -> dict[str, Any]:
        """Convert a group to the context with its first right response."""
        query = self.query(record)
        response = {"speaker": query["speaker"], "text": query["responses"][query["correct"][0]]}
        return {"dialogue_id": query["query_id"], "turns": [*query["context"], response], "split": record[0]}

    def query(self, record: Any) -> dict[str, Any]:
        """Convert a group to the context with its candidates."""
        _, rows = record
        # Blank utterances count for the speakers, and are dropped later.
        context = rows[0][1][1:-1]
        for line, cells in rows:
            if len(cells) < 3:
                raise RecordError(f"line {line} has {len(cells)} cells, expected a label, a context and a response")
            if cells[0] not in (RIGHT, WRONG):
                raise RecordError(f"the label of line {line} must be 0 or 1, found {cells[0][:40]!r}")
        correct = [place for place, (_, cells) in enumerate(rows) if cells[0] == RIGHT]
        if not correct:
            raise RecordError(f"none of its {len(rows)} responses is right")
        return {
            "query_id": self.name(record),
            "context": [{"speaker": SPEAKERS[place % 2], "text": text} for place, text in enumerate(context)],
            "speaker": SPEAKERS[len(context) % 2],
            "responses": [cells[-1] for _, cells in rows],
            "correct": correct,
        }


def _groups(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Divide lines with the same context, which can be of two dialogues: a right response after a wrong one."""
    group: list[Row] = []
    for row in rows:
        if group and group[0][1][0] == RIGHT and group[-1][1][0] == WRONG and row[1][0] == RIGHT:
            yield group
            group = []
        group.append(row)
    yield group


def _rows(file: SourceFile) -> Iterator[Row]:
    for number, cells in rows_of(file):
        yield number, [cell.strip() for cell in cells]
