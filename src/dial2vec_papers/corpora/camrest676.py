"""CamRest676: dialogues about restaurants in Cambridge, no official splits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from conversations.dialogue import Origin, Quarantined, RecordError
from dial2vec.data.corpora.corpus import Splitting, expect
from dial2vec.data.corpora.file_corpus import CorpusFiles, FileCorpus, Placed
from dial2vec.data.corpora.source_files import records_of

FILE = "CamRest676.json"


@dataclass(frozen=True, slots=True)
class CamRest676(FileCorpus):
    """Reader of `CamRest676.json` (Wen et al. 2017; CC BY 4.0): 676 dialogues; users begin, the system answers.

    There are no labels: all dialogues are about restaurants. Upstream's toolkit divides the file 3 to 1 to 1 in its own
    order; here the splits are drawn by `seed`.
    """

    url: ClassVar[str | None] = "https://github.com/shawnwun/NNDIAL/archive/refs/heads/master.zip"
    splitting: ClassVar[Splitting] = "shuffled"
    source: ClassVar[str] = "https://github.com/shawnwun/NNDIAL (data/CamRest676.json)"
    expected: ClassVar[Mapping[str, str]] = {FILE: r"CamRest676\.json"}

    def records(self, sources: CorpusFiles, quarantine: list[Quarantined]) -> Iterator[Placed]:
        """Yield the dialogues of the file."""
        file = sources.only(self.expected[FILE])
        for number, content in records_of(file):
            yield Origin(file.address, number), content

    def name(self, record: Any) -> str:
        """Return the id of a record."""
        return str(record["dialogue_id"]) if isinstance(record, dict) and "dialogue_id" in record else ""

    def dialogue(self, record: Any) -> dict[str, Any]:
        """Convert a dialogue: a turn of upstream has what the user said and what the system answered."""
        record = expect(record, dict, "the dialogue")
        turns = []
        for place, turn in enumerate(expect(record["dial"], list, "'dial'")):
            turn = expect(turn, dict, "a turn")
            if turn["turn"] != place:
                raise RecordError(f"'turn' of turn {place + 1} must be {place}, found {turn['turn']!r}")
            turns.append({"speaker": "user", "text": expect(turn["usr"], dict, "'usr'")["transcript"]})
            turns.append({"speaker": "system", "text": expect(turn["sys"], dict, "'sys'")["sent"]})
        return {"dialogue_id": record["dialogue_id"], "turns": turns}
