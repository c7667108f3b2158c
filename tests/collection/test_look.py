"""One command from an export to the open map, in any folder."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from dial2vec.cli import main
from dial2vec.collection import Collection
from dial2vec.collection.clustering import cluster
from dial2vec.collection.clustering.clusters import read_clusters
from dial2vec.collection.clustering.notes import read_notes
from dial2vec.data.corpora.demo import write_sample


def export(path: Path, n: int, *, word: str = "w1", first: int = 0) -> None:
    rows = [(f"c{at}", who, f"{word} w{at % 9}") for at in range(first, n) for who in ("caller", "agent")]
    with path.open("w", newline="") as handle:
        csv.writer(handle).writerows([("call_id", "speaker", "text"), *rows])


@pytest.fixture
def look(tmp_path, monkeypatch, tiny_folder):
    """`dial2vec look` in an empty folder, with a page instead of a server."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str):
        static = ("--static", "map.html", "--model", tiny_folder)
        return CliRunner().invoke(main, ["look", *arguments, *static])

    return run


def test_an_export_becomes_a_page_with_named_groups_and_the_next_steps(look, tmp_path):
    export(tmp_path / "calls.csv", 40)
    done = look("calls.csv")
    assert done.exit_code == 0, done.output
    assert "dialogues    40 can be used, 0 quarantined" in done.output
    assert "calls.look: 40 dialogues" in done.output
    assert 'dial2vec search calls.look "' in done.output
    assert "dial2vec new" in done.output
    assert "map.html: 40 dialogues" in done.output
    clusters, _ = read_clusters(Collection(tmp_path / "calls.look"))
    assert f"{clusters.clusters[0].size}  {clusters.clusters[0].name}" in done.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["calls.csv", "calls.look", "map.html"]


def test_the_map_of_a_large_collection_is_drawn_beside_its_groups(look, tmp_path, monkeypatch):
    monkeypatch.setattr("dial2vec.collection.look.FEWEST_APART", 10)
    export(tmp_path / "calls.csv", 40)
    done = look("calls.csv")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "calls.look" / "map" / "trained.npz").exists()


def test_an_unchanged_export_is_not_read_again(look, tmp_path, monkeypatch):
    export(tmp_path / "calls.csv", 20)
    look("calls.csv")
    monkeypatch.setattr("dial2vec.collection.look.read_export", None)
    monkeypatch.setattr("dial2vec.collection.look.load_encoder", None)
    done = look("calls.csv")
    assert "calls.csv is unchanged since calls.look was made from it" in done.output
    assert "map.html: 20 dialogues" in done.output


def test_a_sample_comes_along_and_is_written_once(look, tmp_path, monkeypatch):
    assert len(write_sample(tmp_path / "whole.jsonl").read_text().splitlines()) == 1000
    (tmp_path / "whole.jsonl").unlink()
    monkeypatch.setattr("dial2vec.data.corpora.demo.SAMPLE", 20)
    done = look("--sample")
    assert done.exit_code == 0, done.output
    assert "map.html: 20 dialogues" in done.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["map.html", "sample.jsonl", "sample.look"]
    assert "sample.jsonl is unchanged" in look("--sample").output
    export(tmp_path / "sample.jsonl", 20)
    assert "sample.jsonl exists and is not the sample" in look("--sample").output


def test_a_sample_of_an_export_is_drawn_and_the_same_each_time(look, tmp_path):
    export(tmp_path / "calls.csv", 40)
    assert "calls.look: 12 dialogues" in look("calls.csv", "--sample", "12").output
    drawn = Collection("calls.look").rows["dialogue_id"].to_pylist()
    assert "unchanged" in look("calls.csv", "--sample", "12").output
    look("calls.csv", "--sample", "12", "--output", "again")
    assert Collection("again").rows["dialogue_id"].to_pylist() == drawn
    assert drawn != [f"c{at}" for at in range(12)]
    assert "calls.look: 40 dialogues" in look("calls.csv").output


@pytest.mark.parametrize(
    ("given", "found"),
    [((), "no export; expected a file or folder"), (("a.csv", "--sample"), "a.csv and --sample without a number;")],
)
def test_look_takes_an_export_or_the_sample(look, given, found):
    done = look(*given)
    assert done.exit_code == 1
    assert f"look was given {found}" in done.output


def test_new_dialogues_join_and_changed_ones_replace_the_old(look, tmp_path):
    export(tmp_path / "calls.csv", 20)
    look("calls.csv")
    export(tmp_path / "calls.csv", 30)
    assert "calls.look: 30 dialogues" in look("calls.csv").output
    assert [addition.dialogues for addition in Collection("calls.look").manifest.additions] == [20, 10]
    export(tmp_path / "calls.csv", 25, word="w2", first=5)
    assert "calls.look: 20 dialogues" in look("calls.csv").output
    assert next(Collection("calls.look").dialogues()).turns[0].text.startswith("w2")


