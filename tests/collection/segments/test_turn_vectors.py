from __future__ import annotations

import numpy as np

from conversations.dialogue import write_dialogues
from dial2vec.collection import Collection, add
from dial2vec.collection.search.turns import complete_turns
from dial2vec.collection.segments import turn_vectors
from dial2vec.encoder.nearest import unit_rows
from tests.students import tiny_student


def test_each_turn_is_read_alone_in_blocks_and_the_order_stays(tmp_path, dialogue, monkeypatch):
    monkeypatch.setattr(turn_vectors, "AT_ONCE", 3)
    dialogues = [dialogue(f"d{at}", f"a: w{at} w2", "b: w3") for at in range(5)]
    write_dialogues(tmp_path / "d.jsonl", dialogues)
    add(tmp_path / "c", tmp_path / "d.jsonl", encoder=tiny_student(), progress=False)
    collection = Collection(tmp_path / "c")
    counts: list[int] = []
    blocks = list(turn_vectors.turn_blocks(collection, complete_turns(collection), [4, 0, 2], done=counts.append))
    assert [rows for rows, _, _ in blocks] == [[4, 0], [2]]
    assert counts == [2, 1]
    expected = unit_rows(tiny_student().encode_utterances(["w4 w2", "w3", "w0 w2", "w3"]))
    np.testing.assert_allclose(blocks[0][2], expected, atol=1e-2)
