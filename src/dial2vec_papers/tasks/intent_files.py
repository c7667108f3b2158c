"""Files of the tasks in a folder or a zip; nothing is unpacked to disk."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conversations.formats.archives import DAMAGE, Member, folder_members, read_whole, zip_members
from dial2vec.errors import CorpusError

# The largest file unpacks to 2.5 MB; a file above this limit is no intent set.
MAX_SIZE = 64 << 20
INTENTS = "the intent sets"


@dataclass(frozen=True, slots=True)
class IntentFiles:
    """The files below a folder, or in a zip archive, by their paths with slashes.

    :param what: the files in words, for errors.
    """

    path: Path
    members: Mapping[str, Member]
    what: str = INTENTS

    def address(self, name: str) -> str:
        """Return the name of a file in errors."""
        return f"{self.path}/{name}"

    def below(self, folder: str, *, suffix: str) -> list[str]:
        """Return the sorted paths of the files right in a folder that end with a suffix.

        :raises CorpusError: if there is none.
        """
        names = [name for name in self.members if name.rpartition("/")[0] == folder and name.endswith(suffix)]
        if not names:
            raise CorpusError(
                f"{self.address(folder)} holds no *{suffix}; expected a file per intent. {_get_whole(self)}"
            )
        return sorted(names)

    def names(self) -> list[str]:
        """Return the sorted paths of all files."""
        return sorted(self.members)

    def text(self, name: str) -> str:
        """Return the text of a file.

        :raises CorpusError: if it is missing, damaged, far too large or not UTF-8.
        """
        if name not in self.members:
            raise CorpusError(f"{self.address(name)} does not exist; expected it there. {_get_whole(self)}")
        if (size := self.members[name].size) > MAX_SIZE:
            raise CorpusError(
                f"{self.address(name)} has {size:,} bytes, expected at most {MAX_SIZE:,}. {_get_whole(self)}"
            )
        try:
            raw = read_whole(self.members[name].open)
        except DAMAGE as error:
            raise CorpusError(f"{self.address(name)} cannot be read ({error}). {_get_whole(self)}") from error
        try:
            return raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = raw[: error.start].count(b"\n") + 1
            raise CorpusError(
                f"{self.address(name)}:{line}: not UTF-8 ({error.reason}); expected UTF-8. Save it as UTF-8."
            ) from error

    def json(self, name: str) -> Any:
        """Return the contents of a JSON file.

        :raises CorpusError: if it cannot be read or is not JSON.
        """
        try:
            return json.loads(self.text(name))
        except (ValueError, RecursionError) as error:
            # Python reports numbers of thousands of digits, and deep nesting, without a line.
            line, reason = getattr(error, "lineno", 1), getattr(error, "msg", type(error).__name__)
            raise CorpusError(
                f"{self.address(name)}:{line}: not valid JSON ({reason}); expected the file as upstream has it. "
                f"{_get_whole(self)}"
            ) from error

    def table(self, name: str, columns: tuple[str, ...], *, delimiter: str) -> Iterator[tuple[int, dict[str, str]]]:
        """Yield each row of a CSV file: the number of its first line, and its cells by column.

        :param columns: columns that the header must have.
        :raises CorpusError: if a column is missing, or a row has more or fewer cells than the header.
        """
        reader = csv.reader(io.StringIO(self.text(name), newline=""), delimiter=delimiter, strict=True)
        line = 1
        try:
            header = next(reader, [])
            if missing := [column for column in columns if column not in header]:
                raise CorpusError(
                    f"{self.address(name)}:1: the column {missing[0]!r} is missing; expected "
                    f"{delimiter.join(columns)} among the columns. {_get_whole(self)}"
                )
            line = reader.line_num + 1
            for cells in reader:
                # A blank line is no row.
                if cells and len(cells) != len(header):
                    raise CorpusError(
                        f"{self.address(name)}:{line}: found {len(cells)} cells, expected the {len(header)} of the "
                        "header. Mend or remove this row."
                    )
                if cells:
                    yield line, dict(zip(header, cells, strict=True))
                line = reader.line_num + 1
        except csv.Error as error:
            raise CorpusError(
                f"{self.address(name)}:{line}: not valid CSV ({error}); expected rows of {len(header)} cells. "
                "Mend or remove this row."
            ) from error


@contextmanager
def open_intent_files(path: Path, *, what: str = INTENTS) -> Iterator[IntentFiles]:
    """Open a folder of intent sets or of other files, or a zip of one.

    :param what: the files in words, for errors.
    :raises CorpusError: if it is neither.
    """
    if path.is_dir():
        yield IntentFiles(path, _by_name(folder_members(path)), what)
        return
    if not path.exists():
        raise CorpusError(
            f"{path} does not exist; expected a folder or a zip of {what.removeprefix('the ')}. Check the path."
        )
    try:
        archive = zipfile.ZipFile(path)
    except DAMAGE as error:
        whole = _get_whole(IntentFiles(path, {}, what))
        raise CorpusError(f"{path} cannot be read as a zip archive ({error}). {whole}") from error
    with archive:
        yield IntentFiles(path, _by_name(zip_members(archive)), what)


def _by_name(members: list[Member]) -> dict[str, Member]:
    return {member.name: member for member in members}


def _get_whole(files: IntentFiles) -> str:
    return f"Put a whole copy of {files.what} at {files.path}."
