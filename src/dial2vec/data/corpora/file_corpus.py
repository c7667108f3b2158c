"""Base of the readers of corpora that come packed or unpacked: open the files, convert the records one by one."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from conversations.dialogue import Dialogue, Origin, Quarantined
from dial2vec.config import Read
from dial2vec.data.corpora.archive import fetch_again, find_archive, open_archive
from dial2vec.data.corpora.corpus import Splitting, at_least_one, converted, known_id, usable
from dial2vec.data.corpora.response_queries import ResponseQuery, query_from_record
from dial2vec.data.corpora.source_files import SourceFile, matching_files, open_sources, records_of
from dial2vec.errors import CorpusError

# A record of a file with its place.
Placed = tuple[Origin, Any]
# Name of a file -> beginning of the ids of its dialogues, such as their split or domain, and their official split.
Lists = Mapping[str, tuple[str, str | None]]


class Element(NamedTuple):
    """An element of a JSON list of dialogues.

    :param group: Beginning of its id; "" for none.
    :param split: Its official split, or None.
    :param number: Its number in the file, from 1.
    """

    group: str
    split: str | None
    number: int
    content: Any


@dataclass(frozen=True, slots=True)
class CorpusFiles:
    """The opened files of a corpus.

    :param files: Address -> file; of an archive, path below its top folder -> file.
    :param folder: Folder `data/<corpus>`.
    :param source: Source of the corpus, for errors.
    """

    files: Mapping[str, SourceFile]
    folder: Path
    source: str

    def matching(self, pattern: str) -> list[tuple[SourceFile, Mapping[str, str]]]:
        """Return the files whose path ends with a pattern, and the pattern's named groups.

        :raises CorpusError: if there are none, or two different ones with the same end.
        """
        chosen = matching_files(self.files, pattern, folder=self.folder, source=self.source)
        return [(file, match.groupdict()) for file, match in chosen]

    def only(self, pattern: str) -> SourceFile:
        """Return the only file whose path ends with a pattern.

        :raises CorpusError: if there is none, or there are several.
        """
        chosen = self.matching(pattern)
        if len(chosen) > 1:
            names = ", ".join(file.address for file, _ in chosen[:3])
            raise CorpusError(
                f"{self.folder} holds {len(chosen)} files {pattern} ({names}); expected one. Remove some."
            )
        return chosen[0][0]

    def by_name(self) -> dict[str, SourceFile]:
        """Return the files by name only, because folders differ between mirrors.

        Of several files with one name, the least nested one counts.
        """
        deepest_first = sorted(self.files.items(), key=lambda item: item[0].count("/"), reverse=True)
        return {path.rpartition("/")[2]: file for path, file in deepest_first}

    def lack(self, name: str) -> CorpusError:
        """Return the error for an archive that lacks a file of its corpus."""
        return CorpusError(
            f"{find_archive(self.folder)} holds no {name}; expected the archive of {self.source}. "
            f"{fetch_again(self.folder.name)}"
        )


@dataclass(frozen=True, slots=True)
class FileCorpus:
    """Base of a reader: a subclass says which files it needs and what a record of them means."""

    url: ClassVar[str | None] = None
    splitting: ClassVar[Splitting] = "official"
    # Where the corpus comes from.
    source: ClassVar[str] = ""
    # Name -> regular expression of the end of the path, of every file that the corpus must have.
    expected: ClassVar[Mapping[str, str]] = {}
    options: Read = field(default_factory=Read)

    @contextlib.contextmanager
    def opened(self, folder: Path) -> Iterator[CorpusFiles]:
        """Open the files in `folder` (`data/<corpus>`).

        :raises CorpusError: if the folder is missing or empty, or an archive is damaged or harmful.
        """
        with open_sources(folder, source=self.source) as files:
            yield CorpusFiles(files, folder, self.source)

    def records(self, sources: CorpusFiles, quarantine: list[Quarantined]) -> Iterator[Placed]:
        """Yield the records of all files, in order; what upstream lists and does not hold goes to `quarantine`."""
        raise NotImplementedError

    def dialogue(self, record: Any) -> dict[str, Any]:
        """Convert a record to the form that `dialogue_from_record` takes.

        :raises RecordError: if it is no dialogue.
        :raises KeyError: if a key is missing.
        """
        raise NotImplementedError

    def name(self, record: Any) -> str:
        """Return the id of a record that is no dialogue, or ""."""
        return ""

    def absent(self, sources: CorpusFiles) -> list[str]:
        """Return the names of files that the corpus must have and lacks."""
        paths = [file.path for file in sources.files.values()]
        return [
            name
            for name, pattern in self.expected.items()
            if not any(re.fullmatch(rf"(?:^|.*/)(?:{pattern})", path) for path in paths)
        ]

    def unusable(self, sources: CorpusFiles) -> CorpusError | None:
        """Return the error for files without any usable dialogue; None if that is none."""
        return CorpusError(
            f"{sources.folder} holds no usable dialogue; expected the files of {self.source}. Check them."
        )

    def read(self, folder: Path, *, quarantine: list[Quarantined]) -> Iterator[Dialogue]:
        """Stream the dialogues; unusable records go to `quarantine`.

        :raises CorpusError: if a file is missing or damaged, or there is no usable dialogue.
        """
        with self.opened(folder) as sources:
            records = self.records(sources, quarantine)
            dialogues = usable(records, self.dialogue, name=self.name, quarantine=quarantine)
            yield from at_least_one(dialogues, self.unusable(sources))

    def missing(self, folder: Path) -> list[str]:
        """Return the upstream names of missing files.

        :raises CorpusError: if the folder is missing or empty, or an archive is damaged.
        """
        with self.opened(folder) as sources:
            return self.absent(sources)


@dataclass(frozen=True, slots=True)
class ListCorpus(FileCorpus):
    """Base of a reader whose files are JSON lists of dialogues."""

    # The files by their names in `expected`.
    lists: ClassVar[Lists] = {}
    # Key of the id in a dialogue.
    key: ClassVar[str] = "dialogue_id"

    def records(self, sources: CorpusFiles, quarantine: list[Quarantined]) -> Iterator[Placed]:
        """Yield the dialogues of all files."""
        for name, (group, split) in self.lists.items():
            for file, _ in sources.matching(self.expected[name]):
                for number, content in records_of(file):
                    yield Origin(file.address, number), Element(group, split, number, content)

    def name(self, record: Element) -> str:
        """Return the id of a dialogue."""
        return known_id(record.group, record.content, self.key)


@dataclass(frozen=True, slots=True)
class ArchiveCorpus(FileCorpus):
    """Base of a reader of the single zip that `dial2vec fetch` brings; paths are those below its top folder."""

    # Files of which one must hold a usable dialogue, for errors; "" if a corpus without any is read, too.
    content: ClassVar[str] = ""

    @contextlib.contextmanager
    def opened(self, folder: Path) -> Iterator[CorpusFiles]:
        """Open the archive in `folder` (`data/<corpus>`).

        :raises CorpusError: if there is no archive, or it is damaged or harmful.
        """
        with open_archive(folder) as files:
            yield CorpusFiles(files, folder, str(self.url))

    def unusable(self, sources: CorpusFiles) -> CorpusError | None:
        """Return the error for an archive without any usable dialogue; None if that is none."""
        return sources.lack(f"usable {self.content}") if self.content else None


@dataclass(frozen=True, slots=True)
class CandidateCorpus(FileCorpus):
    """Base of a reader whose dev and test have contexts with candidate responses."""

    def query_records(self, sources: CorpusFiles, split: str) -> Iterator[Placed]:
        """Yield the records of a split that are queries."""
        raise NotImplementedError

    def query(self, record: Any) -> dict[str, Any]:
        """Convert a record to the form that `query_from_record` takes.

        :raises RecordError: if it is no query.
        :raises KeyError: if a key is missing.
        """
        raise NotImplementedError

    def queries(self, folder: Path, *, split: str, quarantine: list[Quarantined]) -> Iterator[ResponseQuery]:
        """Stream the contexts of a split with their candidates; unusable records go to `quarantine`.

        :param split: "train", "dev" or "test"; not every corpus has candidates in train.
        :raises CorpusError: if a file is missing or damaged, or the split has no usable query.
        """

        def query_of(record: Any, _: Origin) -> ResponseQuery:
            return query_from_record(self.query(record))

        with self.opened(folder) as sources:
            records = self.query_records(sources, split)
            queries = converted(records, query_of, name=self.name, quarantine=quarantine)
            error = f"{split} of {folder.name} holds no context with candidates. Choose another split."
            yield from at_least_one(queries, CorpusError(error))
