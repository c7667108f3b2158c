from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("faiss")

from dial2vec.collection.collection_folder import Addition, CollectionFolder, Manifest, rows_file
from dial2vec.collection.search import approximate
from dial2vec.collection.search.approximate import open_index, update_index
from dial2vec.collection.search.exact import nearest_rows


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Collections of random unit vectors in groups, without dialogues."""
    monkeypatch.setattr(approximate, "QUERIES", 20)
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(20, 24))
    vectors = centres[rng.integers(20, size=3000)] + 0.5 * rng.normal(size=(3000, 24))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)

    def make(n: int, fingerprint: str = "f") -> CollectionFolder:
        rows_file(tmp_path, 0).parent.mkdir(exist_ok=True)
        (tmp_path / "vectors.f32").write_bytes(vectors[:n].tobytes())
        Manifest("m", fingerprint, 24, (Addition("s", "2026-03-04", n, 0),)).write(tmp_path)
        return CollectionFolder(tmp_path)

    return make


def recall(collection: CollectionFolder) -> float:
    index, vectors = open_index(collection), collection.vectors
    shares = []
    for row in range(0, len(vectors), 50):
        true, found = nearest_rows(vectors, vectors[row], 10)[0], index.nearest(vectors, vectors[row], 10)[0]
        shares.append(len({*true} & {*found}) / 10)
    return float(np.mean(shares))


def test_it_finds_about_what_was_measured_with_exact_cosines(make):
    collection = make(2000)
    measured = update_index(collection)
    assert measured.recall >= approximate.RECALL
    assert recall(collection) >= 0.85
    rows, cosines = open_index(collection).nearest(collection.vectors, collection.vectors[0], 5)
    np.testing.assert_array_equal(cosines, collection.vectors[rows] @ collection.vectors[0])


def test_new_dialogues_are_added_to_the_lists_that_are_there(make, monkeypatch):
    update_index(make(2000))
    assert open_index(make(2500)) is None, "an index that lacks dialogues must not be asked"
    with monkeypatch.context() as patch:
        patch.setattr(approximate, "_trained", lambda *_: pytest.fail("it was trained again"))
        update_index(make(2500))
    assert recall(make(2500)) >= 0.85


def test_where_nothing_is_new_nothing_is_made(make, monkeypatch):
    before = update_index(make(2000))
    for name in ("_trained", "_add", "_measure"):
        monkeypatch.setattr(approximate, name, lambda *_: pytest.fail("it was trained again"))
    assert update_index(make(2000)) == before


@pytest.mark.parametrize(("n", "rebuilt"), [(2200, False), (3000, True)])
def test_lists_are_made_anew_only_when_the_collection_has_grown_by_half(make, monkeypatch, n, rebuilt):
    monkeypatch.setattr(approximate, "RECALL", 1.1)
    update_index(make(1900))
    made, trained = [], approximate._trained
    monkeypatch.setattr(approximate, "_trained", lambda *those: made.append(1) or trained(*those))
    assert update_index(make(n)).trained == (n if rebuilt else 1900)
    assert len(made) == rebuilt


def test_without_faiss_every_vector_is_looked_at(make, monkeypatch, caplog):
    update_index(make(2000))
    monkeypatch.setattr(approximate, "has_faiss", lambda: False)
    assert open_index(make(2000)) is None
    assert "all vectors are compared: faiss is not installed" in caplog.text


@pytest.mark.parametrize("n", [1500])
def test_an_index_of_other_vectors_or_a_damaged_one_is_made_anew(make, n, tmp_path, caplog):
    update_index(make(2000))
    assert open_index(make(n)) is None
    other = make(2000, "another encoder")
    assert open_index(other) is None
    update_index(other)
    assert open_index(other) is not None
    path = tmp_path / "search" / "index.faiss"
    path.write_bytes(path.read_bytes()[:1000])
    assert open_index(other) is None
    assert "cannot be read" in caplog.text
    update_index(other)
    assert recall(other) >= 0.85


def test_the_same_seed_gives_the_same_index(make):
    collection = make(2000)
    update_index(collection)
    first = (collection.folder / "search" / "index.faiss").read_bytes()
    (collection.folder / "search" / "index.json").unlink()
    update_index(collection)
    assert (collection.folder / "search" / "index.faiss").read_bytes() == first
