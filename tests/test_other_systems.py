"""What Windows and macOS lack, hidden here: the reading half works without it, the rest says what it needs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dial2vec.errors import Dial2vecError, require_posix

WITHOUT = """
import os, sys
sys.modules |= dict.fromkeys(("fcntl", "resource"))
del os.sched_getaffinity
from dial2vec.cli import main
main(sys.argv[1:])
"""


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    """A table of 48 calls on two topics."""
    for name in ("params.yaml", "dvc.yaml"):
        (tmp_path / name).touch()
    lines = ["call_id,speaker,text"]
    for number in range(48):
        first = number % 2 * 20
        words = [f"w{first + (number * step) % 20}" for step in range(1, 9)]
        lines += [f"c{number},agent,{' '.join(words[:4])}", f"c{number},customer,{' '.join(words[4:])}"]
    (tmp_path / "calls.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def without(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *arguments], cwd=folder, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_export_is_read_and_seen_where_fcntl_is_absent(calls, student_folder):
    assert "48 dialogues" in without(calls, "look", "calls.csv", "--model", student_folder, "--static", "map.html")
    assert "<title" in (calls / "map.html").read_text(encoding="utf-8")
    assert json.loads(without(calls, "search", "calls.look", "w21 w22", "-k", "1", "--json").splitlines()[0])
    assert "assignment.csv" in without(calls, "cluster", "calls.look", "-k", "2")
    without(calls, "explore", "calls.look", "--static", "page.html")
    assert (calls / "page.html").stat().st_size > 10_000
    assert "48" in without(calls, "import", "calls.csv", "--output", "calls.jsonl")
    assert (calls / "calls.jsonl").is_file()


def test_windows_is_told_what_the_schedule_and_the_server_need(monkeypatch):
    require_posix("the schedule")
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(Dial2vecError, match="the schedule needs Linux or macOS; this is Windows"):
        require_posix("the schedule")
