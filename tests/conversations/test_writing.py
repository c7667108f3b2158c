from __future__ import annotations

import json
import subprocess
from dataclasses import replace

import pytest

from conversations.dialogue import Dialogue, Origin, Turn
from conversations.result import ImportResult
from conversations.writing import Places, quarantine_known_ids, require_own, write_import
from dial2vec.data.corpora import require_corpus
from dial2vec.data.corpora.transcripts import Transcripts
from dial2vec.errors import CorpusError, Dial2vecError
from dial2vec.project.dvc import add_data


def result(*names):
    turns = (Turn("agent", "Hello"), Turn("caller", "Hi"))
    return ImportResult(
        [Dialogue(name, turns, origin=Origin("calls.csv", at)) for at, name in enumerate(names, start=2)]
    )


def ids(places):
    quarantine = []
    read = Transcripts().read(places.output.parent, quarantine=quarantine)
    return [dialogue.dialogue_id for dialogue in read] + quarantine


@pytest.fixture
def places(tmp_path):
    return Places(tmp_path, "calls", tmp_path / "exports" / "january.csv")


def imported(places, *names, replace=False):
    require_own(places, replace=replace)
    found = result(*names)
    quarantine_known_ids(found, places)
    return write_import(found, places)


def test_a_second_import_of_an_export_replaces_its_output_and_another_adds(tmp_path, places):
    imported(places, "a", "b")
    imported(places, "a", "c")
    imported(Places(tmp_path, "calls", tmp_path / "february.csv.gz"), "d")
    assert ids(places) == ["d", "a", "c"]


def test_ids_of_another_file_are_quarantined_and_named(tmp_path, places):
    imported(places, "a", "b")
    other = Places(tmp_path, "calls", tmp_path / "february.csv")
    imported(other, "b", "c")
    assert ids(places) == ["c", "a", "b"]
    [line] = other.quarantine.read_text().splitlines()
    assert json.loads(line) == {
        "source": "calls.csv",
        "line": 2,
        "dialogue_id": "b",
        "reason": "the id is in january.jsonl already",
    }
    found = result("x", "x")
    quarantine_known_ids(found, other)
    assert [record.reason for record in found.quarantine] == ["the id came before in calls.csv"]


@pytest.mark.parametrize("how", ["by hand", "changed", "elsewhere"])
def test_a_file_that_this_exports_import_did_not_write_is_replaced_only_when_asked_and_kept(tmp_path, places, how):
    if how == "by hand":
        places.output.parent.mkdir(parents=True)
        places.output.write_text(json.dumps(result("a").dialogues[0].to_record()))
    elif how == "changed":
        imported(places, "a")
        places.output.write_text(places.output.read_text() + " ")
    else:
        imported(Places(tmp_path, "calls", tmp_path / "january.json"), "a")
    before = places.output.read_text()
    reason = {"by hand": "was not written", "changed": "was changed", "elsewhere": "was imported from .*january.json"}[
        how
    ]
    with pytest.raises(CorpusError, match=rf"january.jsonl exists already and {reason}.* use --replace"):
        imported(places, "b")
    assert places.output.read_text() == before
    kept = imported(places, "b", replace=True)
    assert kept is not None
    assert kept.read_text() == before
    assert ids(places) == ["b"]
    assert imported(places, "c") is None


def test_unmasked_data_takes_the_place_of_masked_only_when_asked(tmp_path, places):
    masked = replace(places, redacted=True)
    imported(places, "a")
    imported(masked, "b")
    with pytest.raises(CorpusError, match=r"was imported with --redact, .* Give --redact again, or use --replace"):
        imported(places, "a")
    assert ids(places) == ["b"]
    imported(masked, "c")
    assert imported(places, "a", replace=True) is not None
    assert ids(places) == ["a"]


def test_why_versioning_fails_is_told(tmp_path, monkeypatch):
    done = subprocess.CompletedProcess([], 253, "", "ERROR: you are not inside of a DVC repository.\n\n")
    monkeypatch.setattr("dial2vec.project.dvc._run_dvc", lambda *_: done)
    with pytest.raises(
        Dial2vecError, match="`dvc add` stopped with status 253: you are not inside of a DVC repository"
    ):
        add_data(tmp_path)


def test_nothing_usable_writes_nothing(places):
    with pytest.raises(CorpusError, match=r"no dialogue of .*january.csv can be used"):
        imported(places)
    assert not places.output.parent.exists()
    assert not places.folder.exists()


def test_an_import_that_is_killed_before_the_output_is_in_place_knows_its_file(places, monkeypatch):
    imported(places, "a")
    monkeypatch.setattr("conversations.writing.write_quarantine", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        imported(places, "b")
    monkeypatch.undo()
    assert ids(places) == ["a"]
    imported(places, "b")
    assert ids(places) == ["b"]


def test_names_of_corpora_with_a_reader_and_other_characters_are_refused():
    with pytest.raises(CorpusError, match="comes with its own reader"):
        require_corpus("demo")
    with pytest.raises(CorpusError, match="is no corpus name"):
        require_corpus("my-calls")
    require_corpus("calls_2024")


def test_a_name_that_is_too_long_for_a_file_is_cut(tmp_path):
    places = Places(tmp_path, "calls", tmp_path / ("王" * 80 + ".csv"))
    imported(places, "a")
    assert ids(places) == ["a"]
