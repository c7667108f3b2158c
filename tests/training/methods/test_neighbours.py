from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dial2vec.encoder.head import Head
from dial2vec.errors import Dial2vecError
from dial2vec.objectives.neighbours import centred, fit_map, neighbour_loss, neighbour_targets

SHAPES = st.tuples(st.integers(6, 25), st.integers(2, 6), st.integers(0, 9))


def neighbour_head(pooled, *, k, ridge, identity):
    units, mean = centred(pooled)
    weight = fit_map(units, neighbour_targets(units, k=k), ridge=ridge, identity=identity)
    return Head(torch.from_numpy(mean), torch.from_numpy(weight))


def unit(vector):
    return vector / np.linalg.norm(vector)


def units_of(n, d, seed):
    vectors = np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def slow_targets(units, k):
    """Each round row by row: a fifth of the dialogue itself and four fifths of its neighbours' targets."""
    among = []
    for row in range(len(units)):
        others = [other for other in range(len(units)) if other != row]
        among.append(sorted(others, key=lambda other: -float(units[row] @ units[other]))[:k])
    targets = list(units)
    for _ in range(2):
        targets = [
            unit(0.2 * units[row] + 0.8 * sum(targets[other] for other in among[row]) / k) for row in range(len(units))
        ]
    return np.array(targets)


def test_centred_vectors_are_unit_vectors_about_the_mean_direction():
    found, mean = centred(np.float32([[2, 0], [0, 5]]))
    np.testing.assert_allclose(mean, [0.5, 0.5])
    np.testing.assert_allclose(found, np.float32([[1, -1], [-1, 1]]) / np.sqrt(2), atol=1e-6)


@given(SHAPES, st.floats(0.01, 100))
def test_a_longer_dialogue_vector_moves_neither_mean_nor_neighbours(shape, scale):
    units = units_of(*shape)
    longer = units * np.linspace(1, scale, len(units), dtype=np.float32)[:, None]
    for found, expected in zip(centred(longer), centred(units), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-3)


@settings(max_examples=40, deadline=None)
@given(SHAPES, st.integers(1, 5))
def test_targets_are_those_of_the_plain_loop(shape, k):
    units = units_of(*shape)
    targets = neighbour_targets(units, k=k)
    np.testing.assert_allclose(targets, slow_targets(units, k), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(targets, axis=1), 1, atol=1e-5)
    assert targets.dtype == np.float32


def test_the_targets_of_two_dialogues_by_hand():
    # Each is the other's only neighbour: T1 = unit(0.2, 0.8), and T2 = unit(0.2 + 0.8 b, 0.8 a) with T1 = (a, b).
    a, b = unit(np.array([0.2, 0.8]))
    expected = unit(np.array([0.2 + 0.8 * b, 0.8 * a]))
    np.testing.assert_allclose(
        neighbour_targets(np.eye(2, dtype=np.float32), k=1), [expected, expected[::-1]], atol=1e-6
    )


def test_targets_draw_two_topics_together_and_leave_the_given_vectors_alone():
    rng = np.random.default_rng(0)
    topics = np.repeat(np.eye(6)[:2], 20, axis=0)
    units, _ = centred((topics + 0.3 * rng.normal(size=topics.shape)).astype(np.float32))
    before = units.copy()
    targets = neighbour_targets(units, k=5)
    assert np.array_equal(units, before)
    for half in (slice(0, 20), slice(20, 40)):
        assert (targets[half] @ targets[half].T).mean() > (units[half] @ units[half].T).mean() + 0.1


def test_more_neighbours_than_others_are_refused():
    with pytest.raises(Dial2vecError, match="found k = 3 for 3 vectors"):
        neighbour_targets(np.eye(3, dtype=np.float32), k=3)


@settings(max_examples=40, deadline=None)
@given(SHAPES, st.floats(0.01, 10), st.floats(0, 1))
def test_the_map_is_the_least_squares_solution_of_the_augmented_system(shape, ridge, identity):
    n, d, seed = shape
    units, targets = units_of(n, d, seed), units_of(n, d, seed + 100)
    # The fall-back as d more rows: sqrt(strength) I should be mapped to sqrt(strength) c I.
    strength = ridge * np.linalg.eigvalsh(units.T.astype(float) @ units / n).mean()
    rows = np.vstack([units / np.sqrt(n), np.sqrt(strength) * np.eye(d)])
    wanted = np.vstack([targets / np.sqrt(n), np.sqrt(strength) * identity * np.eye(d)])
    expected = np.linalg.lstsq(rows, wanted, rcond=None)[0]
    found = fit_map(units, targets, ridge=ridge, identity=identity)
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert found.dtype == np.float32


@settings(max_examples=20, deadline=None)
@given(SHAPES, st.floats(0.01, 10))
def test_targets_that_are_reached_already_leave_the_identity(shape, ridge):
    units = units_of(*shape)
    np.testing.assert_allclose(fit_map(units, units, ridge=ridge, identity=1.0), np.eye(shape[1]), atol=1e-4)


@pytest.mark.parametrize("identity", [0.0, 0.5, 1.0])
def test_an_endless_ridge_falls_back_to_the_identity_or_to_nothing(identity):
    found = fit_map(units_of(20, 4, 0), units_of(20, 4, 1), ridge=1e9, identity=identity)
    np.testing.assert_allclose(found, identity * np.eye(4), atol=1e-6)


def test_directions_that_no_dialogue_has_are_left_as_they_were():
    units = np.pad(units_of(20, 2, 0), ((0, 0), (0, 2)))
    found = fit_map(units, np.pad(units_of(20, 2, 1), ((0, 0), (0, 2))), ridge=0.1, identity=1.0)
    np.testing.assert_allclose(found[2:], np.eye(4)[2:], atol=1e-6)
    np.testing.assert_allclose(found[:2, 2:], 0, atol=1e-6)


def test_vectors_without_any_direction_leave_the_identity():
    zeros = np.zeros((6, 3), np.float32)
    np.testing.assert_allclose(fit_map(zeros, zeros, ridge=0.1, identity=1.0), np.eye(3), atol=1e-6)


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
