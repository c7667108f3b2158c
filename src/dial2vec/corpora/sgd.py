"""SGD, the Schema-Guided Dialogue corpus: task-oriented, 22,825 dialogues, 45 services, official splits."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

from dial2vec.corpora.archive import address, members, open_archive, read_member
from dial2vec.corpora.corpus import Splitting
from dial2vec.dialogue import Dialogue, RecordError, SetAside, dialogue_from_record
from dial2vec.errors import CorpusError

FILES = {"train": 127, "dev": 20, "test": 34}
DIALOGUE_FILE = re.compile(r"(train|dev|test)/dialogues_\d+\.json")


class Sgd:
    """Reader of the upstream archive (Rastogi et al. 2020; CC BY-SA 4.0).

    The labels of a dialogue are its services (`Restaurants_2`, not the domain `Restaurants`): with them the counts of
    Liu et al. 2022, Table 1, are met exactly. Upstream ids clash across splits, hence `<split>/<dialogue_id>`.
    """

    url: str | None = (
        "https://github.com/google-research-datasets/dstc8-schema-guided-dialogue/archive/refs/heads/master.zip"
    )
    splitting: Splitting = "official"

    def read(self, folder: Path, *, set_aside: list[SetAside]) -> Iterator[Dialogue]:
        """Stream the dialogues of all three splits, one member of the archive in memory at a time.

        :raises CorpusError: when the archive is missing or damaged, or a member is not a JSON list.
        """
        seen: set[str] = set()
        with open_archive(folder) as archive:
            chosen = [info for path, info in members(archive).items() if DIALOGUE_FILE.fullmatch(path)]
            if not chosen:
                raise CorpusError(
                    f"{archive.filename} holds no <top folder>/train/dialogues_NNN.json; expected the archive of "
                    f"{self.url}. Remove it and run `dial2vec fetch {folder.name}`."
                )
            for info in chosen:
                split = info.filename.split("/")[-2]
                for number, record in enumerate(_records(archive, info), start=1):
                    try:
                        dialogue = _dialogue(record, split)
                        if dialogue.dialogue_id in seen:
                            raise RecordError(f"the id {dialogue.dialogue_id!r} came before")
                    except RecordError as error:
                        set_aside.append(SetAside(address(archive, info), number, _id(record, split), str(error)))
                        continue
                    seen.add(dialogue.dialogue_id)
                    yield dialogue

    def missing(self, folder: Path) -> list[str]:
        """Return the absent ones of 181 dialogue files and 3 schemas, as `train/dialogues_001.json`.

        :raises CorpusError: when there is no archive to look into.
        """
        expected = [f"{split}/dialogues_{n:03}.json" for split, files in FILES.items() for n in range(1, files + 1)]
        expected += [f"{split}/schema.json" for split in FILES]
        with open_archive(folder) as archive:
            present = members(archive)
        return [path for path in expected if path not in present]


def _records(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> list[object]:
    content = read_member(archive, info)
    try:
        records = json.loads(content)
    except ValueError as error:
        raise CorpusError(f"{address(archive, info)} is not JSON ({error}). Fetch the archive again.") from error
    if not isinstance(records, list):
        raise CorpusError(f"{address(archive, info)}: expected a JSON list of dialogues. Fetch the archive again.")
    return records


def _dialogue(record: object, split: str) -> Dialogue:
    if not isinstance(record, dict):
        raise RecordError("expected an object with 'dialogue_id', 'services' and 'turns'")
    try:
        turns = [{"speaker": turn["speaker"].lower(), "text": turn["utterance"]} for turn in record["turns"]]
        dialogue_id, services = f"{split}/{record['dialogue_id']}", record["services"]
    except KeyError as error:
        raise RecordError(f"the key {error} is missing") from error
    except (AttributeError, TypeError) as error:
        raise RecordError("'turns' must be a list of objects with 'speaker' and 'utterance', both strings") from error
    return dialogue_from_record({"dialogue_id": dialogue_id, "turns": turns, "labels": services, "split": split})


def _id(record: object, split: str) -> str:
    return f"{split}/{record['dialogue_id']}" if isinstance(record, dict) and "dialogue_id" in record else ""
