import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from dial2vec.evaluation.geometry import lay_out, project, turned_like


def distances(points):
    return np.linalg.norm(points[:, None] - points, axis=2)


def test_projection_keeps_distances_of_flat_vectors():
    flat = np.random.default_rng(0).normal(size=(30, 2)) @ np.eye(2, 10)
    points = project(flat.astype(np.float32), 0)
    assert points.shape == (30, 2)
    assert np.linalg.norm(points[3] - points[8]) == pytest.approx(np.linalg.norm(flat[3] - flat[8]), rel=1e-5)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("shape", [(1, 5), (4, 1), (4, 5), (40, 5)])
def test_too_little_to_lay_out_falls_back_to_components_that_are_zero(shape):
    layout = lay_out(np.ones(shape, np.float32), seed=0)
    assert layout.method == "PCA"
    assert layout.points.tolist() == [[0, 0]] * shape[0]


@pytest.mark.parametrize("width", [1, 2])
def test_what_is_flat_already_needs_no_tsne(width):
    vectors = np.random.default_rng(0).normal(size=(40, width)).astype(np.float32)
    layout = lay_out(vectors, seed=0)
    assert layout.method == "PCA"
    assert distances(layout.points) == pytest.approx(distances(vectors), abs=1e-5)


def test_layout_puts_two_directions_apart_whatever_the_length_of_the_vectors():
    rng = np.random.default_rng(0)
    directions = np.repeat(np.eye(2, 6), 20, axis=0) + rng.normal(scale=0.01, size=(40, 6))
    vectors = (directions * rng.uniform(1, 9, size=(40, 1))).astype(np.float32)
    layout = lay_out(vectors, seed=0)
    assert layout.method == "t-SNE"
    apart = distances(layout.points)
    assert apart[:20, :20].max() < apart[:20, 20:].min()


def test_same_seed_gives_the_same_bytes_whatever_the_number_of_threads():
    vectors = np.random.default_rng(0).normal(size=(60, 8)).astype(np.float32)
    with threadpool_limits(limits=1):
        one = lay_out(vectors, seed=3).points
    assert one.tobytes() == lay_out(vectors, seed=3).points.tobytes()
    assert one.dtype == np.float32


@pytest.mark.parametrize("n", [1, 2, 29])
def test_too_few_vectors_are_placed_all_the_same(n):
    points = lay_out(np.random.default_rng(0).normal(size=(n, 8)).astype(np.float32), seed=1).points
    assert points.shape == (n, 2)
    assert np.isfinite(points).all()


@given(st.floats(0, 6.2), st.booleans())
def test_a_turned_and_mirrored_map_is_turned_back_and_its_distances_stay(angle, mirrored):
    points = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 1.0], [2.0, 3.0]])
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    moved = points @ turn * ([-1, 1] if mirrored else [1, 1]) + 5
    back = turned_like(moved, points)
    assert back == pytest.approx(points - points.mean(axis=0))
    assert distances(back) == pytest.approx(distances(points))
