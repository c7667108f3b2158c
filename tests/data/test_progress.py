from __future__ import annotations

import io
import sys

import dial2vec.data.progress
from dial2vec.data.progress import counted


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_items_pass_through_in_silence_where_nobody_looks(capsys):
    assert list(counted(iter(range(5)), "dialogues")) == list(range(5))
    assert capsys.readouterr().err == ""


def test_on_a_terminal_they_are_counted_once_it_takes_long(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert list(counted(range(5), "dialogues")) == list(range(5))
    assert sys.stderr.getvalue().strip() == ""
    monkeypatch.setattr(dial2vec.data.progress, "DELAY", 0.0)
    assert list(counted(range(5), "dialogues")) == list(range(5))
    assert "dialogues" in sys.stderr.getvalue()
