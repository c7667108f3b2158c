"""Files that hold other files or tables: archives, workbooks, Word documents, databases, XML and mails.

What is inside is written as plain files into a temporary folder, within bounds, and read from there.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
import sqlite3
import zipfile
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import partial
from itertools import chain
from pathlib import Path, PurePosixPath
from tempfile import mkdtemp
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from conversations.errors import CorpusError
from conversations.files import write_json_lines
from conversations.formats.addresses import as_address, fetched, without_secrets
from conversations.formats.archives import DAMAGE, MIB, Member, open_tar, place_within, require_bounds, zip_members
from conversations.formats.encodings import open_bytes
from conversations.formats.formats import CONTAINERS, ENDINGS, MAILS, READABLE, XML, ending, stem
from conversations.formats.mails import BEGIN, mail_rows
from conversations.formats.msgpack import unpacked_bytes
from conversations.formats.xml_rows import xml_rows
from conversations.vocabulary import word_set

ZIP, OLE, SQLITE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"SQLite format 3\0"
TAR, TARS = b"ustar", (".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz")
# Tables in which programs keep messages beside others that hold none.
TABLES = word_set("columns", "tables")
ODF_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


class Unpacking:
    """Unpacks containers into a temporary folder, and fetches what has an address.

    :param folder: Temporary folder.
    :param table: Sheet of a workbook, or table of a database, to read; None reads all sheets, and the only table.
    :param tables: Kind of container, "workbook" or "database", by the file of each sheet or table.
    :param notes: Sentences on the sheets of workbooks.
    """

    def __init__(self, folder: Path, *, table: str | None = None) -> None:
        self._folder = folder
        self._table = table
        self._shown: dict[str, str] = {}
        self.tables: dict[Path, str] = {}
        self.notes: list[str] = []

    def shown(self, text: str) -> str:
        """Return a text in which a path of the temporary folder is the container's: `chat.zip/chat.txt`."""
        for temporary, name in self._shown.items():
            text = text.replace(temporary, name)
        return text

    def open(self, path: Path) -> Path:
        """Return the folder with the content of a container, of an address or of mails; any other path unchanged.

        :raises CorpusError: if the container is damaged, too large, or holds nothing to read, or cannot be fetched.
        """
        if address := as_address(path):
            self._shown[str(path)] = without_secrets(address)
            local = fetched(address, self._new_folder())
            self._shown[str(local)] = without_secrets(address)
            path = local
        unpack = (_unpack_mails if _holds_mails(path) else None) if path.is_dir() else _unpacker(path)
        if unpack is None:
            if self._table and not path.is_dir():
                raise CorpusError(f"{path} has no tables (--table); expected a workbook or a database. Leave it out.")
            return path
        folder, shown = self._new_folder(), self.shown(str(path))
        # Rows are shown as the file itself.
        self._shown[str(folder / f"{stem(path)}.jsonl")] = shown
        note = unpack(path, folder, self._table)
        self.notes += [f"{Path(shown).name} {note}"] if note else []
        if unpack in (_unpack_workbook, _unpack_database):
            part, whole = ("sheet", "workbook") if unpack is _unpack_workbook else ("table", "database")
            for file in folder.iterdir():
                self._shown[str(file)] = f"{shown}, {part} {file.stem}"
                self.tables[file] = whole
        self._shown[str(folder)] = shown
        return folder

    def _new_folder(self) -> Path:
        # No name of a folder begins with that of another one.
        return Path(mkdtemp(dir=self._folder))


def _unpacker(path: Path) -> Callable[[Path, Path, str | None], str | None] | None:
    with open_bytes(path) as handle:
        start = handle.read(512)
    if start.startswith(SQLITE):
        return _unpack_database
    if start.startswith(OLE):
        return _unpack_workbook
    if start[257:262] == TAR or path.name.lower().endswith(TARS):
        return _unpack_tar
    if BEGIN.match(start) or ending(path) in MAILS:
        return _unpack_mails
    if start.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<?xml") or ending(path) in XML:
        return _unpack_xml
    if not start.startswith(ZIP):
        return None
    try:
        with zipfile.ZipFile(path) as archive:
            require_bounds(path, sum(member.file_size for member in archive.infolist()))
            names = set(archive.namelist())
    except (zipfile.BadZipFile, OSError) as error:
        raise CorpusError(
            f"{path} is a damaged zip archive, workbook or document ({error}); expected a whole one. Export it again."
        ) from error
    if "word/document.xml" in names or (path.suffix.lower() == ".odt" and "content.xml" in names):
        return _unpack_document
    is_workbook = any(name.startswith("xl/") for name in names) or "content.xml" in names
    return _unpack_workbook if is_workbook else _unpack_archive


