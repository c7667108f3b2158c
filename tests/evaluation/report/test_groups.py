import numpy as np

from dial2vec.evaluation.report.dialogue_map import named_groups


def talks(dialogue, n):
    words = [("the parcel is late", "which parcel number"), ("my card was stolen", "we block your card")]
    made = [dialogue(f"call {i}", f"user: {words[i % 2][0]}", f"agent: {words[i % 2][1]} {i}") for i in range(n)]
    vectors = np.array([[1.0, 0.0], [0.0, 1.0]], dtype=np.float32)[np.arange(n) % 2]
    return made, vectors


def test_groups_are_named_by_words_that_the_others_lack(dialogue):
    made, vectors = talks(dialogue, 20)
    names = named_groups(made, vectors, seed=0)
    assert len(set(names[::2])) == len(set(names[1::2])) == 1
    assert "parcel" in names[0]
    assert "card" in names[1]


def test_vectors_that_coincide_are_one_group(dialogue):
    made, vectors = talks(dialogue, 40)
    assert len(set(named_groups(made, np.ones_like(vectors), seed=0))) == 1


def test_one_dialogue_has_a_group_and_none_has_none(dialogue):
    made, vectors = talks(dialogue, 1)
    assert len(named_groups(made, vectors, seed=0)) == 1
    assert named_groups([], vectors[:0], seed=0) == []
