"""The whole way through in a project of its own: DVC, MLflow and Prefect for real, with the tiny encoder."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml

from dial2vec.encoder.loading import load_encoder
from dial2vec.errors import CorpusError, Dial2vecError
from dial2vec.project.dvc import STAGES, dvc, ensure_data, push, targets
from dial2vec.registry.store import open_store
from tests.pipeline.projects import write_calls

pytestmark = pytest.mark.services("dvc")

ROOT = Path(__file__).parents[2]


def call(project, *command, **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "MLFLOW_"))}
    # A PATH without this Python: the project must find its own.
    clean["PATH"] = "/usr/bin:/bin"
    return subprocess.run(
        [f".venv/bin/{command[0]}", *command[1:]],
        cwd=project, env=clean | environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


def changed(project):
    """Stages that `dvc repro` would run now."""
    done = call(project, "dvc", "status", "--json")
    assert done.returncode == 0, done.stderr
    return {name for name in json.loads(done.stdout) if "@" in name}


def make_checkout(folder, corpora, **blocks):
    """Make a checkout with data of `calls` and `chats`, in which these corpora run by the settings of `blocks`."""
    for name in ("dvc.yaml", "src", "flows"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    (folder / ".venv").symlink_to(sys.prefix)
    for seed, name in enumerate(("calls", "chats")):
        write_calls(folder / "data" / name, 300, seed=seed)
    params = yaml.safe_load((ROOT / "params.yaml").read_text()) | {"corpora": corpora}
    blocks |= {"prepare": {"dev_share": 0.2, "test_share": 0.2}, "evaluate": {"kmeans_runs": 2}}
    for name, block in blocks.items():
        params[name] |= block
    (folder / "params.yaml").write_text(yaml.safe_dump(params))
    assert call(folder, "dvc", "init", "--no-scm", "--quiet").returncode == 0


def from_prefect(project, query):
    """Rows of a query to Prefect's database."""
    with sqlite3.connect(project / ".prefect" / "prefect.db") as database:
        return database.execute(query).fetchall()


TASKS = "select name from task_run where state_type = 'COMPLETED'"
VERDICTS = "select data from artifact where key = 'verdict' order by created desc"


@pytest.fixture(scope="module")
def project(tmp_path_factory, tiny_folder):
    """A checkout with the corpora `calls` and `chats`, after one `dial2vec run`."""
    folder = tmp_path_factory.mktemp("project")
    gains = dict.fromkeys(("min_purity_gain", "min_spearman_gain", "min_map_gain"), -100.0)
    make_checkout(
        folder,
        ["calls", "chats"],
        sample={"negatives": 2},
        encoder={"name": tiny_folder},
        train={"max_dialogues": 20, "batch_size": 2, "log_steps": 1, "checkpoint_steps": 2},
        select={"bootstraps": 3},
        promote=gains | {"confidence": 0.0},
    )
    for name in ("calls", "chats"):
        assert call(folder, "dial2vec", "add", name).returncode == 0
    done = call(folder, "dial2vec", "run")
    assert done.returncode == 0, done.stdout + done.stderr
    folder.joinpath("first_run.txt").write_text(done.stdout)
    return folder


def test_run_ends_with_a_table_and_the_next_steps(project):
    said = (project / "first_run.txt").read_text()
    table = said[said.index("corpus  ") :]
    for name in ("calls", "chats"):
        rows = [line.split() for line in table.splitlines() if line.startswith(f"{name} ")]
        metrics = json.loads((project / f"artifacts/{name}/metrics.json").read_text())
        assert [row[1] for row in rows] == ["start", "trained", *(["student"] if metrics["student"] else [])]
        assert float(rows[0][-1]) == round(metrics["start"]["map"], 2)
        assert f"registered as dial2vec-{name} version 2" in table
        assert f"dial2vec promote {name}" in table
    assert "dial2vec page mlflow" in table


def test_second_run_reruns_nothing(project):
    assert changed(project) == set()
    done = call(project, "dial2vec", "run")
    assert done.returncode == 0, done.stderr
    assert "Running stage" not in done.stdout
    assert done.stdout.count("didn't change, skipping") >= 16


@pytest.mark.parametrize(("stage", "key", "value"), [("train", "learning_rate", 1e-3), ("select", "selection", "last")])
def test_a_changed_setting_reruns_its_stage_and_what_follows(project, stage, key, value):
    path = project / "params.yaml"
    before = path.read_text()
    params = yaml.safe_load(before)
    params[stage][key] = value
    path.write_text(yaml.safe_dump(params))
    dry = call(project, "dvc", "repro", "--dry", *targets(["calls"]))
    path.write_text(before)
    ran = [line.split("'")[1] for line in dry.stdout.splitlines() if line.startswith("Running stage")]
    # A dry run does not know that a new model makes new metrics; that evaluate reads the model is in dvc.yaml.
    # Stage distil chooses by the settings of stage select.
    assert ran == [f"{stage}@calls", *(["distil@calls"] if stage == "select" else []), "register@calls"]
    assert (
        "artifacts/${item.corpus}/model"
        in yaml.safe_load((project / "dvc.yaml").read_text())["stages"]["evaluate"]["deps"]
    )


