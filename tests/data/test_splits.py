from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dial2vec.config import Prepare
from dial2vec.data.duplicates import signatures
from dial2vec.data.splits import (
    LEFT_OUT,
    Copy,
    assign_splits,
    divide,
    find_copies,
    signed_blocks,
    without_copies,
)
from tests.conftest import make_dialogue

TRAIN, DEV, TEST = 0, 1, 2
WORDS = [
    "the",
    "quick",
    "brown",
    "fox",
    "jumps",
    "over",
    "lazy",
    "dogs",
    "while",
    "seven",
    "wizards",
    "boil",
    "vexed",
    "quartz",
    "in",
    "pale",
    "morning",
    "light",
]


def names(n):
    return [f"d{i:05}" for i in range(n)]


def assign(ids, *, labels=1, official=None, splitting="hashed", seed=3):
    n_labels = [labels] * len(ids) if isinstance(labels, int) else labels
    official = official or [None] * len(ids)
    return assign_splits(ids, n_labels, official, splitting=splitting, dev_share=0.1, test_share=0.1, seed=seed)


def sizes(assigned):
    return [int((assigned == split).sum()) for split in (TRAIN, DEV, TEST, LEFT_OUT)]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(min_size=1), unique=True, max_size=80), st.sampled_from(["hashed", "shuffled"]), st.randoms())
def test_splits_do_not_depend_on_the_order_of_reading(ids, splitting, random):
    shuffled = random.sample(ids, len(ids))
    first = dict(zip(ids, assign(ids, splitting=splitting), strict=True))
    again = dict(zip(shuffled, assign(shuffled, splitting=splitting), strict=True))
    assert first == again
    assert set(first.values()) <= {TRAIN, DEV, TEST}


@settings(max_examples=50, deadline=None)
@given(st.sets(st.text(min_size=1)), st.sets(st.text(min_size=1)))
def test_old_dialogue_keeps_its_split_when_new_ones_arrive(old, new):
    before = dict(zip(sorted(old), assign(sorted(old)), strict=True))
    after = dict(zip(sorted(old | new), assign(sorted(old | new)), strict=True))
    assert before.items() <= after.items()


def test_hashed_shares_are_about_right():
    _, dev, test, _ = sizes(assign(names(4000), seed=1))
    assert abs(dev - 400) < 80
    assert abs(test - 400) < 80


def test_shuffled_shares_are_floor_floor_rest():
    assert sizes(assign(names(24164), splitting="shuffled")) == [19331, 2416, 2417, 0]


def test_another_seed_splits_otherwise():
    for splitting in ("hashed", "shuffled"):
        assert (assign(names(100), splitting=splitting) != assign(names(100), splitting=splitting, seed=4)).any()


def test_another_share_of_dev_leaves_test_as_it_is():
    ids = names(1000)
    shares = [
        assign_splits(ids, [1] * 1000, [None] * 1000, splitting="hashed", dev_share=share, test_share=0.1, seed=3)
        for share in (0.1, 0.25)
    ]
    assert ((shares[0] == TEST) == (shares[1] == TEST)).all()
    assert (shares[1][shares[0] == DEV] == DEV).all()


def test_copies_of_copies_are_reported_where_all_stay():
    long, other = " ".join(WORDS), " ".join(reversed(WORDS))
    signed = signatures(spoken(long, long, long, other))
    assigned = np.array([TRAIN, DEV, TEST, DEV], dtype=np.int8)
    assert [copy.place for copy in find_copies(assigned, signed, similarity=0.8, of_copies=True)] == [1, 2]


def test_several_labels_go_to_train_where_the_benchmark_shuffles():
    assert sizes(assign(names(300), labels=2, splitting="shuffled")) == [300, 0, 0, 0]


def test_several_labels_do_not_move_a_teams_own_dialogues():
    assert sizes(assign(names(300), labels=2)) == sizes(assign(names(300)))
    assert sizes(assign(names(300), labels=2))[DEV] > 0


def test_several_labels_are_left_out_of_official_dev_and_test():
    official = ["train", "test", "test", "dev", None]
    assigned = assign(names(5), labels=[2, 2, 1, 0, 1], official=official, splitting="official")
    assert assigned.tolist() == [TRAIN, LEFT_OUT, TEST, DEV, TRAIN]


def spoken(*texts):
    return [make_dialogue(f"d{i}", *(f"a: {text}", "b: yes")) for i, text in enumerate(texts)]


def test_copies_of_train_leave_dev_and_test_and_copies_of_dev_leave_test():
    long = " ".join(WORDS)
    other = " ".join(reversed(WORDS))
    dialogues = spoken(long, long.upper() + " ", other, other, "something else altogether", long)
    assigned = np.array([TRAIN, DEV, DEV, TEST, TEST, TRAIN], dtype=np.int8)
    copies = find_copies(assigned, signatures(dialogues), similarity=0.8)
    assert [(copy.place, copy.similarity) for copy in copies] == [(1, 1.0), (3, 1.0)]
    assert without_copies(assigned, copies).tolist() == [TRAIN, LEFT_OUT, DEV, LEFT_OUT, TEST, TRAIN]
    assert assigned.tolist() == [TRAIN, DEV, DEV, TEST, TEST, TRAIN]


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.sampled_from(["one two three four", "one two three", "five", "six seven", "a b c d e"]), max_size=12)
)
def test_no_text_is_left_on_two_sides_of_a_split(texts):
    dialogues = spoken(*texts)
    assigned = assign([dialogue.dialogue_id for dialogue in dialogues], seed=len(texts))
    clean = without_copies(assigned, find_copies(assigned, signatures(dialogues), similarity=0.8))
    sides = [{texts[place] for place in np.flatnonzero(clean == split)} for split in (TRAIN, DEV, TEST)]
    assert not (sides[0] & sides[1])
    assert not (sides[0] & sides[2])
    assert not (sides[1] & sides[2])
    # What is left out is left out for a copy only, and train loses nothing.
    assert sides[0] == {texts[place] for place in np.flatnonzero(assigned == TRAIN)}
    assert set(texts) == set().union(*sides)


@pytest.mark.parametrize("split", [TRAIN, TEST])
def test_one_split_alone_has_no_copies(split):
    assigned = np.full(3, split, dtype=np.int8)
    assert find_copies(assigned, signatures(spoken("a b c", "a b c", "a b c")), similarity=0.8) == []
    assert without_copies(assigned, [Copy(1, 0, 1.0)]).tolist() == [split, LEFT_OUT, split]


def test_divisions_do_not_depend_on_the_blocks(monkeypatch):
    dialogues = spoken(*(f"one two three four {number} five six seven {number}" for number in range(40)))
    options = {"splitting": "hashed", "options": Prepare(), "seed": 1}
    whole = divide(signed_blocks(dialogues), **options)
    monkeypatch.setattr("dial2vec.data.splits.BLOCK", 7)
    blocks = list(signed_blocks(iter(dialogues)))
    assert [len(block.ids) for block in blocks] == [7, 7, 7, 7, 7, 5]
    parted = divide(blocks, **options)
    assert parted.assigned.tolist() == whole.assigned.tolist()
    assert (parted.ids, parted.labels, parted.copies) == (whole.ids, whole.labels, whole.copies)
    assert divide([], **options).size(0) == 0
