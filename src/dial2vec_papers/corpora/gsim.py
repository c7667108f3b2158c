"""GSIM (Sim-M and Sim-R): simulated dialogues about cinemas and restaurants, official splits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from conversations.dialogue import Origin, Quarantined
from dial2vec.data.corpora.corpus import expect, id_below
from dial2vec.data.corpora.file_corpus import CorpusFiles, FileCorpus, Placed
from dial2vec.data.corpora.source_files import records_of

DOMAINS = {"M": "movie", "R": "restaurant"}
FILES = {(letter, split): f"sim-{letter}/{split}.json" for letter in DOMAINS for split in ("train", "dev", "test")}


@dataclass(frozen=True, slots=True)
class Gsim(FileCorpus):
    """Reader of the upstream archive (Shah et al. 2018): 1,500, 469 and 1,039 dialogues (upstream's README).

    Outlines were simulated, and people wrote the turns. In each turn of upstream the system speaks before the user, but
    not in the first one. The label is the domain: movie (Sim-M) or restaurant (Sim-R).
    """

    url: ClassVar[str | None] = (
        "https://github.com/google-research-datasets/simulated-dialogue/archive/refs/heads/master.zip"
    )
    source: ClassVar[str] = "https://github.com/google-research-datasets/simulated-dialogue"
    expected: ClassVar[Mapping[str, str]] = {name: name.replace(".", r"\.") for name in FILES.values()}

    def records(self, sources: CorpusFiles, quarantine: list[Quarantined]) -> Iterator[Placed]:
        """Yield the dialogues of both domains, split by split."""
        for (letter, split), name in FILES.items():
            file = sources.only(self.expected[name])
            for number, content in records_of(file):
                yield Origin(file.address, number), (DOMAINS[letter], split, content)

    def name(self, record: Any) -> str:
        """Return the id of a record."""
        domain, split, content = record
        known = isinstance(content, dict) and "dialogue_id" in content
        return f"{domain}/{split}/{content['dialogue_id']}" if known else ""

    def dialogue(self, record: Any) -> dict[str, Any]:
        """Convert a dialogue."""
        domain, split, content = record
        content = expect(content, dict, "the dialogue")
        turns = []
        for place, turn in enumerate(expect(content["turns"], list, "'turns'")):
            turn = expect(turn, dict, "a turn")
            # Only the first turn lacks the system.
            if place or "system_utterance" in turn:
                system = expect(turn["system_utterance"], dict, "'system_utterance'")
                turns.append({"speaker": "system", "text": system["text"]})
            answer = expect(turn["user_utterance"], dict, "'user_utterance'")
            turns.append({"speaker": "user", "text": answer["text"]})
        return {
            "dialogue_id": id_below(f"{domain}/{split}", content["dialogue_id"], "'dialogue_id'"),
            "turns": turns,
            "labels": [domain],
            "split": split,
        }
