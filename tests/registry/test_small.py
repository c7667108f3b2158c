"""The student of a corpus in the registry: a model of its own, judged against its teacher as well."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import mlflow
import numpy as np
import pytest
from click.testing import CliRunner
from tokenizers import Tokenizer

from conversations.files import write_json
from dial2vec.cli import main
from dial2vec.config import Promote
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.student import StudentEncoder, TokenTable
from dial2vec.errors import CorpusError, ModelError
from dial2vec.evaluation.intervals import Contributions, Gain
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.registry.champions import history, promote, rollback
from dial2vec.registry.receipts import reconcile, registered_models, standing_champion
from dial2vec.registry.records import Figures, TrainingRecord
from dial2vec.registry.store import as_default, model_name, open_store, store_uri
from dial2vec.registry.tracking import local_model, register_training, registered_versions
from tests.registry.conftest import points

MARGINS = Promote(confidence=0.0)
SMALL = "demo-small"
CARD = (
    "One vector of 8 numbers per dialogue of the corpus 'demo', by a student of version 2 of dial2vec-demo, trained on",
    "MB on disk. It adds the vectors of a dialogue's tokens",
    "It needs no transformer, no torch and no GPU.",
    "| dev | start | teacher | student | gain |",
    "| MAP | 54.00 [50.00, 58.00] | 55.00 [51.00, 59.00] | 54.80 | +0.80 [+0.10, +1.50] |",
    "- It reads dialogues of any length.",
)


@pytest.fixture(scope="session")
def student_record(
    record: TrainingRecord, tiny_folder: str, tmp_path_factory: pytest.TempPathFactory
) -> TrainingRecord:
    folder = tmp_path_factory.mktemp("student") / "student"
    draws = np.random.default_rng(0)
    table = TokenTable(draws.standard_normal((45, 8), dtype=np.float32), np.ones(45, np.float32))
    tokenizer = Tokenizer.from_file(str(Path(tiny_folder) / "tokenizer.json"))
    StudentEncoder(table, tokenizer, name="tiny", teacher="trained").save_pretrained(folder)
    return replace(
        record,
        corpus=SMALL,
        kind="student",
        teacher_version="2",
        model=folder,
        max_length=None,
        fingerprint="s1",
        scores=record.scores | {"student": points(69.5, 38.5, 56.5)},
        dev_scores=record.dev_scores | {"student": points(68.5, 38.5, 54.8)},
        gains={"dev": {"map": Gain(0.8, 0.1, 1.5)}, "test": {}},
    )


@pytest.fixture(scope="session")
def small_store(
    registered_store: Path, student_record: TrainingRecord, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = shutil.copytree(registered_store, tmp_path_factory.mktemp("small") / "project")
    register_training(folder, student_record)
    return folder


@pytest.fixture
def both(small_store: Path, new_root: Path) -> Path:
    """A copy of a project in which the teacher and its student were registered."""
    return shutil.copytree(small_store, new_root)


@pytest.fixture
def receipt(both: Path, record: TrainingRecord, student_record: TrainingRecord) -> Path:
    path = Artifacts(both, "demo").registration
    teacher, student = (asdict(register_training(both, one)) for one in (record, student_record))
    write_json(path, teacher | {"small": student})
    return path


def test_only_one_ending_with_a_hyphen_is_a_name():
    assert model_name(SMALL) == "dial2vec-demo-small"
    for name in ("demo-big", "-small", "demo-small-small", "demo small"):
        with pytest.raises(CorpusError, match="'-small' at the end for its student"):
            model_name(name)


def test_a_student_is_a_model_of_its_own_beside_its_teachers(both, student_record):
    start, student = registered_versions(both, SMALL)
    assert (start.kind, start.aliases, start.dev_scores) == ("start", ("champion",), points(68, 38, 54))
    assert (student.kind, student.aliases, student.dev_scores) == ("student", ("candidate",), points(68.5, 38.5, 54.8))
    assert [one.aliases for one in registered_versions(both, "demo")] == [("champion",), ("candidate",)]
    client = open_store(both)
    version = client.get_model_version("dial2vec-demo-small", "2")
    assert (version.tags["teacher_version"], version.tags["start_version"]) == ("2", "1")
    metrics = client.get_run(version.run_id).data.metrics
    assert [metrics[f"dev_{name}map"] for name in ("", "start_", "trained_")] == [54.8, 54, 55]
    for line in CARD:
        assert line in version.description
    assert register_training(both, student_record).created is False


def test_a_students_requirements_name_no_transformer_and_it_runs(both, dialogue, student_record):
    folder = local_model("models:/dial2vec-demo-small/2", root=both)
    model = next(parent for parent in folder.parents if (parent / "MLmodel").is_file())
    needed = (model / "requirements.txt").read_text().splitlines()
    assert [line.split("==")[0] for line in needed] == ["mlflow", "numpy", "tokenizers", "safetensors"]
    expected = load_encoder(student_record.model).encode(dialogue("d", "a: w1", "b: w2"))
    assert isinstance(load_encoder(folder), StudentEncoder)
    with as_default(store_uri(both)):
        loaded = mlflow.pyfunc.load_model("models:/dial2vec-demo-small@candidate")
        turns = [{"speaker": "a", "text": "w1"}, {"speaker": "b", "text": "w2"}]
        np.testing.assert_allclose(loaded.predict([{"turns": turns}])[0], expected, atol=1e-6)


def test_a_student_from_a_foreign_teacher_is_judged_without_one(both, student_record):
    done = register_training(both, replace(student_record, teacher_version="", fingerprint="s2"))
    version = open_store(both).get_model_version("dial2vec-demo-small", done.version)
    assert "by a student of another encoder, trained on" in version.description
    assert "| dev | start | trained | student | gain |" in version.description
    assert promote(both, SMALL, replace(MARGINS, student_tolerance=0.0)).promoted


def test_a_student_near_its_teacher_is_promoted_and_goes_back_by_its_own_name(both):
    assert promote(both, SMALL, MARGINS).promoted
    description = open_store(both).get_model_version("dial2vec-demo-small", "2").description
    assert "teacher (version 2 of dial2vec-demo) | gain |" in description
    assert "at most 5 points below those of its teacher" in description
    # The teacher's own champion is another matter.
    assert [one.aliases for one in registered_versions(both, "demo")] == [("champion",), ("candidate",)]
    rollback(both, SMALL, because="odd answers")
    assert [one.kind for one in history(both, SMALL)] == ["first", "promoted", "rolled back"]
    assert [one.kind for one in history(both, "demo")] == ["first"]


def test_a_student_too_far_below_its_teacher_is_refused(both):
    verdict = promote(both, SMALL, replace(MARGINS, student_tolerance=0.1))
    assert verdict.reasons == [
        "purity 68.50 on dev is 0.50 below the teacher's 69.00; needed -0.10",
        "spearman 38.50 on dev is 0.50 below the teacher's 39.00; needed -0.10",
        "map 54.80 on dev is 0.20 below the teacher's 55.00; needed -0.10",
    ]


def rescore_by(both: Path, shares: dict[str, float]) -> Callable[[Path], Figures]:
    folders = {local_model(f"models:/dial2vec-{name}", root=both): share for name, share in shares.items()}

    def rescore(folder: Path) -> Figures:
        row = np.full(50, folders[folder])
        return Figures(points(*(100 * folders[folder],) * 3), Contributions(row, row, row))

    return rescore


def test_the_gain_against_the_teacher_is_measured_on_the_same_dialogues(both):
    rescore = rescore_by(both, {"demo-small/1": 0.5, "demo-small/2": 0.6, "demo/2": 0.62})
    verdict = promote(both, SMALL, Promote(), rescore=rescore, dev_hash="dev-2")
    assert verdict.promoted
    assert str(verdict.gains["teacher"]["map"]) == "-2.00 [-2.00, -2.00]"
    teacher = open_store(both).get_model_version("dial2vec-demo", "2")
    assert teacher.tags["dev_hash"] == "dev-2"


def test_without_labels_start_and_champion_alone_are_compared(both, student_record):
    nothing = {"start": None, "trained": None, "student": None}
    unlabelled = replace(student_record, scores=nothing, dev_scores=nothing, fingerprint="s2", dev_hash="dev-2")
    register_training(both, unlabelled)
    compared: list[Path] = []
    verdict = promote(
        both, SMALL, MARGINS, rescore=lambda _: Figures(None), compare=lambda rival, _: compared.append(rival)
    )
    assert verdict.promoted
    assert compared == [local_model("models:/dial2vec-demo-small/1", root=both)]


def test_a_deleted_teacher_stops_the_gate_and_comes_back_with_the_next_registration(
    both, receipt, record, student_record
):
    open_store(both).delete_model_version("dial2vec-demo", "2")
    with pytest.raises(ModelError, match="the student's teacher, version 2 of dial2vec-demo, is no longer in the reg"):
        promote(both, SMALL, MARGINS)
    assert "version 2 is no longer in the registry" in reconcile(both, ["demo"])[-1]
    assert not receipt.exists()
    teacher = register_training(both, record).version
    done = register_training(both, replace(student_record, teacher_version=teacher))
    assert (teacher, done.version, done.created) == ("3", "2", False)
    assert promote(both, SMALL, MARGINS).promoted


def test_a_deleted_student_is_registered_again_by_the_next_run(both, receipt):
    assert registered_models(both, "demo") == ["demo", SMALL]
    assert standing_champion(both, "demo") == "1 1"
    assert reconcile(both, ["demo"]) == []
    open_store(both).delete_model_version("dial2vec-demo-small", "2")
    assert standing_champion(both, "demo") == ""
    change, note = reconcile(both, ["demo"])
    assert change.startswith("dial2vec-demo-small: 20")
    assert note == "dial2vec-demo-small: version 2 is no longer in the registry, so stage register runs again"
    assert not receipt.exists()
    assert history(both, SMALL)[-1].kind == "removed by hand"


@pytest.mark.parametrize("small", [{}, {"small": None}])
def test_a_receipt_without_a_student_names_one_model(both, receipt, small):
    write_json(receipt, {"version": "2", "start_version": "1"} | small)
    assert registered_models(both, "demo") == ["demo"]
    assert standing_champion(both, "demo") == "1"


def test_a_chosen_version_goes_with_the_student_that_imitates_it(both, record, student_record, monkeypatch):
    for name, text in {"params.yaml": "corpora: [demo]\n", "dvc.yaml": "stages: {}\n"}.items():
        (both / name).write_text(text)
    monkeypatch.chdir(both)
    register_training(both, replace(record, fingerprint="f9"))
    kept = CliRunner().invoke(main, ["prune", "demo", "--version", "2", "--yes"])
    assert kept.exit_code == 0, kept.output
    assert "Version 2 stays: version 2 of its student imitates it.\n" in kept.output
    assert kept.output.endswith("All but what stays is removed.\n")
    register_training(both, replace(student_record, teacher_version="3", fingerprint="s9"))
    done = CliRunner().invoke(main, ["prune", "demo", "--version", "2", "--yes"])
    assert done.exit_code == 0, done.output
    assert done.output.endswith("All of this is removed.\n")
    for corpus in ("demo", SMALL):
        assert [one.version for one in registered_versions(both, corpus)] == ["1", "3"]
