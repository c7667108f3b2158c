from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dial2vec.collection.adapting import adaptation as module
from dial2vec.collection.adapting.adaptation import FOLDER, Adaptation, read_adaptation
from dial2vec.encoder.nearest import unit_rows
from dial2vec.errors import ArtifactError

from .conftest import ruinous

PLAIN = unit_rows(np.random.default_rng(1).normal(size=(9, 6))).astype(np.float32)


@given(st.integers(0, 20), st.integers(0, 99))
def test_a_map_takes_each_vector_by_itself_by_the_formula_and_keeps_their_order(n, seed):
    rng = np.random.default_rng(seed)
    vectors, adaptation = rng.normal(size=(n, 6)).astype(np.float32), ruinous(6, n, seed=seed)
    vectors[rng.random(n) < 0.3] = 0
    mapped = adaptation(vectors)
    assert mapped.shape == vectors.shape
    assert mapped.dtype == np.float32
    for row, vector in zip(mapped, vectors, strict=True):
        expected = np.zeros(6)
        if vector.any():
            expected = (vector / np.linalg.norm(vector) - adaptation.mean) @ adaptation.weight
            expected = expected / np.linalg.norm(expected)
        np.testing.assert_allclose(row, expected, atol=1e-5)
    assert replace(adaptation, weight=None)(vectors) is vectors


def test_the_sentence_says_what_was_done_and_by_what_figures():
    kept = replace(
        ruinous(6, 100), before={"stability": 0.5, "cross_side": 0.7}, after={"stability": 0.61, "cross_side": 0.7}
    )
    assert kept.sentence == (
        "The vectors were adapted to these conversations: cluster stability 0.50 -> 0.61, agreement of the two sides "
        "0.70 -> 0.70."
    )
    refused = replace(kept, weight=None, reason="silhouette would fall")
    assert refused.sentence.startswith("The vectors were not adapted: silhouette would fall (cluster stability 0.50")
    assert replace(refused, after={}, reason="few").sentence == "The vectors were not adapted: few."


def test_what_was_written_is_read_with_its_vectors_and_the_one_before_is_gone(tmp_path):
    assert read_adaptation(tmp_path) is None
    for seed in (1, 2):
        adaptation = ruinous(6, 9, seed=seed)
        adaptation.write(tmp_path, PLAIN)
        read = read_adaptation(tmp_path)
        np.testing.assert_array_equal(read.weight, adaptation.weight)
        assert (read.name, read.sentence, read.dialogues) == (adaptation.name, adaptation.sentence, 9)
        assert isinstance(read.vectors(tmp_path, PLAIN), np.memmap)
        np.testing.assert_array_equal(read.vectors(tmp_path, PLAIN), adaptation(PLAIN))
        [path] = (tmp_path / FOLDER).glob("*.f32")
        path.write_bytes(bytes(path.stat().st_size))
        # Damaged ones are computed from the vectors, and written again.
        np.testing.assert_array_equal(read.vectors(tmp_path, PLAIN), adaptation(PLAIN))
        read.append(tmp_path, PLAIN)
        assert isinstance(read.vectors(tmp_path, PLAIN), np.memmap)
        assert len(list((tmp_path / FOLDER).iterdir())) == 4
    replace(adaptation, weight=None, reason="few").write(tmp_path, PLAIN)
    assert [path.name for path in (tmp_path / FOLDER).iterdir()] == ["adaptation.json"]
    assert read_adaptation(tmp_path).sentence == "The vectors were not adapted: few (silhouette 0.10 -> 0.20)."


def test_a_run_killed_before_the_end_leaves_the_adaptation_before(tmp_path, monkeypatch):
    ruinous(6, 9, seed=1).write(tmp_path, PLAIN)
    with monkeypatch.context() as killed:
        killed.setattr(module, "write_checked_json", None)
        with pytest.raises(TypeError):
            ruinous(6, 9, seed=2).write(tmp_path, PLAIN)
    read = read_adaptation(tmp_path)
    np.testing.assert_array_equal(read.vectors(tmp_path, PLAIN), ruinous(6, 9, seed=1)(PLAIN))
    ruinous(6, 9, seed=2).write(tmp_path, PLAIN)
    assert read_adaptation(tmp_path).name == ruinous(6, 9, seed=2).name


@pytest.mark.parametrize("known", [0, 4, 9])
def test_vectors_that_are_missing_are_computed_and_appended_and_the_file_never_gets_shorter(tmp_path, known):
    adaptation = ruinous(6, 9)
    adaptation.write(tmp_path, PLAIN[:known])
    file = tmp_path / FOLDER / f"{adaptation.name}.f32"
    # A part of a vector that a killed run has left.
    file.write_bytes(file.read_bytes() + b"abc" * (known < 9))
    np.testing.assert_allclose(adaptation.vectors(tmp_path, PLAIN), adaptation(PLAIN), atol=1e-6)
    mapped = adaptation.vectors(tmp_path, PLAIN[:known])
    adaptation.append(tmp_path, PLAIN)
    adaptation.append(tmp_path, PLAIN[:5])
    assert file.stat().st_size == PLAIN.nbytes
    np.testing.assert_allclose(adaptation.vectors(tmp_path, PLAIN), adaptation(PLAIN), atol=1e-6)
    np.testing.assert_allclose(mapped, adaptation(PLAIN[:known]), atol=1e-6)


def _other_map(folder, name):
    np.savez(folder / f"{name}.npz", mean=np.ones(6, np.float32), weight=np.eye(6, dtype=np.float32))


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder, name: (folder / "adaptation.json").write_text("{"),
        lambda folder, name: (folder / "adaptation.json").write_text("[]"),
        lambda folder, name: (folder / "adaptation.json").write_text(json.dumps({"map": name, "other": 1})),
        lambda folder, name: (folder / f"{name}.npz").unlink(),
        lambda folder, name: (folder / f"{name}.npz").write_bytes(b""),
        lambda folder, name: (folder / f"{name}.npz").write_bytes(b"PK\x03\x04 cut off"),
        _other_map,
    ],
)
def test_damage_is_said_in_a_sentence(tmp_path, damage):
    adaptation: Adaptation = ruinous(6, 9)
    adaptation.write(tmp_path, PLAIN)
    damage(tmp_path / FOLDER, adaptation.name)
    with pytest.raises(ArtifactError, match=r"adapt.*\."):
        read_adaptation(tmp_path)
