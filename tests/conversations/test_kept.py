"""A corpus is read as its earlier files were; a file that does not fit is refused."""

from __future__ import annotations

import json

import pytest

from conversations.kept import load_readings, save_readings
from conversations.options import Options
from conversations.reading import read_export
from dial2vec.errors import CorpusError

ROWS = "call_id,who,said_to,text\n7,Ana,Bo,Hello there\n7,Bo,Ana,Hi you\n8,Ana,Bo,Anyone here?\n8,Bo,Ana,Yes me\n"


def write(path, text):
    path.write_text(text)
    return path


def turns(export):
    return [[(turn.speaker, turn.text) for turn in dialogue.turns] for dialogue in export.result.dialogues]


@pytest.fixture
def kept(tmp_path):
    """The readings of a first file, as they come back from disk."""
    export = read_export(write(tmp_path / "may.csv", ROWS), Options(speaker="said_to"))
    save_readings(tmp_path / "readings.json", export.readings)
    return load_readings(tmp_path / "readings.json")


def test_the_next_file_is_read_with_the_columns_of_the_first(tmp_path, kept):
    guessed = read_export(write(tmp_path / "june.csv", ROWS), Options())
    assert turns(guessed)[0] == [("Ana", "Hello there"), ("Bo", "Hi you")]
    export = read_export(tmp_path / "june.csv", Options(), kept)
    assert turns(export)[0] == [("Bo", "Hello there"), ("Ana", "Hi you")]
    assert [reading.columns for reading in export.readings] == [reading.columns for reading in kept]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("june.csv", "call_id,who,text\n7,Ana,Hello\n7,Bo,Hi\n"),
        ("june.txt", "Ana: Hello\nBo: Hi\n"),
        ("june.json", json.dumps({"id": "1", "messages": [{"role": "user", "content": "Hi"}]})),
    ],
)
def test_a_file_that_does_not_fit_is_refused(tmp_path, kept, name, text):
    with pytest.raises(CorpusError, match=r"does not fit the way .* columns .* --new-reading"):
        read_export(write(tmp_path / name, text), Options(), kept)


def test_a_recipe_and_transcripts_are_kept_too(tmp_path):
    chat = "3/5/24, 10:00 - Ana: Hello\n3/5/24, 10:01 - Bo: Hi\n"
    for name, text in (("chat.txt", chat), ("call.txt", "Agent: Hello\nCustomer: Hi\n")):
        export = read_export(write(tmp_path / name, text), Options())
        save_readings(tmp_path / "readings.json", export.readings)
        again = read_export(tmp_path / name, Options(), load_readings(tmp_path / "readings.json"))
        assert again.result.dialogues == export.result.dialogues
    with pytest.raises(CorpusError, match="text transcripts"):
        read_export(tmp_path / "chat.txt", Options(), load_readings(tmp_path / "readings.json"))


def test_options_and_a_recipe_of_the_user_come_back_from_disk(tmp_path):
    mine = write(
        tmp_path / "mine.yaml", "title: x\nsource: https://x\nhas: [who]\nid: call_id\nspeaker: said_to\ntext: text"
    )
    options = Options(recipe=str(mine), where=("call_id == 7",), keep=("note",))
    export = read_export(write(tmp_path / "may.csv", ROWS), options)
    save_readings(tmp_path / "kept" / "readings.json", export.readings)
    mine.unlink()
    [reading] = load_readings(tmp_path / "kept" / "readings.json")
    assert (reading.options.where, reading.options.keep) == (options.where, options.keep)
    again = read_export(tmp_path / "may.csv", reading.options, [reading])
    assert turns(again) == turns(export) == [[("Bo", "Hello there"), ("Ana", "Hi you")]]
    save_readings(tmp_path / "kept" / "readings.json", again.readings)
    assert load_readings(tmp_path / "kept" / "readings.json") == [reading]


def test_readings_of_another_version_are_no_readings(tmp_path):
    (tmp_path / "readings.json").write_text('[{"recipe": "", "columns": {"gone": 1}, "form": ""}]')
    assert load_readings(tmp_path / "readings.json") == []
    assert load_readings(tmp_path / "missing.json") == []
