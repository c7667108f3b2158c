"""Files of the tasks in a folder or a zip; nothing is unpacked to disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dial2vec.errors import CorpusError
from dial2vec_papers.corpora.source_files import SourceFile, open_folder_or_zip

INTENTS = "the intent sets"


@dataclass(frozen=True, slots=True)
class IntentFiles:
    """The files below a folder, or in a zip archive.

    :param files: path with slashes -> file.
    :param again: way to replace them, for errors.
    """

    path: Path
    files: Mapping[str, SourceFile]
    again: str

    def below(self, folder: str, *, suffix: str) -> list[str]:
        """Return the sorted paths of the files right in a folder that end with a suffix.

        :raises CorpusError: if there is none.
        """
        names = [name for name in self.files if name.rpartition("/")[0] == folder and name.endswith(suffix)]
        if not names:
            raise CorpusError(f"{self.path}/{folder} holds no *{suffix}; expected a file per intent. {self.again}")
        return names

    def file(self, name: str) -> SourceFile:
        """Return a file.

        :raises CorpusError: if it is missing.
        """
        if name not in self.files:
            raise CorpusError(f"{self.path}/{name} does not exist; expected it there. {self.again}")
        return self.files[name]


@contextmanager
def open_intent_files(path: Path, *, what: str = INTENTS) -> Iterator[IntentFiles]:
    """Open a folder of intent sets or of other files, or a zip of one.

    :param what: the files in words, for errors.
    :raises CorpusError: if it is neither.
    """
    if not path.exists():
        raise CorpusError(
            f"{path} does not exist; expected a folder or a zip of {what.removeprefix('the ')}. Check the path."
        )
    again = f"Put a whole copy of {what} at {path}."
    with open_folder_or_zip(path, again=again) as files:
        yield IntentFiles(path, files, again)
