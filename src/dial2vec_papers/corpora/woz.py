"""WOZ 2.0: dialogues about restaurants in Cambridge, official splits."""

from __future__ import annotations

from typing import Any, ClassVar

from conversations.dialogue import RecordError
from dial2vec_papers.corpora.file_corpus import Element, ListCorpus, Lists, expect, literal


class Woz(ListCorpus):
    """Reader of the English files (Wen et al. 2017, Mrksic et al. 2017; Apache-2.0): 600, 200 and 400 dialogues.

    A record holds what the system said before each turn of the user, so the system's last answer is unknown. There are
    no labels: all dialogues are about restaurants.
    """

    url = "https://github.com/nmrksic/neural-belief-tracker/archive/refs/heads/master.zip"
    source = "https://github.com/nmrksic/neural-belief-tracker (data/woz)"
    lists: ClassVar[Lists] = {
        "woz_train_en.json": ("train", "train"),
        "woz_validate_en.json": ("dev", "dev"),
        "woz_test_en.json": ("test", "test"),
    }
    expected = literal(lists)
    key = "dialogue_idx"

    def dialogue(self, record: Element) -> dict[str, Any]:
        """Convert a dialogue: before each turn of the user stands what the system had said."""
        content = expect(record.content, dict, "the dialogue")
        turns = []
        for place, turn in enumerate(expect(content["dialogue"], list, "'dialogue'")):
            turn = expect(turn, dict, "a turn")
            if turn["turn_idx"] != place:
                raise RecordError(f"'turn_idx' of turn {place + 1} must be {place}, found {turn['turn_idx']!r}")
            turns.append({"speaker": "system", "text": turn["system_transcript"]})
            turns.append({"speaker": "user", "text": turn["transcript"]})
        if type(content["dialogue_idx"]) is not int:
            raise RecordError(f"'dialogue_idx' must be a whole number, found {content['dialogue_idx']!r}")
        return {"dialogue_id": f"{record.group}/{content['dialogue_idx']}", "turns": turns, "split": record.split}
