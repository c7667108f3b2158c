"""A registry of its own for every test: what a training hands over, and stores with it or without."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from conversations.dialogue import Dialogue, Turn
from dial2vec.config import Promote
from dial2vec.encoder import DialogueEncoder
from dial2vec.evaluation.intervals import Gain
from dial2vec.registry import tracking
from dial2vec.registry.champions import promote
from dial2vec.registry.records import TrainingRecord
from dial2vec.registry.tracking import register_training

MakeRecord = Callable[..., TrainingRecord]


def points(purity: float, spearman: float, map_: float) -> dict[str, float]:
    return {"purity": purity, "spearman": spearman, "map": map_}


@pytest.fixture(autouse=True)
def _package(monkeypatch: pytest.MonkeyPatch, small_package: Path):
    monkeypatch.setattr(tracking, "PACKAGE", small_package)


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


@pytest.fixture
def make_record(record: TrainingRecord) -> MakeRecord:
    return lambda **changes: replace(record, **changes)


@pytest.fixture
def new_root(tmp_path: Path) -> Path:
    """A project without a store; its name has characters that mean something in a URI."""
    return tmp_path / "my project #1 50%"


@pytest.fixture
def root(empty_store: Path, new_root: Path) -> Path:
    """A project with an empty store."""
    return shutil.copytree(empty_store, new_root)


@pytest.fixture(scope="session")
def registered_store(
    record: TrainingRecord, empty_store: Path, small_package: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = shutil.copytree(empty_store, tmp_path_factory.mktemp("registered") / "project")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tracking, "PACKAGE", small_package)
        register_training(folder, record)
    return folder


@pytest.fixture
def registered(registered_store: Path, new_root: Path) -> Path:
    """A copy of a project in which the record above was registered."""
    return shutil.copytree(registered_store, new_root)


@pytest.fixture(scope="session")
def three_versions(
    registered_store: Path, record: TrainingRecord, small_package: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Version 1 is the start, 2 was champion, 3 is champion and candidate."""
    folder = shutil.copytree(registered_store, tmp_path_factory.mktemp("three") / "project")
    assert promote(folder, "demo", Promote(confidence=0.0)).promoted
    better = {"start": points(68, 38, 54), "trained": points(70, 40, 60)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tracking, "PACKAGE", small_package)
        register_training(folder, replace(record, fingerprint="f2", dev_scores=better))
    assert promote(folder, "demo", Promote(confidence=0.0)).promoted
    return folder


@pytest.fixture
def project(three_versions: Path, new_root: Path) -> Path:
    """A copy of a project with these three versions."""
    return shutil.copytree(three_versions, new_root)
