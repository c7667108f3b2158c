from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import make_dialogue
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import CorpusError, Dial2vecError
from dial2vec.training.augmentation.ordering import Ordering, fit_ordering
from dial2vec.training.augmentation.stages import (
    ForeignTurns,
    lengthened,
    shortened,
    shuffled,
    stages_of,
    turn_vectors,
)

# Turns of few texts, so that some dialogues are alike throughout.
LINES = st.lists(st.sampled_from(["a: w1", "b: w1", "a: w2", "b: w3", "c: w4"]), min_size=1, max_size=9)


def units(n, d=4, seed=0):
    found = np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def rng(seed=0):
    return np.random.default_rng(seed)


def test_a_dialogue_is_cut_where_its_turns_change():
    topics = np.repeat(np.eye(3, dtype=np.float32), [5, 3, 4], axis=0) + 0.01 * units(12, 3)
    assert stages_of(topics) == [range(5), range(5, 8), range(8, 12)]


def test_a_topic_that_comes_back_is_a_stage_of_its_own():
    back = np.repeat(np.eye(2, dtype=np.float32)[[0, 1, 0]], 4, axis=0)
    assert stages_of(back) == [range(4), range(4, 8), range(8, 12)]


@given(st.integers(1, 14), st.integers(1, 6))
@settings(max_examples=30, deadline=None)
def test_stages_are_all_turns_in_order(n, turns_per_stage):
    found = stages_of(units(n), turns_per_stage=turns_per_stage)
    assert [turn for stage in found for turn in stage] == list(range(n))
    assert len(found) == min(n, max(2, round(n / turns_per_stage)))
    assert all(len(stage) for stage in found)


def test_less_than_one_turn_per_stage_is_refused():
    with pytest.raises(Dial2vecError, match="turns_per_stage is 0; expected at least 1"):
        stages_of(units(3), turns_per_stage=0)


@given(LINES, st.integers(0, 50))
@settings(max_examples=60, deadline=None)
def test_shuffling_moves_stages_as_wholes_and_changes_something_or_says_why(lines, seed):
    dialogue = make_dialogue("d", *lines)
    stages = stages_of(units(len(lines)))
    found, note = shuffled(dialogue, stages, rng(seed))
    assert Counter(found.turns) == Counter(dialogue.turns)
    assert (found.turns == dialogue.turns) == bool(note)
    orders = [tuple(dialogue.turns[turn] for stage in order for turn in stage) for order in permutations(stages)]
    assert found.turns in orders
    assert bool(note) == (set(orders) == {dialogue.turns})


def test_every_other_order_of_stages_can_come():
    dialogue = make_dialogue("d", "a: w1", "b: w2", "a: w3")
    stages = [range(0, 1), range(1, 2), range(2, 3)]
    orders = {tuple(turn.text for turn in shuffled(dialogue, stages, rng(seed)).dialogue.turns) for seed in range(60)}
    assert len(orders) == 5


@given(LINES, st.integers(0, 50))
@settings(max_examples=60, deadline=None)
def test_shortening_drops_one_stage_and_no_speaker(lines, seed):
    dialogue = make_dialogue("d", *lines)
    stages = stages_of(units(len(lines)))
    found, note = shortened(dialogue, stages, rng(seed))
    without = [tuple(t for i, t in enumerate(dialogue.turns) if i not in stage) for stage in stages]
    fitting = [turns for turns in without if {t.speaker for t in turns} == {t.speaker for t in dialogue.turns}]
    assert bool(note) == (not fitting)
    assert found.turns in fitting or found == dialogue


class Alternating:
    """Likely where a turn of the first axis is followed by one of the second."""

    def predict_proba(self, features):
        d = features.shape[1] // 4
        likely = 0.1 + 0.8 * (features[:, 0] > 0.5) * (features[:, d + 1] > 0.5)
        return np.stack([1 - likely, likely], axis=1)


def lent(*lines):
    dialogue = make_dialogue("foreign", *lines)
    vectors = np.array([[1.0, 0.0] if turn.speaker == "q" else [0.0, 1.0] for turn in dialogue.turns], np.float32)
    return ForeignTurns.of([dialogue], [vectors])


def test_a_foreign_turn_comes_where_the_ordering_model_has_it():
    dialogue = make_dialogue("d", "ann: w1", "ben: w2", "ann: w3", "ben: w4")
    # The third turn asks, and nobody answers.
    vectors = np.array([[0, 0], [0, 0], [1, 0], [0, 0]], np.float32)
    foreign = lent("x: hello", "y: the answer")
    found = lengthened(dialogue, vectors, foreign, Ordering(Alternating(), 1.0), rng(1), share=0.0).dialogue
    texts = [turn.text for turn in found.turns]
    assert texts in (["w1", "w2", "w3", "the answer", "w4"], ["w1", "w2", "w3", "hello", "w4"])
    new = found.turns[3]
    assert new.speaker == {"hello": "ann", "the answer": "ben"}[new.text]


