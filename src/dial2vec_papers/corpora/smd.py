"""SMD (KVRET): dialogues of a driver with the assistant of a car, 3 tasks, official splits."""

from __future__ import annotations

from typing import Any, ClassVar

from conversations.dialogue import RecordError
from dial2vec_papers.corpora.file_corpus import Element, ListCorpus, Lists, expect, literal

SPEAKERS = ("driver", "assistant")


class Smd(ListCorpus):
    """Reader of the Stanford Multi-Domain dialogues (Eric et al. 2017): 2,425, 302 and 304 dialogues.

    The label is the intent of the scenario: navigate, schedule or weather. Ids are `<split>/<place in the file>`,
    because upstream numbers scenarios, not dialogues.
    """

    url = "http://nlp.stanford.edu/projects/kvret/kvret_dataset_public.zip"
    source = "http://nlp.stanford.edu/projects/kvret/kvret_dataset_public.zip"
    lists: ClassVar[Lists] = {f"kvret_{split}_public.json": (split, split) for split in ("train", "dev", "test")}
    expected = literal(lists)

    def name(self, record: Element) -> str:
        """Return the id of a record."""
        return f"{record.group}/{record.number}"

    def dialogue(self, record: Element) -> dict[str, Any]:
        """Convert a dialogue."""
        content = expect(record.content, dict, "the dialogue")
        task = expect(expect(content["scenario"], dict, "'scenario'")["task"], dict, "'task'")
        turns = [expect(turn, dict, "a turn") for turn in expect(content["dialogue"], list, "'dialogue'")]
        for turn in turns:
            if turn["turn"] not in SPEAKERS:
                raise RecordError(f"'turn' must be driver or assistant, found {str(turn['turn'])[:40]!r}")
        return {
            "dialogue_id": self.name(record),
            "turns": [
                {"speaker": turn["turn"], "text": expect(turn["data"], dict, "'data'")["utterance"]} for turn in turns
            ],
            "labels": [expect(task["intent"], str, "'intent'")],
            "split": record.split,
        }