def _unpack_archive(path: Path, folder: Path, _: str | None) -> None:
    """Write the members with a known ending; pictures and voice messages of a chat stay inside."""
    with zipfile.ZipFile(path) as archive:
        members = [member for member in zip_members(archive) if _is_wanted(member)]
        for member in members:
            try:
                _copy(member, folder)
            except DAMAGE as error:
                raise CorpusError(
                    f"{path}: {member.name} cannot be unpacked ({error}); expected a whole archive without a "
                    "password. Unpack it yourself and import the folder."
                ) from error
    if not members:
        raise _nothing_in(path)


def _unpack_tar(path: Path, folder: Path, _: str | None) -> None:
    """Write the members with a known ending, as those of a zip archive."""
    try:
        with open_tar(path, partial(require_bounds, path)) as members:
            wanted = [member for member in members if _is_wanted(member)]
            for member in wanted:
                _copy(member, folder)
    except DAMAGE as error:
        raise CorpusError(
            f"{path} is a damaged tar archive ({error}); expected a whole one. Fetch or export it again."
        ) from error
    if not wanted:
        raise _nothing_in(path)


def _nothing_in(path: Path) -> CorpusError:
    return CorpusError(
        f"{path} holds no file to import; expected {READABLE} (docs/import.md lists the endings). Unpack it and look "
        "inside, or name another file."
    )


def _is_wanted(member: Member) -> bool:
    name = PurePosixPath(member.name)
    hidden = any(part.startswith((".", "__MACOSX")) for part in name.parts if part != "..")
    return not hidden and ending(Path(name.name)) in (*ENDINGS, *CONTAINERS)


def _copy(member: Member, folder: Path) -> None:
    with member.open() as source, place_within(folder, member.name).open("wb") as target:
        shutil.copyfileobj(source, target, MIB)


def _unpack_workbook(path: Path, folder: Path, table: str | None) -> str:
    """Write each sheet as CSV, and return a note if there are several."""
    from python_calamine import CalamineError, CalamineWorkbook

    try:
        book = CalamineWorkbook.from_path(str(path))
        sheets = _chosen(path, book.sheet_names, table)
        empty: list[str] = []
        for name in sheets:
            rows = book.get_sheet_by_name(name).to_python(skip_empty_area=False)
            if sum(any(cell != "" for cell in row) for row in rows) > 1:
                _write_csv(folder / f"{_file_name(name)}.csv", rows)
            else:
                empty.append(name)
    except (CalamineError, OSError, ValueError) as error:
        raise CorpusError(
            f"{path} is no workbook that can be read ({error}); expected a whole one without a password. "
            "Save a sheet as CSV, a document as .docx, a mail as .eml."
        ) from error
    if len(empty) == len(sheets):
        raise CorpusError(f"{path}: no sheet has a row below its headings; expected turns or dialogues. Fill it.")
    skipped = f"; skipped without a row below its headings: {', '.join(empty)}" if empty else ""
    several = f"has the sheets {', '.join(sheets)}{skipped}; --table NAME reads one of them"
    return several if len(sheets) > 1 else ""


