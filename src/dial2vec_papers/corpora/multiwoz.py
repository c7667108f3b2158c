"""MultiWOZ 2.1: task-oriented dialogues about Cambridge, 7 domains, official splits or the paper's pool."""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conversations.dialogue import Dialogue, Origin, Quarantined, RecordError
from dial2vec.errors import CorpusError
from dial2vec_papers.corpora.file_corpus import ArchiveCorpus, CorpusFiles, expect, id_below, usable
from dial2vec_papers.corpora.multiwoz_labels import labels_of
from dial2vec_papers.corpora.source_files import SourceFile, bytes_of, entries_of

DATA = "data.json"
# The endings of the lists differ between mirrors.
LISTS = {"dev": ("valListFile.txt", "valListFile.json"), "test": ("testListFile.txt", "testListFile.json")}
INVALID = "SNG01862"
# Sizes of dev and test in Liu et al. 2022, Table 1; their dialogues are unknown.
POOL_DEV, POOL_TEST = 1077, 1084
POOL_SEED = 2022

# Function from an upstream id to the splits of the dialogue.
Places = Callable[[str], Sequence[str]]


class Multiwoz(ArchiveCorpus):
    """Reader of the upstream archive (Budzianowski et al. 2018, Eric et al. 2020; MIT).

    Users speak first and alternate with the system. Labels are the domains of the user's goal; `labels_of` describes
    the other definitions of `read.multiwoz_labels`.

    `read.multiwoz_splits: pooled` draws dev and test with the sizes in Liu et al. 2022, Table 1 (1,077 and 1,084) by a
    fixed seed from the dialogues with one label in all official splits. Train is the official train without the drawn
    dialogues, or all of it with `read.multiwoz_overlap`. The rest of the official dev and test is not read. A pool of
    fewer than 2,161 dialogues is used whole, 1,077 parts of 2,161 (rounded down) for dev.
    """

    url = "https://github.com/budzianowski/multiwoz/raw/master/data/MultiWOZ_2.1.zip"

    def read(self, folder: Path, *, quarantine: list[Quarantined]) -> Iterator[Dialogue]:
        """Stream the dialogues, one in memory at a time; the pool takes two passes over the archive.

        :raises CorpusError: if the archive, its `data.json` or a list of ids is missing or damaged, or no dialogue is
            listed.
        """
        with self.opened(folder) as sources:
            if absent := self.absent(sources):
                raise sources.lack(absent[0])
            present = sources.by_name()
            files = {split: next(present[name] for name in names if name in present) for split, names in LISTS.items()}
            lists = [_listed(split, file) for split, file in files.items()]
            official = functools.partial(_official, lists=lists)
            dialogues = self._stream(present[DATA], official, quarantine)
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
                yield from self._stream(present[DATA], pooled, [])

    def absent(self, sources: CorpusFiles) -> list[str]:
        """Return the missing ones of `data.json` and the two lists of ids."""
        present = sources.by_name()
        lists = [names[0] for names in LISTS.values() if not any(name in present for name in names)]
        return ([] if DATA in present else [DATA]) + lists

    def dialogue(self, record: Any) -> dict[str, Any]:
        """Convert a dialogue: users speak first."""
        split, upstream, content = record
        if upstream.removesuffix(".json") == INVALID:
            raise RecordError("invalid according to upstream (notes to MultiWOZ 2.2)")
        content = expect(content, dict, "the dialogue")
        log = [expect(turn, dict, "a turn") for turn in expect(content["log"], list, "'log'")]
        turns = [{"speaker": ("user", "system")[place % 2], "text": turn["text"]} for place, turn in enumerate(log)]
        labels = labels_of(upstream, content, definition=self.options.multiwoz_labels)
        return {"dialogue_id": id_below(split, upstream, "the key"), "turns": turns, "labels": labels, "split": split}

    def _stream(self, data: SourceFile, places: Places, quarantine: list[Quarantined]) -> Iterator[Dialogue]:
        records = (
            (Origin(data.address, number), (split, upstream, record))
            for number, (upstream, record) in enumerate(entries_of(data), start=1)
            for split in places(upstream)
        )
        yield from usable(records, self.dialogue, name=self.name, quarantine=quarantine)


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

    :param lines: Id -> line number.
    :param met: Ids that occurred in `data.json` so far.
    """

    split: str
    file: SourceFile
    lines: dict[str, int]
    met: set[str] = field(default_factory=set)

    def unmet(self) -> Iterator[Quarantined]:
        """Yield a record for each listed id that is not in `data.json`."""
        if not self.met:
            raise CorpusError(f"no id in {self.file.address} is one of {DATA}. {self.file.again}")
        for name, line in self.lines.items():
            if name not in self.met:
                reason = f"it is listed for {self.split}, and {DATA} has no such dialogue"
                yield Quarantined(Origin(self.file.address, line), f"{self.split}/{name}", reason)


def _listed(split: str, file: SourceFile) -> _List:
    """Read a list with one id per line, or a JSON list; the ids lose their `.json`."""
    try:
        text = bytes_of(file).decode("utf-8-sig").strip()
        ids = json.loads(text) if text.startswith("[") else text.splitlines()
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"{file.address} is no list of ids ({error}). {file.again}") from error
    names = ((str(name).strip().removesuffix(".json"), line) for line, name in enumerate(ids, start=1))
    return _List(split, file, {name: line for name, line in names if name})


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
