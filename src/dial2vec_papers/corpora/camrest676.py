"""CamRest676: dialogues about restaurants in Cambridge, no official splits."""

from __future__ import annotations

from typing import Any, ClassVar

from conversations.dialogue import RecordError
from dial2vec.data.corpora.corpus import Splitting
from dial2vec_papers.corpora.file_corpus import Element, ListCorpus, Lists, expect, literal


class CamRest676(ListCorpus):
    """Reader of `CamRest676.json` (Wen et al. 2017; CC BY 4.0): 676 dialogues; users begin, the system answers.

    There are no labels: all dialogues are about restaurants. Upstream's toolkit divides the file 3 to 1 to 1 in its own
    order; here the splits are drawn by `seed`.
    """

    url = "https://github.com/shawnwun/NNDIAL/archive/refs/heads/master.zip"
    splitting: ClassVar[Splitting] = "shuffled"
    source = "https://github.com/shawnwun/NNDIAL (data/CamRest676.json)"
    lists: ClassVar[Lists] = {"CamRest676.json": ("", None)}
    expected = literal(lists)

    def dialogue(self, record: Element) -> dict[str, Any]:
        """Convert a dialogue: a turn of upstream has what the user said and what the system answered."""
        content = expect(record.content, dict, "the dialogue")
        turns = []
        for place, turn in enumerate(expect(content["dial"], list, "'dial'")):
            turn = expect(turn, dict, "a turn")
            if turn["turn"] != place:
                raise RecordError(f"'turn' of turn {place + 1} must be {place}, found {turn['turn']!r}")
            turns.append({"speaker": "user", "text": expect(turn["usr"], dict, "'usr'")["transcript"]})
            turns.append({"speaker": "system", "text": expect(turn["sys"], dict, "'sys'")["sent"]})
        return {"dialogue_id": content["dialogue_id"], "turns": turns}
