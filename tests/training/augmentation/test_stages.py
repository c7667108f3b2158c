from __future__ import annotations

import math
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import CorpusError
from dial2vec.training.augmentation import ordering as ordering_module
from dial2vec.training.augmentation.ordering import (
    ListwiseTransformer,
    Ordering,
    fit_ordering,
    listwise_loss,
    pairs_in_order,
)
from dial2vec.training.augmentation.stages import (
    ForeignTurns,
    lengthened,
    shortened,
    shuffled,
    stages_of,
    turn_vectors,
)
from tests.conftest import make_dialogue

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


@pytest.mark.parametrize("n", range(1, 41))
def test_stages_are_all_turns_in_order(n):
    found = stages_of(units(n))
    assert [turn for stage in found for turn in stage] == list(range(n))
    assert len(found) == min(n, max(2, round(n / 4)))
    assert all(len(stage) for stage in found)


def test_clusters_group_similar_turns_wherever_they_stand():
    back = np.repeat(np.eye(2, dtype=np.float32)[[0, 1, 0]], [3, 3, 2], axis=0)
    assert stages_of(back, kind="clusters") == [[0, 1, 2, 6, 7], [3, 4, 5]]


@pytest.mark.parametrize("n", range(1, 41))
def test_clusters_are_all_turns_each_once_and_as_many_as_runs(n):
    found = stages_of(units(n), kind="clusters")
    assert sorted(turn for stage in found for turn in stage) == list(range(n))
    assert all(list(stage) == sorted(stage) for stage in found)
    assert [stage[0] for stage in found] == sorted(stage[0] for stage in found)
    assert len(found) == len(stages_of(units(n)))


@pytest.mark.parametrize("kind", ["runs", "clusters"])
@given(LINES, st.integers(0, 50))
@settings(max_examples=60, deadline=None)
def test_shuffling_moves_stages_as_wholes_and_changes_something_if_an_order_does(kind, lines, seed):
    dialogue = make_dialogue("d", *lines)
    stages = stages_of(units(len(lines)), kind=kind)
    found = shuffled(dialogue, stages, rng(seed))
    assert Counter(found.turns) == Counter(dialogue.turns)
    orders = [tuple(dialogue.turns[turn] for stage in order for turn in stage) for order in permutations(stages)]
    assert found.turns in orders
    assert (found == dialogue) == (set(orders) <= {dialogue.turns})


def test_every_other_order_of_stages_can_come():
    dialogue = make_dialogue("d", "a: w1", "b: w2", "a: w3")
    stages = [range(0, 1), range(1, 2), range(2, 3)]
    orders = {tuple(turn.text for turn in shuffled(dialogue, stages, rng(seed)).turns) for seed in range(60)}
    assert len(orders) == 5


@pytest.mark.parametrize("kind", ["runs", "clusters"])
@given(LINES, st.integers(0, 50))
@settings(max_examples=60, deadline=None)
def test_shortening_drops_one_stage_and_no_speaker(kind, lines, seed):
    dialogue = make_dialogue("d", *lines)
    stages = stages_of(units(len(lines)), kind=kind)
    found = shortened(dialogue, stages, rng(seed))
    without = [tuple(t for i, t in enumerate(dialogue.turns) if i not in stage) for stage in stages]
    fitting = [turns for turns in without if {t.speaker for t in turns} == {t.speaker for t in dialogue.turns}]
    assert (found == dialogue) == (not fitting)
    assert not fitting or found.turns in fitting


class ByAxis(torch.nn.Module):
    """Ranks a turn by its first number: the highest first."""

    def forward(self, vectors, present):
        return vectors[..., 0]


def by_axis():
    return Ordering(ByAxis(), 1.0)


def lent(*lines):
    dialogue = make_dialogue("foreign", *lines)
    vectors = np.array([[1.0, 0.0] if turn.speaker == "q" else [0.0, 1.0] for turn in dialogue.turns], np.float32)
    return ForeignTurns.of([dialogue], [vectors])


