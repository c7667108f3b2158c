"""CSV, TSV and Parquet: the rows of a table, each with its line in the file.

Only Python's csv module gives the line on which a row begins if cells hold line ends, and continues after a broken row.
"""

from __future__ import annotations

import contextlib
import csv
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from conversations.errors import CorpusError
from conversations.formats.archives import require_bounds
from conversations.formats.encodings import Encoding, is_damaged, open_text
from conversations.formats.records import Record
from conversations.guessing.names import by_name, known_names

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe", "│": "box"}
# Delimiters of tables with rules between rows.
BARS = ("|", "│")
# Largest number of lines in a cell: without it a quote that is never closed would swallow the rest of the file.
MOST_LINES = 20_000
# Rows of Parquet that are unpacked at once.
ROWS = 256
SAMPLED_LINES = 200
# Number of first rows among which the header is sought.
MOST_TITLES = 15
# A line below the names of the columns, or around a table: "|---|:--:|", "----+----", "+====+", "├──┼──┤".
RULE = re.compile(r"[\s:+=\u2500-\u257f-]*[-=\u2500\u2550]{2}[\s:+=\u2500-\u257f-]*")
# A bar inside a cell, as Markdown writes it, stands for this character until the cells are parted.
ESCAPED_BAR, HIDDEN_BAR = "\\|", "\ue000"
BREAK, BOLD = re.compile(r"<br\s?/?>", re.IGNORECASE), re.compile(r"\A\*\*([^*]*)\*\*\Z")
DAMAGED_ROW = "the row is damaged: it holds bytes that are not valid characters"


def named_delimiter(text: str) -> str:
    """Return the delimiter for a character or its name.

    :raises CorpusError: if the text is neither.
    """
    named = {name: character for character, name in DELIMITERS.items()} | {"\\t": "\t"}
    delimiter = named.get(text.lower(), text)
    if len(delimiter) != 1 or delimiter in '"\r\n\0':
        raise CorpusError(
            f"{text!r} (--delimiter) is no delimiter; expected one character, or {', '.join(DELIMITERS.values())}. "
            "Correct it, or leave it out."
        )
    return delimiter


class Lines:
    """The numbered lines of a file, which can go back to the line after the start of a broken row."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self._again: list[str] = []
        self._taken: list[str] = []
        self.first = 1

    def __iter__(self) -> Lines:
        return self

    def __next__(self) -> str:
        if len(self._taken) >= MOST_LINES:
            raise csv.Error(f"a cell goes on for over {MOST_LINES} lines")
        line = self._again.pop() if self._again else next(self._lines)
        self._taken.append(line)
        return line

    def next_row(self) -> None:
        """Forget the lines read so far, because their row is complete."""
        self.first += len(self._taken)
        self._taken = []

    def back(self) -> str:
        """Put back the lines read for this row except the first, and return the first."""
        first, *rest = self._taken or [""]
        self._again.extend(reversed(rest))
        self._taken = self._taken[:1]
        self.next_row()
        return first


@contextlib.contextmanager
def _cells_of_any_size() -> Iterator[None]:
    """Lift the csv module's limit of 128 KiB per cell while a file is read: some calls are longer."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def read_rows(
    path: Path, encoding: Encoding, delimiter: str, *, quoted: bool = True
) -> Iterator[tuple[int, list[str], str]]:
    """Yield line, cells and problem of every row that is not blank.

    :param quoted: False if quotes are plain characters.

    A row that cannot be parsed has the cells before the fault. Reading continues with the line after its first one, so
    that a stray quote costs one row, not those after it.
    """
    with open_text(path, encoding) as text, _cells_of_any_size():
        ruled = table_lines(_head(path, encoding), delimiter) if delimiter in BARS else None
        lines = Lines(iter(table_lines(list(text), delimiter) or ()) if ruled else iter(text))
        reader = _reader(lines, delimiter, quoted=quoted)
        while True:
            line = lines.first
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                reader = _reader(lines, delimiter, quoted=quoted)
                yield line, _before_the_fault(lines.back(), delimiter), _reason(error)
                continue
            lines.next_row()
            # A mark of the byte order also stands where files were put together.
            cells = [cell.removeprefix("\ufeff") for cell in cells[:1]] + cells[1:]
            cells = [_marked(cell) for cell in cells] if ruled else cells
            if line == 1 and _is_separator_line(cells):
                cells = []
            if any(cell.strip() for cell in cells) and not (delimiter in BARS and RULE.fullmatch("".join(cells))):
                yield line, cells, DAMAGED_ROW if is_damaged("".join(cells)) else ""