@given(LINES, st.integers(0, 50), st.floats(0, 1))
@settings(max_examples=30, deadline=None)
def test_lengthening_keeps_what_was_said_in_its_order(lines, seed, share):
    dialogue = make_dialogue("d", *lines)
    foreign = lent("x: new one", "y: new two", "z: new three", "x: new four")
    found = lengthened(dialogue, units(len(lines), 2), foreign, Ordering(Alternating(), 1.0), rng(seed), share=share)
    old = [turn for turn in found.dialogue.turns if not turn.text.startswith("new")]
    assert tuple(old) == dialogue.turns
    fitting = sum(role < dialogue.n_speakers for role in (0, 1, 2, 0))
    assert len(found.dialogue.turns) - len(old) == min(max(1, int(share * len(lines) + 0.5)), fitting)
    assert {turn.speaker for turn in found.dialogue.turns} == {turn.speaker for turn in dialogue.turns}


def test_a_foreign_turn_is_said_by_the_speaker_of_its_name_where_there_is_one():
    dialogue = make_dialogue("d", "agent: hello", "customer: hi")
    foreign = lent("customer: a wish", "agent: an offer")
    for seed in range(4):
        found = lengthened(dialogue, units(2, 2), foreign, Ordering(Alternating(), 1.0), rng(seed)).dialogue
        new = next(turn for turn in found.turns if turn not in dialogue.turns)
        assert new.speaker == {"a wish": "customer", "an offer": "agent"}[new.text]


def test_a_dialogue_is_lent_no_turn_of_its_own():
    foreign = lent("x: hello", "y: hi")
    found = lengthened(make_dialogue("foreign", "x: hello"), units(1, 2), foreign, Ordering(Alternating(), 1.0), rng())
    assert found.note == "no other dialogue has a turn to lend"


def test_nothing_can_be_lent_without_dialogues():
    with pytest.raises(CorpusError, match="no dialogues to lend turns"):
        ForeignTurns.of([], [])


def test_turn_vectors_are_units_and_do_not_depend_on_batches(tiny_folder):
    encoder = DialogueEncoder.from_pretrained(tiny_folder, device="cpu")
    dialogues = [make_dialogue("d", "a: w1 w2", "b: w3"), make_dialogue("e", "a: w3", "b: w1", "a: w2 w4")]
    found = turn_vectors(encoder, dialogues)
    assert [turns.shape for turns in found] == [(2, 16), (3, 16)]
    np.testing.assert_allclose(np.linalg.norm(np.concatenate(found), axis=1), 1, rtol=1e-5)
    for one, other in zip(found, turn_vectors(encoder, dialogues, batch_size=1), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    np.testing.assert_array_equal(found[0][1], found[1][0])


def chains(n_dialogues=150, n_topics=6, seed=0):
    """Dialogues whose turns are steps of a topic: turn i + 1 is turn i rotated by a sixth, which is learnable."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n_dialogues):
        steps = (rng.integers(n_topics) + np.arange(5)) % n_topics
        found.append((np.eye(n_topics)[steps] + 0.1 * rng.standard_normal((5, n_topics))).astype(np.float32))
    return found


def test_an_order_that_can_be_learned_is_learned():
    ordering = fit_ordering(chains(), seed=0)
    assert ordering.held_out > 0.75
    steps = np.eye(6, dtype=np.float32)
    forth = ordering.follows(steps, np.roll(steps, -1, axis=0))
    back = ordering.follows(np.roll(steps, -1, axis=0), steps)
    assert (forth > back).all()
    assert ((forth > 0) & (forth < 1)).all()


def test_the_same_seed_learns_the_same_order():
    steps = units(5, 6)
    first, second = (fit_ordering(chains(30), seed=3).follows(steps, steps[::-1]) for _ in range(2))
    np.testing.assert_allclose(first, second, rtol=1e-6)


def test_too_few_turns_teach_no_order():
    with pytest.raises(CorpusError, match="the 2 dialogues have 5 pairs of neighbouring turns; expected at least 10"):
        fit_ordering([units(4), units(3)], seed=0)
    with pytest.raises(CorpusError, match="the 0 dialogues have 0 pairs"):
        fit_ordering([], seed=0)
