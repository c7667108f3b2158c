"""A collection that is brought up to date again and again, and the command that does so."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from conversations.dialogue import Dialogue, write_dialogues
from dial2vec.cli import main
from dial2vec.collection.clustering.clustering import cluster
from dial2vec.collection.clustering.clusters import read_clusters
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.lenses import LensLabel, lens
from dial2vec.collection.news import unsent
from dial2vec.collection.news.updating import reason_to_regroup, update
from dial2vec.collection.segments import find_segments, read_segments
from tests.collection.planted import NEW_SINCE, planted

OLD = [dialogue for dialogue in planted() if str(dialogue.date) < NEW_SINCE][-400:]
LAST_WEEK = datetime.now(UTC) - timedelta(days=7)
LATER = [dialogue for dialogue in planted() if str(dialogue.date) >= NEW_SINCE]


@pytest.fixture
def folder(tmp_path: Path, made_once) -> Path:
    """A folder with `export`, and a collection of it that was looked at once, with segments and a lens."""

    def make(place: Path) -> None:
        write_dialogues(place / "export" / "a.jsonl", OLD)
        assert update(place / "calls", place / "export", encoder="general", at=LAST_WEEK) is None
        collection = CollectionFolder(place / "calls")
        find_segments(collection)
        lens(collection, "topic", [LensLabel("card", ("my card was stolen",)), LensLabel("pizza", ("a large pizza",))])

    return shutil.copytree(made_once("updated", make), tmp_path / "copy")


def assigned(collection: Path) -> dict[str, int]:
    table = pq.read_table(collection / "clusters" / "assignment.parquet")
    return dict(zip(table["dialogue_id"].to_pylist(), table["cluster"].to_pylist(), strict=True))


def watched(folder: Path, *options: str) -> Result:
    return CliRunner().invoke(main, ["watch", str(folder), "--once", *options], catch_exceptions=False)


def test_new_dialogues_join_and_everything_that_exists_is_made_again(folder):
    calls, notes = folder / "calls", list[str]()
    before, sheet = assigned(calls), (calls / "report.html").read_text()
    write_dialogues(folder / "export" / "b.jsonl", LATER)
    (folder / "export" / "c.jsonl").write_text("no dialogue\n")
    news = update(calls, folder / "export", regroup=False, say=notes.append)
    assert news is not None
    assert news.dialogues == 216
    assert [change.kind for change in news.changes] == ["new"]
    assert {name: cluster for name, cluster in assigned(calls).items() if name in before} == before
    assert read_segments(CollectionFolder(calls)).seen == len(pq.read_table(calls / "lenses" / "topic.parquet")) == 616
    assert (calls / "report.html").read_text() != sheet
    # One bad file does not hide the others.
    [note] = notes
    assert "c.jsonl can be used" in note
    assert update(calls, folder / "export", say=notes.append) is None
    assert len(notes) == 1
    assert [record["id"] for record in unsent(calls)] == [news.id]


def test_an_unchanged_file_is_not_read_again(folder):
    (folder / "calls" / "model").rename(folder / "no-encoder")
    assert update(folder / "calls", folder / "export") is None


def alike(dialogues: list[Dialogue], times: int) -> list[Dialogue]:
    """Return copies with other ids."""
    return [replace(each, dialogue_id=f"{each.dialogue_id}-{time}") for time in range(times) for each in dialogues]


def odd(n: int) -> list[Dialogue]:
    """Return dialogues that are unlike each other and everything else."""
    letters = "bcdfghjklmnp"
    named = zip(alike(LATER[:1], n), range(n), strict=True)
    return [replace(each, turns=(replace(each.turns[0], text=letters[at % 12] * (3 + at)),)) for each, at in named]


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (alike(OLD[:39], 1), ""),
        (alike(OLD[:100], 1), ""),
        (odd(30), ""),
        (alike(OLD[:30], 1) + odd(30), "of 60 new dialogues are far from every cluster"),
        (alike(OLD, 1), "800 dialogues, and 400 when they were found."),
    ],
)
def test_everything_is_grouped_again_if_the_collection_has_doubled_or_much_is_unlike_it(folder, more, reason):
    notes = list[str]()
    write_dialogues(folder / "export" / "b.jsonl", more)
    kept = shutil.copytree(folder / "calls", folder / "kept")
    assert update(folder / "calls", folder / "export", say=notes.append) is not None
    assert bool(reason) == any("found again from scratch" in note and reason in note for note in notes)
    notes.clear()
    update(kept, folder / "export", regroup=False, say=notes.append)
    assert notes == []


def test_the_number_of_clusters_that_people_chose_stays(folder):
    cluster(CollectionFolder(folder / "calls"), k=5)
    write_dialogues(folder / "export" / "b.jsonl", alike(OLD, 2))
    update(folder / "calls", folder / "export")
    existing = read_clusters(CollectionFolder(folder / "calls"))
    assert existing is not None
    assert (existing[0].seen, existing[0].settled, reason_to_regroup(existing[0])) == (1200, 400, "")


def test_a_watched_folder_of_look_reads_its_export_again_as_before(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = ["id,who,said,when", *(f'{each.dialogue_id},x,"{each.turns[0].text}",{each.date}' for each in OLD)]
    Path("calls.csv").write_text("\n".join(lines))
    look = (
        "look",
        "calls.csv",
        "--model",
        "general",
        "--id",
        "id",
        "--speaker",
        "who",
        "--redact",
        "--static",
        "map.html",
    )
    done = CliRunner().invoke(main, look, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    size = len(CollectionFolder("calls.look"))
    assert "what is new is told from now on" in watched(Path("calls.look")).output
    more = [f'{each.dialogue_id},x,"{each.turns[0].text} mail a@example.com",{each.date}' for each in LATER[:60]]
    Path("calls.csv").write_text("\n".join([*lines, *more]))
    said = watched(Path("calls.look"), "--notify", "exit 3")
    assert "60 new conversations" in said.output
    assert "the command of `--notify` could not be told: it ended with status 3" in said.output
    assert len(CollectionFolder("calls.look")) == size + 60
    assert "a@example.com" not in Path("calls.look/dialogues.jsonl").read_text()
    # What could not be sent goes with the next message, once.
    assert "60 new conversations" in watched(Path("calls.look"), "--notify", "cat > told.json").output
    assert [record["dialogues"] for record in json.loads(Path("told.json").read_text())["news"]] == [60]
    assert "no new conversations" in watched(Path("calls.look"), "--notify", "rm told.json").output
    assert Path("told.json").exists()


def test_a_watched_collection_needs_its_export(folder):
    said = CliRunner().invoke(main, ["watch", str(folder / "calls"), "--once"])
    assert said.exit_code == 1
    assert said.output.endswith("expected its export. Name it: --source EXPORT.\n")
