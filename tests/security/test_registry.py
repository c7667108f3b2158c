"""The registry: nothing is called promoted before its alias was read back, and forgetting leaves no word."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import mlflow
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from conversations.dialogue import Dialogue, Turn
from dial2vec.cli import main
from dial2vec.collection.explorer.explorer_page import render_explorer
from dial2vec.collection.explorer.packing import packed, packed_dialogues
from dial2vec.errors import BusyError
from dial2vec.operation import forgetting
from dial2vec.operation.forgetting.places import PLACES, Held
from dial2vec.registry.champions import promote
from dial2vec.registry.store import open_store
from dial2vec.registry.tracking import local_model, register_training
from tests.registry.conftest import *  # noqa: F403
from tests.registry.stored.conftest import *  # noqa: F403
from tests.registry.test_champions import MARGINS


def words_about(root, version):
    found = open_store(root).get_model_version("dial2vec-demo", version)
    return f"{found.description} {found.tags}".lower()


def test_no_word_of_a_promotion_is_written_before_its_alias_was_read_back(registered, monkeypatch):
    with monkeypatch.context() as patch:
        # A server that says yes and moves nothing.
        patch.setattr(mlflow.MlflowClient, "set_registered_model_alias", lambda *_: None)
        with pytest.raises(BusyError):
            promote(registered, "demo", MARGINS)
    assert "promoted" not in words_about(registered, "2")
    assert promote(registered, "demo", MARGINS).promoted
    assert "promoted" in words_about(registered, "2")


def test_the_command_says_nothing_of_a_promotion_whose_alias_did_not_move(registered, monkeypatch):
    for name in ("dvc.yaml", "params.yaml"):
        (registered / name).write_text("corpora: [demo]\n")
    monkeypatch.chdir(registered)
    monkeypatch.setattr(mlflow.MlflowClient, "set_registered_model_alias", lambda *_: None)
    margins = "promote: {confidence: 0}\ncorpora: [demo]\n"
    (registered / "params.yaml").write_text(margins)
    done = CliRunner().invoke(main, ["promote", "demo"])
    assert done.exit_code == 1
    assert "champion now" not in done.output
    assert "Error: the champion of dial2vec-demo has changed meanwhile" in done.output


SECRET = "zanzibarine"


def dvc(root, *arguments):
    command = [sys.executable, "-m", "dvc", *arguments]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout


def line(name, words):
    return json.dumps(Dialogue(name, (Turn("a", "good day"), Turn("b", words))).to_record()) + "\n"


@pytest.fixture
def forgetful(root, make_record, monkeypatch):
    """A project in which dialogue c2 left its words in data, artifacts, DVC, MLflow, the inbox and a collection."""
    from dial2vec.pipeline.dvc_records import data_hash
    from dial2vec.project.dvc import add_data

    def lines(*names):
        return "".join(line(name, f"my {SECRET} is broken" if name == "c2" else "good day to you") for name in names)

    files = {
        "params.yaml": "corpora: [calls]\n",
        "dvc.yaml": "stages: {}\n",
        "data/calls/may.jsonl": lines("c1", "c2", "c3"),
        "data/calls/labels.csv": "dialogue_id,label\nc1,x\nc2,y\n",
        "data/chats/may.jsonl": lines("c2").replace(SECRET, "other"),
        "artifacts/calls/dialogues.jsonl": lines("c1", "c2", "c3"),
        "artifacts/calls/splits/train.jsonl": lines("c2"),
        "artifacts/calls/splits/dev.jsonl": lines("c1"),
        "artifacts/calls/report.html": f"<p>{SECRET}</p>",
        "artifacts/calls/vectors/0.npy": "numbers",
        "artifacts/calls/model/weights": "numbers",
        "artifacts/calls/import/may.quarantine.jsonl": lines("c2"),
        "inbox/imported/calls/may.csv": f"id,text\nc2,my {SECRET} is broken\n",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.chdir(root)
    subprocess.run([sys.executable, "-m", "dvc", "init", "--no-scm", "--quiet"], check=True, cwd=root)
    subprocess.run(
        [sys.executable, "-m", "dvc", "remote", "add", "-d", "far", str(root / "far"), "-q"], check=True, cwd=root
    )
    add_data(root)
    subprocess.run([sys.executable, "-m", "dvc", "push", "--quiet"], check=True, cwd=root)
    report = root / "report.html"
    report.write_text(f"<p>{SECRET}</p>")
    example = Dialogue("c2", (Turn("a", "good day"), Turn("b", f"my {SECRET} is broken")))
    register_training(root, make_record(corpus="calls", example=example, report=report, data_hash=data_hash(root)))
    report.unlink()
    return root


def holding(root, word):
    return sorted(
        str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() and word.encode() in path.read_bytes()
    )


@pytest.mark.services("dvc")
def test_maps_and_tables_that_hold_a_forgotten_dialogue_are_named(forgetful):
    def content(words):
        return packed(packed_dialogues([Dialogue("c9", (Turn("a", "good day"), Turn("b", words)))]))

    pages = {"map.html": content(f"my {SECRET} is broken"), "other.html": content("good day to you")}
    for name, text in pages.items():
        (forgetful / name).write_text(render_explorer("calls", content=text))
    for name, ids in {"vectors.parquet": ["c1", "c2"], "few.parquet": ["c1"]}.items():
        pq.write_table(pa.table({"dialogue_id": ids, "embedding": [[1.0]] * len(ids)}), forgetful / name)
    pq.write_table(pa.table({"id": ["c2"]}), forgetful / "another.parquet")
    dry = CliRunner().invoke(main, ["forget", "calls", "c2"])
    lines = dry.output.splitlines()
    assert "  map.html  (a map, removed)" in lines
    # Another corpus has the same id, so nobody can say whose vector it is.
    assert [line.split()[0] for line in lines if "(LEFT" in line] == ["vectors.parquet"]
    (forgetful / "data" / "chats" / "may.jsonl").write_text(line("c7", "good day"))
    done = CliRunner().invoke(main, ["forget", "calls", "c2", "--yes"])
    assert done.exit_code == 0, done.output
    assert not (forgetful / "map.html").exists()
    assert (forgetful / "other.html").exists()
    assert pq.read_table(forgetful / "vectors.parquet")["dialogue_id"].to_pylist() == ["c1"]


@pytest.mark.services("dvc")
def test_a_forgotten_dialogue_leaves_no_word_in_the_project(forgetful):
    assert len(holding(forgetful, SECRET)) > 10
    dry = CliRunner().invoke(main, ["forget", "calls", "c2", "--remote"])
    assert dry.exit_code == 0, dry.output
    assert "Dry run: nothing is changed." in dry.output
    assert "Then remove them: dial2vec prune calls --version 2 --yes" in dry.output
    assert len(holding(forgetful, SECRET)) > 10
    done = CliRunner().invoke(main, ["forget", "calls", "c2", "--remote", "--yes"])
    assert done.exit_code == 0, done.output
    assert holding(forgetful, SECRET) == []
    rest = (forgetful / "data" / "calls" / "may.jsonl").read_text().splitlines()
    assert [json.loads(line)["dialogue_id"] for line in rest] == ["c1", "c3"]
    assert (forgetful / "data" / "calls" / "labels.csv").read_text().split() == ["dialogue_id,label", "c1,x"]
    # Another corpus has a dialogue of the same id.
    assert "c2" in (forgetful / "data" / "chats" / "may.jsonl").read_text()
    assert (forgetful / "artifacts" / "calls" / "model" / "weights").is_file()
    assert not (forgetful / "artifacts" / "calls" / "vectors").exists()
    # DVC has the present data whole, and nothing of the model is gone.
    status = subprocess.run(
        [sys.executable, "-m", "dvc", "status", "data.dvc"], cwd=forgetful, capture_output=True, text=True
    )
    assert "up to date" in status.stdout, status.stdout + status.stderr
    assert local_model("models:/dial2vec-calls@candidate", root=forgetful).is_dir()
    assert "1 dialogue is forgotten." in done.output
    again = CliRunner().invoke(main, ["forget", "calls", "c2"])
    assert again.exit_code == 1
    assert "has no dialogue 'c2'; expected one of its 2 ids." in again.output


@pytest.mark.services("dvc")
def test_a_dialogue_is_forgotten_in_data_that_dvc_links(forgetful):
    for arguments in (("config", "cache.type", "symlink"), ("checkout", "--relink", "--quiet", "data.dvc")):
        subprocess.run([sys.executable, "-m", "dvc", *arguments], check=True, cwd=forgetful)
    assert (forgetful / "data" / "calls" / "may.jsonl").is_symlink()
    done = CliRunner().invoke(main, ["forget", "calls", "c2", "--remote", "--yes"])
    assert done.exit_code == 0, done.output
    assert holding(forgetful, SECRET) == []
    assert "c2" not in (forgetful / "data" / "calls" / "labels.csv").read_text()


@pytest.mark.services("dvc")
def test_a_collection_that_is_left_is_named_with_the_option_that_makes_it_again(forgetful):
    for name in ("first/collection.json", "first/turns/collection.json", "notes.txt"):
        path = forgetful / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    for name in ("first/dialogues.jsonl", "first/turns/dialogues.jsonl", "notes.txt"):
        (forgetful / name).write_text(f"my {SECRET} is broken\n")
    shown = CliRunner().invoke(main, ["forget", "calls", "c2"])
    assert shown.exit_code == 0, shown.output
    left = [line for line in shown.output.splitlines() if "LEFT" in line]
    assert left == [
        "  notes.txt  (LEFT, edit or remove it yourself)",
        "  first  (LEFT, a collection; with --collection first it is made again without it)",
    ]


@pytest.mark.services("dvc")
def test_a_forgetting_that_was_killed_after_each_place_is_continued(forgetful, monkeypatch):
    class Killed(BaseException):
        pass

    def killed():
        raise Killed

    whole = forgetting.plan_forget
    for place in PLACES:

        def plan(*given, place=place, **options):
            made = whole(*given, **options)
            made.held[place.__name__].append(Held("killed", "", killed))
            return made

        monkeypatch.setattr(forgetting, "plan_forget", plan)
        with pytest.raises(Killed):
            CliRunner().invoke(main, ["forget", "calls", "c2", "--remote", "--yes"])
        assert (forgetful / "artifacts" / "calls" / ".forgetting.json").is_file()
    monkeypatch.setattr(forgetting, "plan_forget", whole)
    done = CliRunner().invoke(main, ["forget", "calls", "c2", "--remote", "--yes"])
    assert "1 dialogue is forgotten." in done.output
    assert holding(forgetful, SECRET) == []


@pytest.mark.services("dvc")
def test_an_export_goes_by_its_receipt_whatever_is_masked_packed_or_encoded(forgetful):
    imported, imports = forgetful / "inbox" / "imported" / "calls", forgetful / "artifacts" / "calls" / "import"
    for path in imported.iterdir():
        path.unlink()
    secret = "Xyloville, марта@example.org"
    pq.write_table(pa.table({"text": [secret]}), imported / "may.parquet", compression="zstd")
    # c2 came again in June, and was set aside; July brought others.
    (imported / "june.csv").write_bytes(secret.encode("cp1251"))
    (imports / "june.quarantine.jsonl").write_text(
        '{"dialogue_id": "c2", "reason": "the id is in may.jsonl already"}\n'
    )
    (imported / "july.csv").write_text("id,text\nc9,good day\n")
    (forgetful / "data" / "calls" / "july.jsonl").write_text(line("c9", "good day"))
    (imported / "lost.csv").write_text("nobody knows")
    (forgetful / "mine.csv").write_text(secret)
    (imports / "may.json").write_text(json.dumps({"source": str(forgetful / "mine.csv")}))
    done = CliRunner().invoke(main, ["forget", "calls", "c2", "--yes"])
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in imported.iterdir()) == ["july.csv", "lost.csv"]
    assert "inbox/imported/calls/lost.csv  (NOT SEARCHED: no receipt" in done.output
    assert "mine.csv  (LEFT, the export that brought it: remove it yourself)" in done.output


@pytest.mark.services("dvc")
def test_what_cannot_be_searched_is_named(forgetful):
    (forgetful / "notes.txt").write_bytes(f"мой {SECRET}ъ".encode("cp1251"))
    (forgetful / "closed.zip").write_bytes(b"PK\x03\x04")
    (forgetful / "letter.pdf").write_bytes(b"%PDF-1.7")
    dry = CliRunner().invoke(main, ["forget", "calls", "c2"])
    named = [line.split()[0] for line in dry.output.splitlines() if "(NOT SEARCHED" in line]
    assert named == ["closed.zip", "letter.pdf"]


@pytest.mark.services("dvc")
def test_copies_in_a_remote_outside_the_project_are_named_and_can_be_removed_later(forgetful, tmp_path_factory):
    far = tmp_path_factory.mktemp("elsewhere") / "far"
    shutil.copytree(forgetful / "far", far)
    shutil.rmtree(forgetful / "far")
    dvc(forgetful, "remote", "modify", "far", "url", str(far))
    dry = CliRunner().invoke(main, ["forget", "calls", "c2"])
    assert "(LEFT in DVC's remote; with --remote it is removed)" in dry.output
    done = CliRunner().invoke(main, ["forget", "calls", "c2", "--yes"])
    assert "to remove them: dial2vec forget calls c2 --remote --yes" in done.output
    assert (holding(forgetful, SECRET), len(holding(far, SECRET))) == ([], 1)
    later = CliRunner().invoke(main, ["forget", "calls", "c2", "--remote", "--yes"])
    assert later.exit_code == 0, later.output
    assert "1 dialogue is forgotten." in later.output
    assert (holding(forgetful, SECRET), holding(far, SECRET)) == ([], [])
    assert "up to date" in dvc(forgetful, "status", "data.dvc")


@pytest.mark.services("dvc")
def test_a_remote_that_is_no_folder_is_named(forgetful):
    dvc(forgetful, "remote", "modify", "far", "url", "s3://bucket/far")
    dry = CliRunner().invoke(main, ["forget", "calls", "c2"])
    assert "s3://bucket/far  (LEFT, storage of DVC elsewhere, which is not searched: who runs it can" in dry.output


@pytest.mark.services("dvc")
def test_a_remote_inside_the_project_and_joined_corpora_lose_the_dialogue_without_being_asked(forgetful):
    joined = forgetful / "artifacts" / "calls+chats" / "splits" / "train.jsonl"
    joined.parent.mkdir(parents=True)
    joined.write_text(line("calls/c2", f"my {SECRET} is broken"))
    done = CliRunner().invoke(main, ["forget", "calls", "c2", "--yes"])
    assert done.exit_code == 0, done.output
    assert "LEFT" not in done.output
    assert holding(forgetful, SECRET) == []
