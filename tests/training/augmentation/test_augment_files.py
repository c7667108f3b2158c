from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from conversations.dialogue import read_dialogues, write_dialogues
from dial2vec.cli import main
from dial2vec.encoder import DialogueEncoder
from tests.conftest import make_dialogue


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
        ("insertion", "way 'insertion' needs a masked language model; expected --masked NAME. Give it"),
        ("back_translation", "way 'back_translation' needs two translation models; expected --translate THERE BACK."),
    ],
)
def test_a_way_that_is_none_or_lacks_its_model_is_said_before_anything_is_loaded(
    transcripts, tmp_path, monkeypatch, way, message
):
    monkeypatch.setattr(DialogueEncoder, "from_pretrained", lambda *_: pytest.fail("loaded"))
    done = run(transcripts, "--output", tmp_path / "out", "--way", "shuffling", "--way", way)
    assert done.exit_code == 1
    assert message in done.output
    assert not (tmp_path / "out").exists()


def test_stages_are_shuffled_where_there_is_too_little_to_learn_an_order_from(tiny_folder, tmp_path):
    write_dialogues(tmp_path / "one.jsonl", [make_dialogue("d", "a: w1 w2", "b: w30 w31", "a: w2 w1", "b: w31 w30")])
    done = run(tmp_path / "one.jsonl", "--output", tmp_path / "out", "--model", tiny_folder, "--way", "shuffling")
    assert done.exit_code == 0, done.output
    assert "shuffling (keeps the intent): " in done.output
    done = run(tmp_path / "one.jsonl", "--output", tmp_path / "out", "--model", tiny_folder, "--way", "lengthening")
    assert "expected at least 10 to learn an order from" in done.output
