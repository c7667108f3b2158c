"""SGD, the Schema-Guided Dialogue corpus: task-oriented, 22,825 dialogues, 45 services, official splits."""

from __future__ import annotations

import functools
import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from conversations.dialogue import Dialogue, Origin, Quarantined
from dial2vec.config import Read
from dial2vec.data.corpora.archive import address, fetch_again, members, open_archive, read_member, wrong_archive
from dial2vec.data.corpora.corpus import Splitting, expect, id_below, usable
from dial2vec.errors import CorpusError

FILES = {"train": 127, "dev": 20, "test": 34}
DIALOGUE_FILE = re.compile(r"(train|dev|test)/dialogues_\d+\.json")


@dataclass(frozen=True, slots=True)
class Sgd:
    """Reader of the upstream archive (Rastogi et al. 2020; CC BY-SA 4.0).

    Labels are the services of a dialogue (`Restaurants_2`, not the domain `Restaurants`), which reproduce the counts of
    Liu et al. 2022, Table 1, exactly; `read.sgd_labels: domain` takes the domains. Ids are `<split>/<dialogue_id>`,
    because upstream ids repeat across splits.
    """

    url: ClassVar[str | None] = (
        "https://github.com/google-research-datasets/dstc8-schema-guided-dialogue/archive/refs/heads/master.zip"
    )
    splitting: ClassVar[Splitting] = "official"
    options: Read = field(default_factory=Read)

    def read(self, folder: Path, *, quarantine: list[Quarantined]) -> Iterator[Dialogue]:
        """Stream the dialogues of all three splits, one member of the archive in memory at a time.

        :raises CorpusError: if the archive is missing or damaged, or a member is not a JSON list.
        """
        with open_archive(folder) as archive:
            chosen = [info for path, info in members(archive).items() if DIALOGUE_FILE.fullmatch(path)]
            if not chosen:
                raise wrong_archive(archive, "<top folder>/train/dialogues_NNN.json", self.url)
            records = (
                (Origin(address(archive, info), number), (record, info.filename.split("/")[-2]))
                for info in chosen
                for number, record in enumerate(_records(archive, info), start=1)
            )
            convert = functools.partial(_dialogue, by_domain=self.options.sgd_labels == "domain")
            yield from usable(records, convert, name=_id, quarantine=quarantine)

    def missing(self, folder: Path) -> list[str]:
        """Return the missing ones of 181 dialogue files and 3 schemas, such as `train/dialogues_001.json`.

        :raises CorpusError: if there is no archive.
        """
        expected = [f"{split}/dialogues_{n:03}.json" for split, files in FILES.items() for n in range(1, files + 1)]
        expected += [f"{split}/schema.json" for split in FILES]
        with open_archive(folder) as archive:
            present = members(archive)
        return [path for path in expected if path not in present]


def _records(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> list[object]:
    content, where = read_member(archive, info), address(archive, info)
    try:
        records = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"{where} is not JSON ({error}). {fetch_again(where)}") from error
    if not isinstance(records, list):
        raise CorpusError(f"{where}: expected a JSON list of dialogues. {fetch_again(where)}")
    return records


def _dialogue(raw: tuple[object, str], *, by_domain: bool) -> dict[str, Any]:
    record, split = raw
    record = expect(record, dict, "the dialogue")
    turns = [expect(turn, dict, "a turn") for turn in expect(record["turns"], list, "'turns'")]
    services = [expect(service, str, "a service") for service in expect(record["services"], list, "'services'")]
    return {
        "dialogue_id": id_below(split, record["dialogue_id"], "'dialogue_id'"),
        "turns": [
            {"speaker": expect(turn["speaker"], str, "'speaker'").lower(), "text": turn["utterance"]} for turn in turns
        ],
        "labels": [service.rpartition("_")[0] or service for service in services] if by_domain else services,
        "split": split,
    }


def _id(raw: tuple[object, str]) -> str:
    record, split = raw
    return f"{split}/{record['dialogue_id']}" if isinstance(record, dict) and "dialogue_id" in record else ""
