"""Closed-form maps: centred vectors, targets of neighbours, and the least-squares map."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dial2vec.encoder.maps import centred, fit_map, neighbour_targets, neighbourhood_size
from dial2vec.errors import Dial2vecError

SHAPES = st.tuples(st.integers(6, 25), st.integers(2, 6), st.integers(0, 9))


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


@pytest.mark.parametrize(("n", "size"), [(200, 5), (1000, 8), (5000, 18), (20_000, 35)])
def test_the_size_of_a_neighbourhood_is_as_documented(n, size):
    assert neighbourhood_size(n) == size


@given(st.integers(2, 10**6))
def test_a_neighbourhood_grows_with_its_corpus_and_never_holds_all_of_it(n):
    assert 1 <= neighbourhood_size(n) <= min(n - 1, neighbourhood_size(n + 1))
