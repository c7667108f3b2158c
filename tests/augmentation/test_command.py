from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from conftest import make_dialogue
from dial2vec.cli import main
from dial2vec.dialogue import read_dialogues, write_dialogues


@pytest.fixture
def transcripts(tmp_path):
    talks = [
        make_dialogue(f"d{i}", *(f"{'ab'[t % 2]}: w{(3 * i + t) % 40} w{(i + 7 * t) % 40}" for t in range(10)))
        for i in range(12)
    ]
    write_dialogues(tmp_path / "talks.jsonl", talks)
    return tmp_path / "talks.jsonl"


def run(*arguments):
    return CliRunner().invoke(main, ["augment", *map(str, arguments)])


def test_variants_are_written_as_dialogues_and_shown_beside_their_originals(transcripts, tiny_folder, tmp_path):
    done = run(transcripts, "--output", tmp_path / "out", "--model", tiny_folder, "--limit", 3)
    assert done.exit_code == 0, done.output
    assert "shuffling (keeps the intent): 3 of 3 dialogues changed" in done.output
    records = [json.loads(line) for line in (tmp_path / "out" / "variants.jsonl").read_text().splitlines()]
    assert {record["original"] for record in records} == {"d0", "d1", "d2"}
    assert {record["way"] for record in records} == {"shuffling", "shortening", "lengthening"}
    assert all(record["preserving"] for record in records)
    assert len(list(read_dialogues(tmp_path / "out" / "variants.jsonl"))) == len(records)
    assert "d0" in (tmp_path / "out" / "variants.html").read_text()


@pytest.mark.parametrize(
    ("way", "message"),
    [
        ("shufling", "unknown way 'shufling'. Did you mean 'shuffling'?"),
        ("insertion", "way 'insertion' needs a masked language model (load_masked)"),
    ],
)
def test_a_way_that_is_none_or_lacks_its_model_is_said(transcripts, tiny_folder, tmp_path, way, message):
    done = run(transcripts, "--output", tmp_path / "out", "--model", tiny_folder, "--way", way)
    assert done.exit_code == 1
    assert message in done.output
    assert not (tmp_path / "out" / "variants.jsonl").exists()
