from __future__ import annotations

import numpy as np

from dial2vec.collection.search.turns import complete_turns
from dial2vec.collection.segments import segments as turn_vectors
from dial2vec.encoder.nearest import unit_rows
from tests.collection.made import indexed
from tests.students import tiny_student


def test_each_turn_is_read_alone_in_blocks_and_the_order_stays(tmp_path, dialogue, monkeypatch):
    monkeypatch.setattr(turn_vectors, "AT_ONCE", 3)
    dialogues = [dialogue(f"d{at}", f"a: w{at} w2", "b: w3") for at in range(5)]
    collection = indexed(tmp_path / "c", dialogues, tiny_student())
    counts: list[int] = []
    blocks = list(turn_vectors.turn_blocks(collection, complete_turns(collection), [4, 0, 2], done=counts.append))
    assert [rows for rows, _, _ in blocks] == [[4, 0], [2]]
    assert counts == [2, 1]
    expected = unit_rows(tiny_student().encode_utterances(["w4 w2", "w3", "w0 w2", "w3"]))
    np.testing.assert_allclose(blocks[0][2], expected, atol=1e-2)
