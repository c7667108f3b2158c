from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from safetensors.numpy import load_file
from threadpoolctl import threadpool_limits

from dial2vec.encoder.nearest import unit_rows
from dial2vec.encoder.student import TokenTable
from dial2vec.encoder.student.table import product
from dial2vec.errors import ModelError


def random_table(n: int = 3000, d: int = 64, *, seed: int = 0) -> TokenTable:
    """Weights as training begins them, and rows of lengths from 0.01 to 10."""
    draws = np.random.default_rng(seed)
    rows = draws.standard_normal((n, d)) * 10 ** draws.uniform(-2, 1, (n, 1))
    share = 1 / np.arange(1, n + 1)
    return TokenTable(rows.astype(np.float32), (1e-3 / (1e-3 + share / share.sum())).astype(np.float32))


def random_texts(n: int, table: TokenTable) -> tuple[np.ndarray, np.ndarray]:
    draws = np.random.default_rng(1)
    lengths = draws.integers(0, 80, n)
    return np.minimum(draws.zipf(1.3, lengths.sum()) - 1, len(table) - 1).astype(np.int32), lengths


def slowly(table: TokenTable, ids: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    parts = np.split(ids, np.cumsum(lengths)[:-1])
    rows, weights = table.rows.astype(np.float64), table.weights.astype(np.float64)
    sums = [weights[part] @ rows[part] for part in parts]
    return np.array(sums), np.array([weights[part].sum() for part in parts])


@pytest.mark.parametrize("most", [0, 5, 1024])
@pytest.mark.parametrize("texts", [7, 1024])
def test_sums_are_those_of_a_plain_loop_in_double_precision(monkeypatch, most, texts):
    monkeypatch.setattr("dial2vec.encoder.student.table.MOST", most)
    monkeypatch.setattr("dial2vec.encoder.student.table.TEXTS", texts)
    monkeypatch.setattr("dial2vec.encoder.student.table.CHUNK", 100)
    table = random_table()
    ids, lengths = random_texts(200, table)
    for found, expected in zip(table.sums(ids, lengths), slowly(table, ids, lengths), strict=True):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


def test_a_text_longer_than_a_chunk_and_texts_without_tokens():
    table = random_table()
    for lengths in ([0, 50_000, 0, 3], [0, 0], []):
        ids = np.arange(sum(lengths), dtype=np.int32) % len(table)
        sums, weights = table.sums(ids, np.array(lengths, dtype=np.int64))
        assert (sums.shape, weights.shape) == ((len(lengths), 64), (len(lengths),))
        if lengths:
            expected = slowly(table, ids, np.array(lengths))
            np.testing.assert_allclose(sums, expected[0], rtol=1e-3, atol=1e-3)
            np.testing.assert_allclose(weights, expected[1], rtol=1e-5)


@pytest.mark.parametrize(("n", "k", "d"), [(0, 3, 5), (1, 0, 5), (2, 300, 384), (64, 64, 64), (130, 700, 100)])
def test_a_product_in_small_parts_is_that_of_the_whole_matrices(n, k, d):
    draws = np.random.default_rng(0)
    counts, rows = draws.poisson(0.5, (n, k)), draws.standard_normal((k, d)).astype(np.float32)
    found = product(counts, rows)
    assert (found.dtype, found.shape) == (np.float32, (n, d))
    np.testing.assert_allclose(found, counts @ rows.astype(np.float64), rtol=1e-4, atol=1e-4)


def test_sums_do_not_depend_on_the_number_of_threads():
    table = random_table(d=384)
    texts = random_texts(1000, table)
    with threadpool_limits(1, user_api="blas"):
        alone = table.sums(*texts)
    for found, expected in zip(table.sums(*texts), alone, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("rows", ["fp32", "fp16", "int8"])
def test_only_rows_that_are_read_are_weighted_and_kept(rows):
    table = random_table().as_rows(rows)
    factors = table.weights if table.scales is None else table.weights * table.scales
    whole = table.rows * factors[:, None]
    draws = np.random.default_rng(0)
    for size in (0, 1, 20, 20, 500):
        ids = draws.integers(0, 40, size)
        np.testing.assert_array_equal(table.weighted(ids), whole[ids])
    assert 40 <= len(table._weighted) <= 80
    with ThreadPoolExecutor(8) as pool:
        draw = [draws.integers(0, len(table), 400) for _ in range(50)]
        for ids, found in zip(draw, pool.map(table.weighted, draw), strict=True):
            np.testing.assert_array_equal(found, whole[ids])
    assert len(table._weighted) <= len(table)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(table)).weighted(draw[0]), whole[draw[0]])


