"""SGD, the Schema-Guided Dialogue corpus: task-oriented, 22,825 dialogues, 45 services, official splits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from conversations.dialogue import Origin, Quarantined
from dial2vec.errors import CorpusError
from dial2vec_papers.corpora.file_corpus import ArchiveCorpus, CorpusFiles, Placed, expect, id_below, known_id
from dial2vec_papers.corpora.source_files import json_of

FILES = {"train": 127, "dev": 20, "test": 34}
DIALOGUE_FILE = re.compile(r"(train|dev|test)/dialogues_\d+\.json")


class Sgd(ArchiveCorpus):
    """Reader of the upstream archive (Rastogi et al. 2020; CC BY-SA 4.0).

    Labels are the services of a dialogue (`Restaurants_2`, not the domain `Restaurants`), which reproduce the counts of
    Liu et al. 2022, Table 1, exactly; `read.sgd_labels: domain` takes the domains. Ids are `<split>/<dialogue_id>`,
    because upstream ids repeat across splits.
    """

    url = "https://github.com/google-research-datasets/dstc8-schema-guided-dialogue/archive/refs/heads/master.zip"

    def records(self, sources: CorpusFiles, quarantine: list[Quarantined]) -> Iterator[Placed]:
        """Yield the dialogues of all three splits, one member of the archive in memory at a time."""
        chosen = {path: file for path, file in sources.files.items() if DIALOGUE_FILE.fullmatch(path)}
        if not chosen:
            raise sources.lack("<top folder>/train/dialogues_NNN.json")
        for path, file in chosen.items():
            records = json_of(file)
            if not isinstance(records, list):
                raise CorpusError(f"{file.address}: expected a JSON list of dialogues. {file.again}")
            for number, record in enumerate(records, start=1):
                yield Origin(file.address, number), (record, path.partition("/")[0])

    def absent(self, sources: CorpusFiles) -> list[str]:
        """Return the missing ones of 181 dialogue files and 3 schemas, such as `train/dialogues_001.json`."""
        expected = [f"{split}/dialogues_{n:03}.json" for split, files in FILES.items() for n in range(1, files + 1)]
        expected += [f"{split}/schema.json" for split in FILES]
        return [path for path in expected if path not in sources.files]

    def name(self, record: Any) -> str:
        """Return the id of a record."""
        content, split = record
        return known_id(split, content, "dialogue_id")

    def dialogue(self, record: Any) -> dict[str, Any]:
        """Convert a dialogue."""
        content, split = record
        content = expect(content, dict, "the dialogue")
        turns = [expect(turn, dict, "a turn") for turn in expect(content["turns"], list, "'turns'")]
        services = [expect(service, str, "a service") for service in expect(content["services"], list, "'services'")]
        if self.options.sgd_labels == "domain":
            services = [service.rpartition("_")[0] or service for service in services]
        return {
            "dialogue_id": id_below(split, content["dialogue_id"], "'dialogue_id'"),
            "turns": [
                {"speaker": expect(turn["speaker"], str, "'speaker'").lower(), "text": turn["utterance"]}
                for turn in turns
            ],
            "labels": services,
            "split": split,
        }
