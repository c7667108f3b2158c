import numpy as np
import pytest

from dial2vec.evaluation import blocks
from dial2vec.evaluation.blocks import n_threads, over_blocks
from dial2vec.evaluation.distribution import uniformity
from dial2vec.evaluation.ranking import rank_others


@pytest.mark.parametrize("threads", ["1", "3"])
@pytest.mark.parametrize(("n", "block"), [(0, None), (1, None), (7, 3), (7, 7), (7, 100), (7, None)])
def test_every_row_comes_once_and_in_order(monkeypatch, threads, n, block):
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    found = list(over_blocks(lambda rows: rows.tolist(), n, block=block))
    assert [row for rows in found for row in rows] == list(range(n))
    assert all(len(rows) <= (block or n) for rows in found)


def test_without_a_size_a_block_has_so_many_pairs_at_most_and_one_row_at_least(monkeypatch):
    monkeypatch.setattr(blocks, "ENTRIES", 20)
    assert [len(rows) for rows in over_blocks(lambda rows: rows, 7)] == [2, 2, 2, 1]
    assert [len(rows) for rows in over_blocks(lambda rows: rows, 30)] == [1] * 30


def test_an_error_in_a_block_is_raised(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    with pytest.raises(ZeroDivisionError):
        list(over_blocks(lambda rows: 1 // int(rows[0]), 4, block=1))


@pytest.mark.parametrize(("said", "expected"), [("3", 3), ("", None), ("0", None), ("many", None)])
def test_threads_are_those_that_omp_num_threads_says_or_all(monkeypatch, said, expected):
    monkeypatch.setenv("OMP_NUM_THREADS", said)
    assert n_threads() == (expected or n_threads())
    assert n_threads() >= 1


def test_figures_do_not_depend_on_threads(monkeypatch):
    rng = np.random.default_rng(0)
    vectors, labels = rng.normal(size=(90, 8)).astype(np.float32), rng.integers(0, 4, 90).tolist()
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        rankings = rank_others(vectors, labels, block=7)
        found.append((rankings.correlations, rankings.precisions, rankings.reciprocals, uniformity(vectors, block=7)))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
