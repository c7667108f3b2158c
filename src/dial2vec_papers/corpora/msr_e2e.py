"""MSR-E2E (Microsoft Dialogue Challenge): task-oriented dialogues of 3 domains, no official splits."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, ClassVar

from conversations.dialogue import Origin, Quarantined, RecordError
from dial2vec.data.corpora.corpus import Splitting
from dial2vec.errors import CorpusError
from dial2vec_papers.corpora.file_corpus import CorpusFiles, FileCorpus, Placed, literal
from dial2vec_papers.corpora.source_files import SourceFile, rows_of

DOMAINS = ("movie", "restaurant", "taxi")
COLUMNS = ("session.ID", "Message.ID", "Message.Timestamp", "Message.From", "Message.Text")
SPEAKERS = ("user", "agent")

# Line number and cells.
Row = tuple[int, list[str]]


class MsrE2e(FileCorpus):
    """Reader of the upstream archive (Li et al. 2018): 10,087 dialogues by its paper; the label is the domain.

    A line of `<domain>_all.tsv` is a message; lines of one session follow each other. In the file about taxis a text
    with a comma stands in quotation marks, which are removed.
    """

    url = "https://github.com/xiul-msr/e2e_dialog_challenge/archive/refs/heads/master.zip"
    splitting: ClassVar[Splitting] = "shuffled"
    in_parts = True
    source = "https://github.com/xiul-msr/e2e_dialog_challenge (data/)"
    expected = literal(f"{domain}_all.tsv" for domain in DOMAINS)

    def records(self, sources: CorpusFiles, quarantine: list[Quarantined]) -> Iterator[Placed]:
        """Yield the sessions of all domains."""
        for name in sorted(self.at_hand(sources, quarantine)):
            file, domain = sources.only(self.expected[name]), name.removesuffix("_all.tsv")
            for session, group in groupby(_rows(file), key=lambda row: row[1][0]):
                rows = list(group)
                yield Origin(file.address, rows[0][0]), (domain, session, rows)

    def dialogue(self, record: Any) -> dict[str, Any]:
        """Convert a session: its messages must be numbered from 1."""
        domain, session, rows = record
        turns = []
        for place, (line, cells) in enumerate(rows, start=1):
            if len(cells) < len(COLUMNS):
                raise RecordError(f"line {line} has {len(cells)} cells, expected at least {len(COLUMNS)}")
            if cells[1] != str(place):
                raise RecordError(f"message {place} must have 'Message.ID' {place}, found {cells[1][:40]!r}")
            if cells[3] not in SPEAKERS:
                raise RecordError(f"'Message.From' must be user or agent, found {cells[3][:40]!r}")
            turns.append({"speaker": cells[3], "text": unquoted(cells[4])})
        if not session.strip():
            raise RecordError("'session.ID' is blank")
        return {"dialogue_id": f"{domain}/{session}", "turns": turns, "labels": [domain]}


def _rows(file: SourceFile) -> Iterator[Row]:
    rows = rows_of(file)
    _, columns = next(rows, (0, []))
    if tuple(columns[: len(COLUMNS)]) != COLUMNS:
        raise CorpusError(
            f"{file.address} has the columns {', '.join(columns[:6])}; expected {', '.join(COLUMNS)} first. "
            "Bring the file again."
        )
    yield from rows


def unquoted(cell: str) -> str:
    """Return the text of a cell without the quotation marks that a table program set around it.

    >>> unquoted('"He said ""hi"", twice"')
    'He said "hi", twice'
    >>> unquoted('"Up" or "Heat"')
    '"Up" or "Heat"'
    """
    cell = cell.strip()
    quoted = len(cell) > 1 and cell.startswith('"') and cell.endswith('"')
    # The program doubles the marks within a text that it quotes.
    if quoted and '"' not in cell[1:-1].replace('""', ""):
        return cell[1:-1].replace('""', '"')
    return cell