def ranked(*ranks):
    return np.array([[rank, 0.0] for rank in ranks], np.float32)


@pytest.mark.parametrize(("rank", "place"), [(9.0, 0), (3.5, 1), (2.5, 2), (0.0, 4)])
def test_a_foreign_turn_comes_where_the_ordering_model_has_it(rank, place):
    dialogue = make_dialogue("d", "ann: w1", "ben: w2", "ann: w3", "ben: w4")
    foreign = ForeignTurns.of([make_dialogue("foreign", "x: hello")], [ranked(rank)])
    found = lengthened(dialogue, ranked(4, 3, 2, 1), foreign, by_axis(), rng(1), share=0.0)
    assert [turn.text for turn in found.turns].index("hello") == place
    assert found.turns[place].speaker == "ann"


@given(st.integers(0, 99), st.integers(1, 9))
@settings(max_examples=30, deadline=None)
def test_the_gap_of_a_foreign_turn_has_the_fewest_turns_on_the_wrong_side(seed, n):
    ranks = np.random.default_rng(seed).integers(0, 5, n + 1).astype(np.float32)
    own, new = ranks[:-1], ranks[-1]
    wrong = [sum(rank < new for rank in own[:gap]) + sum(rank >= new for rank in own[gap:]) for gap in range(n + 1)]
    assert by_axis().place(ranked(*own), ranked(new)[0]) == wrong.index(min(wrong))


def test_as_in_the_paper_the_model_sorts_own_and_foreign_turns_together():
    dialogue = make_dialogue("d", "ann: w1", "ben: w2", "ann: w3")
    foreign = ForeignTurns.of([make_dialogue("foreign", "x: hello")], [ranked(2.5)])
    made = lengthened(dialogue, ranked(1, 3, 2), foreign, by_axis(), rng(1), kind="clusters", share=0.0)
    assert [turn.text for turn in made.turns] == ["w2", "hello", "w3", "w1"]


@given(LINES, st.integers(0, 50), st.floats(0, 1))
@settings(max_examples=30, deadline=None)
def test_lengthening_keeps_what_was_said_in_its_order(lines, seed, share):
    dialogue = make_dialogue("d", *lines)
    foreign = lent("x: new one", "y: new two", "z: new three", "x: new four")
    found = lengthened(dialogue, units(len(lines), 2), foreign, by_axis(), rng(seed), share=share)
    old = [turn for turn in found.turns if not turn.text.startswith("new")]
    assert tuple(old) == dialogue.turns
    fitting = sum(role < dialogue.n_speakers for role in (0, 1, 2, 0))
    assert len(found.turns) - len(old) == min(max(1, int(share * len(lines) + 0.5)), fitting)
    assert {turn.speaker for turn in found.turns} == {turn.speaker for turn in dialogue.turns}


def test_a_foreign_turn_is_said_by_the_speaker_of_its_name_where_there_is_one():
    dialogue = make_dialogue("d", "agent: hello", "customer: hi")
    foreign = lent("customer: a wish", "agent: an offer")
    for seed in range(4):
        found = lengthened(dialogue, units(2, 2), foreign, by_axis(), rng(seed))
        new = next(turn for turn in found.turns if turn not in dialogue.turns)
        assert new.speaker == {"a wish": "customer", "an offer": "agent"}[new.text]


def test_a_dialogue_is_lent_no_turn_of_its_own():
    foreign = lent("x: hello", "y: hi")
    found = lengthened(make_dialogue("foreign", "x: hello"), units(1, 2), foreign, by_axis(), rng())
    assert found == make_dialogue("foreign", "x: hello")


