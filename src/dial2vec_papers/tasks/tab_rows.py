"""Text tables with tabs between the columns, as DialogueCSE publishes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from conversations.files import numbered_lines
from dial2vec.errors import CorpusError


def tab_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of each line that is not blank, from 1, and its stripped cells.

    Quotation marks are part of their sentence. A byte order mark is accepted.

    :param columns: names of the cells; every line must have as many.
    :raises CorpusError: if the file cannot be read or is empty, or a line has too many or too few cells.
    """
    number, expected = 0, f"a file with {len(columns)} columns parted by tabs"
    for number, line in numbered_lines(path, expected):
        cells = [cell.strip() for cell in line.rstrip("\r\n").split("\t")]
        if len(cells) != len(columns):
            raise CorpusError(
                f"{path}:{number}: found {len(cells)} cells parted by tabs, expected {len(columns)} "
                f"({', '.join(columns)}). Mend or remove this line."
            )
        yield number, cells
    if not number:
        raise CorpusError(f"{path} is empty; expected lines of {', '.join(columns)}. Fetch it again.")
