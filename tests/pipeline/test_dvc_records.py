"""DVC's records: whatever a kill leaves of them, DVC can read them afterwards, and nothing of `data/` is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dial2vec.errors import CorpusError, Dial2vecError
from dial2vec.pipeline import dvc_records as dvc_files
from dial2vec.pipeline.dvc_records import add_was_cut, adding, mend
from dial2vec.project import dvc as dvc_module
from dial2vec.project.dvc import add_data, dvc_lines, pull_data, restore_data

LOCK = {
    "schema": "2.0",
    "stages": {
        f"train@{name}": {
            "cmd": f"python -m train {name}",
            "deps": [{"path": f"data/{name}", "hash": "md5", "md5": f"{number:a>32}.dir", "size": 7, "nfiles": 1}],
            "outs": [{"path": f"artifacts/{name}", "hash": "md5", "md5": f"{number:b>32}", "size": 12}],
        }
        for number, name in enumerate(("calls", "chats"))
    },
}
TEXT = yaml.safe_dump(LOCK, sort_keys=False)
DATA = yaml.safe_dump({"outs": [{"md5": f"{5:a>32}.dir", "size": 3, "nfiles": 1, "hash": "md5", "path": "data"}]})


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    monkeypatch.setattr(dvc_files, "MOMENT", 0.0)


@pytest.fixture
def project(tmp_path):
    """A folder that DVC has taken for its own, with both records whole and copied."""
    (tmp_path / ".dvc").mkdir()
    (tmp_path / "dvc.lock").write_text(TEXT)
    (tmp_path / "data.dvc").write_text(DATA)
    mend(tmp_path)
    return tmp_path


@pytest.mark.parametrize("left", ["", TEXT[:300], "schema: '2.0'\nsta", "\0" * 40, "- a list"])
def test_a_cut_lock_is_brought_back(project, left, caplog):
    (project / "dvc.lock").write_text(left)
    mend(project)
    assert (project / "dvc.lock").read_text() == TEXT
    assert (project / ".dvc" / "tmp" / "dvc.lock.cut").read_text() == left
    assert caplog.messages == [
        f"{project / 'dvc.lock'} was truncated by a kill or a full disk; its last complete state is restored."
    ]
    mend(project)
    assert len(caplog.messages) == 1


@given(at=st.integers(0, len(TEXT)))
def test_whatever_is_left_of_a_lock_dvc_can_read_it_afterwards(tmp_path_factory, at):
    folder = tmp_path_factory.mktemp("cut")
    (folder / ".dvc").mkdir()
    path = folder / "dvc.lock"
    path.write_text(TEXT)
    mend(folder)
    path.write_text(TEXT[:at])
    dvc_files.MOMENT = 0.0
    mend(folder)
    assert dvc_files._complete_record(path)


def test_the_copy_follows_what_is_whole(project):
    newer = TEXT.replace("size: 12", "size: 13")
    (project / "dvc.lock").write_text(newer)
    mend(project)
    (project / "dvc.lock").write_text("")
    mend(project)
    assert (project / "dvc.lock").read_text() == newer


def test_without_a_copy_a_cut_record_is_taken_away_and_kept_aside(tmp_path, caplog):
    (tmp_path / ".dvc").mkdir()
    (tmp_path / "dvc.lock").write_text("schema:")
    mend(tmp_path)
    assert not (tmp_path / "dvc.lock").exists()
    assert (tmp_path / ".dvc" / "tmp" / "dvc.lock.cut").read_text() == "schema:"
    assert "will be rebuilt" in caplog.text


def test_a_conflict_of_git_is_left_to_people(project):
    conflict = f"<<<<<<< HEAD\n{DATA}=======\n{DATA}>>>>>>> theirs\n"
    (project / "data.dvc").write_text(conflict)
    mend(project)
    assert (project / "data.dvc").read_text() == conflict
    assert (project / ".dvc" / "tmp" / "data.dvc.whole").read_text() == DATA


def test_a_record_that_is_being_written_is_left_alone(project, monkeypatch):
    path, newer = project / "dvc.lock", TEXT.replace("size: 12", "size: 13")
    path.write_text("")
    monkeypatch.setattr(dvc_files.time, "sleep", lambda _: path.write_text(newer))
    mend(project)
    assert path.read_text() == newer


def test_a_cut_list_of_busy_files_is_started_again(project, caplog):
    busy = project / ".dvc" / "tmp" / "rwlock"
    busy.write_text('{"read": {}, "write": {}}')
    mend(project)
    assert busy.exists()
    busy.write_text('{"read": {"a')
    mend(project)
    assert not busy.exists()
    assert "starts a new one" in caplog.text


def test_a_list_of_a_stopped_run_alone_is_removed_without_a_word(project, caplog):
    busy, ended = project / ".dvc" / "tmp" / "rwlock", subprocess.Popen(["true"])
    ended.wait()
    own = {"data/calls": {"write": {"pid": os.getpid(), "cmd": "dvc repro"}}}
    stopped = {"data/chats": {"read": [{"pid": ended.pid, "cmd": "dvc repro"}]}}
    busy.write_text(json.dumps(own | stopped))
    mend(project)
    assert busy.exists()
    busy.write_text(json.dumps(stopped))
    mend(project)
    assert not busy.exists()
    assert caplog.text == ""


def test_a_gpu_machine_without_dvc_runs_a_stage(project, monkeypatch):
    monkeypatch.setitem(sys.modules, "dvc", None)
    (project / "dvc.lock").write_text("cut")
    mend(project)
    assert (project / "dvc.lock").read_text() == "cut"


def test_outside_a_project_of_dvc_nothing_happens(tmp_path):
    (tmp_path / "dvc.lock").write_text("")
    mend(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["dvc.lock"]


def test_only_an_add_that_succeeded_ends_the_note(project):
    assert not add_was_cut(project)
    with pytest.raises(ZeroDivisionError), adding(project):
        raise ZeroDivisionError
    assert add_was_cut(project)
    with adding(project):
        pass
    assert not add_was_cut(project)


@pytest.fixture
def versioned(tmp_path) -> Path:
    """A real project of DVC with one file of data in its first version."""
    subprocess.run([sys.executable, "-m", "dvc", "init", "--no-scm", "--quiet"], cwd=tmp_path, check=True)
    (tmp_path / "data" / "calls").mkdir(parents=True)
    (tmp_path / "data" / "calls" / "old.jsonl").write_text("old")
    add_data(tmp_path)
    mend(tmp_path)
    return tmp_path


@pytest.mark.services("dvc")
@pytest.mark.parametrize("left", [None, ""])
def test_data_whose_versioning_was_killed_is_not_pulled_away(versioned, left):
    """DVC's storage has the new file already, and data.dvc still names the version without it, or nothing."""
    record, new = versioned / "data.dvc", versioned / "data" / "calls" / "new.jsonl"
    older = record.read_text()
    new.write_text("new")
    add_data(versioned)
    newer = record.read_text()
    (versioned / ".dvc" / "tmp" / "data.dvc.whole").write_text(older)
    if left is None:
        record.write_text(older)
        (versioned / ".dvc" / "tmp" / "adding").touch()
    else:
        record.write_text(left)
    pull_data(versioned)
    assert new.read_text() == "new"
    assert record.read_text() == newer
    assert not add_was_cut(versioned)


