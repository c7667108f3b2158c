"""BiTOD: task-oriented dialogues in English (its Chinese half is not read), 5 domains, official splits."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from conversations.dialogue import Dialogue, Origin, Quarantined, RecordError
from dial2vec.config import Read
from dial2vec.data.corpora.archive import address, files_by_name, open_archive, wrong_archive
from dial2vec.data.corpora.corpus import Splitting, expect, id_below, usable
from dial2vec_papers.corpora.json_member import entries

FILES = {"train": "en_train.json", "dev": "en_valid.json", "test": "en_test.json"}
SPEAKERS = {"User": "user", "Wizard": "system"}
# Intent of users between their tasks.
CHAT = "chat"

# Split, upstream id, JSON value.
Entry = tuple[str, str, object]


@dataclass(frozen=True, slots=True)
class Bitod:
    """Reader of the upstream archive (Lin et al. 2021; Apache-2.0).

    An event with `Text` is a turn; queries and answers of the knowledge base have no text. Labels are the domains of
    the user's goal (`hotels_en_US_search` and `hotels_en_US_booking` are both `hotels`). `read.bitod_labels` selects
    instead the domains of `active_intent` ("active"), these and `chat` ("active_and_chat"), or the goal's whole
    intents ("intents").
    """

    url: ClassVar[str | None] = "https://github.com/HLTCHKUST/BiToD/archive/refs/heads/main.zip"
    splitting: ClassVar[Splitting] = "official"
    options: Read = field(default_factory=Read)

    def read(self, folder: Path, *, quarantine: list[Quarantined]) -> Iterator[Dialogue]:
        """Stream the English dialogues of all three splits, one dialogue in memory at a time.

        :raises CorpusError: if the archive or one of its three files is missing or damaged.
        """
        with open_archive(folder) as archive:
            present = files_by_name(archive)
            absent = [name for name in FILES.values() if name not in present]
            if absent:
                raise wrong_archive(archive, absent[0], self.url)
            records = (
                (Origin(address(archive, present[name]), number), (split, upstream, record))
                for split, name in FILES.items()
                for number, (upstream, record) in enumerate(entries(archive, present[name]), start=1)
            )
            convert = functools.partial(_dialogue, definition=self.options.bitod_labels)
            yield from usable(records, convert, name=lambda entry: f"{entry[0]}/{entry[1]}", quarantine=quarantine)

    def missing(self, folder: Path) -> list[str]:
        """Return the missing ones of the three English files, such as `en_train.json`.

        :raises CorpusError: if there is no archive.
        """
        with open_archive(folder) as archive:
            present = files_by_name(archive)
        return [name for name in FILES.values() if name not in present]


def _dialogue(entry: Entry, *, definition: str) -> dict[str, Any]:
    split, upstream, record = entry
    record = expect(record, dict, "the dialogue")
    events = [expect(event, dict, "an event") for event in expect(record["Events"], list, "'Events'")]
    turns = [
        {"speaker": _speaker(event), "text": event["Text"]} for event in events if event.get("Text") not in (None, "")
    ]
    labels = _labels(record, events, definition)
    return {"dialogue_id": id_below(split, upstream, "the key"), "turns": turns, "labels": labels, "split": split}


def _speaker(event: dict[str, Any]) -> str:
    agent = expect(event["Agent"], str, "'Agent'")
    if agent not in SPEAKERS:
        raise RecordError(f"'Agent' of an event with 'Text' must be User or Wizard, found {agent[:40]!r}")
    return SPEAKERS[agent]


def _labels(record: dict[str, Any], events: list[dict[str, Any]], definition: str) -> list[str]:
    if definition in ("goal", "intents"):
        scenario = expect(record["Scenario"], dict, "'Scenario'")
        intents = list(expect(scenario["User_Goal"], dict, "'User_Goal'"))
    else:
        active = [event["active_intent"] for event in events if event.get("active_intent") is not None]
        intents = [expect(intent, str, "'active_intent'") for intent in active]
    if definition == "intents":
        return intents
    domains = {intent.split("_")[0] for intent in intents}
    return sorted(domains - ({CHAT} if definition == "active" else set()))
