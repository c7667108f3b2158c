"""Any export as a list of dialogues."""

from __future__ import annotations

import json
import warnings

import pytest

import dial2vec
from conversations.options import Options
from dial2vec.errors import CorpusError

CALLS = "call_id,speaker,text,other\nc1,a,Hello,1\nc1,b,Hi,2\n"


def test_an_export_becomes_dialogues_without_a_word(tmp_path):
    (tmp_path / "calls.csv").write_text(CALLS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        [dialogue] = dial2vec.read(tmp_path / "calls.csv")
    assert [(turn.speaker, turn.text) for turn in dialogue.turns] == [("a", "Hello"), ("b", "Hi")]


def test_columns_can_be_named(tmp_path):
    (tmp_path / "calls.csv").write_text(CALLS)
    [dialogue] = dial2vec.read(str(tmp_path / "calls.csv"), options=Options(text="other"))
    assert dialogue.text == "1 2"


def test_a_warning_counts_and_names_what_is_left_out(tmp_path):
    (tmp_path / "calls.csv").write_text(CALLS + "c2,,Who?,3\n")
    with pytest.warns(
        UserWarning, match=r"^1 dialogues or records of .* left out, the first: .*:4: .*no turn names its speaker"
    ):
        assert len(dial2vec.read(tmp_path / "calls.csv")) == 1


def test_a_file_of_dialogues_keeps_its_labels(tmp_path):
    record = {"dialogue_id": "d", "turns": [{"speaker": "a", "text": "Hello"}], "labels": ["bank"]}
    (tmp_path / "calls.jsonl").write_text(f"{json.dumps(record)}\n{{broken\n")
    with pytest.warns(UserWarning, match=r"calls.jsonl:2: not valid JSON"):
        assert dial2vec.read(tmp_path / "calls.jsonl")[0].labels == ("bank",)


def test_an_export_without_a_usable_dialogue_is_an_error(tmp_path):
    (tmp_path / "calls.csv").write_text("conversation_id,speaker,text\nc1,,Who?\nc1,,Me\n")
    with pytest.raises(CorpusError, match=r"no column of the rows is known to hold the speaker"):
        dial2vec.read(tmp_path / "calls.csv")
