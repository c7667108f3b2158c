from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dial2vec.collection.explorer import placing as module
from dial2vec.collection.explorer.maps import aligned
from dial2vec.collection.explorer.placing import Placing
from dial2vec.encoder.nearest import unit_rows
from dial2vec.evaluation.geometry import lay_out


def units(n: int, d: int = 8, seed: int = 0, clouds: int = 3) -> np.ndarray:
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(clouds, d))[np.arange(n) % clouds] + random.normal(scale=0.2, size=(n, d))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@given(n=st.integers(1, 30), m=st.integers(0, 30), seed=st.integers(0, 5))
@settings(max_examples=40, deadline=None)
def test_new_points_lie_within_the_map_wherever_they_come_in(n, m, seed):
    known, new = units(n, seed=seed), units(m, seed=seed + 1)
    points = np.random.default_rng(seed).normal(size=(n, 2)).astype(np.float32)
    placed = Placing(known, points).place(new, block=7)
    assert placed.shape == (m, 2)
    assert (placed >= points.min(axis=0) - 1e-5).all()
    assert (placed <= points.max(axis=0) + 1e-5).all()
    by_one = [Placing(known, points).place(new[row : row + 1])[0] for row in range(m)]
    np.testing.assert_allclose(placed, np.reshape(by_one, (m, 2)), atol=1e-4)


def test_placing_is_the_median_of_the_nearest():
    known, new = units(25), units(4, seed=9)
    points = np.random.default_rng(0).normal(size=(25, 2)).astype(np.float32)
    for vector, found in zip(new, Placing(known, points, nearest=3).place(new), strict=True):
        three = sorted(range(25), key=lambda row: -float(vector @ known[row]))[:3]
        np.testing.assert_array_equal(found, [sorted(points[three, axis])[1] for axis in (0, 1)])


@given(n=st.integers(1, 60), m=st.integers(0, 20), pivots=st.integers(1, 9), seed=st.integers(0, 5))
@settings(max_examples=40, deadline=None)
def test_pivots_that_are_all_probed_place_like_a_comparison_with_all(n, m, pivots, seed):
    known, new = units(n, seed=seed), units(m, seed=seed + 1)
    points = np.random.default_rng(seed).normal(size=(n, 2)).astype(np.float32)
    found = Placing(known, points, pivots=min(pivots, n), probes=pivots).place(new)
    np.testing.assert_array_equal(found, Placing(known, points, pivots=1).place(new))


def test_few_probes_find_nearly_all_of_the_nearest_and_a_map_of_many_has_pivots(monkeypatch):
    monkeypatch.setattr(module, "FEWEST_FOR_PIVOTS", 3000)
    monkeypatch.setattr(module, "PIVOTS", 40)
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(12, 24))
    vectors = unit_rows((centres[rng.integers(12, size=3200)] + rng.normal(size=(3200, 24))).astype(np.float32))
    known, new = vectors[:3000], vectors[3000:]
    placing = Placing(known, np.zeros((3000, 2), dtype=np.float32))
    assert len(placing.members) == 40
    assert sorted(np.concatenate(placing.members).tolist()) == list(range(3000))
    nearest = np.argsort(-(new @ known.T), axis=1)[:, :10].tolist()
    shares = [len({*some} & {*all_}) / 10 for some, all_ in zip(placing.nearest(new).tolist(), nearest, strict=True)]
    assert np.mean(shares) > 0.95


def test_dialogues_that_are_equal_land_among_their_like_though_pivots_are_equal(monkeypatch):
    monkeypatch.setattr(module, "FEWEST_FOR_PIVOTS", 200)
    monkeypatch.setattr(module, "PIVOTS", 50)
    vectors = units(400, seed=3)
    vectors[::2] = vectors[0]
    points = np.where(np.arange(400)[:, None] % 2, -1.0, 1.0).astype(np.float32) * np.ones((1, 2), dtype=np.float32)
    placing = Placing(vectors, points, probes=2)
    assert len(placing.pivots) < 50
    assert all(len(members) for members in placing.members)
    np.testing.assert_array_equal(placing.place(vectors[:1]), [[1, 1]])


def test_probes_with_too_few_vectors_are_replaced_by_all(monkeypatch):
    known, new = units(60, clouds=20), units(9, seed=1)
    placing = Placing(known, np.zeros((60, 2), dtype=np.float32), pivots=30, probes=1)
    exact = np.sort(np.argsort(-(new @ known.T), axis=1)[:, :10], axis=1)
    few = [row for row in range(9) if len(placing.members[int(np.argmax(placing.pivots @ new[row]))]) < 10]
    assert few
    np.testing.assert_array_equal(np.sort(placing.nearest(new), axis=1)[few], exact[few])


def test_known_vector_lands_among_its_like():
    vectors = units(90)
    points = lay_out(vectors, seed=1).points
    again = Placing(vectors, points).place(vectors)
    centres = np.stack([points[cloud::3].mean(axis=0) for cloud in range(3)])
    nearest = np.linalg.norm(again[:, None] - centres, axis=2).argmin(axis=1)
    assert (nearest == np.arange(90) % 3).mean() > 0.95


def test_aligning_undoes_turning_mirroring_size_and_place():
    points = np.random.default_rng(0).normal(size=(20, 2)).astype(np.float32)
    turn = np.array([[np.cos(1), -np.sin(1)], [np.sin(1), np.cos(1)]])
    other = (3 * (points * (1, -1)) @ turn + 5).astype(np.float32)
    np.testing.assert_allclose(aligned(other, points), points, atol=1e-4)
    assert np.isfinite(aligned(np.zeros((20, 2), np.float32), points)).all()
