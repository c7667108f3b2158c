"""BiTOD: task-oriented dialogues in English (its Chinese half is not read), 5 domains, official splits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conversations.dialogue import Origin, Quarantined, RecordError
from dial2vec_papers.corpora.file_corpus import ArchiveCorpus, CorpusFiles, Placed, expect, id_below
from dial2vec_papers.corpora.source_files import entries_of

FILES = {"train": "en_train.json", "dev": "en_valid.json", "test": "en_test.json"}
SPEAKERS = {"User": "user", "Wizard": "system"}
# Intent of users between their tasks.
CHAT = "chat"


class Bitod(ArchiveCorpus):
    """Reader of the upstream archive (Lin et al. 2021; Apache-2.0).

    An event with `Text` is a turn; queries and answers of the knowledge base have no text. Labels are the domains of
    the user's goal (`hotels_en_US_search` and `hotels_en_US_booking` are both `hotels`). `read.bitod_labels` selects
    instead the domains of `active_intent` ("active"), these and `chat` ("active_and_chat"), or the goal's whole
    intents ("intents").
    """

    url = "https://github.com/HLTCHKUST/BiToD/archive/refs/heads/main.zip"

    def records(self, sources: CorpusFiles, quarantine: list[Quarantined]) -> Iterator[Placed]:
        """Yield the English dialogues of all three splits, one dialogue in memory at a time."""
        if absent := self.absent(sources):
            raise sources.lack(absent[0])
        present = sources.by_name()
        for split, name in FILES.items():
            for number, (upstream, content) in enumerate(entries_of(present[name]), start=1):
                yield Origin(present[name].address, number), (split, upstream, content)

    def absent(self, sources: CorpusFiles) -> list[str]:
        """Return the missing ones of the three English files, such as `en_train.json`."""
        present = sources.by_name()
        return [name for name in FILES.values() if name not in present]

    def dialogue(self, record: Any) -> dict[str, Any]:
        """Convert a dialogue."""
        split, upstream, content = record
        content = expect(content, dict, "the dialogue")
        events = [expect(event, dict, "an event") for event in expect(content["Events"], list, "'Events'")]
        spoken = [event for event in events if event.get("Text") not in (None, "")]
        turns = [{"speaker": _speaker(event), "text": event["Text"]} for event in spoken]
        labels = _labels(content, events, self.options.bitod_labels)
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
