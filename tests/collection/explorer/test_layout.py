from __future__ import annotations

import numpy as np
import pytest

from dial2vec.collection.explorer import layout
from dial2vec.collection.explorer.layout import lay_out_many
from dial2vec.evaluation.geometry import lay_out


@pytest.fixture(scope="module")
def clouds() -> tuple[np.ndarray, np.ndarray]:
    """Vectors of length 1 around five centres, and the centre of each; the first two vectors are the same."""
    random = np.random.default_rng(1)
    of = np.arange(600) % 5
    vectors = random.normal(size=(5, 24))[of] + random.normal(scale=0.3, size=(600, 24))
    vectors[5] = vectors[0]
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32), of


def test_few_vectors_are_placed_as_before(clouds):
    units, _ = clouds
    np.testing.assert_array_equal(lay_out_many(units, seed=3), lay_out(units, seed=3).points)


def test_many_vectors_are_placed_by_a_sample_and_stay_with_their_neighbours(clouds, monkeypatch):
    monkeypatch.setattr(layout, "SAMPLE", 100)
    units, of = clouds
    points = lay_out_many(units, seed=3)
    assert points.shape == (600, 2)
    assert points.dtype == np.float32
    assert np.isfinite(points).all()
    distances = np.linalg.norm(points[:, None] - points[None], axis=2) + 1e9 * np.eye(600)
    assert (of[distances.argmin(axis=1)] == of).mean() > 0.98
    np.testing.assert_array_equal(lay_out_many(units, seed=3), points)
