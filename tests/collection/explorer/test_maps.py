from __future__ import annotations

import numpy as np
import pytest

from dial2vec.collection import Collection
from dial2vec.collection.explorer import maps as module
from dial2vec.collection.explorer.maps import maps_of
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import ArtifactError, BusyError, Dial2vecError
from dial2vec.files import folder_lock

from .conftest import dialogues_of


@pytest.fixture
def other(tiny_folder, tmp_path):
    """An encoder with other vectors for the same dialogues."""
    encoder = DialogueEncoder.from_pretrained(tiny_folder, pooling="cls", device="cpu")
    encoder.name = "the base encoder"
    encoder.save_pretrained(tmp_path / "other")
    return str(tmp_path / "other")


def test_old_points_stay_where_they_are_when_new_ones_come(grow, tmp_path):
    before = maps_of(grow(tmp_path / "c", dialogues_of(range(40)))).trained
    after = maps_of(grow(tmp_path / "c", dialogues_of(range(55)))).trained
    assert after.points[:40].tobytes() == before.points.tobytes()
    assert (len(after.points), len(after.fitted)) == (55, 40)
    again = maps_of(Collection(tmp_path / "c")).trained
    assert again.points.tobytes() == after.points.tobytes()


def test_added_in_portions_everything_lies_in_the_same_place(grow, tmp_path):
    for name, ends in (("one", (40, 60)), ("three", (40, 45, 52, 60))):
        for end in ends:
            maps_of(grow(tmp_path / name, dialogues_of(range(end))))
    found = [maps_of(Collection(tmp_path / name)).trained.points for name in ("one", "three")]
    np.testing.assert_allclose(*found, atol=1e-3)


def test_a_new_map_is_made_of_all(grow, tmp_path):
    maps_of(grow(tmp_path / "c", dialogues_of(range(40))))
    collection = grow(tmp_path / "c", dialogues_of(range(55)))
    assert len(maps_of(collection, from_scratch=True).trained.fitted) == 55


def test_of_very_many_some_make_the_map_and_the_others_join_it(grow, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MOST_FITTED", 35)
    found = maps_of(grow(tmp_path / "c", dialogues_of(range(40)))).trained
    assert len(found.fitted) == 35
    assert np.isfinite(found.points).all()
    assert (np.ptp(found.points, axis=0) > 0).all()


def test_map_of_other_dialogues_is_refused(grow, tmp_path):
    maps_of(grow(tmp_path / "a", dialogues_of(range(40))))
    other = grow(tmp_path / "b", dialogues_of(range(1, 50)))
    (tmp_path / "b" / "map").mkdir()
    (tmp_path / "b" / "map" / "trained.npz").write_bytes((tmp_path / "a" / "map" / "trained.npz").read_bytes())
    with pytest.raises(ArtifactError, match=r"map of other dialogues.*--from-scratch"):
        maps_of(other)
    assert len(maps_of(other, from_scratch=True).trained.points) == 49


def test_damaged_map_is_named(grow, tmp_path):
    collection = grow(tmp_path / "c", dialogues_of(range(3)))
    maps_of(collection)
    (tmp_path / "c" / "map" / "trained.npz").write_bytes(b"half")
    with pytest.raises(ArtifactError, match=r"trained\.npz cannot be read.*--from-scratch"):
        maps_of(collection)


def test_empty_collection_has_no_map(grow, tmp_path):
    grow(tmp_path / "c", dialogues_of(range(3)))
    manifest = tmp_path / "c" / "collection.json"
    text = manifest.read_text()
    manifest.write_text(text[: text.index('"additions"')] + '"additions": []}')
    with pytest.raises(ArtifactError, match="holds no dialogues"):
        maps_of(Collection(tmp_path / "c"))


def test_one_at_a_time_makes_maps(grow, tmp_path):
    collection = grow(tmp_path / "c", dialogues_of(range(3)))
    with folder_lock(tmp_path / "c" / "map", "makes the map of"), pytest.raises(BusyError):
        maps_of(collection)


def test_start_is_turned_to_the_trained_map_kept_and_grows(grow, tmp_path, other):
    collection = grow(tmp_path / "c", dialogues_of(range(40)))
    assert maps_of(collection).start is None
    first = maps_of(collection, start=other, progress=False)
    assert first.start_name == "the base encoder"
    # No rotation brings it closer: the sum of products with the other map is at its largest.
    centred = [one - one.mean(axis=0) for one in (first.start.points, first.trained.points)]
    cross = centred[0].T.astype(float) @ centred[1]
    np.testing.assert_allclose(np.trace(cross), np.linalg.svd(cross)[1].sum(), rtol=1e-3)
    grown = maps_of(grow(tmp_path / "c", dialogues_of(range(50))), progress=False)
    assert grown.start.points[:40].tobytes() == first.start.points.tobytes()
    assert len(grown.start.points) == 50


def test_killed_start_goes_on(grow, tmp_path, other, monkeypatch):
    collection = grow(tmp_path / "c", dialogues_of(range(40)))

    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("dial2vec.collection.adding._append", killed)
        with pytest.raises(KeyboardInterrupt):
            maps_of(collection, start=other, progress=False)
    assert len(maps_of(collection, start=other, progress=False).start.points) == 40


def test_another_start_takes_the_place_of_the_first(grow, tmp_path, other, tiny_folder):
    collection = grow(tmp_path / "c", dialogues_of(range(40)))
    first = maps_of(collection, start=other, progress=False)
    third = DialogueEncoder.from_pretrained(tiny_folder, max_length=8, device="cpu")
    third.name = "third"
    third.save_pretrained(tmp_path / "third")
    second = maps_of(collection, start=str(tmp_path / "third"), progress=False)
    assert second.start_name == "third"
    assert second.start.points.tobytes() != first.start.points.tobytes()


def test_encoder_of_the_collection_is_no_start(grow, tmp_path, tiny_folder):
    collection = grow(tmp_path / "c", dialogues_of(range(5)))
    with pytest.raises(Dial2vecError, match=r"the encoder of .* itself"):
        maps_of(collection, start=tiny_folder)


def test_start_of_other_dialogues_is_refused(grow, tmp_path, other):
    maps_of(grow(tmp_path / "a", dialogues_of(range(40))), start=other, progress=False)
    collection = grow(tmp_path / "b", dialogues_of(range(1, 41)))
    (tmp_path / "b" / "map").mkdir()
    (tmp_path / "a" / "map" / "start").rename(tmp_path / "b" / "map" / "start")
    with pytest.raises(ArtifactError, match="holds other dialogues"):
        maps_of(collection)