def test_a_changed_corpus_reruns_that_corpus_only(project):
    path = project / "data" / "chats" / "calls.jsonl"
    before = path.read_text()
    path.write_text(before.replace("w3", "w4"))
    found = changed(project)
    path.write_text(before)
    assert "validate@chats" in found
    assert not [name for name in found if name.endswith("@calls")]


def test_champion_is_the_start_until_the_candidate_is_promoted(project):
    store = open_store(project)
    address = "models:/dial2vec-calls@champion"
    assert store.get_model_version_by_alias("dial2vec-calls", "champion").version == 1
    assert store.get_model_version_by_alias("dial2vec-calls", "candidate").version == 2
    done = call(project, "dial2vec", "promote", "calls")
    assert "the candidate is the champion now" in done.stdout, done.stdout + done.stderr
    assert store.get_model_version_by_alias("dial2vec-calls", "champion").version == 2
    again = call(project, "dial2vec", "promote", "calls")
    assert "version 2 is the champion already" in again.stdout
    done = call(
        project, "dial2vec", "embed", "data/calls/calls.jsonl", "--model", address, "--output", "vectors.parquet"
    )
    assert "300 vectors of length 16" in done.stdout, done.stderr
    vectors = np.array(pq.read_table(project / "vectors.parquet")["embedding"].to_pylist(), dtype=np.float32)
    from conversations.dialogue import read_dialogues

    trained = load_encoder(project / "artifacts" / "calls" / "model")
    expected = trained.encode(list(read_dialogues(project / "data" / "calls" / "calls.jsonl")))
    np.testing.assert_allclose(vectors, expected, atol=1e-5)


def test_gate_that_is_not_passed_names_the_figure(project):
    path = project / "params.yaml"
    before = path.read_text()
    path.write_text(before.replace("min_map_gain: -100.0", "min_map_gain: 100.0"))
    done = call(project, "dial2vec", "promote", "chats")
    path.write_text(before)
    assert "the champion stays" in done.stdout, done.stderr
    assert "map " in done.stdout
    assert "needed +100.00" in done.stdout
    version = open_store(project).get_model_version_by_alias("dial2vec-chats", "candidate")
    assert "map" in version.tags["promotion"]


def test_flow_runs_every_stage_as_a_task_leaves_a_table_and_promotes(project):
    forced = "import sys; sys.path.insert(0, 'flows'); from retrain import retrain; retrain(force=True)"
    done = call(project, "python", "-c", forced)
    assert done.returncode == 0, done.stdout + done.stderr
    tasks = {name for (name,) in from_prefect(project, TASKS)}
    [[table]] = from_prefect(project, "select data from artifact where key = 'results'")
    [[verdict]] = from_prefect(project, VERDICTS)
    lines = [message for (message,) in from_prefect(project, "select message from log")]
    assert {f"{stage}-{corpus}" for corpus in ("calls", "chats") for stage in STAGES} <= tasks
    assert [row["encoder"] for row in json.loads(json.loads(table))] == ["start", "trained", "student"] * 2
    assert "## chats: new champion" in verdict
    assert any("didn't change, skipping" in line for line in lines)
    assert open_store(project).get_model_version_by_alias("dial2vec-chats", "champion").version == 2


