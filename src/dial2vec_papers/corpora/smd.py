"""SMD (KVRET): dialogues of a driver with the assistant of a car, 3 tasks, official splits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from conversations.dialogue import Origin, Quarantined, RecordError
from dial2vec.data.corpora.corpus import expect
from dial2vec.data.corpora.file_corpus import CorpusFiles, FileCorpus, Placed
from dial2vec.data.corpora.source_files import records_of

FILES = {split: f"kvret_{split}_public.json" for split in ("train", "dev", "test")}
SPEAKERS = ("driver", "assistant")


@dataclass(frozen=True, slots=True)
class Smd(FileCorpus):
    """Reader of the Stanford Multi-Domain dialogues (Eric et al. 2017): 2,425, 302 and 304 dialogues.

    The label is the intent of the scenario: navigate, schedule or weather. Ids are `<split>/<place in the file>`,
    because upstream numbers scenarios, not dialogues.
    """

    url: ClassVar[str | None] = "http://nlp.stanford.edu/projects/kvret/kvret_dataset_public.zip"
    source: ClassVar[str] = "http://nlp.stanford.edu/projects/kvret/kvret_dataset_public.zip"
    expected: ClassVar[Mapping[str, str]] = {name: name.replace(".", r"\.") for name in FILES.values()}

    def records(self, sources: CorpusFiles, quarantine: list[Quarantined]) -> Iterator[Placed]:
        """Yield the dialogues of all three splits."""
        for split, name in FILES.items():
            file = sources.only(self.expected[name])
            for number, content in records_of(file):
                yield Origin(file.address, number), (split, number, content)

    def name(self, record: Any) -> str:
        """Return the id of a record."""
        return f"{record[0]}/{record[1]}"

    def dialogue(self, record: Any) -> dict[str, Any]:
        """Convert a dialogue."""
        split, number, content = record
        content = expect(content, dict, "the dialogue")
        task = expect(expect(content["scenario"], dict, "'scenario'")["task"], dict, "'task'")
        turns = [expect(turn, dict, "a turn") for turn in expect(content["dialogue"], list, "'dialogue'")]
        for turn in turns:
            if turn["turn"] not in SPEAKERS:
                raise RecordError(f"'turn' must be driver or assistant, found {str(turn['turn'])[:40]!r}")
        return {
            "dialogue_id": f"{split}/{number}",
            "turns": [
                {"speaker": turn["turn"], "text": expect(turn["data"], dict, "'data'")["utterance"]} for turn in turns
            ],
            "labels": [expect(task["intent"], str, "'intent'")],
            "split": split,
        }
