"""MultiWOZ 2.1: task-oriented dialogues about Cambridge, 7 domains, official splits or the paper's pool."""

from __future__ import annotations

import functools
import json
import random
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from conversations.dialogue import Dialogue, Origin, Quarantined, RecordError
from dial2vec.config import Read
from dial2vec.data.corpora.archive import address, fetch_again, files_by_name, open_archive, read_member, wrong_archive
from dial2vec.data.corpora.corpus import Splitting, expect, id_below, usable
from dial2vec.errors import CorpusError
from dial2vec_papers.corpora.json_member import entries
from dial2vec_papers.corpora.multiwoz_labels import labels_of

DATA = "data.json"
# The endings of the lists differ between mirrors.
LISTS = {"dev": ("valListFile.txt", "valListFile.json"), "test": ("testListFile.txt", "testListFile.json")}
INVALID = "SNG01862"
# Sizes of dev and test in Liu et al. 2022, Table 1; their dialogues are unknown.
POOL_DEV, POOL_TEST = 1077, 1084
POOL_SEED = 2022

# Split, upstream id, JSON value.
Entry = tuple[str, str, object]
# Function from an upstream id to the splits of the dialogue.
Places = Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Multiwoz:
    """Reader of the upstream archive (Budzianowski et al. 2018, Eric et al. 2020; MIT).

    Users speak first and alternate with the system. Labels are the domains of the user's goal; `labels_of` describes
    the other definitions of `read.multiwoz_labels`.

    `read.multiwoz_splits: pooled` draws dev and test with the sizes in Liu et al. 2022, Table 1 (1,077 and 1,084) by a
    fixed seed from the dialogues with one label in all official splits. Train is the official train without the drawn
    dialogues, or all of it with `read.multiwoz_overlap`. The rest of the official dev and test is not read. A pool of
    fewer than 2,161 dialogues is used whole, 1,077 parts of 2,161 (rounded down) for dev.
    """

    url: ClassVar[str | None] = "https://github.com/budzianowski/multiwoz/raw/master/data/MultiWOZ_2.1.zip"
    splitting: ClassVar[Splitting] = "official"
    options: Read = field(default_factory=Read)

    def read(self, folder: Path, *, quarantine: list[Quarantined]) -> Iterator[Dialogue]:
        """Stream the dialogues, one in memory at a time; the pool takes two passes over the archive.

        :raises CorpusError: if the archive, its `data.json` or a list of ids is missing or damaged, or no dialogue is
            listed.
        """
        with open_archive(folder) as archive:
            data, members = _members(archive, url=self.url)
            lists = [_List(split, address(archive, info), _listed(archive, info)) for split, info in members.items()]
            official = functools.partial(_official, lists=lists)
            dialogues = self._stream(archive, data, official, quarantine)
            # The first pass sees every record, so it fills the quarantine.
            pool: list[str] = []
            if self.options.multiwoz_splits == "official":
                yield from dialogues
            else:
                pool += (d.dialogue_id.partition("/")[2] for d in dialogues if d.label is not None)
            for listed in lists:
                quarantine.extend(listed.unmet())
            if self.options.multiwoz_splits == "pooled":
                drawn = draw(pool)
                pooled = functools.partial(_pooled, official, drawn=drawn, overlap=self.options.multiwoz_overlap)
                yield from self._stream(archive, data, pooled, [])

    def missing(self, folder: Path) -> list[str]:
        """Return the missing ones of `data.json` and the two lists of ids.

        :raises CorpusError: if there is no archive.
        """
        with open_archive(folder) as archive:
            return _absent(files_by_name(archive))

    def _stream(
        self, archive: zipfile.ZipFile, data: zipfile.ZipInfo, places: Places, quarantine: list[Quarantined]
    ) -> Iterator[Dialogue]:
        records = (
            (Origin(address(archive, data), number), (split, upstream, record))
            for number, (upstream, record) in enumerate(entries(archive, data), start=1)
            for split in places(upstream)
        )
        convert = functools.partial(_dialogue, definition=self.options.multiwoz_labels)
        yield from usable(records, convert, name=lambda entry: f"{entry[0]}/{entry[1]}", quarantine=quarantine)