def test_a_second_retraining_of_the_same_does_nothing_and_says_so(project):
    done = call(project, "python", "flows/retrain.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Nothing has changed since 20" in from_prefect(project, VERDICTS)[0][0]
    assert not from_prefect(project, "select name from task_run where name like 'decide%'")


def test_a_candidate_deleted_by_hand_is_registered_again_and_the_page_says_so(project):
    store = open_store(project)
    deleted = store.get_model_version_by_alias("dial2vec-chats", "candidate").version
    store.delete_model_version("dial2vec-chats", deleted)
    done = call(project, "python", "flows/retrain.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert store.get_model_version_by_alias("dial2vec-chats", "candidate").version == deleted + 1
    assert store.get_model_version_by_alias("dial2vec-chats", "champion").version == deleted + 1
    [[verdict], *_] = from_prefect(project, VERDICTS)
    assert f"dial2vec-chats: version {deleted} is no longer in the registry, so stage register runs again" in verdict
    assert "trained: its model is not in the registry. Promoted" in verdict
    assert "removed by hand" in call(project, "dial2vec", "history", "chats").stdout


def test_the_flow_of_the_tables_has_a_task_and_a_row_per_cell_and_the_command_finds_them(project):
    flow = "from tables import tables; tables(['chats'], ['tfidf_svd', 'start'], (1, 2))"
    done = call(project, "python", "-c", f"import sys; sys.path.insert(0, 'flows'); {flow}")
    assert done.returncode == 0, done.stdout + done.stderr
    tasks = {name for (name,) in from_prefect(project, TASKS)}
    [[table]] = from_prefect(project, "select data from artifact where key = 'tables'")
    assert {f"chats, {row}" for row in ("TF-IDF + SVD, seed 1", "TF-IDF + SVD, seed 2", "start")} <= tasks
    rows = json.loads(json.loads(table))
    assert [(row["system"], row["seed"]) for row in rows] == [("TF-IDF + SVD", 1), ("start", 0), ("TF-IDF + SVD", 2)]
    assert all(0 < row["map"] <= 100 for row in rows)
    done = call(project, "dial2vec", "tables", "--corpus", "chats", "--system", "tfidf_svd", "--seed", "2")
    assert "1 of 1 cells are there, 0 to compute" in done.stdout, done.stderr
    assert "results.md" in done.stdout
    assert "| start |" in (project / "artifacts" / "benchmark" / "results.md").read_text()


def test_adding_a_corpus_keeps_the_edits_and_the_other_corpora(project):
    extra = project / "data" / "mine"
    write_calls(extra, 300, seed=5)
    (extra / "b.jsonl").write_text(
        (extra / "calls.jsonl").read_text().replace('"dialogue_id": "d', '"dialogue_id": "e')
    )
    assert "600 dialogues can be used" in call(project, "dial2vec", "add", "mine").stdout
    (extra / "b.jsonl").unlink()
    shutil.rmtree(project / "data" / "chats")
    done = call(project, "dial2vec", "add", "mine")
    assert "300 dialogues can be used" in done.stdout, done.stderr
    assert not (extra / "b.jsonl").exists()
    assert (project / "data" / "chats" / "calls.jsonl").is_file()


def test_a_corpus_that_cannot_be_brought_back_is_not_dropped_without_a_word(project, tmp_path):
    aside = project / ".dvc" / "cache"
    shutil.move(aside, tmp_path / "cache")
    shutil.move(project / "data" / "chats", tmp_path / "chats")
    before = (project / "data.dvc").read_text()
    done = call(project, "dial2vec", "add", "calls")
    shutil.rmtree(aside, ignore_errors=True)
    shutil.move(tmp_path / "cache", aside)
    shutil.move(tmp_path / "chats", project / "data" / "chats")
    assert done.returncode == 1
    assert "would drop" in done.stderr
    assert (project / "data.dvc").read_text() == before


def test_records_of_dvc_that_a_kill_left_empty_are_brought_back(project):
    before = {name: (project / name).read_text() for name in ("dvc.lock", "data.dvc")}
    assert call(project, "dial2vec", "add", "calls").returncode == 0
    for name in before:
        (project / name).write_text("")
    done = call(project, "dial2vec", "add", "calls")
    assert done.returncode == 0, done.stderr
    assert f"{project / 'dvc.lock'} was truncated" in done.stderr
    assert {name: (project / name).read_text() for name in before} == before
    assert changed(project) == set()


def test_without_the_registry_the_next_run_registers_again(project):
    shutil.move(project / "mlruns", project / "lost")
    found = changed(project)
    shutil.move(project / "lost", project / "mlruns")
    assert {name for name in found if name.startswith("register")} == {"register@calls", "register@chats"}


def test_missing_data_says_how_to_bring_it(tmp_path):
    with pytest.raises(CorpusError, match="Run `dial2vec fetch sgd`"):
        ensure_data(tmp_path, ["sgd"])


def test_a_full_disk_is_named_whatever_dvc_says(tmp_path, monkeypatch):
    (tmp_path / "artifacts").mkdir()
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=2_000_000))
    with pytest.raises(Dial2vecError, match="artifacts has 2 MB left, which may be why: free some space and run again"):
        dvc(tmp_path, "status", "--no-such-option")


def test_why_nothing_was_pushed_is_told_to_its_last_line(tmp_path):
    subprocess.run([sys.executable, "-m", "dvc", "init", "--no-scm", "--quiet"], cwd=tmp_path, check=True)
    (tmp_path / "data").mkdir()
    subprocess.run([sys.executable, "-m", "dvc", "add", "--quiet", "data"], cwd=tmp_path, check=True)
    assert re.fullmatch(
        r"nothing was pushed: .*no remote specified.* dvc remote add -d .*<remote url>", push(tmp_path, [])
    )
