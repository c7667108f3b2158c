"""JDDC: Chinese dialogues of customers with the service of a shop, no official splits."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, ClassVar

from conversations.dialogue import Origin, Quarantined, RecordError
from dial2vec.data.corpora.corpus import Splitting
from dial2vec_papers.corpora.file_corpus import CorpusFiles, FileCorpus, Placed, literal
from dial2vec_papers.corpora.source_files import SourceFile, rows_of

FILE = "chat.txt"
# Session, customer, whether the service speaks, whether the session was handed on, whether it repeats, and the text.
N_CELLS = 6
SPEAKERS = {"0": "customer", "1": "waiter"}


class Jddc(FileCorpus):
    """Reader of `chat.txt` (Chen et al. 2020), one message a line; lines of one session follow each other.

    Cells are session, customer, 1 if the service speaks, two more flags, and the text, which may contain tabs and
    follows two tabs in some copies. The first line may be a header, with or without a name for the text. There are no
    labels. The owner gives the corpus to researchers who apply for it.
    """

    splitting: ClassVar[Splitting] = "shuffled"
    source = "JD's JDDC (chat.txt), which its owner gives to researchers who apply for it"
    expected = literal([FILE])

    def records(self, sources: CorpusFiles, quarantine: list[Quarantined]) -> Iterator[Placed]:
        """Yield the sessions."""
        file = sources.only(self.expected[FILE])
        for session, group in groupby(_rows(file), key=lambda row: row[1][0]):
            rows = list(group)
            yield Origin(file.address, rows[0][0]), (session, rows)

    def name(self, record: Any) -> str:
        """Return the id of a session."""
        return str(record[0])

    def dialogue(self, record: Any) -> dict[str, Any]:
        """Convert a session."""
        session, rows = record
        turns = []
        for line, cells in rows:
            if len(cells) < N_CELLS:
                raise RecordError(f"line {line} has {len(cells)} cells, expected {N_CELLS}")
            if cells[2] not in SPEAKERS:
                raise RecordError(f"the third cell of line {line} must be 0 or 1, found {cells[2][:40]!r}")
            turns.append({"speaker": SPEAKERS[cells[2]], "text": cells[5]})
        return {"dialogue_id": session, "turns": turns}


def _rows(file: SourceFile) -> Iterator[tuple[int, list[str]]]:
    for number, cells in rows_of(file, most=N_CELLS):
        header = number == 1 and len(cells) >= N_CELLS - 1 and cells[2] not in SPEAKERS
        if not header:
            yield number, cells
