"""Neighbourhood learning: targets, maps, items, the loss, and the plan."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dial2vec.config import Settings, Train
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.head import Head
from dial2vec.encoder.maps import centred, fit_map, neighbour_targets
from dial2vec.encoder.tokens import Batch
from dial2vec.training.methods import METHODS
from dial2vec.training.methods.neighbours import (
    CAUTIOUS,
    HEAD,
    NeighbourSet,
    fit_maps,
    neighbour_loss,
)
from dial2vec.training.plan import Given, prepare
from tests.conftest import make_dialogue
from tests.encoder.test_maps import SHAPES, units_of
from tests.training.methods.tiny_runs import DIALOGUES
from tests.training.test_loop import NEIGHBOURS, corpus, samples_of


def neighbour_head(pooled, *, k, ridge, identity):
    units, mean = centred(pooled)
    weight = fit_map(units, neighbour_targets(units, k=k), ridge=ridge, identity=identity)
    return Head(torch.from_numpy(mean), torch.from_numpy(weight))


def test_the_head_brings_dialogues_nearer_to_their_targets_the_more_the_less_it_is_held_back():
    rng = np.random.default_rng(0)
    pooled = (np.repeat(np.eye(8)[:4], 30, axis=0) + 0.2 * rng.normal(size=(120, 8)) + 1).astype(np.float32)
    units, _ = centred(pooled)
    targets = neighbour_targets(units, k=5)
    nearness = [(units * targets).sum(1).mean()]
    for ridge in (1.0, 0.1):
        mapped = neighbour_head(pooled, k=5, ridge=ridge, identity=1.0)(torch.from_numpy(pooled)).numpy()
        nearness.append((mapped * targets).sum(1).mean())
    assert nearness == sorted(nearness)
    assert nearness[2] > nearness[0] + 0.02


def test_the_head_centres_by_the_mean_of_the_corpus():
    pooled = units_of(20, 4, 0) + 1
    units, mean = centred(pooled)
    head = neighbour_head(pooled, k=3, ridge=1e9, identity=1.0)
    np.testing.assert_allclose(head.mean, mean)
    np.testing.assert_allclose(head(torch.from_numpy(pooled)), units, atol=1e-5)


def test_the_loss_is_zero_for_equal_one_for_square_and_two_for_opposite_directions():
    vectors = torch.tensor([[3.0, 0.0]])
    for target, expected in (([1.0, 0.0], 0), ([0.0, 1.0], 1), ([-1.0, 0.0], 2)):
        assert neighbour_loss(vectors, torch.tensor([target])).item() == pytest.approx(expected, abs=1e-6)
    both = neighbour_loss(torch.tensor([[3.0, 0.0], [0.0, 2.0]]), torch.tensor([[1.0, 0.0], [0.0, -1.0]]))
    assert both.item() == pytest.approx(1)


@settings(max_examples=30, deadline=None)
@given(SHAPES, st.floats(1e-3, 1e3))
def test_the_loss_is_blind_to_the_length_of_a_vector_and_lies_between_zero_and_two(shape, scale):
    n, d, seed = shape
    vectors, targets = torch.from_numpy(units_of(n, d, seed)), torch.from_numpy(units_of(n, d, seed + 1))
    loss = neighbour_loss(vectors, targets)
    torch.testing.assert_close(neighbour_loss(scale * vectors, targets), loss, atol=1e-5, rtol=1e-5)
    assert 0 <= loss <= 2


def test_gradients_are_finite_also_for_a_zero_vector_and_at_the_target():
    vectors = torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]], requires_grad=True)
    neighbour_loss(vectors, torch.tensor([[1.0, 0.0]] * 3)).backward()
    assert torch.isfinite(vectors.grad).all()
    assert vectors.grad[2].abs().sum() > 0


def test_half_precision_vectors_give_a_loss_in_full():
    assert neighbour_loss(torch.ones(2, 4, dtype=torch.bfloat16), torch.ones(2, 4) / 2).dtype == torch.float32


@pytest.fixture(scope="module")
def encoder(tiny_folder):
    return DialogueEncoder.from_pretrained(tiny_folder)


def neighbours(encoder, dialogues, order, *, max_length=64):
    targets = np.eye(len(dialogues), 16, dtype=np.float32)
    sequences = encoder.tokens.dialogues(dialogues)
    return NeighbourSet(sequences, targets, encoder.tokens, np.array(order), max_length=max_length)


def test_an_item_of_neighbourhood_learning_is_the_dialogue_and_its_target(encoder):
    data = neighbours(encoder, DIALOGUES, [[0, 2], [0, 0]])
    assert len(data) == 2
    for item, place in enumerate((2, 0)):
        sequence, target = data[item]
        assert sequence.ids.tolist() == encoder.tokens.dialogues(DIALOGUES)[place].ids.tolist()
        assert target.tolist() == np.eye(3, 16)[place].tolist()


def test_a_batch_of_neighbourhood_learning_has_one_sequence_and_one_target_per_dialogue(encoder):
    data = neighbours(encoder, DIALOGUES, [[0, 2], [0, 0]])
    batch = data.collate([data[0], data[1]])
    assert batch["ids"].shape == (2, 1, len(data[0][0].ids))
    assert batch["attention"].sum((1, 2)).tolist() == [len(data[item][0].ids) for item in (0, 1)]
    assert batch["targets"].dtype == torch.float32
    assert batch["targets"].tolist() == np.eye(3, 16)[[2, 0]].tolist()


def test_the_loss_of_neighbourhood_learning_is_that_of_the_encoders_vectors(encoder):
    data = neighbours(encoder, DIALOGUES, [[0, 0], [0, 1], [0, 2]])
    padded = data.collate([data[item] for item in range(3)])
    batch = Batch(*(padded[name].flatten(0, 1) for name in Batch.__slots__))
    vectors = encoder.encode(DIALOGUES)
    cosines = np.diagonal(vectors) / np.linalg.norm(vectors, axis=1)
    with torch.no_grad():
        loss = data.loss(encoder, Train(), batch, {"targets": padded["targets"]})
    assert loss.item() == pytest.approx((1 - cosines).mean(), abs=1e-5)


def test_longer_dialogues_train_on_their_beginning_and_are_counted_once(encoder):
    data = neighbours(encoder, DIALOGUES, [[0, 2], [0, 2], [0, 0]], max_length=8)
    assert [len(data[item][0].ids) for item in range(3)] == [8, 8, 4]
    assert data[0][0].ids.tolist() == encoder.tokens.dialogues(DIALOGUES)[2].ids[:8].tolist()
    assert data.count_cut() == 1
    assert neighbours(encoder, DIALOGUES, [[0, 0], [0, 1]], max_length=8).count_cut() == 0


def test_dialogues_beyond_the_encoders_own_limit_are_counted_as_cut_too(encoder):
    longest = [make_dialogue("longest", "a: " + "w1 " * 50, "b: " + "w2 " * 50)]
    data = neighbours(encoder, longest, [[0, 0]], max_length=256)
    assert len(data[0][0].ids) == encoder.max_length == 64
    assert data.count_cut() == 1


ALL = replace(NEIGHBOURS, max_dialogues=None)


def planned(folder, dialogues, vectors, *, settings=ALL, seed=1, samples=None):
    encoder = DialogueEncoder.from_pretrained(folder)
    drawn = samples_of(dialogues) if samples is None else samples
    return encoder, METHODS[settings.method](
        Given(encoder, dialogues, drawn, Settings(seed=seed, train=settings), vectors)
    )


def test_too_few_dialogues_leave_the_start_and_a_sentence(tiny_folder, tmp_path):
    dialogues = [*corpus(99), make_dialogue("alone", "a: w1", "a: w2")]
    encoder, found = planned(tiny_folder, dialogues, tmp_path / "v")
    assert found.data is None
    assert (found.maps, found.head, encoder.head, found.neighbourhood) == ({}, None, None, ())
    assert found.note.startswith(
        "The base encoder was kept: learning from neighbours needs at least 100 training dialogues"
    )
    assert found.note.endswith("and there are 99.")
    assert not (tmp_path / "v").exists()


def test_heads_are_fitted_on_the_start_the_more_cautious_first(tiny_folder, tmp_path):
    dialogues = corpus(120)
    start = DialogueEncoder.from_pretrained(tiny_folder).encode(dialogues)
    encoder, found = planned(tiny_folder, dialogues, tmp_path / "v")
    assert list(found.maps) == [CAUTIOUS, HEAD]
    assert encoder.head is None
    assert torch.equal(found.head.weight, torch.eye(16))
    assert all(torch.equal(found.head.mean, one.mean) for one in found.maps.values())
    # 0.8 d / n = 0.8 x 16 / 120 = 0.107 is less than the least, 0.3.
    for name, ridge in ((CAUTIOUS, 3.0), (HEAD, 0.3)):
        expected = neighbour_head(start, k=5, ridge=ridge, identity=1.0)
        torch.testing.assert_close(found.maps[name].weight, expected.weight, atol=2e-3, rtol=0)
    away = [(found.maps[name].weight - torch.eye(16)).norm() for name in (CAUTIOUS, HEAD)]
    assert away[0] < away[1] / 2


def test_the_encoder_trains_towards_the_targets_of_the_start(tiny_folder, tmp_path):
    dialogues = corpus(120)
    _, found = planned(tiny_folder, dialogues, tmp_path / "v")
    assert isinstance(found.data, NeighbourSet)
    expected = neighbour_targets(centred(np.load(tmp_path / "v" / "00000000.npy"))[0], k=5)
    np.testing.assert_allclose(found.data.targets, expected, atol=1e-5)
    assert sorted(found.data.order[:120, 1]) == list(range(120))
    assert [sequence.ids.tolist() for sequence in found.data.sequences] == [
        sequence.ids.tolist() for sequence in DialogueEncoder.from_pretrained(tiny_folder).tokens.dialogues(dialogues)
    ]


def test_neighbours_are_sought_among_no_more_dialogues_than_the_setting_says(tiny_folder, tmp_path):
    dialogues = corpus(160)
    few, more = (
        planned(tiny_folder, dialogues, tmp_path / "v", settings=replace(ALL, neighbourhood=n))[1].data
        for n in (110, 130)
    )
    assert (len(few.sequences), len(more.sequences)) == (110, 130)
    assert few.targets.shape == (110, 16)
    everyone = planned(tiny_folder, dialogues, tmp_path / "v", settings=replace(ALL, neighbourhood=None))[1]
    assert len(everyone.data.sequences) == 160


def test_the_smaller_the_corpus_the_more_a_map_is_held_back(tiny_folder, tmp_path):
    start, dialogues = DialogueEncoder.from_pretrained(tiny_folder), corpus(20)
    found = fit_maps(start, dialogues, settings=ALL, vectors=tmp_path / "v")
    # 0.8 d / n = 0.8 x 16 / 20.
    expected = neighbour_head(start.encode(dialogues), k=5, ridge=0.64, identity=1.0)
    torch.testing.assert_close(found.maps[HEAD].weight, expected.weight, atol=2e-3, rtol=0)


def test_maps_are_fitted_on_the_pooled_vectors_whatever_head_the_encoder_has(tiny_folder, tmp_path):
    dialogues = corpus(120)
    encoder, found = planned(tiny_folder, dialogues, tmp_path / "v")
    prepare(encoder, found)
    again = fit_maps(encoder, dialogues, settings=ALL, vectors=tmp_path / "w")
    assert encoder.head is found.head
    assert torch.equal(again.maps[HEAD].weight, found.maps[HEAD].weight)
    assert np.array_equal(again.targets, found.data.targets)


def test_fewer_dialogues_may_train_than_have_neighbours(tiny_folder, tmp_path):
    _, found = planned(tiny_folder, corpus(120), tmp_path / "v", settings=replace(ALL, max_dialogues=10))
    assert len(found.data.sequences) == 120
    assert len(np.unique(found.data.order[:, 1])) == 10


def test_the_same_seed_gives_the_same_plan_and_another_another(tiny_folder, tmp_path):
    dialogues, some = corpus(160), replace(ALL, neighbourhood=120)
    [one, same, other] = [
        planned(tiny_folder, dialogues, tmp_path / name, settings=some, seed=seed)[1]
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    ]
    assert np.array_equal(one.data.order, same.data.order)
    assert np.array_equal(one.data.targets, same.data.targets)
    assert torch.equal(one.maps[HEAD].weight, same.maps[HEAD].weight)
    assert not np.array_equal(one.data.order, other.data.order)
    assert not np.array_equal(one.data.targets, other.data.targets)


def test_only_dialogues_that_may_train_have_neighbours_or_are_one(tiny_folder, tmp_path):
    aside = [make_dialogue(f"alone{i}", "a: w1", "a: w2") for i in range(5)]
    with_aside, without = (
        planned(tiny_folder, dialogues, tmp_path / "v")[1].data for dialogues in ([*aside, *corpus(110)], corpus(110))
    )
    assert np.array_equal(with_aside.targets, without.targets)
