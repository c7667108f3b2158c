"""Stage evaluate: scores of base encoder, trained encoder and student on the same dialogues, and the report."""

from __future__ import annotations

import csv
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from conversations.dialogue import Dialogue
from conversations.files import atomic_path, read_json, write_json, write_text
from dial2vec.config import Settings, flat, part_of, parts_of
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.advice import encoder_advice
from dial2vec.encoder.folder import folder_hash
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.protocol import Encoder
from dial2vec.evaluation import ENCODERS, NO_LABELS, TASKS
from dial2vec.evaluation.intervals import Contributions, Gain, gains, intervals
from dial2vec.evaluation.measure import Measured, measure, measure_vectors
from dial2vec.evaluation.report.dialogue_map import MOST_POINTS
from dial2vec.evaluation.report.report import Report, render_report
from dial2vec.evaluation.score_cache import cache_scores, measurement_hash
from dial2vec.pipeline import run_stage as stage
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.pipeline.scoring import measured_dialogues, scoring

Scores = dict[str, dict[str, float] | None]


def evaluate(artifacts: Artifacts, settings: Settings) -> str:
    """Score start, trained and student on dev and test, and write metrics, the comparison table and the report."""
    dev, test = (measured_dialogues(artifacts.split(name), settings) for name in ("dev", "test"))
    encoders = _encoders(artifacts, settings)
    size = settings.evaluate.batch_size
    options = scoring(artifacts, settings)
    on_dev = {name: measure(encoder, dev, batch_size=size, **options) for name, encoder in encoders.items()}
    on_test = {name: measure(encoder, test, batch_size=size, **options) for name, encoder in encoders.items()}
    sizes = read_json(artifacts.split_report)["split_sizes"]
    scores = _scores(on_test)
    parts = _parts(artifacts.corpus, test, on_test, options)
    write_json(artifacts.metrics, {"corpus": artifacts.corpus, "split_sizes": sizes} | scores | parts)
    dev_hash = measurement_hash(dev, **options)
    write_json(artifacts.dev_metrics, {"dev_hash": dev_hash} | _scores(on_dev))
    _keep_for_the_gate(artifacts, encoders, on_dev, dev_hash)
    spreads = {name: _spreads(measured, settings.seed) for name, measured in (("dev", on_dev), ("test", on_test))}
    write_json(artifacts.intervals, spreads)
    _write_comparison(artifacts, scores)
    drawn = _drawn({"dev": len(dev), "test": len(test)}, sizes)
    # On the page alone: stage train says it of the train split.
    unknown = filter(None, [encoder_advice(test, encoders["start"], trained=True)])
    notes = [*drawn, *unknown, *_notes(encoders["start"], [*dev, *test]), *_notes_of_parts(parts)]
    shown = _shown(encoders, test, on_test, settings)
    page = render_report(_report(artifacts, settings, shown, spreads["test"], sizes=sizes, notes=notes))
    write_text(artifacts.report, page)
    if scores["start"] is None or scores["trained"] is None:
        return f"no figures on test: {NO_LABELS}"
    start, trained, student = scores["start"], scores["trained"], scores["student"]
    sentence = ", ".join(f"{task} {start[task]:.2f} -> {trained[task]:.2f}" for task in TASKS)
    if student is not None:
        sentence += f"; student: {', '.join(f'{task} {student[task]:.2f}' for task in TASKS)}"
    return "; ".join([sentence, *(note[0].lower() + note[1:-1] for note in drawn)])


def _encoders(artifacts: Artifacts, settings: Settings) -> dict[str, Encoder]:
    start = DialogueEncoder.start(settings.encoder)
    # As `load_encoder` reads, and so every command that uses the encoder, and promotion.
    start.network.precision = "auto"
    encoders: dict[str, Encoder] = {"start": start, "trained": load_encoder(artifacts.model)}
    if artifacts.kept_student:
        encoders["student"] = load_encoder(artifacts.student)
    return encoders


def _drawn(measured: dict[str, int], sizes: dict[str, int]) -> list[str]:
    """Return a sentence if only some dialogues of a split were measured."""
    parts = [f"{n:,} of {sizes[name]:,} of {name}" for name, n in measured.items() if n < sizes[name]]
    return [f"Measured on {' and '.join(parts)}, drawn by the seed (evaluate.max_dialogues)."] if parts else []


def _scores(measured: dict[str, Measured]) -> Scores:
    """Return the scores of start, trained and student; None for a student that was not kept."""
    return {name: measured[name].scores if name in measured else None for name in ENCODERS}


def _parts(
    corpus: str, test: Sequence[Dialogue], on_test: dict[str, Measured], options: dict[str, Any]
) -> dict[str, dict[str, Scores]]:
    """Return the scores of each corpus that a joint one joins, on its own test dialogues, as {"parts": ...}."""
    if len(parts_of(corpus)) == 1:
        return {}
    owners = [part_of(dialogue.dialogue_id) for dialogue in test if dialogue.label is not None]
    parts: dict[str, Scores] = {}
    for name in parts_of(corpus):
        rows = [row for row, owner in enumerate(owners) if owner == name]
        parts[name] = {encoder: _score(on_test.get(encoder), rows, options) for encoder in ENCODERS}
    return {"parts": parts}