def test_turn_vectors_are_units_and_equal_for_equal_turns(tiny_folder):
    encoder = DialogueEncoder.from_pretrained(tiny_folder, device="cpu")
    dialogues = [make_dialogue("d", "a: w1 w2", "b: w3"), make_dialogue("e", "a: w3", "b: w1", "a: w2 w4")]
    found = turn_vectors(encoder, dialogues)
    assert [turns.shape for turns in found] == [(2, 16), (3, 16)]
    np.testing.assert_allclose(np.linalg.norm(np.concatenate(found), axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(found[0][1], found[1][0])


def chains(n_dialogues=300, n_steps=4, seed=0):
    """Dialogues of four turns: each topic has a direction, and each step of a dialogue one that all topics share."""
    rng = np.random.default_rng(seed)
    topics = np.eye(4, 32)[rng.integers(4, size=n_dialogues)]
    steps = np.roll(np.eye(n_steps, 32), 4, axis=1)
    found = topics[:, None] + steps + 0.05 * rng.standard_normal((n_dialogues, n_steps, 32))
    return list((found / np.linalg.norm(found, axis=2, keepdims=True)).astype(np.float32))


def test_an_order_that_can_be_learned_is_learned(monkeypatch):
    # So small a network needs larger steps.
    monkeypatch.setattr(ordering_module, "RATE", 5e-3)
    ordering = fit_ordering(chains(), seed=0)
    assert ordering.held_out > 0.95
    [turns] = chains(1, seed=1)
    shuffled_turns = np.random.default_rng(0).permutation(len(turns))
    assert np.argsort(-ordering.ranks(turns[shuffled_turns])).tolist() == np.argsort(shuffled_turns).tolist()


def test_ranks_do_not_depend_on_the_order_in_which_turns_are_given():
    ordering, turns = fit_ordering(chains(30), seed=0), units(7, 32)
    order = np.random.default_rng(1).permutation(7)
    np.testing.assert_allclose(ordering.ranks(turns[order]), ordering.ranks(turns)[order], atol=1e-5)


def test_padding_changes_no_rank():
    network = ListwiseTransformer(10).eval()
    turns = torch.from_numpy(units(5, 10))
    present = torch.ones(2, 5, dtype=torch.bool)
    present[1, 3:] = False
    found = network(torch.stack([turns, turns]), present)
    torch.testing.assert_close(found[1, :3], network(turns[None, :3], present[:1, :3])[0])


def test_the_listwise_loss_equals_its_definition_in_double_precision():
    ranks = torch.randn(3, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    lengths = (6, 3, 1)
    present = torch.tensor([[place < length for place in range(6)] for length in lengths])
    terms = []
    for row, length in zip(ranks.tolist(), lengths, strict=True):
        goal = [math.exp(-place) for place in range(length)]
        given = [math.exp(rank) for rank in row[:length]]
        shares = [(g / sum(goal), r / sum(given)) for g, r in zip(goal, given, strict=True)]
        terms.append(sum(p * math.log(p / q) for p, q in shares))
    assert listwise_loss(ranks, present).item() == pytest.approx(sum(terms) / 3, rel=1e-12)
    right = -torch.arange(6, dtype=torch.float64).expand(3, 6) + 7
    assert listwise_loss(right, present).item() == pytest.approx(0, abs=1e-12)
    assert torch.autograd.gradcheck(lambda r: listwise_loss(r, present), ranks.requires_grad_())


def test_pairs_in_order_are_counted_and_equal_ranks_count_half():
    assert pairs_in_order(np.array([3.0, 2.0, 1.0])) == 1
    assert pairs_in_order(np.array([1.0, 2.0, 3.0])) == 0
    assert pairs_in_order(np.array([1.0, 1.0])) == 0.5


def test_the_same_seed_learns_the_same_order():
    steps = units(5, 32)
    first, second = (fit_ordering(chains(30), seed=3).ranks(steps) for _ in range(2))
    np.testing.assert_allclose(first, second, rtol=1e-6)


def test_too_few_turns_teach_no_order():
    with pytest.raises(CorpusError, match="the 2 dialogues have 5 pairs of neighbouring turns; expected at least 10"):
        fit_ordering([units(4), units(3)], seed=0)
    with pytest.raises(CorpusError, match="the 0 dialogues have 0 pairs"):
        fit_ordering([], seed=0)
