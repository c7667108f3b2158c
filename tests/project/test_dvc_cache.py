"""What DVC's cache loses: only what no record refers to, also in git, and what no version needs."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess

import pytest
import yaml

from dial2vec.errors import VersioningError
from dial2vec.project.dvc_cache import cache_folder, object_path, remote_folder, remove_objects, unused_objects


@pytest.fixture
def project(tmp_path):
    (tmp_path / ".dvc" / "cache" / "files" / "md5").mkdir(parents=True)
    return tmp_path


def put(root, text, *, ending=""):
    """Add an object to the cache and return its hash."""
    md5 = hashlib.md5(text.encode()).hexdigest() + ending
    path = object_path(cache_folder(root), md5)
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return md5


def put_folder(root, **files):
    entries = [{"md5": put(root, text), "relpath": name} for name, text in files.items()]
    return put(root, json.dumps(entries), ending=".dir")


def lock(root, md5):
    (root / "dvc.lock").write_text(yaml.safe_dump({"stages": {"train": {"outs": [{"path": "model", "md5": md5}]}}}))


def data(root, md5):
    (root / "data.dvc").write_text(yaml.safe_dump({"outs": [{"md5": md5, "path": "data"}]}))


def unused(root, *kept, young=0.0):
    return {path.read_text() for path in unused_objects(root, cache_folder(root), kept, young=young)}


def git(root, *arguments):
    identity = {f"GIT_{who}_{what}": "x@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, env=os.environ | identity)


def test_objects_of_the_present_records_and_of_versions_that_stay_are_kept(project):
    data(project, put_folder(project, a="present data"))
    lock(project, put(project, "present model"))
    old = put_folder(project, a="data of a version")
    put(project, "old model")
    put_folder(project, a="older data")
    assert {text for text in unused(project, old) if "[" not in text} == {"old model", "older data"}


def test_objects_of_every_branch_and_tag_are_kept(project):
    git(project, "init", "-q")
    lock(project, put(project, "model of a tag"))
    git(project, "add", "dvc.lock")
    git(project, "commit", "-qm", "one")
    git(project, "tag", "good")
    lock(project, put(project, "present model"))
    git(project, "commit", "-qam", "two")
    put(project, "old model")
    assert unused(project) == {"old model"}


def test_young_objects_stay(project):
    put(project, "old model")
    assert unused(project, young=600) == set()


def test_nothing_goes_if_a_record_cannot_be_read(project):
    (project / "dvc.lock").write_text("<<<<<<< HEAD\n{a: [")
    with pytest.raises(VersioningError, match=r"cannot be read .*, so nothing is removed from its cache\. Restore"):
        unused(project)


def test_entries_of_the_run_cache_go_with_their_objects(project):
    gone, kept = put(project, "old model"), put(project, "present model")
    runs = project / ".dvc" / "cache" / "runs" / "ab" / "abc"
    runs.mkdir(parents=True)
    for name, md5 in (("gone", gone), ("kept", kept)):
        (runs / name).write_text(yaml.safe_dump({"outs": [{"path": "model", "md5": md5}]}))
    remove_objects(cache_folder(project), [object_path(cache_folder(project), gone)])
    assert [path.name for path in runs.iterdir()] == ["kept"]
    assert not object_path(cache_folder(project), gone).exists()


def test_a_cache_outside_the_project_is_left_alone(project, tmp_path_factory):
    shared = tmp_path_factory.mktemp("shared")
    (shared / "files" / "md5").mkdir(parents=True)
    (project / ".dvc" / "config").write_text(f"[cache]\n    dir = {shared}\n")
    assert cache_folder(project) is None


def test_the_folder_of_the_default_remote_is_found(project):
    far = project / "far" / "files" / "md5"
    far.mkdir(parents=True)
    config = "[core]\n    remote = far\n['remote \"far\"']\n    url = ../far\n    verify = true\n"
    (project / ".dvc" / "config").write_text(config)
    assert remote_folder(project) == far
    (project / ".dvc" / "config").write_text(config.replace("../far", f'"{project}/far"'))
    assert remote_folder(project) == far
    (project / ".dvc" / "config").write_text(config.replace("../far", "s3://bucket/far"))
    assert remote_folder(project) is None
