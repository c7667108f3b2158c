"""GSIM (Sim-M and Sim-R): simulated dialogues about cinemas and restaurants, official splits."""

from __future__ import annotations

from typing import Any, ClassVar

from dial2vec_papers.corpora.file_corpus import Element, ListCorpus, Lists, expect, id_below, literal

DOMAINS = {"M": "movie", "R": "restaurant"}


class Gsim(ListCorpus):
    """Reader of the upstream archive (Shah et al. 2018): 1,500, 469 and 1,039 dialogues (upstream's README).

    Outlines were simulated, and people wrote the turns. In each turn of upstream the system speaks before the user, but
    not in the first one. The label is the domain: movie (Sim-M) or restaurant (Sim-R).
    """

    url = "https://github.com/google-research-datasets/simulated-dialogue/archive/refs/heads/master.zip"
    source = "https://github.com/google-research-datasets/simulated-dialogue"
    in_parts = True
    lists: ClassVar[Lists] = {
        f"sim-{letter}/{split}.json": (f"{domain}/{split}", split)
        for letter, domain in DOMAINS.items()
        for split in ("train", "dev", "test")
    }
    expected = literal(lists)

    def dialogue(self, record: Element) -> dict[str, Any]:
        """Convert a dialogue."""
        content = expect(record.content, dict, "the dialogue")
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
            "dialogue_id": id_below(record.group, content["dialogue_id"], "'dialogue_id'"),
            "turns": turns,
            "labels": [record.group.partition("/")[0]],
            "split": record.split,
        }
