"""Base of the readers of corpora that come packed or unpacked: open the files, convert the records one by one."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

from conversations.dialogue import Dialogue, Origin, Quarantined, RecordError, dialogue_from_record
from dial2vec.config import Read
from dial2vec.data.corpora.corpus import Fetched, Splitting
from dial2vec.errors import CorpusError
from dial2vec_papers.corpora.archive import fetch_again, find_archive, open_archive
from dial2vec_papers.corpora.fetch import fetch_archive
from dial2vec_papers.corpora.response_queries import ResponseQuery, query_from_record
from dial2vec_papers.corpora.source_files import SourceFile, matching_files, open_sources, records_of

SPLITS = ("train", "dev", "test")
Raw = TypeVar("Raw")
Made = TypeVar("Made")
Kind = TypeVar("Kind", dict[str, Any], list[Any], str)
# Names of JSON's types in errors; any other type is a number.
KINDS = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
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
    # Whether the corpus is read without those that are absent, too.
    in_parts: ClassVar[bool] = False
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
        """Return the id of a record that is no dialogue, or ""; here of one that begins with its split and name."""
        return f"{record[0]}/{record[1]}"

    def absent(self, sources: CorpusFiles) -> list[str]:
        """Return the names of files that the corpus must have and lacks."""
        paths = [file.path for file in sources.files.values()]
        return [
            name
            for name, pattern in self.expected.items()
            if not any(re.fullmatch(rf"(?:^|.*/)(?:{pattern})", path) for path in paths)
        ]

    def at_hand(self, sources: CorpusFiles, quarantine: list[Quarantined]) -> set[str]:
        """Return the names of the files to read; absent ones of a corpus that is read in parts go to `quarantine`."""
        absent = self.absent(sources) if self.in_parts else []
        if len(absent) == len(self.expected):
            return set(absent)
        reason = "the file is absent, so its dialogues are left out"
        quarantine += [Quarantined(Origin(name, 0), "", reason) for name in absent]
        return set(self.expected).difference(absent)

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

    def fetch(self, folder: Path, *, mirror: Path | str | None) -> Fetched:
        """Get the archive into `folder` (`data/<corpus>`): `fetch_archive`.

        :raises CorpusError: if no program can download it, or that fails.
        """
        if self.url is None:
            raise CorpusError(
                f"{folder.name} cannot be downloaded by a program; expected its files from {self.source}. Put them "
                f"into {folder}, packed or unpacked, and run `dial2vec add {folder.name}`."
            )
        path, source = fetch_archive(folder, self.url, mirror=mirror)
        return Fetched(path, path.stat().st_size, source, self.missing(folder))

    def missing(self, folder: Path) -> list[str]:
        """Return the upstream names of missing files.

        :raises CorpusError: if the folder is missing or empty, or an archive is damaged.
        """
        with self.opened(folder) as sources:
            return self.absent(sources)


class ListCorpus(FileCorpus):
    """Base of a reader whose files are JSON lists of dialogues."""

    # The files by their names in `expected`.
    lists: ClassVar[Lists] = {}
    # Key of the id in a dialogue.
    key: ClassVar[str] = "dialogue_id"

    def records(self, sources: CorpusFiles, quarantine: list[Quarantined]) -> Iterator[Placed]:
        """Yield the dialogues of all files."""
        at_hand = self.at_hand(sources, quarantine)
        for name, (group, split) in self.lists.items():
            for file, _ in sources.matching(self.expected[name]) if name in at_hand else ():
                for number, content in records_of(file):
                    yield Origin(file.address, number), Element(group, split, number, content)

    def name(self, record: Element) -> str:
        """Return the id of a dialogue."""
        return known_id(record.group, record.content, self.key)


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


class CandidateCorpus(FileCorpus):
    """Base of a reader whose dev and test have contexts with candidate responses."""

    def records(self, sources: CorpusFiles, quarantine: list[Quarantined]) -> Iterator[Placed]:
        """Yield the queries of all splits, which are dialogues, too."""
        for split in SPLITS:
            yield from self.query_records(sources, split)

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


def usable(
    records: Iterable[tuple[Origin, Raw]],
    convert: Callable[[Raw], dict[str, Any]],
    *,
    name: Callable[[Raw], str],
    quarantine: list[Quarantined],
) -> Iterator[Dialogue]:
    """Convert upstream records to dialogues one by one; invalid records and repeated ids go to `quarantine`.

    :param convert: Function to the form that `dialogue_from_record` takes; raises `RecordError` or `KeyError`.
    :param name: Function that returns the id of an invalid record, or "".
    """
    seen: set[str] = set()

    def dialogue_of(record: Raw, origin: Origin) -> Dialogue:
        dialogue = dialogue_from_record(convert(record), origin=origin)
        if dialogue.dialogue_id in seen:
            raise RecordError(f"the id {dialogue.dialogue_id!r} came before")
        seen.add(dialogue.dialogue_id)
        return dialogue

    return converted(records, dialogue_of, name=name, quarantine=quarantine)


def converted(
    records: Iterable[tuple[Origin, Raw]],
    convert: Callable[[Raw, Origin], Made],
    *,
    name: Callable[[Raw], str],
    quarantine: list[Quarantined],
) -> Iterator[Made]:
    """Convert upstream records one by one; those for which `convert` raises go to `quarantine`.

    :param convert: Function that raises `RecordError` or `KeyError` if a record is invalid.
    :param name: Function that returns the id of an invalid record, or "".
    """
    for origin, record in records:
        try:
            yield convert(record, origin)
        except (RecordError, KeyError) as error:
            reason = f"the key {error} is missing" if isinstance(error, KeyError) else str(error)
            # JSON can hold half of a character, which cannot be written.
            invalid = name(record)[:200].encode("utf-8", "replace").decode()
            quarantine.append(Quarantined(origin, invalid, reason))


def at_least_one(items: Iterable[Made], error: CorpusError | None) -> Iterator[Made]:
    """Yield items, and raise an error, unless it is None, if there are none."""
    empty = True
    for item in items:
        empty = False
        yield item
    if empty and error is not None:
        raise error


def expect(value: object, kind: type[Kind], name: str) -> Kind:
    """Return a value if it has the expected type.

    :param name: Name of the value in errors, such as `'turns'`.
    :raises RecordError: if it has another type.
    """
    if not isinstance(value, kind):
        raise RecordError(f"{name} must be {KINDS[kind]}, found {KINDS.get(type(value), 'a number')}")
    return value


def id_below(group: str, upstream: object, name: str) -> str:
    """Return `<group>/<upstream id>`, because upstream ids may be unique only within a split or a domain.

    :param group: Beginning of the id; "" for none.
    :param name: Name of the upstream id in errors, such as `'dialogue_id'`.
    :raises RecordError: if the upstream id is no string or is blank.
    """
    if not expect(upstream, str, name).strip():
        raise RecordError(f"{name} is blank")
    return f"{group}/{upstream}" if group else str(upstream)


def known_id(group: str, content: object, key: str) -> str:
    """Return `<group>/<upstream id>` of a record that may be no dialogue; "" if it has no id.

    :param group: Beginning of the id; "" for none.
    """
    if not isinstance(content, dict) or key not in content:
        return ""
    return f"{group}/{content[key]}" if group else str(content[key])


def literal(names: Iterable[str]) -> dict[str, str]:
    """Return file name -> regular expression of that name."""
    return {name: name.replace(".", r"\.") for name in names}
