from __future__ import annotations

import numpy as np

from dial2vec.tasks.encoding import encode_distinct, remembering


def test_no_text_is_encoded_twice_and_every_row_is_its_texts():
    asked = []

    def encode(texts):
        asked.extend(texts)
        return np.array([[len(text), text.count("a")] for text in texts], dtype=np.float32)

    remembered = remembering(encode)
    assert remembered(["ab", "b", "ab"]).tolist() == [[2, 1], [1, 0], [2, 1]]
    assert remembered(["aaa", "ab"]).tolist() == [[3, 3], [2, 1]]
    assert asked == ["ab", "b", "aaa"]
    assert encode_distinct(remembered, ["b", "aaa", "b"]).vectors.tolist() == [[3, 3], [1, 0]]
    assert asked == ["ab", "b", "aaa"]
