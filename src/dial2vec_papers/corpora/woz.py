"""WOZ 2.0: dialogues about restaurants in Cambridge, official splits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from conversations.dialogue import Origin, Quarantined, RecordError
from dial2vec.data.corpora.corpus import expect
from dial2vec.data.corpora.file_corpus import CorpusFiles, FileCorpus, Placed
from dial2vec.data.corpora.source_files import records_of

FILES = {"train": "woz_train_en.json", "dev": "woz_validate_en.json", "test": "woz_test_en.json"}


@dataclass(frozen=True, slots=True)
class Woz(FileCorpus):
    """Reader of the English files (Wen et al. 2017, Mrksic et al. 2017; Apache-2.0): 600, 200 and 400 dialogues.

    A record holds what the system said before each turn of the user, so the system's last answer is unknown. There are
    no labels: all dialogues are about restaurants.
    """

    url: ClassVar[str | None] = "https://github.com/nmrksic/neural-belief-tracker/archive/refs/heads/master.zip"
    source: ClassVar[str] = "https://github.com/nmrksic/neural-belief-tracker (data/woz)"
    expected: ClassVar[Mapping[str, str]] = {name: name.replace(".", r"\.") for name in FILES.values()}

    def records(self, sources: CorpusFiles, quarantine: list[Quarantined]) -> Iterator[Placed]:
        """Yield the dialogues of all three splits."""
        for split, name in FILES.items():
            file = sources.only(self.expected[name])
            for number, content in records_of(file):
                yield Origin(file.address, number), (split, content)

    def name(self, record: Any) -> str:
        """Return the id of a record."""
        split, content = record
        return f"{split}/{content['dialogue_idx']}" if isinstance(content, dict) and "dialogue_idx" in content else ""

    def dialogue(self, record: Any) -> dict[str, Any]:
        """Convert a dialogue: before each turn of the user stands what the system had said."""
        split, content = record
        content = expect(content, dict, "the dialogue")
        turns = []
        for place, turn in enumerate(expect(content["dialogue"], list, "'dialogue'")):
            turn = expect(turn, dict, "a turn")
            if turn["turn_idx"] != place:
                raise RecordError(f"'turn_idx' of turn {place + 1} must be {place}, found {turn['turn_idx']!r}")
            turns.append({"speaker": "system", "text": turn["system_transcript"]})
            turns.append({"speaker": "user", "text": turn["transcript"]})
        if type(content["dialogue_idx"]) is not int:
            raise RecordError(f"'dialogue_idx' must be a whole number, found {content['dialogue_idx']!r}")
        return {"dialogue_id": f"{split}/{content['dialogue_idx']}", "turns": turns, "split": split}
