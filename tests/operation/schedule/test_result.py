from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from conversations.files import write_json
from dial2vec.evaluation.intervals import Gain
from dial2vec.operation.schedule.inbox import Arrival
from dial2vec.operation.schedule.result import CorpusResult, Retraining, done_before, remember, result_rows, work_key
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.registry.promotion import Verdict
from dial2vec.registry.store import open_store

NAME = "dial2vec-calls"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    (tmp_path / "params.yaml").write_text("seed: 1")
    client = open_store(tmp_path)
    client.create_registered_model(NAME)
    for _ in range(2):
        client.create_model_version(NAME, "server:/elsewhere")
    for alias, version in (("champion", "1"), ("candidate", "2")):
        client.set_registered_model_alias(NAME, alias, version)
    write_json(Artifacts(tmp_path, "calls").registration, {"version": "2", "start_version": "1"})
    return tmp_path


def done(**changes: object) -> Retraining:
    return Retraining(
        corpora=[CorpusResult("calls", why="enough new data", trained=True, verdict="Promoted: x.", **changes)]
    )


def test_the_same_work_is_remembered(root):
    remember(root, "key", done(promoted=True))
    found = done_before(root, "key", ["calls"])
    assert found is not None
    assert found.before is not None
    [outcome] = found.corpora
    # It was not trained or promoted this time.
    assert (outcome.trained, outcome.promoted, outcome.verdict) == (False, False, "Promoted: x.")


def test_other_work_is_not(root):
    remember(root, "key", done())
    assert done_before(root, "other", ["calls"]) is None
    assert done_before(root, "key", ["calls", "chats"]) is None


def test_a_failure_is_tried_again(root):
    remember(root, "key", done(failed="no space"))
    assert done_before(root, "key", ["calls"]) is None


def test_without_its_registration_the_work_is_not_done(root):
    remember(root, "key", done())
    Artifacts(root, "calls").registration.unlink()
    assert done_before(root, "key", ["calls"]) is None


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("delete_registered_model", ()),
        ("delete_model_version", ("1",)),
        ("delete_model_version", ("2",)),
        ("delete_registered_model_alias", ("champion",)),
        ("delete_registered_model_alias", ("candidate",)),
        ("set_registered_model_alias", ("champion", "2")),
    ],
)
def test_without_its_place_in_the_registry_the_work_is_not_done(root, method, arguments):
    remember(root, "key", done())
    getattr(open_store(root), method)(NAME, *arguments)
    assert done_before(root, "key", ["calls"]) is None


def test_with_an_empty_registry_the_work_is_not_done(root, tmp_path_factory):
    remember(root, "key", done())
    # A copy, because MLflow keeps a database open that it has seen.
    emptied = tmp_path_factory.mktemp("emptied")
    shutil.copytree(root, emptied, ignore=shutil.ignore_patterns("mlflow.db*"), dirs_exist_ok=True)
    assert done_before(root, "key", ["calls"]) is not None
    assert done_before(emptied, "key", ["calls"]) is None


def test_a_damaged_memory_is_no_memory(root):
    (root / "artifacts").mkdir()
    (root / "artifacts" / "retrained.json").write_text('{"key": "key", "corp')
    assert done_before(root, "key", ["calls"]) is None


def test_data_and_settings_make_the_key(root):
    first = work_key(root, "a")
    assert first == work_key(root, "a")
    assert first != work_key(root, "b")
    (root / "params.yaml").write_text("seed: 2")
    assert first != (second := work_key(root, "a"))
    (root / "operation.yaml").write_text("schedule: {min_new_share: 0.2}")
    assert second != work_key(root, "a")


def test_the_verdict_reads_well_on_the_page():
    retraining = Retraining(before=0.0, notes=["nothing was pushed: see dvc remote add <name>"])
    retraining.arrived([Arrival("calls", "a.csv"), Arrival("calls", "b.csv", "no dialogue in it")])
    promoted = CorpusResult("calls", why="enough new data: 30 new dialogues", trained=True)
    promoted.judged(Verdict(True, [], {"champion": {"map": Gain(2.0, 0.5, 3.5)}}))
    refused = CorpusResult("chats", why="nothing has changed")
    refused.judged(Verdict(False, ["map 1.00 on dev equals the champion's"]))
    retraining.corpora = [promoted, refused, CorpusResult("mails", failed="the disk is full")]
    said = retraining.to_markdown(page="http://here")
    for line in (
        "## calls: new champion",
        "trained: enough new data: 30 new dialogues. Promoted: On dev it gains over the champion: map +2.00 [+0.50,",
        "## chats: champion stays",
        "not trained: nothing has changed. Champion stays: map 1.00 on dev equals the champion's.",
        "## mails: failed",
        "failed: the disk is full",
        "Imported from the inbox: calls/a.csv.",
        "Refused from the inbox: calls/b.csv: no dialogue in it",
        "Note: nothing was pushed: see dvc remote add &lt;name&gt;",
        "MLflow: http://here",
    ):
        assert line in said
    assert retraining.failed == "mails: the disk is full"
    assert json.loads(json.dumps(retraining.to_record()))["corpora"][0]["promoted"] is True


def test_the_table_has_a_row_for_start_and_trained(root):
    write_json(Artifacts(root, "calls").metrics, {"start": {"map": 50.0}, "trained": {"map": 60.0}})
    rows = result_rows(
        root, [CorpusResult("calls", why="asked", trained=True), CorpusResult("chats", failed="no data")]
    )
    assert [(row["corpus"], row["encoder"], row["map"]) for row in rows] == [
        ("calls", "start", 50.0),
        ("calls", "trained", 60.0),
        ("chats", "start", None),
        ("chats", "trained", None),
    ]
    assert rows[3]["verdict"] == "failed: no data"


def test_the_table_has_a_row_for_a_student_if_there_is_one(root):
    figures = {name: {"map": points} for name, points in (("start", 5.0), ("trained", 6.0), ("student", 5.9))}
    write_json(Artifacts(root, "calls").metrics, figures)
    rows = result_rows(root, [CorpusResult("calls", why="asked", trained=True)])
    assert [(row["encoder"], row["map"]) for row in rows] == [("start", 5.0), ("trained", 6.0), ("student", 5.9)]


def test_the_verdict_on_the_student_follows_its_teachers():
    outcome = CorpusResult("calls", why="asked", trained=True)
    outcome.judged(Verdict(False, ["map 1.00 on dev equals the champion's"]))
    outcome.judged(Verdict(True, [], {"teacher": {"map": Gain(-2.0, -3.5, -0.5)}}), small=True)
    assert str(outcome) == (
        "trained: asked. Champion stays: map 1.00 on dev equals the champion's. "
        "Student: Promoted: On dev it gains against the teacher: map -2.00 [-3.50, -0.50]."
    )
    page = Retraining(corpora=[outcome]).to_markdown(page="here")
    assert "## calls: champion stays, new small champion" in page


def test_a_memory_from_before_there_were_students_is_read(root):
    remember(root, "key", done())
    path = root / "artifacts" / "retrained.json"
    record = json.loads(path.read_text())
    for outcome in record["corpora"]:
        del outcome["small_promoted"], outcome["small_verdict"]
    write_json(path, record)
    assert done_before(root, "key", ["calls"]) is not None
