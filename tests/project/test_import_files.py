"""Import into a file, in any folder."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from dial2vec.cli import main

CALLS = "call_id,speaker,text\nc{0},Anna,Hello\nc{0},agent,Hi Anna\nx{0},,Who?\n"


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for month, number in (("may", 1), ("june", 2)):
        (tmp_path / f"{month}.csv").write_text(CALLS.format(number))
    return lambda *arguments: CliRunner().invoke(main, ["import", *arguments])


def ids(path):
    return [json.loads(line)["dialogue_id"] for line in path.read_text().splitlines()]


def test_an_export_becomes_a_file_with_its_quarantine_beside_it(run, tmp_path):
    done = run("may.csv", "--output", "calls.jsonl")
    assert done.exit_code == 0, done.output
    assert "dialogues    1 can be used, 1 quarantined" in done.output
    assert "Next: dial2vec look calls.jsonl" in done.output
    assert ids(tmp_path / "calls.jsonl") == ["c1"]
    [unusable] = map(json.loads, (tmp_path / "calls.quarantine.jsonl").read_text().splitlines())
    assert (unusable["source"], unusable["line"], unusable["reason"]) == ("may.csv", 4, "no turn names its speaker")
    assert not {"data", "artifacts"} & {path.name for path in tmp_path.iterdir()}


def test_a_script_that_the_encoder_does_not_know_is_said(run, tmp_path):
    (tmp_path / "khmer.csv").write_text("call_id,speaker,text\n1,a,តើកញ្ចប់របស់ខ្ញុំនៅឯណា\n1,b,អរគុណច្រើន\n", encoding="utf-8")
    assert "of the tokens are unknown to general" in run("khmer.csv", "--output", "khmer.jsonl").output
    assert "unknown" not in run("may.csv", "--output", "may.jsonl").output


def test_several_exports_become_one_file(run, tmp_path):
    done = run("may.csv", "june.csv", "may.csv", "--output", "out/calls.jsonl", "--redact")
    assert done.exit_code == 0, done.output
    assert ids(tmp_path / "out" / "calls.jsonl") == ["c1", "c2"]
    assert "Anna" not in (tmp_path / "out" / "calls.jsonl").read_text()
    quarantine = (tmp_path / "out" / "calls.quarantine.jsonl").read_text()
    assert "the id came before in may.csv" in quarantine
    assert json.loads(quarantine.splitlines()[0])["source"] == "may.csv"


def test_a_file_is_replaced_only_by_its_own_import(run, tmp_path):
    assert run("may.csv", "--output", "calls.jsonl").exit_code == 0
    assert run("may.csv", "--output", "calls.jsonl", "--merge-turns").exit_code == 0
    refused = run("june.csv", "--output", "calls.jsonl")
    assert "calls.jsonl exists already and was imported from" in refused.output
    assert ids(tmp_path / "calls.jsonl") == ["c1"]
    assert "replaced/calls-1.jsonl" in run("june.csv", "--output", "calls.jsonl", "--replace").output
    assert ids(tmp_path / "calls.jsonl") == ["c2"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "found neither --name nor --output"),
        (["--name", "calls", "--output", "calls.jsonl"], "found both --name and --output"),
        (["--output", "calls.csv"], "expected a file that ends in .jsonl"),
        (["--name", "calls"], "no project at or above"),
    ],
)
def test_where_to_import_is_said_once(run, tmp_path, arguments, message):
    done = run("may.csv", *arguments)
    assert done.exit_code == 1
    assert message in done.output
    assert {path.name for path in tmp_path.iterdir()} == {"may.csv", "june.csv"}


def test_the_imported_file_itself_is_not_overwritten(run, tmp_path):
    (tmp_path / "calls.jsonl").write_text(json.dumps({"call_id": "a", "speaker": "b", "text": "c"}))
    assert "is both read and written" in run("calls.jsonl", "--output", "./calls.jsonl", "--replace").output


def test_a_dry_run_writes_nothing(run, tmp_path):
    arguments = ("june.csv", "--output", "calls.jsonl", "--save-recipe", "mine.yaml", "--dry-run")
    assert "Dry run" in run("may.csv", *arguments).output
    assert {path.name for path in tmp_path.iterdir()} == {"may.csv", "june.csv"}


def test_a_saved_recipe_replaces_no_other_file(run, tmp_path):
    before = (tmp_path / "may.csv").read_text()
    done = run("may.csv", "--output", "calls.jsonl", "--save-recipe", "may.csv")
    assert "may.csv (--save-recipe) exists already and holds something else; expected a new file" in done.output
    assert (tmp_path / "may.csv").read_text() == before
    for _ in range(2):
        assert run("may.csv", "--output", "calls.jsonl", "--save-recipe", "mine.yaml").exit_code == 0


def test_an_unknown_kind_is_refused_with_the_closest(run):
    done = run("may.csv", "--output", "calls.jsonl", "--keep", "note, notces")
    assert done.exit_code == 1
    assert "'notces' (--keep) is no kind of non-speech. Did you mean 'notice'?" in done.output


def test_the_next_steps_quote_names_with_blanks(run):
    done = run("may.csv", "--output", "my calls.jsonl")
    assert "Next: dial2vec look 'my calls.jsonl'" in done.output
    assert "dial2vec index 'my calls.jsonl' --output 'my calls' " in done.output


def test_a_sample_is_drawn_and_the_same_each_time(run, tmp_path):
    (tmp_path / "many.csv").write_text(
        "call_id,speaker,text\n" + "".join(f"c{at},a,b\nc{at},b,a\n" for at in range(50))
    )
    done = run("many.csv", "--output", "calls.jsonl", "--sample", "5")
    assert "note: 5 of 50 dialogues were drawn at random" in done.output
    drawn = ids(tmp_path / "calls.jsonl")
    assert len(drawn) == 5
    run("many.csv", "--output", "again.jsonl", "--sample", "5")
    assert ids(tmp_path / "again.jsonl") == drawn
    assert "drawn" not in run("many.csv", "--output", "whole.jsonl", "--sample", "50").output
