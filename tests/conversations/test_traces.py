"""Traces of assistants: two sessions of three requests each, as many tools write them, are two dialogues."""

from __future__ import annotations

from pathlib import Path

import pytest

from conversations.options import Options
from conversations.reading import read_export
from tests.conversations.traces import SESSIONS

FILES = sorted(path for path in (Path(__file__).parent / "traces").iterdir() if path.suffix not in (".py", ""))
SAID = [[text for exchange in session for text in exchange] for session in SESSIONS.values()]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_requests_of_a_session_are_one_dialogue(path):
    result = read_export(path, Options()).result
    assert [record.reason for record in result.quarantine] == []
    assert sorted([turn.text for turn in dialogue.turns] for dialogue in result.dialogues) == SAID
    for dialogue in result.dialogues:
        first, second = (turn.speaker for turn in dialogue.turns[:2])
        assert first != second
        assert [turn.speaker for turn in dialogue.turns] == 3 * [first, second]
