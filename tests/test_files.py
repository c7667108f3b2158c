from __future__ import annotations

import errno
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conversations.files import atomic_path, read_json, write_json
from dial2vec import files
from dial2vec.errors import ArtifactError, BusyError, Dial2vecError
from dial2vec.files import LOCK_OWNER, checkout_lock, claim, code_hash, find_root
from dial2vec.processes import ending_with

HOLDER = """
import sys, time
from pathlib import Path
from dial2vec.files import checkout_lock
with checkout_lock(Path(sys.argv[1]), "stage train of demo"):
    print("held", flush=True)
    time.sleep(60)
"""
PARENT = """
import os, subprocess, sys, time
from dial2vec.processes import ending_with
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], preexec_fn=ending_with(os.getpid()))
print(child.pid, flush=True)
time.sleep(60)
"""
ENTERS = """
import sys
from pathlib import Path
from dial2vec.files import checkout_lock
with checkout_lock(Path(sys.argv[1]), "inner", patience=0):
    print("entered")
"""


def test_only_code_that_computes_a_result_makes_it_stale(tmp_path, monkeypatch):
    places = ["dial2vec/cli/look.py", "dial2vec/encoder/head.py", "conversations/dialogue.py", "dial2vec_papers/run.py"]
    for name in (*places, "dial2vec/config.py", "dial2vec/draws.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("before")
    monkeypatch.setattr(files, "__file__", str(tmp_path / "dial2vec" / "files.py"))

    def changes(name):
        before = (code_hash("encoder"), code_hash())
        (tmp_path / name).write_text("after")
        return code_hash("encoder") != before[0], code_hash() != before[1]

    assert [changes(name) for name in places] == [(False, True), (True, True), (True, True), (False, True)]


def test_a_folder_is_kept_for_its_own_fingerprint_and_emptied_for_another(tmp_path):
    folder = tmp_path / "kept"
    assert not claim(folder, "one")
    (folder / "made").touch()
    assert claim(folder, "one")
    assert (folder / "made").exists()
    assert not claim(folder, "other")
    assert not (folder / "made").exists()
    (folder / "fingerprint.json").write_text('"oth')
    assert not claim(folder, "other")


@pytest.fixture
def holder(tmp_path):
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


def test_second_process_is_told_who_is_at_work(tmp_path, holder):
    expected = rf"stage train of demo \(pid {holder.pid}, since"
    with pytest.raises(BusyError, match=expected), checkout_lock(tmp_path, "second", patience=0):
        pytest.fail("two at a time")


def test_lock_of_a_killed_process_is_free_at_once(tmp_path, holder):
    holder.kill()
    holder.wait()
    with checkout_lock(tmp_path, "second", patience=0):
        assert (tmp_path / "artifacts" / ".lock").is_file()


def test_a_holder_that_is_just_ending_is_waited_for(tmp_path, holder):
    began = time.monotonic()
    subprocess.Popen(["/bin/sh", "-c", f"sleep 0.5; kill -9 {holder.pid}"])
    with checkout_lock(tmp_path, "second", patience=20):
        assert 0.3 < time.monotonic() - began < 15


def test_process_started_by_the_holder_enters(tmp_path):
    with checkout_lock(tmp_path, "outer"):
        inner = subprocess.run(
            [sys.executable, "-c", ENTERS, str(tmp_path)], capture_output=True, text=True, check=True
        )
    assert inner.stdout == "entered\n"


def test_process_whose_holder_was_killed_takes_the_lock_itself(tmp_path, holder, monkeypatch):
    monkeypatch.setenv(LOCK_OWNER, str(holder.pid))
    with checkout_lock(tmp_path, "child of the living", patience=0):
        pass
    holder.kill()
    holder.wait()
    with checkout_lock(tmp_path, "child of the dead", patience=0):
        monkeypatch.setenv(LOCK_OWNER, "")
        entered = subprocess.run(
            [sys.executable, "-c", ENTERS, str(tmp_path)], capture_output=True, text=True, check=False
        )
    assert "child of the dead" in entered.stderr


def test_write_json_is_whole_or_not_there(tmp_path):
    path = tmp_path / "deep" / "a.json"
    write_json(path, {"a": 1})
    with pytest.raises(TypeError):
        write_json(path, {"a": object()})
    assert read_json(path) == {"a": 1}
    assert list(path.parent.iterdir()) == [path]


def test_reading_a_missing_or_half_written_artifact_says_what_to_do(tmp_path):
    with pytest.raises(ArtifactError, match="Run `dial2vec run`"):
        read_json(tmp_path / "none.json")
    (tmp_path / "half.json").write_text('{"a": ')
    with pytest.raises(ArtifactError, match="Delete it and run `dial2vec run`"):
        read_json(tmp_path / "half.json")


def test_a_folder_that_could_not_be_replaced_is_still_there(tmp_path, monkeypatch):
    target = tmp_path / "model"
    target.mkdir()
    (target / "old").touch()

    def refused(self, target):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(Path, "replace", refused)
    with pytest.raises(Dial2vecError, match="cannot write"), atomic_path(target) as folder:
        folder.mkdir()
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert [path.name for path in target.iterdir()] == ["old"]


def test_a_refused_write_names_the_file_and_not_its_temporary_path(tmp_path, monkeypatch):
    def refused(self, *_):
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(self))

    monkeypatch.setattr(Path, "write_text", refused)
    told = rf"^cannot write {tmp_path}/x.json: No such"
    with pytest.raises(Dial2vecError, match=told), atomic_path(tmp_path / "x.json") as outer, atomic_path(outer) as one:
        one.write_text("")
    with pytest.raises(FileNotFoundError), atomic_path(tmp_path / "x.json"):
        (tmp_path / "another.json").write_text("")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent is gone")
