"""Stage distil on a small corpus: what it leaves, and what it does where it keeps no student."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from transformers import PreTrainedTokenizerFast

from conversations.dialogue import read_dialogues
from conversations.files import read_json
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.student import StudentEncoder
from dial2vec.errors import CorpusError
from dial2vec.evaluation.selection import choice
from dial2vec.operation.forgetting.places import VECTORS
from dial2vec.pipeline import distil as stage
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.pipeline.distil import distil
from dial2vec.pipeline.evaluate import evaluate
from dial2vec.pipeline.select import select
from dial2vec.training.distillation import fitting
from dial2vec.training.distillation.teachers import FileTeacher
from tests.pipeline.projects import change, run
from tests.students import save_student


@pytest.fixture
def selected(large_run):
    """A project after stage select, with a distillation of two epochs."""
    change(large_run, "distil", epochs=2, batch_size=16, learning_rate=1e-2)
    return large_run


def test_the_student_gives_nearly_the_teachers_vectors(selected):
    change(selected, "select", selection="last")
    # The teacher is then a trained encoder, whatever the choice without labels makes of so few dialogues.
    run(selected, select)
    artifacts, [summary] = run(selected, distil)
    assert summary.startswith("The student of epoch 2 was chosen")
    record = read_json(artifacts.distillation)
    assert record["kept"]
    assert [candidate["name"] for candidate in record["candidates"]] == [
        "start",
        *(f"student of epoch {n}" for n in (1, 2)),
    ]
    assert record["candidates"][2]["agreement"] > record["candidates"][0]["agreement"]
    student = load_encoder(artifacts.student)
    assert isinstance(student, StudentEncoder)
    dev = list(read_dialogues(artifacts.split("dev")))
    cosines = (student.encode(dev) * DialogueEncoder.from_pretrained(artifacts.model).encode(dev)).sum(1)
    assert cosines.mean() == pytest.approx(record["candidates"][2]["agreement"], abs=0.02)
    assert not artifacts.distilling.exists()


def test_what_is_kept_beside_the_outputs_is_known_to_those_who_forget(selected):
    artifacts, _ = run(selected, distil, evaluate)
    known = {value.name for value in vars(Artifacts).values() if hasattr(value, "name")}
    left = {path.name for path in artifacts.model.parent.iterdir()}
    assert {"teacher_vectors", "teacher_vectors_dev"} < left <= known | {"seconds"}
    stages = yaml.safe_load((Path(__file__).parents[2] / "dvc.yaml").read_text())["stages"].values()
    outputs = [out for stage in stages for kind in ("outs", "metrics", "plots") for out in stage.get(kind, ())]
    outputs = {Path(next(iter(out)) if isinstance(out, dict) else out).name for out in outputs}
    assert known - outputs == set(VECTORS)


@pytest.mark.parametrize("best", [1, 2])
def test_of_the_students_ahead_of_the_start_the_one_that_agrees_most_is_kept(selected, monkeypatch, best):
    monkeypatch.setattr(choice, "_all_objections", lambda ahead, *_: ["the base encoder", *[None] * (len(ahead) - 1)])
    agreements = [0.1, 0.7, 0.7]
    agreements[best] = 0.8
    monkeypatch.setattr(stage, "_agreements", lambda *_: agreements)
    artifacts, [summary] = run(selected, distil)
    assert summary.startswith(f"The student of epoch {best} was chosen")
    assert [candidate["agreement"] for candidate in read_json(artifacts.distillation)["candidates"]] == agreements


def test_vectors_of_training_dialogues_alone_leave_the_choice_to_the_criteria(selected):
    artifacts, _ = run(selected)
    write_vectors(selected / "api.parquet", list(read_dialogues(artifacts.split("train"))))
    change(selected, "distil", teacher="api.parquet", targets="vectors")
    run(selected, distil)
    candidates = read_json(artifacts.distillation)["candidates"]
    assert [candidate["agreement"] for candidate in candidates] == [None] * 3
    assert all(candidate["score"] is not None for candidate in candidates)


def test_without_a_clear_gain_no_student_is_kept(selected):
    change(selected, "distil", learning_rate=0.0)
    artifacts, [summary] = run(selected, distil)
    record = read_json(artifacts.distillation)
    assert record["kept"] == summary.startswith("The student of")
    change(selected, "distil", epochs=0)
    artifacts, [summary] = run(selected, distil)
    assert summary == "No student was asked for: distil.epochs is 0."
    assert list(artifacts.student.iterdir()) == []
    assert read_json(artifacts.distillation)["kept"] is False
    run(selected, evaluate)
    assert read_json(artifacts.metrics)["student"] is None
    assert summary in artifacts.report.read_text()


def test_no_student_is_trained_that_could_not_be_chosen(selected, monkeypatch):
    monkeypatch.setattr(stage, "fit", lambda *_, **__: 1 / 0)
    monkeypatch.setattr(stage, "MIN_DIALOGUES", 10_000)
    artifacts, [summary] = run(selected, distil)
    assert "choosing without labels needs at least 10000 dev dialogues with two speakers, and there are" in summary
    assert read_json(artifacts.distillation)["kept"] is False


def test_a_tokenizer_that_is_python_code_gives_no_student(selected, monkeypatch):
    monkeypatch.setattr(PreTrainedTokenizerFast, "backend_tokenizer", None)
    artifacts, [summary] = run(selected, distil)
    assert summary.startswith("No student is kept: it needs the tokenizer of a file, and ")
    assert list(artifacts.student.iterdir()) == []


def test_rows_without_id_or_vector_are_left_out(selected):
    artifacts, _ = run(selected)
    train = list(read_dialogues(artifacts.split("train")))
    ids = [None, *(dialogue.dialogue_id for dialogue in train[:5])]
    vectors = [[1.0, 2.0], None, *([[1.0, 2.0]] * 4)]
    pq.write_table(pa.table({"dialogue_id": ids, "embedding": vectors}), selected / "api.parquet")
    assert len(FileTeacher(selected / "api.parquet").known(train)) == 4


def test_a_kill_in_the_last_epoch_costs_that_epoch_only(selected, monkeypatch):
    change(selected, "select", selection="last")
    artifacts, _ = run(selected, distil)
    whole = (artifacts.student / "table.safetensors").read_bytes()
    real, epochs = fitting._report, []

    def killed(epoch, *arguments):
        epochs.append(epoch)
        if epochs == [0, 1]:
            raise KeyboardInterrupt
        real(epoch, *arguments)

    monkeypatch.setattr(fitting, "_report", killed)
    with pytest.raises(KeyboardInterrupt):
        run(selected, distil)
    run(selected, distil)
    assert epochs == [0, 1, 1]
    assert (artifacts.student / "table.safetensors").read_bytes() == whole


def write_vectors(path, dialogues, *, name="embedding", dimension=5):
    """Vectors that tell topics apart, with some noise."""
    topics = [int(str(dialogue.label)[-1]) for dialogue in dialogues]
    vectors = np.eye(dimension)[topics] + 0.1 * np.random.default_rng(0).normal(size=(len(dialogues), dimension))
    pq.write_table(pa.table({"dialogue_id": [one.dialogue_id for one in dialogues], name: vectors.tolist()}), path)


def test_vectors_of_another_model_can_be_the_teacher(selected):
    change(selected, "select", selection="last")
    artifacts, _ = run(selected)
    dialogues = [one for split in ("train", "dev") for one in read_dialogues(artifacts.split(split))]
    write_vectors(selected / "api.parquet", dialogues)
    change(selected, "distil", teacher="api.parquet", targets="vectors")
    run(selected, distil)
    record = read_json(artifacts.distillation)
    assert record["teacher"] == "api.parquet"
    assert load_encoder(artifacts.student).dimension == 5
    # The base encoder has another length, so it cannot be compared with such vectors.
    assert record["candidates"][0]["agreement"] is None
    assert record["candidates"][2]["agreement"] > 0.5


def test_a_file_that_knows_few_dialogues_gives_no_student(selected):
    artifacts, _ = run(selected)
    write_vectors(selected / "api.parquet", list(read_dialogues(artifacts.split("train")))[:7])
    change(selected, "distil", teacher="api.parquet")
    _, [summary] = run(selected, distil)
    assert "whose ids are in the teacher's file, and there are 7" in summary


def test_a_student_can_teach(selected):
    save_student(selected / "other")
    change(selected, "select", selection="last")
    change(selected, "distil", teacher=str(selected / "other"))
    artifacts, _ = run(selected, distil)
    assert load_encoder(artifacts.student).dimension == 16


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"id": ["a"], "text": ["x"]}, "expected embedding or vector"),
        ({"text": ["x"], "embedding": [[1.0]]}, "expected dialogue_id or"),
        ({"id": ["a", "b"], "vector": [[1.0], [1.0, 2.0]]}, "different lengths"),
        ({"id": ["a", "b"], "vector": [[1.0], [float("nan")]]}, "NaN or infinity"),
        ({"id": ["a", "a"], "vector": [[1.0], [2.0]]}, "'a' more than once"),
        ({"id": ["a"], "vector": ["[1.0]"]}, "vectors of type string"),
        ({"id": [1.0], "vector": [[1.0]]}, "ids of type double"),
        ({"id": ["a"], "vector": [["1.0"]]}, "lists of numbers"),
    ],
)
def test_a_bad_file_of_vectors_is_one_sentence(selected, columns, message):
    pq.write_table(pa.table(columns), selected / "api.parquet")
    change(selected, "distil", teacher="api.parquet")
    with pytest.raises(CorpusError, match=message):
        run(selected, distil)


def test_a_missing_or_damaged_file_of_vectors_is_one_sentence(selected):
    change(selected, "distil", teacher="api.parquet")
    with pytest.raises(CorpusError, match="does not exist"):
        run(selected, distil)
    (selected / "api.parquet").write_text("no")
    with pytest.raises(CorpusError, match="no whole Parquet file"):
        run(selected, distil)
