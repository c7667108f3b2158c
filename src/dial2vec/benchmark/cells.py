"""Cells of the benchmark: one system, one corpus, one seed; computed once, kept with their MLflow run."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from dial2vec.artifacts import Artifacts
from dial2vec.benchmark.systems import SYSTEMS, System, Views, baseline_vectors, encoder_views, trained_encoder
from dial2vec.config import Settings, flat
from dial2vec.dialogue import Dialogue, read_dialogues
from dial2vec.errors import ArtifactError, CorpusError, ModelError
from dial2vec.evaluation.intervals import Interval, intervals
from dial2vec.evaluation.scores import figures, judge
from dial2vec.files import read_json, write_json

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Cell:
    """What was found of one system on the test split of one corpus, with one seed.

    :param made_by: identifies settings and splits; a cell that was made by others does not count.
    :param scores: view -> figures, as `evaluation.scores.score` gives them. Baselines have the view "both" only.
    :param intervals: view -> task -> 95 % interval over dialogues.
    :param chosen: the candidate that was chosen, where something was trained.
    :param seconds: to train, encode and score, in the process that ended it.
    :param run_id: its run in MLflow.
    :param skipped: why it could not be computed, as a sentence; empty where it was.
    """

    corpus: str
    system: str
    seed: int
    made_by: str
    scores: dict[str, dict[str, float]]
    intervals: dict[str, dict[str, Interval]]
    chosen: str
    seconds: float
    run_id: str
    skipped: str = ""


def cell_path(root: Path, corpus: str, system: str, seed: int) -> Path:
    """Where a cell is kept."""
    return root / "artifacts" / "benchmark" / corpus / f"{system}-{seed}.json"


def known_cell(root: Path, corpus: str, system: str, seed: int, settings: Settings) -> Cell | None:
    """Return a cell that was computed by today's settings on today's splits, else None."""
    path = cell_path(root, corpus, system, seed)
    if not path.is_file():
        return None
    try:
        found = Cell(**read_json(path))
    except (ArtifactError, TypeError):
        return None
    ours = SYSTEMS[system].settings(settings, seed=seed)
    return found if found.made_by == made_by(Artifacts(root, corpus), ours) and not found.skipped else None


def compute_cell(root: Path, corpus: str, system: str, seed: int, settings: Settings) -> Cell:
    """Compute a cell and keep it, with a run in MLflow.

    Killed on its way, it goes on from the last whole checkpoint of its training.

    :raises CorpusError: when the test split has too few labels to score.
    """
    began = time.perf_counter()
    artifacts, row = Artifacts(root, corpus), SYSTEMS[system]
    ours = row.settings(settings, seed=seed)
    judged = labelled_test(artifacts)
    work = cell_path(root, corpus, system, seed).with_suffix(".work")
    try:
        views, chosen = _views(row, artifacts, judged, ours, work)
        skipped = ""
    except ModelError as error:
        views, chosen, skipped = {}, "", str(error)
    labels = [str(dialogue.label) for dialogue in judged]
    scores, ranges = {}, {}
    for name, vectors in views.items():
        # The same seeds of k-means and of the bootstrap in all cells: their noise is not the system's.
        topics = vectors.argmax(axis=1) if row.topics else None
        found = judge(vectors, labels, runs=settings.evaluate.kmeans_runs, seed=settings.seed, clusters=topics)
        scores[name] = figures(found, vectors, labels)
        ranges[name] = intervals(found, labels, seed=settings.seed)
    seconds = round(time.perf_counter() - began, 1)
    cell = Cell(corpus, system, seed, made_by(artifacts, ours), scores, ranges, chosen, seconds, "", skipped)
    cell = replace(cell, run_id=_log(root, cell, ours))
    write_json(cell_path(root, corpus, system, seed), asdict(cell))
    shutil.rmtree(work, ignore_errors=True)
    return cell


def _log(root: Path, cell: Cell, settings: Settings) -> str:
    from dial2vec.tracking import log_run

    metrics = {
        name if view == "both" else f"{view}_{name}": value
        for view, scores in cell.scores.items()
        for name, value in scores.items()
    }
    return log_run(
        root,
        area="benchmark",
        name=f"{cell.corpus} {cell.system} {cell.seed}",
        params=flat(settings),
        metrics=metrics | {"seconds": cell.seconds},
        tags={"corpus": cell.corpus, "system": cell.system, "made_by": cell.made_by},
        record=asdict(cell),
    )


def _views(
    row: System, artifacts: Artifacts, judged: list[Dialogue], settings: Settings, work: Path
) -> tuple[Views, str]:
    if row.baseline:
        return baseline_vectors(row, artifacts, judged, settings), ""
    from dial2vec.encoder import DialogueEncoder

    if row.train is None:
        encoder, chosen = DialogueEncoder.start(settings.encoder), ""
    else:
        encoder, chosen = trained_encoder(artifacts, settings, work)
    with encoder.autocast("auto"):
        return encoder_views(encoder, judged, batch_size=settings.evaluate.batch_size), chosen


def labelled_test(artifacts: Artifacts) -> list[Dialogue]:
    """Return the dialogues of the test split that have exactly one label.

    :raises CorpusError: when they cannot be scored.
    """
    found = [dialogue for dialogue in read_dialogues(artifacts.split("test")) if dialogue.label is not None]
    different = len({dialogue.label for dialogue in found})
    if not 2 <= different < len(found):
        raise CorpusError(
            f"{artifacts.corpus}: the test split has {len(found)} dialogues with one label, {different} different ones;"
            " expected at least two, one of them twice. The benchmark needs labels: take it out of `corpora`."
        )
    return found


def made_by(artifacts: Artifacts, settings: Settings) -> str:
    """Identify what a cell's figures depend on: settings, and what is in the splits."""
    blocks = [settings.seed, *(asdict(getattr(settings, name)) for name in ("sample", "encoder", "train", "select"))]
    digest = hashlib.sha256(json.dumps([*blocks, settings.evaluate.kmeans_runs]).encode())
    for name in ("train", "dev", "test"):
        with artifacts.split(name).open("rb") as handle:
            digest.update(hashlib.file_digest(handle, "sha256").digest())
    return digest.hexdigest()[:16]
