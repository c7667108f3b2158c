"""Updates of collections: killed at each write, with a server that hangs, and with a damaged one among ten."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

sys.path.insert(0, str(Path(__file__).parent))

from tests.collection.planted import NEW_SINCE, planted

from conversations.dialogue import Dialogue, write_dialogues
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.news import unsent
from dial2vec.collection.news.updating import update
from project import CORPUS, call, dialogues, drop, make_project

# Ends the process, as kill -9 does, before the given rename: every write that matters ends with one.
KILLED = """
import os, sys
left = int(sys.argv[1])
def before(event, arguments):
    global left
    if event == "os.rename":
        left -= 1
        if not left:
            os._exit(9)
sys.addaudithook(before)
from dial2vec.cli import main
main(sys.argv[2:], standalone_mode=False)
print("renames", int(sys.argv[1]) - left)
"""
NEVER = 10_000
LAST_WEEK = datetime.now(UTC) - timedelta(days=7)


def watched(folder: Path, kill: int, notify: str = "cat >> told; echo >> told") -> subprocess.CompletedProcess[str]:
    """Bring a collection up to date by its export, and kill that before one of its renames."""
    command = ("watch", "calls", "--source", "export", "--once", "--notify", notify)
    return subprocess.run(
        [sys.executable, "-c", KILLED, str(kill), *command], cwd=folder, capture_output=True, text=True, check=False
    )


def assigned(folder: Path) -> dict[str, int]:
    table = pq.read_table(folder / "calls" / "clusters" / "assignment.parquet")
    return dict(zip(table["dialogue_id"].to_pylist(), table["cluster"].to_pylist(), strict=True))


def told(folder: Path) -> list[dict]:
    """Return the messages that were received, each once."""
    lines = (folder / "told").read_text().splitlines() if (folder / "told").exists() else []
    return list({record["id"]: record for line in lines for record in json.loads(line)["news"]}.values())


@pytest.fixture(scope="module")
def parts() -> tuple[list[Dialogue], list[Dialogue]]:
    """Dialogues before and after a new topic."""
    dialogues = sorted(planted(), key=lambda dialogue: str(dialogue.date))
    old = [dialogue for dialogue in dialogues if str(dialogue.date) < NEW_SINCE]
    return old[-400:], [dialogue for dialogue in dialogues if dialogue not in old]


@pytest.fixture(scope="module")
def before(parts: tuple[list[Dialogue], list[Dialogue]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection that was looked at, and an export with new dialogues beside it."""
    folder = tmp_path_factory.mktemp("before")
    write_dialogues(folder / "export" / "a.jsonl", parts[0])
    assert update(folder / "calls", folder / "export", encoder="general", at=LAST_WEEK) is None
    write_dialogues(folder / "export" / "b.jsonl", parts[1])
    return folder


@pytest.fixture(scope="module")
def renames(before: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Number of renames of an update that nothing kills, which tells of the new topic."""
    folder = shutil.copytree(before, tmp_path_factory.mktemp("whole") / "whole")
    done = watched(folder, NEVER)
    assert done.returncode == 0, done.stderr
    [message] = told(folder)
    assert "New: Order of keyboards" in message["text"]
    return int(done.stdout.split()[-1])


def test_an_update_that_is_killed_anywhere_goes_on_and_tells_once(before, renames, tmp_path):
    ids = assigned(before)
    assert renames > 10
    for kill in range(1, renames + 1):
        folder = shutil.copytree(before, tmp_path / str(kill))
        assert watched(folder, kill).returncode == 9
        assert watched(folder, NEVER).returncode == 0
        [message] = told(folder)
        assert "New: Order of keyboards" in message["text"], kill
        after = assigned(folder)
        assert len(after) == len(CollectionFolder(folder / "calls")) == len(ids) + 216
        assert {name: after[name] for name in ids} == ids, kill
        assert unsent(folder / "calls") == []
        shutil.rmtree(folder)


def retrained(project: Path, notify: str, *, failed: str) -> float:
    """Retrain with this setting of `schedule.notify`, and return the seconds that it took."""
    path = project / "operation.yaml"
    settings = yaml.safe_load(path.read_text())
    settings["collection"] = [{"folder": f"topics{number}"} for number in range(10)]
    settings["schedule"]["notify"] = notify
    path.write_text(yaml.safe_dump(settings))
    began = time.monotonic()
    done = call(project, "python", "flows/retrain.py")
    assert failed in done.stderr + done.stdout
    assert (done.returncode != 0) == bool(failed), done.stderr
    return time.monotonic() - began


def messages(project: Path) -> dict[str, list[str]]:
    """Return the news of each collection in the last verdict, by their ids."""
    verdict = json.loads((project / "told").read_text().splitlines()[-1])
    return {each["folder"]: [record["id"] for record in each["news"]] for each in verdict["collections"]}


def test_nine_of_ten_collections_stay_fresh_and_a_server_that_hangs_delays_nobody(tmp_path):
    project, tell = make_project(tmp_path), "cat >> told; echo >> told"
    first = retrained(project, tell, failed="")
    assert not any(messages(project).values())
    (project / "topics3" / "vectors.f32").write_bytes(b"")
    drop(project, "monday.jsonl", dialogues(60, first=5000))
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        address = f"http://127.0.0.1:{hanging.getsockname()[1]}/hook"
        assert retrained(project, address, failed="topics3: ") < 3 * first + 60
    sizes = {number: len(CollectionFolder(project / f"topics{number}")) for number in range(10)}
    assert sizes == {number: 240 if number == 3 else 300 for number in range(10)}
    assert len(unsent(project / "topics0")) == 1
    drop(project, "tuesday.jsonl", dialogues(30, first=6000))
    retrained(project, tell, failed="topics3: ")
    # The message that could not be sent, and that of today.
    assert {folder: len(ids) for folder, ids in messages(project).items()} == {
        f"topics{number}": 0 if number == 3 else 2 for number in range(10)
    }
    retrained(project, tell, failed="topics3: ")
    assert not any(messages(project).values())
    verdicts = [json.loads(line) for line in (project / "told").read_text().splitlines()]
    assert CORPUS in str(verdicts[0]["corpora"])
    assert sum("another champion" in note for each in verdicts[1]["collections"] for note in each["notes"]) == 9