def test_decisions_about_groups_that_are_made_again_are_kept(look, tmp_path):
    for n, word in enumerate(("w1", "w2", "w3")):
        export(tmp_path / "calls.csv", 40, word=word)
        told = look("calls.csv").output
        kept = Path("calls.look", ".look", "kept", f"curation-{n}.yaml")
        assert ("your decisions about the old ones are in" in told) == (n > 0)
        assert n == 0 or f"Ours {n - 1}" in kept.read_text()
        CliRunner().invoke(main, ["curate", "calls.look", "rename", "0", f"Ours {n}"])
        assert f"Ours {n}" in Path("calls.look", "curation.yaml").read_text()
    # Somebody removes an older one: the newer one stays.
    Path("calls.look", ".look", "kept", "curation-1.yaml").unlink()
    export(tmp_path / "calls.csv", 40, word="w4")
    look("calls.csv")
    kept = Path("calls.look", ".look", "kept")
    assert "Ours 2" in (kept / "curation-1.yaml").read_text()
    assert "Ours 1" in (kept / "curation-2.yaml").read_text()


@pytest.mark.parametrize("kill", [False, True])
def test_notes_and_known_topics_stay_when_the_collection_is_made_again(look, tmp_path, monkeypatch, kill):
    export(tmp_path / "calls.csv", 20)
    look("calls.csv")
    Path("calls.look", "topics.yaml").write_text("- {name: Parrots, description: w9}", encoding="utf-8")
    CliRunner().invoke(main, ["curate", "calls.look", "note", "c3", "call back"])
    export(tmp_path / "calls.csv", 20, word="w2")
    if kill:
        with monkeypatch.context() as patch:
            patch.setattr("dial2vec.collection.look.add", None)
            look("calls.csv")
    look("calls.csv")
    assert read_notes(tmp_path / "calls.look")["c3"].text == "call back"
    assert "Parrots" in {one.known for one in cluster(Collection("calls.look")).clusters}


def test_another_reading_of_the_same_export_takes_effect(look, tmp_path):
    export(tmp_path / "calls.csv", 20, word="anna@example.org")
    look("calls.csv")
    assert "[EMAIL]" in look("calls.csv", "--redact").output
    assert all("[EMAIL]" in dialogue.text for dialogue in Collection("calls.look").dialogues())


def test_a_file_of_dialogues_is_read_as_it_is_with_labels_and_dates(look, tmp_path):
    record = {"turns": [{"speaker": "a", "text": "w1"}], "labels": ["bank"], "date": "2026-03-04"}
    lines = [json.dumps({"dialogue_id": f"d{at}"} | record) for at in range(3)]
    (tmp_path / "calls.jsonl").write_text("\n".join([*lines, "{broken"]))
    done = look("calls.jsonl", "--output", "own name")
    assert "own name: 3 dialogues" in done.output
    assert "1 records cannot be used" in done.output
    first = next(Collection("own name").dialogues())
    assert (first.labels, first.date) == (("bank",), "2026-03-04")


def test_a_killed_look_goes_on(look, tmp_path, monkeypatch):
    export(tmp_path / "calls.csv", 20)

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("dial2vec.collection.look.add", killed)
        assert look("calls.csv").exit_code == 130
    assert "calls.look: 20 dialogues" in look("calls.csv").output


def test_a_folder_that_look_did_not_make_is_left_alone(look, tmp_path):
    export(tmp_path / "calls.csv", 20)
    (tmp_path / "calls.look").mkdir()
    (tmp_path / "calls.look" / "thesis.tex").touch()
    done = look("calls.csv")
    assert done.exit_code == 1
    assert "calls.look exists and was not made by `dial2vec look`" in done.output
    assert [path.name for path in (tmp_path / "calls.look").iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.csv", None, "none.csv does not exist"),
        ("calls.csv", "", "calls.csv"),
        ("calls.jsonl", "{}", "calls.jsonl"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(look, tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_text(content)
    done = look(name)
    assert done.exit_code == 1, done.output
    assert done.output.splitlines()[-1].startswith("Error: ")
    assert message in done.output


def test_a_folder_is_read_as_one_export_but_not_the_result_in_it(look, tmp_path):
    (tmp_path / "exports").mkdir()
    export(tmp_path / "exports" / "may.csv", 10)
    export(tmp_path / "exports" / "june.csv", 20, first=10)
    assert "exports.look: 20 dialogues" in look("exports").output
    assert "exports/in lies in exports" in look("exports", "--output", "exports/in").output
    assert not (tmp_path / "exports" / "in").exists()


def test_a_single_dialogue_has_a_map_without_groups(look, tmp_path):
    export(tmp_path / "calls.csv", 1)
    done = look("calls.csv")
    assert done.exit_code == 0, done.output
    assert "map.html: 1 dialogues" in done.output


def test_examples_of_a_lens_outlive_an_export_that_lost_dialogues(look, tmp_path):
    export(tmp_path / "calls.csv", 40)
    look("calls.csv")
    (tmp_path / "calls.look" / "lenses").mkdir()
    kept = tmp_path / "calls.look" / "lenses" / "end.examples.csv"
    kept.write_text("dialogue_id,label\nc20,good\n")
    export(tmp_path / "calls.csv", 40, first=10)
    assert "calls.look: 30 dialogues" in look("calls.csv").output
    assert kept.read_text() == "dialogue_id,label\nc20,good\n"