def _score(measured: Measured | None, rows: list[int], options: dict[str, Any]) -> dict[str, float] | None:
    if measured is None or not measured.labels:
        return None
    labels = [measured.labels[row] for row in rows]
    # As many clusters as the part has labels: those of all parts together would not be its own.
    return measure_vectors(measured.vectors[rows], labels, **options | {"n_clusters": None})


def _notes_of_parts(parts: dict[str, dict[str, Scores]]) -> list[str]:
    """Return a sentence for each joined corpus."""
    sentences = []
    for name, scores in parts.get("parts", {}).items():
        start, trained = scores["start"], scores["trained"]
        if start is None or trained is None:
            sentences.append(f"{name} alone has no figures on test: {NO_LABELS}.")
        else:
            changes = ", ".join(f"{task} {start[task]:.2f} to {trained[task]:.2f}" for task in TASKS)
            sentences.append(f"On the test dialogues of {name} alone, from start to trained encoder: {changes}.")
    return sentences


def _notes(encoder: Encoder, dialogues: Sequence[Dialogue]) -> list[str]:
    if not (n := encoder.count_long(dialogues)):
        return []
    read = "read in windows" if encoder.reads_whole else "cut"
    return [f"{n} dialogues of dev and test are longer than {encoder.max_length} tokens and were {read}."]


def _keep_for_the_gate(
    artifacts: Artifacts, encoders: dict[str, Encoder], on_dev: dict[str, Measured], dev_hash: str
) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folders = {"start": Path(temporary) / "start", "trained": artifacts.model, "student": artifacts.student}
        encoders["start"].save_pretrained(folders["start"])
        for name, measured in on_dev.items():
            cache_scores(artifacts.on_dev, folder_hash(folders[name]), dev_hash, measured)


def _spreads(measured: dict[str, Measured], seed: int) -> dict[str, Any]:
    """Return the intervals of base, trained and student, and of the gains over the base; empty without figures."""
    start, trained = measured["start"].contributions, measured["trained"].contributions
    if start is None or trained is None:
        return {}
    student = measured["student"].contributions if "student" in measured else None
    return {
        "start": intervals(start, seed=seed),
        "trained": intervals(trained, seed=seed),
        "student": None if student is None else intervals(student, seed=seed),
        "gain": _gains(trained, start, seed),
        "student_gain": None if student is None else _gains(student, start, seed),
    }


def _gains(ours: Contributions, start: Contributions, seed: int) -> dict[str, Any]:
    return {name: asdict(gain) for name, gain in gains(ours, start, seed=seed).items()}


def _write_comparison(artifacts: Artifacts, scores: Scores) -> None:
    with atomic_path(artifacts.comparison) as temporary, temporary.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle)
        writer.writerow(["encoder", "task", "points"])
        writer.writerows([name, task, points[task]] for name, points in scores.items() if points for task in TASKS)


def _shown(
    encoders: dict[str, Encoder], test: Sequence[Dialogue], on_test: dict[str, Measured], settings: Settings
) -> tuple[list[Dialogue], dict[str, Measured]]:
    """Return the dialogues of the report, and what was measured with their vectors.

    They are those that were scored; without scores, at most 2,500 of the test split, drawn at random, which start and
    trained encoder read.
    """
    if on_test["start"].labels:
        return [dialogue for dialogue in test if dialogue.label is not None], on_test
    places = np.arange(len(test))
    if len(test) > MOST_POINTS:
        places = np.sort(np.random.default_rng(settings.seed).choice(len(test), MOST_POINTS, replace=False))
    drawn = [test[place] for place in places.tolist()]
    size = settings.evaluate.batch_size
    return drawn, {
        name: replace(on_test[name], vectors=encoders[name].encode(drawn, batch_size=size))
        for name in ("start", "trained")
    }


def _report(
    artifacts: Artifacts,
    settings: Settings,
    shown: tuple[list[Dialogue], dict[str, Measured]],
    spreads: dict[str, Any],
    *,
    sizes: dict[str, int],
    notes: list[str],
) -> Report:
    dialogues, measured = shown
    return Report(
        corpus=artifacts.corpus,
        split_sizes=sizes,
        encoders=measured,
        start_name=settings.encoder.name,
        settings=flat(settings),
        history=read_json(artifacts.training)["history"],
        dialogues=dialogues,
        seed=settings.seed,
        selection=read_json(artifacts.selection),
        notes=notes,
        made=time.strftime("%Y-%m-%d"),
        distillation=read_json(artifacts.distillation) if artifacts.distillation.is_file() else None,
        gains={
            encoder: {metric: Gain(**gain) for metric, gain in (spreads.get(key) or {}).items()}
            for encoder, key in (("trained", "gain"), ("student", "student_gain"))
        },
    )


if __name__ == "__main__":
    stage.main(evaluate)