def draw(pool: Sequence[str]) -> dict[str, str]:
    """Draw 1,077 ids for dev and 1,084 for test from a pool, or divide a smaller pool in this proportion.

    :returns: Drawn id -> "dev" or "test", independent of the order of the pool.
    """
    n_drawn = min(len(pool), POOL_DEV + POOL_TEST)
    n_dev = n_drawn * POOL_DEV // (POOL_DEV + POOL_TEST)
    drawn = random.Random(POOL_SEED).sample(sorted(pool), n_drawn)
    return {upstream: "dev" if place < n_dev else "test" for place, upstream in enumerate(drawn)}


@dataclass(frozen=True, slots=True)
class _List:
    """Upstream's list of dev or test.

    :param where: Address of the list.
    :param lines: Id -> line number.
    :param met: Ids that occurred in `data.json` so far.
    """

    split: str
    where: str
    lines: dict[str, int]
    met: set[str] = field(default_factory=set)

    def unmet(self) -> Iterator[Quarantined]:
        """Yield a record for each listed id that is not in `data.json`."""
        if not self.met:
            raise CorpusError(f"no id in {self.where} is one of {DATA}. {fetch_again(self.where)}")
        for name, line in self.lines.items():
            if name not in self.met:
                reason = f"it is listed for {self.split}, and {DATA} has no such dialogue"
                yield Quarantined(Origin(self.where, line), f"{self.split}/{name}", reason)


def _official(upstream: str, *, lists: Sequence[_List]) -> Sequence[str]:
    name = upstream.removesuffix(".json")
    for listed in lists:
        if name in listed.lines:
            listed.met.add(name)
            return [listed.split]
    return ["train"]


def _pooled(official: Places, upstream: str, *, drawn: dict[str, str], overlap: bool) -> Sequence[str]:
    stays = overlap or upstream not in drawn
    train = [split for split in official(upstream) if split == "train" and stays]
    return train + ([drawn[upstream]] if upstream in drawn else [])


def _members(archive: zipfile.ZipFile, *, url: str | None) -> tuple[zipfile.ZipInfo, dict[str, zipfile.ZipInfo]]:
    present = files_by_name(archive)
    absent = _absent(present)
    if absent:
        raise wrong_archive(archive, absent[0], url)
    lists = {split: next(present[name] for name in names if name in present) for split, names in LISTS.items()}
    return present[DATA], lists


def _absent(present: dict[str, zipfile.ZipInfo]) -> list[str]:
    lists = [names[0] for names in LISTS.values() if not any(name in present for name in names)]
    return ([] if DATA in present else [DATA]) + lists


def _listed(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> dict[str, int]:
    """Return id (without `.json`) -> line of a list with one id per line, or of a JSON list."""
    where = address(archive, info)
    try:
        text = read_member(archive, info).decode("utf-8-sig").strip()
        ids = json.loads(text) if text.startswith("[") else text.splitlines()
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"{where} is no list of ids ({error}). {fetch_again(where)}") from error
    names = ((str(name).strip().removesuffix(".json"), line) for line, name in enumerate(ids, start=1))
    return {name: line for name, line in names if name}


def _dialogue(entry: Entry, *, definition: str) -> dict[str, Any]:
    split, upstream, record = entry
    if upstream.removesuffix(".json") == INVALID:
        raise RecordError("invalid according to upstream (notes to MultiWOZ 2.2)")
    record = expect(record, dict, "the dialogue")
    log = [expect(turn, dict, "a turn") for turn in expect(record["log"], list, "'log'")]
    turns = [{"speaker": ("user", "system")[place % 2], "text": turn["text"]} for place, turn in enumerate(log)]
    labels = labels_of(upstream, record, definition=definition)
    return {"dialogue_id": id_below(split, upstream, "the key"), "turns": turns, "labels": labels, "split": split}