def table_lines(lines: Sequence[str], delimiter: str) -> list[str] | None:
    """Return the lines of a text in which those outside its tables are blank; None if it has no table of turns.

    A table begins with the names of columns above a rule of `|---|`, as in Markdown and of databases; a heading above
    it stays, which may be its title.

    :param delimiter: Bar between cells.
    """
    bare = [line.replace(ESCAPED_BAR, HIDDEN_BAR).strip() for line in lines]
    rules = [bool(line and RULE.fullmatch(line.replace(delimiter, ""))) for line in bare]
    kept, width = [""] * len(lines), 0
    for at, line in enumerate(bare):
        if delimiter in line and rules[at + 1 : at + 2] == [True] and not rules[at]:
            names = [cell.strip("* ") for cell in line.split(delimiter)]
            above = next((before for before in range(at - 1, -1, -1) if bare[before] and not rules[before]), at)
            if known_names(names) > 1 and by_name("text", names):
                width = line.count(delimiter)
                kept[above] = lines[above] if bare[above].startswith("#") else kept[above]
            elif not kept[at - 1]:
                width = 0
        if width and (line.count(delimiter) == width or rules[at] or (delimiter in line and kept[at - 1])):
            kept[at] = f"{line}\n"
    return kept if any(kept) else None


def _marked(cell: str) -> str:
    """Return a cell of Markdown without what stands for a bar, a line break and bold type."""
    return BOLD.sub(r"\1", BREAK.sub("\n", cell.replace(HIDDEN_BAR, "|").strip()))


def _reader(lines: Iterable[str], delimiter: str, *, quoted: bool) -> Iterator[list[str]]:
    if quoted:
        return csv.reader(lines, delimiter=delimiter, strict=True)
    return csv.reader(lines, delimiter=delimiter, strict=True, quoting=csv.QUOTE_NONE)


def _is_separator_line(cells: list[str]) -> bool:
    """Return whether a row is the line `sep=;`, which gives Excel the delimiter."""
    return "".join(cells[:1]).strip().lower().startswith("sep=") and len("".join(cells).strip()) <= len("sep=;")


def _before_the_fault(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])[:-1]
    except csv.Error:
        return []


def _reason(error: csv.Error) -> str:
    if "end of data" in str(error):
        return "a quote that is opened in this row is never closed"
    if "expected after" in str(error):
        return "text follows a closing quote in this row"
    return f"the row cannot be read: {error}"


def find_delimiter(path: Path, encoding: Encoding) -> str:
    """Return the delimiter that gives the most known column names, or else the most cells.

    :raises CorpusError: if the file is unreadable.
    """
    head = _head(path, encoding)
    if head and (declared := head[0].removeprefix("\ufeff").strip().strip('"')).lower().startswith("sep="):
        if len(declared) == len("sep=;"):
            return declared[-1]
        head = head[1:]
    return max(DELIMITERS, key=lambda delimiter: _fit(head, delimiter))


def _head(path: Path, encoding: Encoding) -> list[str]:
    with open_text(path, encoding) as text:
        return list(islice(text, SAMPLED_LINES))


def _rows_of(lines: list[str], delimiter: str) -> list[list[str]]:
    rows: list[list[str]] = []
    ruled = table_lines(lines, delimiter) if delimiter in BARS else None
    reader = csv.reader(ruled or lines, delimiter=delimiter, strict=True)
    # The last row may be cut by the end of the sample.
    with contextlib.suppress(csv.Error):
        rows.extend(row for row in reader if row and not (delimiter in BARS and RULE.fullmatch("".join(row))))
    return rows


def _fit(head: list[str], delimiter: str) -> tuple[int, float, int]:
    """Return the rating of a delimiter: known names, share of rows as wide as the header, width."""
    rows = _rows_of(head, delimiter)
    rows = rows[_header_at(rows) :]
    if not rows or len(rows[0]) < 2:
        return 0, 0.0, 0
    return known_names(rows[0]), sum(len(row) == len(rows[0]) for row in rows) / len(rows), len(rows[0])