@pytest.mark.parametrize("rows", ["fp32", "fp16", "int8"])
def test_saved_rows_give_nearly_the_same_vectors(tmp_path, rows):
    table = random_table()
    table.as_rows(rows).save(tmp_path / "table.safetensors")
    again = TokenTable.load(tmp_path / "table.safetensors")
    assert again.rows.dtype == {"fp32": np.float32, "fp16": np.float16, "int8": np.int8}[rows]
    texts = random_texts(500, table)
    vectors, near = (unit_rows(each.sums(*texts)[0]) for each in (table, again))
    cosines = np.einsum("nd,nd->n", vectors, near)[texts[1] > 0]
    assert cosines.min() > {"fp32": 0.999999, "fp16": 0.99999, "int8": 0.999}[rows]
    # Saving again keeps every number.
    again.as_rows(rows).save(tmp_path / "again.safetensors")
    for key, value in load_file(tmp_path / "again.safetensors").items():
        np.testing.assert_array_equal(value, load_file(tmp_path / "table.safetensors")[key])


def test_rows_of_a_loaded_table_can_be_converted_again():
    table = random_table()
    back = table.as_rows("int8").as_rows("fp32")
    np.testing.assert_allclose(back.rows, table.rows, atol=np.abs(table.rows).max() / 64)
    with pytest.raises(ModelError, match=r"rows is 'int4'\. Did you mean 'int8'\? Valid: fp32, fp16, int8"):
        table.as_rows("int4")


def test_a_row_of_zeros_stays_zero_in_int8():
    table = TokenTable(np.array([[0, 0], [1, -2]], dtype=np.float32), np.ones(2, dtype=np.float32))
    small = table.as_rows("int8")
    assert small.rows.tolist() == [[0, 0], [32, -64]]
    np.testing.assert_array_equal(small.weighted(np.arange(2)), table.rows)


def test_other_libraries_find_rows_times_weights(tmp_path):
    table = random_table()
    for rows in ("fp32", "fp16", "int8"):
        table.as_rows(rows).save(tmp_path / rows)
        arrays = load_file(tmp_path / rows)
        product = arrays["embeddings"].astype(np.float32) * arrays["weights"][:, None]
        np.testing.assert_allclose(product, table.as_rows(rows).weighted(np.arange(len(table))), rtol=1e-5)


ROWS, WEIGHTS = np.ones((3, 2), dtype=np.float32), np.ones(3, dtype=np.float32)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ((ROWS.astype(np.float64), WEIGHTS), "found rows of float64 with shape"),
        ((ROWS[0], WEIGHTS), r"found rows of float32 with shape \(2,\)"),
        ((ROWS, WEIGHTS[:2]), r"found weights with shape \(2,\); expected 3 numbers above 0"),
        ((ROWS, -WEIGHTS), "expected 3 numbers above 0"),
        ((ROWS, WEIGHTS * np.nan), "expected 3 numbers above 0"),
        ((ROWS * np.nan, WEIGHTS), "a number in a table that is not finite"),
        ((ROWS, WEIGHTS * np.inf), "a number in a table that is not finite"),
        ((ROWS.astype(np.int8), WEIGHTS), "int8 rows, and only these, need scales"),
        ((ROWS, WEIGHTS, WEIGHTS), "int8 rows, and only these, need scales"),
    ],
)
def test_arrays_that_are_no_table_are_one_sentence(arrays, message):
    with pytest.raises(ModelError, match=message):
        TokenTable(*arrays)


def test_rows_too_large_for_fp16_are_not_saved_as_infinite():
    with pytest.raises(ModelError, match="not finite"):
        TokenTable(ROWS * 1e6, WEIGHTS).as_rows("fp16")
