from __future__ import annotations

import io
import json
import sys
import time
from types import SimpleNamespace

import pytest
from tqdm.auto import tqdm

from conversations import progress
from conversations.options import Options
from conversations.progress import counted, moving, waiting
from conversations.reading import read_export


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch) -> Terminal:
    shown = Terminal()
    # Not `sys.stderr` itself, which pytest sets again before the test.
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=shown))
    monkeypatch.setattr(progress, "DELAY", 0.02)
    monkeypatch.setattr(progress, "EVERY", 0.02)
    return shown


def wait_for(shown: Terminal, times: int, text: str) -> None:
    end = time.monotonic() + 10
    while shown.getvalue().count(text) < times and time.monotonic() < end:
        time.sleep(0.01)


def test_a_step_without_parts_shows_its_seconds_and_leaves_nothing(terminal):
    with waiting("loading the encoder"):
        wait_for(terminal, 3, "loading the encoder: ")
    assert terminal.getvalue().count("loading the encoder: ") >= 3
    last = terminal.getvalue().split("\r")[-2:]
    assert last == [" " * len("loading the encoder: 0.0 s"), ""]


@pytest.mark.usefixtures("terminal")
def test_a_short_step_shows_nothing(terminal, monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 60.0)
    with waiting("loading the encoder"):
        pass
    assert terminal.getvalue() == ""


def test_an_error_ends_the_display(terminal):
    def fail() -> None:
        with waiting("loading the encoder"):
            wait_for(terminal, 1, "loading")
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        fail()
    assert terminal.getvalue().endswith("\r")


def test_a_bar_is_drawn_again_while_a_long_step_is_not_done(terminal):
    with moving(tqdm(total=4, file=terminal, desc="groups")) as bar:
        bar.update(1)
        wait_for(terminal, 4, "groups:")
    assert terminal.getvalue().count("groups:") >= 4
    assert bar.n == 1


def test_items_pass_through_in_silence_where_nobody_looks(capsys):
    assert list(counted(iter(range(5)), "dialogues", total=5)) == list(range(5))
    assert capsys.readouterr().err == ""


def test_on_a_terminal_they_are_counted_once_it_takes_long(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert list(counted(range(5), "dialogues")) == list(range(5))
    assert sys.stderr.getvalue().strip() == ""
    monkeypatch.setattr(progress, "DELAY", 0.0)
    assert list(counted(range(5), "dialogues")) == list(range(5))
    assert "dialogues" in sys.stderr.getvalue()


def test_without_a_terminal_nothing_is_shown(capsys):
    with waiting("loading the encoder"), moving(tqdm(total=2, disable=None)) as bar:
        bar.update(1)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", ["calls.txt", "calls.json", "calls"])
def test_every_export_shows_that_it_is_being_read(monkeypatch, tmp_path, name):
    text = "Ann: Hello\nBo: Hi\n"
    if name.endswith(".json"):
        text = json.dumps([{"id": "c", "turns": [{"speaker": who, "text": "Hi"} for who in ("Ann", "Bo")]}])
    path = tmp_path / name
    path.mkdir() if name == "calls" else None
    (path / "one.txt" if name == "calls" else path).write_text(text)
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(progress, "DELAY", 0.0)
    assert len(read_export(path, Options()).result.dialogues) == 1
    assert "reading calls: " in sys.stderr.getvalue()
