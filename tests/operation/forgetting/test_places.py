"""Each place finds what it holds of a dialogue and removes it; what it leaves is named with who can remove it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conversations.dialogue import write_dialogues
from dial2vec.collection.adding import add
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.explorer.explorer_page import render_explorer
from dial2vec.collection.explorer.packing import packed, packed_dialogues
from dial2vec.encoder.loading import load_encoder
from dial2vec.operation.forgetting import places
from dial2vec.operation.forgetting.places import Sought
from dial2vec.operation.forgetting.traces import traces_of
from tests.conftest import make_dialogue

SECRET = "zanzibarine"
GONE = make_dialogue("c2", "a: good day", f"b: my {SECRET} is w7 broken")
STAYS = make_dialogue("c1", "a: good day", "b: w3 w4")


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.fixture
def project(tmp_path):
    write(tmp_path / "data" / "calls" / "may.jsonl", "")
    write_dialogues(tmp_path / "data" / "calls" / "may.jsonl", [STAYS, GONE])
    return tmp_path


def sought(root, **options):
    return Sought(root, "calls", [GONE], *traces_of([GONE], [STAYS]), **options)


def removed(place, root, **options):
    """Remove what a place holds; return the names and fates of what it names."""
    held = list(place(sought(root, **options)))
    for each in held:
        if each.remove:
            each.remove()
    return {getattr(each.place, "name", each.place): each.fate for each in held}


def test_data_loses_lines_labels_and_quarantined_records(project):
    write(project / "data" / "calls" / "labels.csv", "dialogue_id,label\nc1,x\nc2,y\n")
    quarantined = project / "artifacts" / "calls" / "import" / "may.quarantine.jsonl"
    write(quarantined, '{"dialogue_id": "c2", "reason": "double"}\n')
    assert removed(places.data, project).keys() == {"may.jsonl", "labels.csv", "may.quarantine.jsonl"}
    assert SECRET not in (project / "data" / "calls" / "may.jsonl").read_text()
    assert "c2" not in (project / "data" / "calls" / "labels.csv").read_text() + quarantined.read_text()
    assert "c1" in (project / "data" / "calls" / "may.jsonl").read_text()


def test_inbox_loses_the_export_of_a_masked_import_by_its_receipt_and_an_unknown_one_by_its_words(project):
    imported = project / "inbox" / "imported" / "calls"
    for name, text in {"may.csv": "Marta Heimlich", "lost.csv": f"my {SECRET}", "other.csv": "good day"}.items():
        write(imported / name, text)
    fates = removed(places.inbox, project)
    assert fates["other.csv"] == "NOT SEARCHED: no receipt says what this export brought"
    assert [path.name for path in imported.iterdir()] == ["other.csv"]


def test_receipts_lose_their_samples_and_name_an_export_elsewhere(project):
    mine = write(project / "mine.csv", "x")
    masked = {"NAME": {"times": 2, "samples": [f"[NAME] has a {SECRET}"]}}
    receipt = write(
        project / "artifacts" / "calls" / "import" / "may.json", json.dumps({"source": str(mine), "masked": masked})
    )
    assert removed(places.receipts, project)["mine.csv"] == "LEFT, the export that brought it: remove it yourself"
    assert json.loads(receipt.read_text())["masked"] == {"NAME": {"times": 2, "samples": []}}


def test_artifacts_go_unsearched_also_of_joined_corpora(project):
    for name in ("calls/dialogues.jsonl", "calls+chats/splits/train.jsonl", "calls/vectors/0.npy", "chats/report.html"):
        write(project / "artifacts" / name, "packed in whatever way")
    assert removed(places.artifacts, project).keys() == {"dialogues.jsonl", "splits", "vectors"}
    assert (project / "artifacts" / "chats" / "report.html").is_file()


def test_registry_loses_examples_pages_and_tables_and_keeps_weights(project):
    folder = project / "mlruns" / "artifacts" / "1"
    for name in ("input_example.json", "report.html", "sheet.json", "weights.bin", "vocabulary.txt"):
        write(folder / name, SECRET if name == "vocabulary.txt" else f"<p>my {SECRET} is w7 broken</p>")
    assert removed(places.registry, project).keys() == {"input_example.json", "report.html", "sheet.json"}
    assert sorted(path.name for path in folder.iterdir()) == ["input_example.json", "vocabulary.txt", "weights.bin"]
    assert SECRET not in (folder / "input_example.json").read_text()


def test_prefects_log_loses_its_lines_and_every_byte_of_them(project):
    database = project / ".prefect" / "prefect.db"
    database.parent.mkdir()
    with closing(sqlite3.connect(database)) as log, log:
        log.execute("PRAGMA journal_mode=WAL")
        log.execute("CREATE TABLE log (message TEXT)")
        log.execute("CREATE TABLE artifact (data TEXT)")
        log.executemany("INSERT INTO log VALUES (?)", [("b: my zanzibarine is w7 broken",), ("4 can be used",)])
    assert removed(places.prefect, project) == {"prefect.db": "its log loses the lines"}
    assert not any(SECRET.encode() in path.read_bytes() for path in database.parent.iterdir())
    with closing(sqlite3.connect(database)) as log, log:
        assert log.execute("SELECT message FROM log").fetchall() == [("4 can be used",)]
        log.execute("INSERT INTO artifact VALUES (?)", [f"my {SECRET} is w7 broken"])
    fates = [held.fate for held in places.prefect(sought(project)) if held.remove is None]
    assert fates == ["LEFT in its tables artifact: stop the schedule and remove it"]


def test_maps_and_tables_are_removed_or_rewritten_and_notes_are_named(project):
    page = packed(packed_dialogues([GONE]))
    write(project / "map.html", render_explorer("calls", content=page))
    pq.write_table(pa.table({"dialogue_id": ["c1", "c2"], "x": [1.0, 2.0]}), project / "v.parquet")
    write(project / "notes.txt", f"he said: my {SECRET} is w7 broken")
    write(project / "run.log", "nothing")
    fates = removed(places.files, project)
    assert fates == {
        "map.html": "a map, removed",
        "v.parquet": "without its rows from now on",
        "notes.txt": "LEFT, edit or remove it yourself",
    }
    assert not (project / "map.html").exists()
    assert pq.read_table(project / "v.parquet").to_pylist() == [{"dialogue_id": "c1", "x": 1.0}]


def test_collections_of_the_project_are_made_again_and_others_with_the_id_are_named(project, tiny_folder):
    encoder = load_encoder(tiny_folder)
    for name, text in {"first": f"b: my {SECRET} is w7 broken", "second": "b: w5"}.items():
        write_dialogues(project / "calls.jsonl", [STAYS, make_dialogue("c2", "a: good day", text)])
        add(project / name, project / "calls.jsonl", encoder=encoder, progress=False)
    (project / "calls.jsonl").unlink()
    fates = removed(places.collections, project)
    assert fates["first"] == "made again without it"
    assert fates["second"].startswith("LEFT, a collection; with --collection ")
    assert list(CollectionFolder(project / "first").row_of) == ["c1"]
    texts = [path for path in (project / "first").rglob("*") if path.is_file() and "model" not in path.parts]
    assert not any(SECRET.encode() in path.read_bytes() for path in texts)


@pytest.mark.parametrize("remote", [False, True])
def test_storage_loses_objects_by_id_and_by_words_and_names_what_it_leaves(project, tmp_path_factory, remote):
    far = tmp_path_factory.mktemp("elsewhere")
    write(project / ".dvc" / "config", f"[core]\nremote = far\n['remote \"far\"']\nurl = {far}\n")
    write(project / "data.dvc", "outs: []\n")
    for folder in (project / ".dvc" / "cache", far):
        write(folder / "files" / "md5" / "aa" / "1", f"my {SECRET}")
        write(folder / "files" / "md5" / "bb" / "2", "an earlier version, in other words")
        write(folder / "files" / "md5" / "cc" / "3", "good day")
    held = list(places.storage(sought(project, objects=frozenset(["bb2"]), remote=remote)))
    assert len(held) == 4
    assert sum("LEFT in DVC's remote" in each.fate for each in held) == (0 if remote else 2)
    removed(places.storage, project, objects=frozenset(["bb2"]), remote=remote)
    left = [path.name for path in (project / ".dvc" / "cache").rglob("*") if path.is_file()]
    assert left == ["3"]
    assert len([path for path in far.rglob("*") if path.is_file()]) == (1 if remote else 3)


def test_a_damaged_object_that_was_set_aside_goes_unsearched(project):
    write(project / ".dvc" / "config", "")
    aside = write(project / ".dvc" / "tmp" / "damaged" / "aa1", b"\x00 half of it")
    assert removed(places.storage, project) == {"aa1": "a damaged object, which nobody can search: removed"}
    assert not aside.exists()
    write(aside, "")
    assert "aa1" not in removed(places.files, project)
