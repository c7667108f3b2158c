"""Text tables with tabs between the columns, as DialogueCSE publishes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from dial2vec.errors import CorpusError


def tab_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of each line that is not blank, from 1, and its stripped cells.

    Quotation marks are part of their sentence. A byte order mark is accepted.

    :param columns: names of the cells; every line must have as many.
    :raises CorpusError: if the file cannot be read or is empty, or a line has too many or too few cells.
    """
    number = 0
    try:
        # Only "\n" ends a line: other line ends of Unicode occur within sentences.
        with path.open(encoding="utf-8-sig", newline="\n") as handle:
            for line_number, line in enumerate(handle, start=1):
                if not line.strip():
                    continue
                number = line_number
                cells = [cell.strip() for cell in line.rstrip("\r\n").split("\t")]
                if len(cells) != len(columns):
                    raise CorpusError(
                        f"{path}:{number}: found {len(cells)} cells parted by tabs, expected {len(columns)} "
                        f"({', '.join(columns)}). Mend or remove this line."
                    )
                yield number, cells
    except FileNotFoundError as error:
        raise CorpusError(
            f"{path} does not exist; expected a file with {len(columns)} columns parted by tabs. Check the path."
        ) from error
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"{path} is not UTF-8 after line {number} ({error.reason}); expected UTF-8. Save it as UTF-8."
        ) from error
    except OSError as error:
        raise CorpusError(f"{path} cannot be read: {error.strerror}. Check the path and its permissions.") from error
    if not number:
        raise CorpusError(f"{path} is empty; expected lines of {', '.join(columns)}. Fetch it again.")
