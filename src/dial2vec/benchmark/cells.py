"""Cells of the benchmark: one system, one corpus, one seed; computed once, kept with their MLflow run."""

from __future__ import annotations

import logging
import shutil
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from dial2vec.artifacts import Artifacts
from dial2vec.benchmark.course import Choices, course, made_by, trained_encoder
from dial2vec.benchmark.systems import ALL, System, Views, baseline_vectors, encoder_views
from dial2vec.config import Settings, flat
from dial2vec.dialogue import Dialogue, read_dialogues
from dial2vec.errors import ArtifactError, CorpusError, Dial2vecError
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
    :param course: the test split at every checkpoint, the start first ("step" and figures); empty where not asked for.
    :param by_labels: step that the labels of dev would choose, where something was trained.
    :param label_free: step that the criteria without labels choose, likewise.
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
    course: list[dict[str, float]] = field(default_factory=list)
    by_labels: int = 0
    label_free: int = 0


def cells_folder(root: Path, corpus: str) -> Path:
    """Where the cells of a corpus are kept."""
    return root / "artifacts" / "benchmark" / corpus


def cell_path(root: Path, corpus: str, system: str, seed: int) -> Path:
    """Where a cell is kept."""
    return cells_folder(root, corpus) / f"{system}-{seed}.json"


def known_cell(
    root: Path, corpus: str, system: str, seed: int, settings: Settings, *, with_course: bool = False
) -> Cell | None:
    """Return a cell that was computed by today's settings on today's splits, else None.

    :param with_course: one whose course was not scored does not count.
    """
    path = cell_path(root, corpus, system, seed)
    if not path.is_file():
        return None
    try:
        found = Cell(**read_json(path))
    except (ArtifactError, TypeError):
        return None
    ours = ALL[system].settings(settings, seed=seed)
    if found.skipped or (with_course and not found.course):
        return None
    return found if found.made_by == made_by(Artifacts(root, corpus), ours) else None


def compute_cell(
    root: Path, corpus: str, system: str, seed: int, settings: Settings, *, with_course: bool = False
) -> Cell:
    """Compute a cell and keep it, with a run in MLflow.

    Killed on its way, it goes on from the last whole checkpoint of its training. What cannot be computed, such as a
    baseline whose word vectors are not at hand, is a cell that says why, and is tried again next time.

    :param with_course: score every checkpoint as well.
    :raises CorpusError: when the test split has too few labels to score.
    """
    began = time.perf_counter()
    artifacts, row = Artifacts(root, corpus), ALL[system]
    ours = row.settings(settings, seed=seed)
    judged = labelled_test(artifacts)
    work = cell_path(root, corpus, system, seed).with_suffix(".work")
    views: Views = {}
    choices, points, skipped = Choices("", 0, 0), [], ""
    try:
        views, choices = _views(row, artifacts, judged, ours, work)
        if with_course:
            points = course(artifacts, ours, work, judged, seed=settings.seed)
    except Dial2vecError as error:
        skipped = str(error)
    labels = [str(dialogue.label) for dialogue in judged]
    scores, ranges = {}, {}
    for name, vectors in views.items():
        # The same seeds of k-means and of the bootstrap in all cells: their noise is not the system's.
        topics = vectors.argmax(axis=1) if row.topics else None
        found = judge(vectors, labels, runs=settings.evaluate.kmeans_runs, seed=settings.seed, clusters=topics)
        scores[name] = figures(found, vectors, labels)
        ranges[name] = intervals(found, labels, seed=settings.seed)
    cell = Cell(
        corpus,
        system,
        seed,
        made_by(artifacts, ours),
        scores,
        ranges,
        choices.chosen,
        seconds=round(time.perf_counter() - began, 1),
        run_id="",
        skipped=skipped,
        course=points,
        by_labels=choices.by_labels,
        label_free=choices.label_free,
    )
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
        course=cell.course,
        tags={"corpus": cell.corpus, "system": cell.system, "made_by": cell.made_by},
        record=asdict(cell),
    )


def _views(
    row: System, artifacts: Artifacts, judged: list[Dialogue], settings: Settings, work: Path
) -> tuple[Views, Choices]:
    nothing = Choices("", 0, 0)
    if row.baseline:
        return baseline_vectors(row, artifacts, judged, settings), nothing
    from dial2vec.encoder import DialogueEncoder

    if row.train is None:
        encoder, choices = DialogueEncoder.start(settings.encoder), nothing
    else:
        encoder, choices = trained_encoder(artifacts, settings, work)
    with encoder.autocast("auto"):
        return encoder_views(encoder, judged, batch_size=settings.evaluate.batch_size), choices


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
