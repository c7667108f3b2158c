"""Doc2dial: questions and answers about official documents, 4 domains, official splits."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from conversations.dialogue import Dialogue, Origin, Quarantined, RecordError
from dial2vec.config import Read
from dial2vec.data.corpora.archive import address, fetch_again, files_by_name, open_archive, wrong_archive
from dial2vec.data.corpora.corpus import Splitting, expect, id_below, usable
from dial2vec.errors import CorpusError
from dial2vec_papers.corpora.json_member import entries

# Domain that occurs only in the final test of the shared task.
UNSEEN_DOMAIN = "cdccov19"
# Test files of the shared task.
SHARED_TASK = ("testdev", "finaltest")
# Key above the domains; the file `testdev` lacks it.
WRAPPER = "dial_data"

# Split, domain, JSON value.
Entry = tuple[str, str, object]


@dataclass(frozen=True, slots=True)
class Doc2dial:
    """Reader of the upstream archive (Feng et al. 2020; CC BY 3.0).

    The label is the domain of the document. Consecutive turns of one role stay separate turns. By default dev and test
    are both the validation file, as the equal rows of Liu et al. 2022 suggest. `read.doc2dial_test` selects instead the
    archive's own test file, if it has one, or a test file of the shared task DialDoc 2021, whose dialogues end before
    the answer; its domain `cdccov19` is quarantined.
    """

    url: ClassVar[str | None] = "https://doc2dial.github.io/file/doc2dial_v1.0.1.zip"
    splitting: ClassVar[Splitting] = "official"
    options: Read = field(default_factory=Read)

    def read(self, folder: Path, *, quarantine: list[Quarantined]) -> Iterator[Dialogue]:
        """Stream the dialogues of train, dev and test, one domain of one file in memory at a time.

        :raises CorpusError: if the archive or one of its files is missing or damaged.
        """
        with open_archive(folder) as archive:
            present = files_by_name(archive)
            absent = next((name for name in self._names.values() if name not in present), None)
            if absent is not None:
                raise self._absent_file(archive, absent)
            records = (
                (origin, (split, domain, record))
                for split, name in self._names.items()
                for origin, domain, record in _records(archive, present[name])
            )
            yield from usable(records, _dialogue, name=_id, quarantine=quarantine)

    def missing(self, folder: Path) -> list[str]:
        """Return the missing ones of the files that are read, such as `doc2dial_dial_train.json`.

        :raises CorpusError: if there is no archive.
        """
        with open_archive(folder) as archive:
            present = files_by_name(archive)
        return [name for name in dict.fromkeys(self._names.values()) if name not in present]

    @property
    def _names(self) -> dict[str, str]:
        """Split -> file name."""
        parts = {"train": "train", "dev": "validation", "test": self.options.doc2dial_test}
        return {split: f"doc2dial_dial_{part}.json" for split, part in parts.items()}

    def _absent_file(self, archive: zipfile.ZipFile, name: str) -> CorpusError:
        if "test" not in name:
            return wrong_archive(archive, name, self.url)
        source = "not every copy of the corpus has it. Set"
        if self.options.doc2dial_test in SHARED_TASK:
            source = "the shared task DialDoc 2021 gave it out apart from the corpus. Add it to the archive, or set"
        return CorpusError(f"{archive.filename} holds no {name}; {source} read.doc2dial_test to validation.")


def _records(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[tuple[Origin, str, object]]:
    """Yield domains and dialogues; a value of another type than expected counts as a dialogue."""
    number = 0
    for domain, documents in _domains(archive, info):
        for dialogues in documents.values() if isinstance(documents, dict) else [documents]:
            for dialogue in dialogues if isinstance(dialogues, list) else [dialogues]:
                number += 1
                yield Origin(address(archive, info), number), domain, dialogue
    if not number:
        where = address(archive, info)
        raise CorpusError(f"{where} holds no dialogues by domain and document. {fetch_again(where)}")


def _domains(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[tuple[str, Any]]:
    wrapped = False
    for entry in entries(archive, info, below=WRAPPER):
        wrapped = True
        yield entry
    if not wrapped:
        yield from ((domain, documents) for domain, documents in entries(archive, info) if domain != WRAPPER)


def _dialogue(entry: Entry) -> dict[str, Any]:
    split, domain, record = entry
    if domain == UNSEEN_DOMAIN:
        raise RecordError(f"of the domain {UNSEEN_DOMAIN}, which the shared task added and no other split has")
    record = expect(record, dict, "the dialogue")
    turns = [expect(turn, dict, "a turn") for turn in expect(record["turns"], list, "'turns'")]
    return {
        "dialogue_id": id_below(split, record["dial_id"], "'dial_id'"),
        "turns": [{"speaker": turn["role"], "text": turn["utterance"]} for turn in turns],
        "labels": [domain],
        "split": split,
    }


def _id(entry: Entry) -> str:
    split, _, record = entry
    return f"{split}/{record['dial_id']}" if isinstance(record, dict) and "dial_id" in record else ""
