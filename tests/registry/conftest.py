"""A registry of its own for every test: what a training hands over, and stores with it or without."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

from conversations.dialogue import Dialogue, Turn
from dial2vec.config import Promote
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.student import StudentEncoder, TokenTable
from dial2vec.evaluation.intervals import Gain
from dial2vec.registry import tracking
from dial2vec.registry.champions import promote
from dial2vec.registry.records import TrainingRecord
from dial2vec.registry.tracking import register_training
from tests.registry.fake_client import log_model, use_memory

MakeRecord = Callable[..., TrainingRecord]


def points(purity: float, spearman: float, map_: float) -> dict[str, float]:
    return {"purity": purity, "spearman": spearman, "map": map_}


@pytest.fixture(autouse=True)
def _no_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.delenv("MLFLOW_REGISTRY_URI", raising=False)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")


@pytest.fixture(scope="session")
def encoders(tiny_folder: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two encoder folders, `start` and `trained`, that differ in their weights."""
    folder = tmp_path_factory.mktemp("encoders")
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    encoder.save_pretrained(folder / "start")
    with torch.no_grad():
        next(encoder.parameters()).add_(0.1)
    encoder.save_pretrained(folder / "trained")
    return folder


@pytest.fixture(scope="session")
def record(encoders: Path) -> TrainingRecord:
    report = encoders / "report.html"
    report.write_text("<h1>better</h1>")
    selection = encoders / "selection.json"
    selection.write_text('{"sentence": "The map was chosen."}')
    return TrainingRecord(
        corpus="demo",
        params={"train.epochs": 1, "seed": 42} | {f"more.{number}": number for number in range(120)},
        data_hash="d41d8.dir",
        git_commit="c0ffee",
        history=[{"step": step, "loss": 1 / step, "learning_rate": 1e-5} for step in range(1, 701)],
        scores={"start": points(69, 38, 55), "trained": points(70, 37.5, 57)},
        dev_scores={"start": points(68, 38, 54), "trained": points(69, 39, 55)},
        intervals={"dev": {"start": {"map": (50.0, 58.0)}, "trained": {"map": (51.0, 59.0)}}, "test": {}},
        gains={"dev": {"map": Gain(1.0, 0.2, 1.8)}, "test": {}},
        dev_hash="dev-1",
        split_sizes={"train": 300, "dev": 30, "test": 30},
        model=encoders / "trained",
        start_model=encoders / "start",
        start_name="tiny",
        report=report,
        selection=selection,
        choice="The map was chosen.",
        max_length=64,
        dimension=8,
        languages={"en": 0.9, "de": 0.1},
        example=Dialogue("d1", (Turn("guest", "w1 w2"), Turn("desk", "w3"))),
        seconds={"train": 12.5},
        fingerprint="f1",
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
        corpus="demo-small",
        kind="student",
        teacher_version="2",
        model=folder,
        max_length=None,
        fingerprint="s1",
        scores=record.scores | {"student": points(69.5, 38.5, 56.5)},
        dev_scores=record.dev_scores | {"student": points(68.5, 38.5, 54.8)},
        gains={"dev": {"map": Gain(0.8, 0.1, 1.5)}, "test": {}},
    )


@pytest.fixture
def make_record(record: TrainingRecord) -> MakeRecord:
    return lambda **changes: replace(record, **changes)


@pytest.fixture
def new_root(tmp_path: Path) -> Path:
    """A project without a store; its name has characters that mean something in a URI."""
    return tmp_path / "my project #1 50%"


@pytest.fixture(scope="session")
def registered_store(record: TrainingRecord, empty_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = shutil.copytree(empty_store, tmp_path_factory.mktemp("registered") / "project")
    register_training(folder, record)
    return folder


@pytest.fixture
def root(new_root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with an empty store in memory; those of `stored/` are MLflow's own."""
    use_memory(monkeypatch, new_root)
    monkeypatch.setattr(tracking, "_log_model", log_model)
    return new_root


@pytest.fixture
def registered(root: Path, record: TrainingRecord) -> Path:
    """A project in which the record above was registered."""
    register_training(root, record)
    return root


@pytest.fixture
def project(registered: Path, make_record: MakeRecord) -> Path:
    """Version 1 is the base encoder, 2 was champion, 3 is champion and candidate."""
    assert promote(registered, "demo", Promote(confidence=0.0)).promoted
    better = {"start": points(68, 38, 54), "trained": points(70, 40, 60)}
    register_training(registered, make_record(fingerprint="f2", dev_scores=better))
    assert promote(registered, "demo", Promote(confidence=0.0)).promoted
    return registered