def _header_at(rows: list[list[str]]) -> int:
    """Return the index of the row with the names of the columns: below a report's title lines if these name none.

    Such a row has two known names, more cells than the rows above it, and rows as wide below it, up to another title.
    """
    for at, row in enumerate(rows[1:MOST_TITLES], start=1):
        filled = [cell for cell in row if cell.strip()]
        below = [len(other) for other in rows[at + 1 : at + 4]]
        widths = {len([cell for cell in above if cell.strip()]) for above in rows[:at]}
        wider = len(filled) > max(1, *widths) and below[:1] == [len(row)] == [max(below, default=0)]
        if wider and known_names(row) > max(1, known_names(rows[0])):
            return at
    return 0


def find_header(path: Path, encoding: Encoding, delimiter: str) -> list[list[str]]:
    """Return the row with the names of the columns, and the rows above it: title lines of a report."""
    rows = _rows_of(_head(path, encoding), delimiter)
    rows = [row for row in rows if any(cell.strip() for cell in row) and not _is_separator_line(row)]
    return rows[: _header_at(rows) + 1]


def is_unquoted(path: Path, encoding: Encoding, delimiter: str) -> bool:
    """Return whether quotes are plain characters: strict reading fails, and all lines split at tabs are equally wide.

    Databases write such files, with tabs only.
    """
    lines = [line for line in _head(path, encoding) if line.strip()] if delimiter == "\t" else []
    if not any('"' in line for line in lines):
        return False
    rows, widths = list[list[str]](), {line.count("\t") for line in lines}
    try:
        rows.extend(csv.reader(lines, delimiter="\t", strict=True))
    except csv.Error:
        return len(widths) == 1
    return len(widths) == 1 and len(rows) != len(lines)


def read_table(
    path: Path, encoding: Encoding, delimiter: str, *, header: bool, titles: int = 0, quoted: bool = True
) -> Iterator[Record]:
    """Yield the rows of a delimited file as records.

    :param header: True if the first row names the columns; otherwise they are "1", "2", ...
    :param titles: Number of rows above the header, which are left out.
    :param quoted: False if quotes are plain characters.
    :raises CorpusError: if the file holds no row, or its first row cannot be parsed.
    """
    names: list[str] = []
    for line, cells, problem in islice(read_rows(path, encoding, delimiter, quoted=quoted), titles, None):
        if not names:
            if problem:
                raise CorpusError(
                    f"{path}:{line}: {problem}; expected {'the names of the columns' if header else 'a whole row'}. "
                    "Mend this line, or name the delimiter by --delimiter."
                )
            names = _names(cells) if header else [str(number) for number in range(1, len(cells) + 1)]
            if header:
                continue
        # Extra blank cells come from editors; any other difference in width means shifted cells.
        while len(cells) > len(names) and not cells[-1].strip():
            cells.pop()
        if len(cells) != len(names) and not problem:
            problem = f"the row has {_count(len(cells))}, and there are {_count(len(names), 'column')}"
        yield Record(line, dict(zip(names, cells, strict=False)), problem)
    if not names:
        raise CorpusError(f"{path} has only blank lines; expected a table of dialogues. Export it again.")


def _count(number: int, noun: str = "cell") -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _names(cells: list[str]) -> list[str]:
    """Return names for all columns; a missing or repeated name gets a number."""
    names: list[str] = []
    for number, cell in enumerate(cells, start=1):
        name = cell.strip() or f"column {number}"
        names.append(name if name not in names else f"{name} ({number})")
    return names


def read_parquet(path: Path) -> Iterator[Record]:
    """Yield the rows of a Parquet file, numbered from 1.

    :raises CorpusError: if it is no complete Parquet file, or unpacks to more than `require_bounds` allows.
    """
    import pyarrow
    from pyarrow import parquet

    number, unpacked = 0, 0
    try:
        with parquet.ParquetFile(path) as table:
            for batch in table.iter_batches(batch_size=ROWS):
                # A repeated text costs nothing in the file: only what is read tells its size.
                dense = (c.dictionary_decode() if hasattr(c, "dictionary_decode") else c for c in batch.columns)
                unpacked += sum(column.nbytes for column in dense)
                require_bounds(path, unpacked)
                for values in batch.to_pylist():
                    number += 1
                    yield Record(number, values)
    except FileNotFoundError as error:
        raise CorpusError(f"{path} does not exist; expected an export to import. Check the path.") from error
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError, TypeError, KeyError) as error:
        reason = str(error).split("\n", 1)[0][:150]
        raise CorpusError(
            f"{path}: row {number + 1} cannot be read ({reason}); expected a whole Parquet file. Export it again."
        ) from error
