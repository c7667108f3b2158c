import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dial2vec.evaluation.report.projection import lay_out, project, turn_like


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


def test_layout_puts_two_directions_apart_whatever_the_length_of_the_vectors_and_the_same_every_time():
    rng = np.random.default_rng(0)
    directions = np.repeat(np.eye(2, 6), 20, axis=0) + rng.normal(scale=0.01, size=(40, 6))
    vectors = (directions * rng.uniform(1, 9, size=(40, 1))).astype(np.float32)
    layout = lay_out(vectors, seed=0)
    assert layout.method == "t-SNE"
    apart = distances(layout.points)
    assert apart[:20, :20].max() < apart[:20, 20:].min()
    assert np.array_equal(layout.points, lay_out(vectors, seed=0).points)


@given(st.floats(0, 6.2), st.booleans())
def test_a_turned_and_mirrored_map_is_turned_back_and_its_distances_stay(angle, mirrored):
    points = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 1.0], [2.0, 3.0]])
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    moved = points @ turn * ([-1, 1] if mirrored else [1, 1]) + 5
    back = turn_like(moved, points)
    assert back == pytest.approx(points - points.mean(axis=0))
    assert distances(back) == pytest.approx(distances(points))
