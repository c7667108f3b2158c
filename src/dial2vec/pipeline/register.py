"""Stage register: one MLflow run with everything about the training, and a new version in the registry."""

from __future__ import annotations

import hashlib
import json
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from conversations.dialogue import read_dialogues
from conversations.files import read_json, sha256_of, write_json
from dial2vec.config import Settings, flat
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.student import StudentEncoder
from dial2vec.evaluation import ENCODERS
from dial2vec.evaluation.intervals import Gain
from dial2vec.pipeline import run_stage as stage
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.pipeline.dvc_records import data_hash
from dial2vec.registry import SMALL
from dial2vec.registry.records import Registration, TrainingRecord
from dial2vec.registry.tracking import register_training

EARLIER_STAGES = ("validate", "prepare", "sample", "train", "select", "distil", "evaluate")
# Settings that change no encoder.
WITHOUT_EFFECT = ("corpora", "processes", "promote")


def register(artifacts: Artifacts, settings: Settings) -> str:
    """Log the training to MLflow and register it as `candidate`; the base encoder is the first `champion`.

    A student is registered as a model of its own, `dial2vec-<corpus>-small`.
    """
    small: Registration | None = None
    with tempfile.TemporaryDirectory() as folder:
        start_model = Path(folder) / "start"
        start = DialogueEncoder.start(settings.encoder)
        start.save_pretrained(start_model)
        record = _record(artifacts, settings, start_model, start)
        done = register_training(artifacts.root, record)
        if artifacts.kept_student:
            small = register_training(artifacts.root, _student_record(artifacts, settings, record, done))
    write_json(artifacts.registration, asdict(done) | {"small": asdict(small) if small else None})
    sentence = _sentence(artifacts.corpus, done)
    return f"{sentence}; {_sentence(artifacts.corpus + SMALL, small) if small else 'no student to register'}"


def _sentence(corpus: str, done: Registration) -> str:
    known = "" if done.created else " (was there already)"
    return (
        f"dial2vec-{corpus} version {done.version}{known}, alias candidate; champion is version {done.champion_version}"
    )


def _record(artifacts: Artifacts, settings: Settings, start_model: Path, start: DialogueEncoder) -> TrainingRecord:
    metrics, dev = read_json(artifacts.metrics), read_json(artifacts.dev_metrics)
    spreads = read_json(artifacts.intervals)
    seconds = {name: artifacts.seconds(name) for name in EARLIER_STAGES}
    return TrainingRecord(
        corpus=artifacts.corpus,
        params=flat(settings) | {"train.method": ", ".join(read_json(artifacts.training)["methods"])},
        data_hash=data_hash(artifacts.root),
        git_commit=git_commit(artifacts.root),
        history=read_json(artifacts.training)["history"],
        scores={name: metrics.get(name) for name in ENCODERS},
        dev_scores={name: dev.get(name) for name in ENCODERS},
        intervals={split: {name: kind[name] for name in ENCODERS if kind.get(name)} for split, kind in spreads.items()},
        gains={split: _gains(kind, "gain") for split, kind in spreads.items()},
        dev_hash=dev["dev_hash"],
        split_sizes=metrics["split_sizes"],
        model=artifacts.model,
        start_model=start_model,
        start_name=settings.encoder.name,
        report=artifacts.report,
        selection=artifacts.selection,
        choice=read_json(artifacts.selection)["sentence"],
        max_length=start.max_length,
        dimension=start.dimension,
        languages=read_json(artifacts.profile)["this"]["languages"],
        example=next(iter(read_dialogues(artifacts.split("train")))),
        seconds={name: read_json(path) for name, path in seconds.items() if path.is_file()},
        fingerprint=_fingerprint(artifacts.model, settings, dev["dev_hash"], without=(*WITHOUT_EFFECT, "distil")),
    )


def _student_record(
    artifacts: Artifacts, settings: Settings, record: TrainingRecord, teacher: Registration
) -> TrainingRecord:
    """Return the record of the student: the teacher's, with what differs."""
    distillation, student = read_json(artifacts.distillation), StudentEncoder.from_pretrained(artifacts.student)
    return replace(
        record,
        corpus=artifacts.corpus + SMALL,
        history=[],
        gains={split: _gains(kind, "student_gain") for split, kind in read_json(artifacts.intervals).items()},
        model=artifacts.student,
        selection=artifacts.distillation,
        choice=distillation["sentence"],
        max_length=None,
        dimension=student.dimension,
        fingerprint=_fingerprint(artifacts.student, settings, record.dev_hash, without=WITHOUT_EFFECT),
        kind="student",
        # A teacher from elsewhere is not in this registry.
        teacher_version=teacher.version if settings.distil.teacher == "run" else "",
    )


def _gains(spreads: dict[str, Any], name: str) -> dict[str, Gain]:
    return {metric: Gain(**gain) for metric, gain in (spreads.get(name) or {}).items()}


def _fingerprint(model: Path, settings: Settings, dev_hash: str, *, without: Sequence[str]) -> str:
    """Identify a training by its weights, dev split and settings, without the settings that cannot change it."""
    made_by = {key: value for key, value in flat(settings).items() if key.split(".")[0] not in without}
    digest = hashlib.sha256(json.dumps(made_by, sort_keys=True).encode())
    digest.update(dev_hash.encode())
    for path in sorted(model.glob("*.safetensors")):
        digest.update(sha256_of(path))
    return digest.hexdigest()[:16]


def git_commit(root: Path) -> str:
    """Return the commit of the checkout, or "unknown" outside a repository."""
    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()


if __name__ == "__main__":
    stage.main(register)
