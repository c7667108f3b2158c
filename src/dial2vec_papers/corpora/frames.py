"""Frames: dialogues about holidays between two people, one as a wizard; no official splits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from conversations.dialogue import Origin, Quarantined, RecordError
from dial2vec.data.corpora.corpus import Splitting, expect
from dial2vec.data.corpora.file_corpus import CorpusFiles, FileCorpus, Placed
from dial2vec.data.corpora.source_files import records_of

FILE = "frames.json"
AUTHORS = ("user", "wizard")


@dataclass(frozen=True, slots=True)
class Frames(FileCorpus):
    """Reader of `frames.json` (El Asri et al. 2017; 1,369 dialogues). No labels: all are about flights and hotels."""

    splitting: ClassVar[Splitting] = "shuffled"
    source: ClassVar[str] = "https://www.microsoft.com/en-us/research/project/frames-dataset/ (Frames-dataset.zip)"
    expected: ClassVar[Mapping[str, str]] = {FILE: r"frames\.json"}

    def records(self, sources: CorpusFiles, quarantine: list[Quarantined]) -> Iterator[Placed]:
        """Yield the dialogues of the file."""
        file = sources.only(self.expected[FILE])
        for number, content in records_of(file):
            yield Origin(file.address, number), content

    def name(self, record: Any) -> str:
        """Return the id of a record."""
        return str(record["id"]) if isinstance(record, dict) and "id" in record else ""

    def dialogue(self, record: Any) -> dict[str, Any]:
        """Convert a dialogue."""
        record = expect(record, dict, "the dialogue")
        turns = [expect(turn, dict, "a turn") for turn in expect(record["turns"], list, "'turns'")]
        for turn in turns:
            if turn["author"] not in AUTHORS:
                raise RecordError(f"'author' must be user or wizard, found {str(turn['author'])[:40]!r}")
        return {
            "dialogue_id": record["id"],
            "turns": [{"speaker": turn["author"], "text": turn["text"]} for turn in turns],
        }
