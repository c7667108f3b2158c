"""Base of the readers of corpora that come packed or unpacked: open the files, convert the records one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from conversations.dialogue import Dialogue, Origin, Quarantined, RecordError
from dial2vec.config import Read
from dial2vec.data.corpora.corpus import Splitting, at_least_one, usable
from dial2vec.data.corpora.response_queries import ResponseQuery, query_from_record
from dial2vec.data.corpora.source_files import SourceFile, absent, matching_files, open_sources
from dial2vec.errors import CorpusError

# A record of a file with its place.
Placed = tuple[Origin, Any]


@dataclass(frozen=True, slots=True)
class CorpusFiles:
    """The opened files of a corpus.

    :param files: Address -> file.
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

    def read(self, folder: Path, *, quarantine: list[Quarantined]) -> Iterator[Dialogue]:
        """Stream the dialogues; unusable records go to `quarantine`.

        :raises CorpusError: if a file is missing or damaged, or there is no usable dialogue.
        """
        with open_sources(folder, source=self.source) as files:
            records = self.records(CorpusFiles(files, folder, self.source), quarantine)
            dialogues = usable(records, self.dialogue, name=self.name, quarantine=quarantine)
            error = CorpusError(f"{folder} holds no usable dialogue; expected the files of {self.source}. Check them.")
            yield from at_least_one(dialogues, error)

    def missing(self, folder: Path) -> list[str]:
        """Return the missing ones of the files that the corpus must have.

        :raises CorpusError: if the folder is missing or empty.
        """
        return absent(folder, self.expected, source=self.source)


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
        n_queries = 0
        with open_sources(folder, source=self.source) as files:
            sources = CorpusFiles(files, folder, self.source)
            for query in _usable(self.query_records(sources, split), self.query, self.name, quarantine):
                n_queries += 1
                yield query
        if not n_queries:
            raise CorpusError(f"{split} of {folder.name} holds no context with candidates. Choose another split.")


def _usable(
    records: Iterator[Placed],
    convert: Callable[[Any], dict[str, Any]],
    name: Callable[[Any], str],
    quarantine: list[Quarantined],
) -> Iterator[ResponseQuery]:
    for origin, record in records:
        try:
            yield query_from_record(convert(record))
        except (RecordError, KeyError) as error:
            reason = f"the key {error} is missing" if isinstance(error, KeyError) else str(error)
            quarantine.append(Quarantined(origin, name(record)[:200].encode("utf-8", "replace").decode(), reason))
