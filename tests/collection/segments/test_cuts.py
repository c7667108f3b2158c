from __future__ import annotations

import numpy as np

from dial2vec.collection.segments.cuts import Cuts, join_courtesies


def cuts_of(*segments: tuple[int, int, int, int]) -> Cuts:
    rows, first, last, words = np.array(segments).T
    return Cuts(rows, first, last, words, np.eye(len(segments), dtype=np.float32))


def test_thanks_at_the_end_join_the_segment_before_them():
    # Group 1 is short and last in dialogues 0 and 1; dialogue 2 is nothing else and keeps it.
    cuts = cuts_of((0, 0, 7, 60), (0, 8, 9, 4), (1, 0, 5, 50), (1, 6, 11, 50), (1, 12, 13, 4), (2, 0, 2, 4))
    joined, groups = join_courtesies(cuts, np.array([2, 1, 0, 2, 1, 1], dtype=np.int32))
    assert joined.rows.tolist() == [0, 1, 1, 2]
    assert joined.first.tolist() == [0, 0, 6, 0]
    assert joined.last.tolist() == [9, 5, 13, 2]
    assert joined.words.tolist() == [64, 50, 54, 4]
    assert joined.vectors.argmax(axis=1).tolist() == [0, 2, 3, 5]
    # The largest group is number 0.
    assert groups.tolist() == [0, 1, 0, 2]


def test_greetings_join_the_segment_after_them():
    cuts = cuts_of((0, 0, 1, 2), (0, 2, 7, 60), (1, 0, 1, 2), (1, 2, 9, 60))
    joined, groups = join_courtesies(cuts, np.array([0, 1, 0, 1], dtype=np.int32))
    assert (joined.first.tolist(), joined.last.tolist(), groups.tolist()) == ([0, 0], [7, 9], [0, 0])


def test_a_long_last_topic_and_a_short_one_in_the_middle_stay():
    cuts = cuts_of((0, 0, 3, 40), (0, 4, 5, 3), (0, 6, 9, 50), (1, 0, 3, 40), (1, 4, 5, 3), (1, 6, 9, 50))
    groups = np.array([0, 1, 2, 0, 1, 2], dtype=np.int32)
    joined, same = join_courtesies(cuts, groups)
    assert joined.first.tolist() == cuts.first.tolist()
    assert same.tolist() == groups.tolist()
