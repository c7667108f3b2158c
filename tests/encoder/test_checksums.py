"""Checksums: a damaged file is told by name, what was found and what was expected; contents are read once."""

from __future__ import annotations

import json
import os
import shutil
import time

import pytest

from conversations.errors import ArtifactError, ConversationError
from conversations.files import read_json, write_checked_json
from dial2vec.encoder import DialogueEncoder, checksums
from dial2vec.encoder.checksums import damage_of, damaged_files, hash_again, md5_of, note, write_checksums
from dial2vec.encoder.loading import load_encoder
from dial2vec.errors import ModelError


@pytest.fixture(autouse=True)
def _nothing_known():
    hash_again()


def flip(path, at=-1):
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "weights").write_bytes(bytes(range(200)))
    (tmp_path / "inner" / "settings").write_text("{}")
    (tmp_path / "README.md").write_text("a card")
    write_checksums(tmp_path, without=("README.md",))
    return tmp_path


def test_a_whole_folder_has_no_damage_and_a_card_may_change(folder):
    (folder / "README.md").write_text("another card")
    (folder / "new").write_text("not listed")
    assert list(damaged_files(folder)) == []


def test_each_damage_is_told(folder):
    flip(folder / "weights")
    (folder / "inner" / "settings").unlink()
    inner, weights = damaged_files(folder)
    assert inner == f"{folder / 'inner' / 'settings'} is missing; expected a file of 2 bytes"
    md5 = json.loads((folder / "checksums.json").read_text())["weights"][1]
    found = md5_of(folder / "weights")
    assert weights.endswith(f"weights is damaged: its bytes 0 to 200 have the MD5 {found[:8]}; expected {md5[:8]}")
    (folder / "weights").write_bytes(b"x" * 201)
    assert damage_of(folder / "weights").endswith("it has 201 bytes; expected 200")


def test_contents_are_read_once_until_a_file_changes(folder, monkeypatch):
    read = []
    monkeypatch.setattr(checksums, "md5_of", lambda path, *_: read.append(path) or md5_of(path))
    monkeypatch.setattr(checksums, "TICK", 0)
    for _ in range(3):
        assert list(damaged_files(folder)) == []
    assert len(read) == 2
    # Bytes and time as before: the system's own time tells.
    before = (folder / "weights").stat()
    time.sleep(0.02)
    flip(folder / "weights")
    os.utime(folder / "weights", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert len(list(damaged_files(folder))) == 1


def test_a_file_that_was_just_written_is_read_again(folder, monkeypatch):
    monkeypatch.setattr(checksums, "TICK", 10**12)
    assert list(damaged_files(folder)) == []
    flip(folder / "weights")
    assert len(list(damaged_files(folder))) == 1


def test_a_file_that_grows_has_a_checksum_of_each_part_and_old_parts_are_not_read(tmp_path, monkeypatch):
    path, read = tmp_path / "vectors", []
    monkeypatch.setattr(
        checksums, "md5_of", lambda path, begin, size: read.append((begin, size)) or md5_of(path, begin, size)
    )
    for size in (100, 150, 150):
        path.write_bytes(bytes(160))
        note(path, size)
    assert read == [(0, 100), (100, 50)]
    assert damage_of(path) == ""
    flip(path, 159)
    hash_again()
    assert damage_of(path) == ""
    flip(path, 120)
    hash_again()
    assert "its bytes 100 to 150 have the MD5" in damage_of(path)


def test_damaged_checksums_are_told_and_files_without_them_pass(folder):
    (folder / "checksums.json").write_text('{"weights"')
    with pytest.raises(ConversationError, match=r"checksums.json is damaged .* Remove it; no file is checked"):
        list(damaged_files(folder))
    (folder / "checksums.json").unlink()
    flip(folder / "weights")
    assert list(damaged_files(folder)) == []


def test_a_record_tells_damage_that_leaves_it_json(tmp_path):
    path = tmp_path / "record.json"
    record = {"name": "cards", "sizes": [1, 2], "share": 0.25, "of": {"1": None}}
    write_checked_json(path, record)
    assert read_json(path) == record
    path.write_text(path.read_text().replace("cards", "carts"))
    with pytest.raises(ArtifactError, match=r"its content has the MD5 .*; expected"):
        read_json(path)


@pytest.mark.parametrize("kind", ["encoder", "student"])
def test_a_saved_model_with_other_bytes_is_refused(tiny_folder, student_folder, tmp_path, kind):
    if kind == "encoder":
        DialogueEncoder.from_pretrained(tiny_folder).save_pretrained(tmp_path / "model")
    else:
        shutil.copytree(student_folder, tmp_path / "model")
    name = {"encoder": "model.safetensors", "student": "table.safetensors"}[kind]
    load_encoder(tmp_path / "model")
    flip(tmp_path / "model" / name)
    with pytest.raises(ModelError, match=f"{name} is damaged: .* Bring it back from a backup, or save the model again"):
        load_encoder(tmp_path / "model")
    (tmp_path / "model" / "checksums.json").unlink()
    load_encoder(tmp_path / "model")
