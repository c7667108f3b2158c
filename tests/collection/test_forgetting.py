from __future__ import annotations

import json

import pytest

from conversations.dialogue import write_dialogues
from dial2vec.collection.adding import add
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.forgetting import forget_in_collection
from dial2vec.collection.search import Search
from dial2vec.encoder.loading import load_encoder


@pytest.fixture
def folder(tmp_path, tiny_folder, dialogue):
    """A collection of three dialogues, with a note about each of two, and a group."""
    file, folder = tmp_path / "calls.jsonl", tmp_path / "collection"
    write_dialogues(file, [dialogue(f"d{i}", f"a: w{i} w2", f"b: w{10 + i} w3") for i in range(3)])
    add(folder, file, encoder=load_encoder(tiny_folder), progress=False)
    notes = [json.dumps({"dialogue_id": name, "date": "2026-11-26", "text": "odd"}) for name in ("d0", "d1")]
    (folder / "notes.jsonl").write_text("\n".join(notes) + "\n")
    (folder / "clusters").mkdir()
    (folder / "clusters" / "titles.txt").write_text("w11")
    return folder


def test_a_collection_without_a_dialogue_keeps_the_vectors_of_the_others_and_no_word_of_it(folder):
    before = CollectionFolder(folder).vectors.copy()
    assert forget_in_collection(folder, {"d1", "unknown"}) == ["d1"]
    after = CollectionFolder(folder)
    assert list(after.row_of) == ["d0", "d2"]
    # They are computed again, in batches of other dialogues, which bf16 rounds otherwise.
    assert abs(after.vectors - before[[0, 2]]).max() < 0.01
    texts = [path.read_bytes() for path in folder.rglob("*") if path.is_file() and "model" not in path.parts]
    assert not any(b"w11" in text or b'"d1"' in text for text in texts)
    assert [json.loads(line)["dialogue_id"] for line in (folder / "notes.jsonl").read_text().splitlines()] == ["d0"]


def test_a_collection_of_nothing_else_is_empty_then_and_takes_other_dialogues(folder, dialogue, tmp_path):
    forget_in_collection(folder, {"d0", "d1", "d2"})
    assert list(CollectionFolder(folder).dialogues()) == []
    assert Search(CollectionFolder(folder)).find("w1") == []
    assert (folder / "notes.jsonl").read_text() == ""
    write_dialogues(tmp_path / "more.jsonl", [dialogue("e0", "a: w1")])
    add(folder, tmp_path / "more.jsonl", encoder=load_encoder(CollectionFolder(folder).model), progress=False)
    assert list(CollectionFolder(folder).row_of) == ["e0"]


def test_a_link_to_a_collection_loses_the_dialogue_where_it_is(folder, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(folder)
    assert forget_in_collection(link, {"d1"}) == ["d1"]
    assert link.is_symlink()
    assert list(CollectionFolder(folder).row_of) == ["d0", "d2"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["calls.jsonl", "collection", "link"]


def test_a_collection_that_does_not_have_the_dialogue_stays(folder):
    before = (folder / "collection.json").stat().st_mtime_ns
    assert forget_in_collection(folder, {"unknown"}) == []
    assert (folder / "collection.json").stat().st_mtime_ns == before
