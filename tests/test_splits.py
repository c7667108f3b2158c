from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import make_dialogue
from dial2vec.dialogue import Dialogue, Turn
from dial2vec.splits import label_counts, split_dialogues

SHARES = {"dev_share": 0.1, "test_share": 0.1}


def corpus(n, labels=("x",)):
    return [make_dialogue(f"d{i:05}", "a: hello", labels=labels) for i in range(n)]


def ids(dialogues):
    return {dialogue.dialogue_id for dialogue in dialogues}


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 300), st.sampled_from(["hashed", "shuffled"]), st.integers(0, 5))
def test_every_dialogue_is_in_exactly_one_split_and_carries_its_name(n, splitting, seed):
    splits = split_dialogues(corpus(n), splitting=splitting, seed=seed, **SHARES)
    parts = [splits.train, splits.dev, splits.test]
    assert sum(map(len, parts)) == n
    assert set().union(*map(ids, parts)) == ids(corpus(n))
    assert {d.split for d in splits.dev} <= {"dev"}


def test_old_dialogue_keeps_its_split_when_new_ones_arrive():
    before = split_dialogues(corpus(500), splitting="hashed", seed=3, **SHARES)
    after = split_dialogues(corpus(900), splitting="hashed", seed=3, **SHARES)
    for name in ("train", "dev", "test"):
        assert ids(getattr(before, name)) <= ids(getattr(after, name))


def test_hashed_shares_are_about_right():
    sizes = split_dialogues(corpus(4000), splitting="hashed", seed=1, **SHARES).sizes
    assert abs(sizes["dev"] - 400) < 80
    assert abs(sizes["test"] - 400) < 80


def test_shuffled_shares_are_floor_floor_rest():
    sizes = split_dialogues(corpus(24164), splitting="shuffled", seed=42, **SHARES).sizes
    assert sizes == {"train": 19331, "dev": 2416, "test": 2417}


def test_shuffling_does_not_depend_on_reading_order():
    forward = split_dialogues(corpus(100), splitting="shuffled", seed=1, **SHARES)
    backward = split_dialogues(corpus(100)[::-1], splitting="shuffled", seed=1, **SHARES)
    assert ids(forward.test) == ids(backward.test)


def test_several_labels_go_to_train_where_the_benchmark_shuffles():
    splits = split_dialogues(corpus(300, labels=("x", "y")), splitting="shuffled", seed=1, **SHARES)
    assert splits.sizes == {"train": 300, "dev": 0, "test": 0}
    assert splits.left_out == []


def test_several_labels_do_not_move_a_teams_own_dialogues():
    several = split_dialogues(corpus(300, labels=("x", "y")), splitting="hashed", seed=1, **SHARES)
    assert several.sizes == split_dialogues(corpus(300), splitting="hashed", seed=1, **SHARES).sizes
    assert several.sizes["dev"] > 0
    assert several.left_out == []


def test_several_labels_are_left_out_of_official_dev_and_test():
    turns = (Turn("a", "hello"),)
    official = [
        Dialogue("a", turns, ("x", "y"), "train"),
        Dialogue("b", turns, ("x", "y"), "test"),
        Dialogue("c", turns, ("x",), "test"),
        Dialogue("d", turns, (), "dev"),
    ]
    splits = split_dialogues(official, splitting="official", seed=1, **SHARES)
    assert (ids(splits.train), ids(splits.dev), ids(splits.test), ids(splits.left_out)) == ({"a"}, {"d"}, {"c"}, {"b"})


def test_labels_are_counted_over_single_label_dialogues():
    assert label_counts([*corpus(2), *corpus(1, ("y",)), *corpus(3, ("x", "y")), *corpus(1, ())]) == {"x": 2, "y": 1}
