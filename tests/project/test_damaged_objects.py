"""A damaged object of DVC's cache is set aside and fetched, or made again; it is never restored in silence."""

from __future__ import annotations

import logging
import os
import shutil

import pytest

from dial2vec.project.dvc import add_data, dvc, push, restore_data
from dial2vec.project.dvc_cache import damaged_objects, object_path, recorded_files, set_aside_damaged
from dial2vec.project.new import make_project

LINE = '{"dialogue_id": "d", "turns": [{"speaker": "a", "text": "hello"}]}\n'


def spoil(path, *, size=None):
    """Flip a bit or cut a file, and leave it read-only, as DVC believes it, with its time."""
    before, content = path.stat(), bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.chmod(0o644)
    path.write_bytes(content[:size])
    path.chmod(0o444)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.fixture
def cache(tmp_path):
    return tmp_path / ".dvc" / "cache" / "files" / "md5"


@pytest.fixture
def kept(tmp_path, cache):
    """A project without DVC itself: one file of data, and its object."""
    import hashlib

    md5 = hashlib.md5(LINE.encode()).hexdigest()
    for path in (tmp_path / "data" / "calls" / "a.jsonl", object_path(cache, md5)):
        path.parent.mkdir(parents=True)
        path.write_text(LINE)
    listing = f'[{{"md5": "{md5}", "relpath": "calls/a.jsonl"}}]'
    of = hashlib.md5(listing.encode()).hexdigest()
    object_path(cache, of).parent.mkdir()
    object_path(cache, f"{of}.dir").write_text(listing)
    (tmp_path / "data.dvc").write_text(f"outs:\n- md5: {of}.dir\n  path: data\n")
    return object_path(cache, md5)


def test_whole_objects_stay(tmp_path, cache, kept):
    assert recorded_files(tmp_path, cache) == [
        (tmp_path / "data" / "calls" / "a.jsonl", f"{kept.parent.name}{kept.name}")
    ]
    assert set_aside_damaged(tmp_path) == []
    assert kept.exists()


@pytest.mark.parametrize("size", [None, 20, 0])
def test_a_damaged_object_is_set_aside_and_put_back_from_the_project(tmp_path, cache, kept, size):
    spoil(kept, size=size)
    [told] = set_aside_damaged(tmp_path)
    assert told.startswith(f"{kept} is damaged: ")
    assert told.endswith("DVC fetches it, or its stage makes it again.")
    assert kept.read_text() == LINE
    assert list(damaged_objects(cache)) == []
    assert len(list((tmp_path / ".dvc" / "tmp" / "damaged").iterdir())) == 1


def test_a_changed_file_of_the_project_is_not_put_into_the_cache(tmp_path, kept):
    spoil(kept)
    (tmp_path / "data" / "calls" / "a.jsonl").write_text("other\n")
    assert len(set_aside_damaged(tmp_path)) == 1
    assert not kept.exists()


@pytest.mark.services("dvc")
def test_data_comes_whole_from_the_remote_or_not_at_all(tmp_path, caplog):
    root = tmp_path / "project"
    make_project(root)
    caplog.set_level(logging.WARNING)
    data = root / "data" / "calls"
    data.mkdir(parents=True)
    (data / "a.jsonl").write_text(LINE)
    if not (root / ".dvc").is_dir():
        dvc(root, "init", "--no-scm", "--quiet")
    dvc(root, "remote", "add", "--quiet", "--force", "--default", "store", str(tmp_path / "store"))
    add_data(root)
    assert push(root, ["data.dvc"]) == ""
    cache = root / ".dvc" / "cache" / "files" / "md5"
    [(_, md5)] = recorded_files(root, cache)
    spoil(object_path(cache, md5))
    shutil.rmtree(data)
    restore_data(root)
    assert (data / "a.jsonl").read_text() == LINE
    assert "is damaged: its bytes 0 to" in caplog.text
    for folder in (cache, tmp_path / "store" / "files" / "md5"):
        spoil(object_path(folder, md5))
    shutil.rmtree(data)
    restore_data(root)
    assert not (data / "a.jsonl").exists()