@pytest.mark.services("dvc")
def test_what_was_taken_out_here_is_not_brought_back(versioned):
    (versioned / "data" / "calls" / "private.jsonl").write_text("private")
    add_data(versioned)
    (versioned / "data" / "calls" / "private.jsonl").unlink()
    assert pull_data(versioned) == ""
    assert [path.name for path in (versioned / "data" / "calls").iterdir()] == ["old.jsonl"]


@pytest.mark.services("dvc")
def test_a_version_that_came_from_elsewhere_is_pulled_once(versioned):
    record = versioned / "data.dvc"
    older = record.read_text()
    (versioned / "data" / "calls" / "theirs.jsonl").write_text("theirs")
    add_data(versioned)
    newer = record.read_text()
    (versioned / "data" / "calls" / "theirs.jsonl").unlink()
    add_data(versioned)
    assert record.read_text() == older
    # As `git pull` would write it.
    record.write_text(newer)
    assert pull_data(versioned) == ""
    theirs = versioned / "data" / "calls" / "theirs.jsonl"
    assert theirs.read_text() == "theirs"
    theirs.unlink()
    assert pull_data(versioned) == ""
    assert not theirs.exists()


@pytest.mark.services("dvc")
def test_every_way_to_dvc_mends_first(versioned):
    for call in (add_data, lambda root: list(dvc_lines(root, "status")), restore_data):
        (versioned / "data.dvc").write_text("")
        call(versioned)
        assert "outs:" in (versioned / "data.dvc").read_text()


@pytest.mark.services("dvc")
def test_without_a_copy_the_data_is_versioned_anew(versioned):
    record = versioned / "data.dvc"
    before = record.read_text()
    (versioned / ".dvc" / "tmp" / "data.dvc.whole").unlink()
    record.write_text("")
    assert pull_data(versioned) == ""
    assert record.read_text() == before


@pytest.mark.services("dvc")
def test_what_dvc_says_of_a_lost_listing_is_told(versioned):
    for path in (versioned / ".dvc" / "cache").rglob("*.dir"):
        path.unlink()
    with pytest.raises(CorpusError, match=r"DVC cannot tell what .*data\.dvc lists: .*No such file.*dir'\. Versioning"):
        restore_data(versioned)


def test_what_data_dvc_lists_is_asked_again_only_if_it_has_changed(project, monkeypatch):
    asked = []

    def answer(root, *arguments):
        asked.append(arguments)
        return subprocess.CompletedProcess(arguments, 0, "calls\nchats\n", "")

    monkeypatch.setattr(dvc_module, "_run_dvc", answer)
    for content, times in ((DATA, 1), (DATA, 1), (DATA.replace("size: 3", "size: 4"), 2)):
        (project / "data.dvc").write_text(content)
        assert dvc_module._recorded(project) == {"calls", "chats"}
        assert len(asked) == times


def test_a_stage_that_was_killed_is_explained_with_the_way_on(project, monkeypatch):
    monkeypatch.setattr(dvc_module, "_run_dvc", lambda *given, quiet: subprocess.CompletedProcess(given, 255))
    with pytest.raises(Dial2vecError, match=r"`dvc repro` stopped with status 255: .*-9 is a kill.*goes on from there"):
        dvc_module.dvc(project, "repro")
