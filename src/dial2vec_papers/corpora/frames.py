"""Frames: dialogues about holidays between two people, one as a wizard; no official splits."""

from __future__ import annotations

from typing import Any, ClassVar

from conversations.dialogue import RecordError
from dial2vec.data.corpora.corpus import Splitting
from dial2vec_papers.corpora.file_corpus import Element, ListCorpus, Lists, expect, literal

AUTHORS = ("user", "wizard")


class Frames(ListCorpus):
    """Reader of `frames.json` (El Asri et al. 2017; 1,369 dialogues). No labels: all are about flights and hotels."""

    splitting: ClassVar[Splitting] = "shuffled"
    source = "https://www.microsoft.com/en-us/research/project/frames-dataset/ (Frames-dataset.zip)"
    lists: ClassVar[Lists] = {"frames.json": ("", None)}
    expected = literal(lists)
    key = "id"

    def dialogue(self, record: Element) -> dict[str, Any]:
        """Convert a dialogue."""
        content = expect(record.content, dict, "the dialogue")
        turns = [expect(turn, dict, "a turn") for turn in expect(content["turns"], list, "'turns'")]
        for turn in turns:
            if turn["author"] not in AUTHORS:
                raise RecordError(f"'author' must be user or wizard, found {str(turn['author'])[:40]!r}")
        return {
            "dialogue_id": content["id"],
            "turns": [{"speaker": turn["author"], "text": turn["text"]} for turn in turns],
        }