def test_a_process_ends_with_the_parent_that_was_killed(tmp_path):
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 20
    while Path(f"/proc/{child}/stat").is_file() and time.monotonic() < deadline:
        if Path(f"/proc/{child}/stat").read_text().split()[2] == "Z":
            break
        time.sleep(0.05)
    assert time.monotonic() < deadline


def test_a_process_that_has_lost_its_parent_already_does_not_begin():
    done = subprocess.run([sys.executable, "-c", "print('began')"], preexec_fn=ending_with(1), check=False)
    assert done.returncode == 1


def test_a_folder_replaces_a_folder_as_a_whole(tmp_path):
    target = tmp_path / "model"
    for name in ("old", "new"):
        with atomic_path(target) as folder:
            folder.mkdir()
            (folder / name).touch()
    assert [path.name for path in target.iterdir()] == ["new"]


@pytest.mark.parametrize("name", ["why?", 'it\'s "quoted"', "two\nlines"])
def test_a_project_in_a_folder_that_mlflow_cannot_open_is_refused_at_the_start(tmp_path, name):
    folder = tmp_path / name
    folder.mkdir()
    for file in ("params.yaml", "dvc.yaml"):
        (folder / file).touch()
    with pytest.raises(Dial2vecError, match=r"MLflow's database cannot be opened there\. Rename the folder"):
        find_root(folder)


@pytest.mark.parametrize("name", ["100%", "a%20b", "o'neil", 'say "hi"', "a#b"])
def test_a_project_in_a_folder_with_other_odd_letters_is_found(tmp_path, name):
    folder = tmp_path / name
    folder.mkdir()
    for file in ("params.yaml", "dvc.yaml"):
        (folder / file).touch()
    assert find_root(folder) == folder


def test_project_is_found_from_below_and_missed_outside(tmp_path):
    project = tmp_path / "project"
    (project / "data" / "calls").mkdir(parents=True)
    for name in ("params.yaml", "dvc.yaml"):
        (project / name).touch()
    assert find_root(project / "data" / "calls") == project
    with pytest.raises(Dial2vecError, match="no project at or above"):
        find_root(tmp_path)