def _unpack_database(path: Path, folder: Path, table: str | None) -> None:
    """Write one table as CSV."""
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1", uri=True)) as database:
            query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
            names = [name for (name,) in database.execute(query)]
            known = [name for name in names if name in TABLES]
            names = known if table is None and len(known) == 1 else names
            if table is None and len(names) != 1:
                raise CorpusError(
                    f"{path} is a database with {len(names)} tables: {', '.join(names[:20])}. Name the one that holds "
                    "the messages by --table."
                )
            [name] = _chosen(path, names, table)
            cursor = database.execute('SELECT * FROM "{}"'.format(name.replace('"', '""')))
            header = [column[0] for column in cursor.description]
            _write_csv(folder / f"{_file_name(name)}.csv", chain([header], cursor))
    except sqlite3.Error as error:
        raise CorpusError(f"{path} is a database that cannot be read ({error}). Export its table as CSV.") from error


def _chosen(path: Path, names: list[str], table: str | None) -> list[str]:
    if table is None:
        return names
    if table not in names:
        raise CorpusError(f"{path} has no table {table!r} (--table); it has {', '.join(names[:20])}. Correct --table.")
    return [table]


def _unpack_document(path: Path, folder: Path, _: str | None) -> None:
    """Write the paragraphs of a document as lines, or its tables as CSV if these hold most of it."""
    try:
        with zipfile.ZipFile(path) as archive:
            is_word = "word/document.xml" in archive.namelist()
            root = ElementTree.fromstring(archive.read("word/document.xml" if is_word else "content.xml"))
    except (zipfile.BadZipFile, ElementTree.ParseError, RuntimeError, OSError) as error:
        kind = "text" if path.suffix.lower() == ".odt" else "Word"
        raise CorpusError(f"{path} is a damaged {kind} document ({error}). Save it as plain text.") from error
    tables = [_table_rows(table) for table in root.iter(f"{WORD}tbl")]
    tables = [rows for rows in tables if len(rows) > 2 and max(map(len, rows)) > 1]
    lines = ["".join(map(_run, paragraph.iter())) for paragraph in root.iter(f"{WORD}p")]
    lines = lines or ["".join(paragraph.itertext()) for paragraph in root.iter(f"{ODF_TEXT}p")]
    if 2 * sum(bool(cell) for rows in tables for row in rows for cell in row) > sum(map(bool, lines)):
        for number, rows in enumerate(tables, start=1):
            _write_csv(folder / f"{path.stem}{f'-{number}' if len(tables) > 1 else ''}.csv", rows)
        return
    (folder / f"{path.stem}.txt").write_text("\n".join(lines), encoding="utf-8")


def _holds_mails(folder: Path) -> bool:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    first = next(files, None)
    # The first other file ends the search in a large folder.
    return first is not None and all(ending(path) == ".eml" for path in chain([first], files))


def _unpack_mails(path: Path, folder: Path, _: str | None) -> None:
    write_json_lines(
        folder / f"{stem(path)}.jsonl", mail_rows(sorted(path.rglob("*.[eE][mM][lL]*")) if path.is_dir() else [path])
    )


def _unpack_xml(path: Path, folder: Path, _: str | None) -> None:
    write_json_lines(folder / f"{stem(path)}.jsonl", xml_rows(path))


def _table_rows(table: ElementTree.Element) -> list[list[str]]:
    def text(cell: ElementTree.Element) -> str:
        return "\n".join("".join(map(_run, paragraph.iter())) for paragraph in cell.iter(f"{WORD}p")).strip()

    return [[text(cell) for cell in row.iter(f"{WORD}tc")] for row in table.iter(f"{WORD}tr")]


def _run(element: ElementTree.Element) -> str:
    """Return what a part of a paragraph adds to its text."""
    if element.tag == f"{WORD}t":
        return element.text or ""
    return {f"{WORD}tab": "\t", f"{WORD}br": "\n"}.get(element.tag, "")


def _file_name(name: str) -> str:
    return re.sub(r'[/\\:*?"<>|\0]', "_", name).strip(". ") or "table"


def _write_csv(path: Path, rows: Iterable[Iterable[Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerows([_cell(value) for value in row] for row in rows)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bytes):
        state = unpacked_bytes(value)
        return value.decode("utf-8", "replace") if state is None else json.dumps(state, ensure_ascii=False)
    # Workbooks know only fractions: 17.0 was typed as 17.
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value.isoformat(sep=" ") if hasattr(value, "hour") and hasattr(value, "year") else str(value)
