"""Commands on dialogues take any export that `look` takes, and `explain` a collection and an id."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from dial2vec.cli import main

TABLE = "call_id,speaker,text\n" + "".join(f"c{at},{who},w{at} w5\n" for at in range(3) for who in ("ann", "bob"))
OWN = json.dumps({"dialogue_id": "own", "turns": [{"speaker": who, "text": "w1"} for who in ("ann", "bob")]})


@pytest.fixture
def run(tmp_path, monkeypatch, tiny_folder):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "calls.csv").write_text(TABLE)

    def call(*arguments: str):
        return CliRunner().invoke(main, [*arguments, "--model", tiny_folder])

    return call


def vectors_of(path: str) -> list[str]:
    return pq.read_table(path)["dialogue_id"].to_pylist()


def test_an_export_is_embedded_as_its_import_would_be(run, tmp_path):
    (tmp_path / "calls.csv").write_text(f"{TABLE}x,,Who?\n")
    done = run("embed", "calls.csv", "--output", "v.parquet")
    assert done.exit_code == 0, done.output
    assert vectors_of("v.parquet") == ["c0", "c1", "c2"]
    assert "1 dialogues or records of calls.csv cannot be used and are left out" in done.stderr
    assert "`dial2vec import calls.csv --output FILE.jsonl` lists all" in done.stderr


def test_a_folder_of_exports_is_read_and_one_of_dialogues_as_before(run, tmp_path):
    (tmp_path / "box").mkdir()
    (tmp_path / "calls.csv").rename(tmp_path / "box" / "calls.csv")
    assert run("embed", "box", "--output", "v.parquet").exit_code == 0
    assert vectors_of("v.parquet") == ["c0", "c1", "c2"]
    (tmp_path / "box" / "own.jsonl").write_text(OWN)
    done = run("embed", "box", "--output", "w.parquet")
    assert vectors_of("w.parquet") == ["own"]
    assert "1 files are not JSON Lines and were skipped, such as box/calls.csv" in done.stderr


def test_a_collection_is_made_of_an_export_and_one_of_its_dialogues_is_explained(run):
    done = run("index", "calls.csv", "--output", "calls")
    assert done.exit_code == 0, done.output
    done = CliRunner().invoke(main, ["explain", "calls", "c1"])
    assert done.exit_code == 0, done.output
    assert "wrote c1.html" in done.output
    assert "w1 w5" in Path("c1.html").read_text()
    assert "expected the id of one" in CliRunner().invoke(main, ["explain", "calls"]).output
    assert "calls has no dialogue 'c9'" in CliRunner().invoke(main, ["explain", "calls", "c9"]).output


def test_a_dialogue_of_an_export_is_explained(run):
    assert "wrote c2.html" in run("explain", "calls.csv", "c2").output
    assert "calls.csv holds 3 dialogues; expected one. Say which" in run("explain", "calls.csv").output


def test_a_column_that_nobody_knows_is_named_with_the_command_that_can_be_told(run, tmp_path):
    (tmp_path / "calls.csv").write_text("colour,width\nred,7\nblue,9\n")
    done = run("embed", "calls.csv", "--output", "v.parquet")
    assert done.exit_code == 1
    assert "`dial2vec import` takes these options, and writes JSON Lines." in done.output
