"""Cells of the benchmark: one system, one corpus, one seed; computed once, kept with their MLflow run."""

from __future__ import annotations

import functools
import hashlib
import json
import shutil
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from dial2vec.config import Settings, flat
from dial2vec.dialogue import Dialogue, read_dialogues
from dial2vec.errors import ArtifactError, CorpusError, ModelError
from dial2vec.evaluation.intervals import Interval, contributions, intervals
from dial2vec.evaluation.scores import figures, judge
from dial2vec.files import read_json, write_json
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.research.tables.course import Training, course, trained_encoder
from dial2vec.research.tables.systems import ALL, COURSE_SEED, System, ViewVectors, encoder_views, fitted_baseline
from dial2vec.research.tables.utterances import Records, TaskData, score_utterances
from dial2vec.research.tasks.encoding import Reader, reader_of_baseline, reader_of_encoder

# To be raised when the code behind scores and intervals gives others, so that all cells are computed anew.
SCORES_VERSION = 1
CHOICES = ("by_labels", "label_free", "label_free_name")


@dataclass(frozen=True, slots=True)
class Cell:
    """What was found of one system on the test split of one corpus, with one seed.

    :param made_by: identifies settings and splits; a cell that was made by others does not count.
    :param scores: view -> figures, as `evaluation.scores.score` gives them. Baselines have the view "both" only.
    :param intervals: view -> task -> 95 % interval over dialogues.
    :param chosen: the candidate that was chosen; empty where nothing was trained.
    :param by_labels: step that the labels of dev would choose; None without labels or training.
    :param label_free: step that the criteria without labels choose; None where they were not asked.
    :param course: the test split at every checkpoint, the start first ("step" and figures); empty where not asked for.
    :param label_free_name: the name of that candidate; empty where they were not asked.
    :param steps: of its training; 0 where nothing was trained.
    :param tokens: that it was trained on, padding left out; what was encoded besides, to fit maps or to make variants,
        is not counted.
    :param task_records: results of the tasks for utterances by the key of their data; empty where they were not asked
        for.
    :param seconds: to train, encode and score, in the process that ended it.
    :param run_id: its run in MLflow.
    :param left_out: why it could not be had, as a sentence, and then nothing else is filled; empty where it was.
    """

    corpus: str
    system: str
    seed: int
    made_by: str
    scores: dict[str, dict[str, float]] = field(default_factory=dict)
    intervals: dict[str, dict[str, Interval]] = field(default_factory=dict)
    chosen: str = ""
    by_labels: int | None = None
    label_free: int | None = None
    label_free_name: str = ""
    steps: int = 0
    course: list[dict[str, float]] = field(default_factory=list)
    tokens: int = 0
    task_records: Records = field(default_factory=dict)
    seconds: float = 0.0
    run_id: str = ""
    left_out: str = ""


def cells_folder(root: Path, corpus: str) -> Path:
    """Where the cells of a corpus are kept."""
    return root / "artifacts" / "benchmark" / corpus


def cell_path(root: Path, corpus: str, system: str, seed: int) -> Path:
    """Where a cell is kept."""
    return cells_folder(root, corpus) / f"{system}-{seed}.json"


def work_folder(root: Path, corpus: str, system: str, seed: int) -> Path:
    """Where a cell is trained; of no use any more when it is kept."""
    return cell_path(root, corpus, system, seed).with_suffix(".work")


def cell_of(record: dict[str, Any]) -> Cell:
    """Return a cell from its JSON; what cells no longer have is left aside, their figures stand.

    :raises TypeError: when it lacks something, or is none.
    :raises AttributeError: when it is no object.
    """
    names = {one.name for one in fields(Cell)}
    return Cell(**{name: value for name, value in record.items() if name in names})


def known_cell(
    root: Path,
    corpus: str,
    system: str,
    seed: int,
    settings: Settings,
    *,
    with_course: bool = False,
    tasks: TaskData | None = None,
) -> Cell | None:
    """Return a cell that was computed, or left out, by today's settings on today's splits, else None.

    :param with_course: one whose course was not scored does not count.
    :param tasks: one without their results on this data does not count.
    """
    path, artifacts = cell_path(root, corpus, system, seed), Artifacts(root, corpus)
    if not path.is_file() or not artifacts.split("test").is_file():
        return None
    try:
        found = cell_of(read_json(path))
    except (ArtifactError, TypeError, AttributeError):
        return None
    if (with_course and not found.course) or (tasks and not found.left_out and tasks.key() not in found.task_records):
        return None
    return found if found.made_by == made_by(artifacts, system, settings, seed=seed) else None


def compute_cell(
    root: Path,
    corpus: str,
    system: str,
    seed: int,
    settings: Settings,
    *,
    with_course: bool = False,
    tasks: TaskData | None = None,
) -> Cell:
    """Compute a cell and keep it, with a run in MLflow. A course and results of tasks that it had already stay.

    Killed on its way, it goes on from the last whole checkpoint of its training. What is not at hand, such as the word
    vectors of a baseline, makes a cell that says so, and has to be tried again.

    :param with_course: score every checkpoint as well.
    :param tasks: score the tasks for utterances on it as well.
    :raises CorpusError: when the test split has too few labels to score.
    :raises ModelError: when something is not at hand for a cell that is there already, and lacks its course or
        tasks only.
    """
    began = time.perf_counter()
    artifacts, row = Artifacts(root, corpus), ALL[system]
    ours = row.settings(settings, seed=seed)
    cell = Cell(corpus, system, seed, made_by(artifacts, system, settings, seed=seed))
    judged, work = labelled_test(artifacts), work_folder(root, corpus, system, seed)
    known = known_cell(root, corpus, system, seed, settings)
    before = known if known is not None and not known.left_out else cell
    try:
        choices = with_course or (row.choices and seed == COURSE_SEED)
        found = _fitted(row, artifacts, ours, work, judged, mark=cell.made_by, choices=choices, tasks=tasks is not None)
        records = _with_records(before.task_records, found, artifacts, tasks, seed=settings.seed)
    except ModelError as error:
        if before is not cell:
            raise
        return _kept(root, replace(cell, left_out=str(error)))
    scores, ranges = _scored(found.views, judged, settings, topics=row.topics)
    cell = replace(
        cell,
        scores=scores,
        intervals=ranges,
        course=course(artifacts, ours, work, judged, seed=settings.seed) if with_course else before.course,
        task_records=records,
        seconds=round(time.perf_counter() - began, 1),
        **_of_training(found.training, before),
    )
    cell = _kept(root, replace(cell, run_id=_log(root, cell, ours)))
    shutil.rmtree(work, ignore_errors=True)
    return cell


def _of_training(training: Training, before: Cell) -> dict[str, Any]:
    """Return what a cell says of its training; choices that were asked for before and not this time stand."""
    stands = CHOICES if training.label_free is None else ()
    return asdict(training) | {name: getattr(before, name) for name in stands}


def _kept(root: Path, cell: Cell) -> Cell:
    write_json(cell_path(root, cell.corpus, cell.system, cell.seed), asdict(cell))
    return cell


def _scored(
    views: ViewVectors, judged: list[Dialogue], settings: Settings, *, topics: bool
) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, Interval]]]:
    """Score every view; the seed of k-means and bootstrap is that of `settings` in all cells.

    Their noise is not the system's.
    """
    labels = [str(dialogue.label) for dialogue in judged]
    scores, ranges = {}, {}
    for name, vectors in views.items():
        clusters = vectors.argmax(axis=1) if topics else None
        found = judge(vectors, labels, runs=settings.evaluate.kmeans_runs, seed=settings.seed, clusters=clusters)
        scores[name] = figures(found, vectors, labels)
        ranges[name] = intervals(contributions(found, labels), seed=settings.seed)
    return scores, ranges


def _log(root: Path, cell: Cell, settings: Settings) -> str:
    from dial2vec.registry.tracking import log_run

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
        record={name: value for name, value in asdict(cell).items() if name != "run_id"},
    )


@dataclass(frozen=True, slots=True)
class _Fitted:
    """A system that was fitted or trained.

    :param views: vectors of the judged dialogues.
    :param reader: how it reads what the tasks give it; None where they were not asked for.
    :param precision: in which it computes.
    """

    views: ViewVectors
    reader: Reader | None
    precision: AbstractContextManager[Any] = field(default_factory=nullcontext)
    training: Training = field(default_factory=Training)


def _fitted(
    row: System,
    artifacts: Artifacts,
    settings: Settings,
    work: Path,
    judged: list[Dialogue],
    *,
    mark: str,
    choices: bool,
    tasks: bool,
) -> _Fitted:
    if row.baseline:
        views = {"both": fitted_baseline(row, artifacts, judged, settings)(judged)}
        # Encode anew: LDA has as many topics as labels above, and encoders read whole dialogues.
        fitted = fitted_baseline(row, artifacts, judged, settings, on_tasks=True) if tasks else None
        return _Fitted(views, reader_of_baseline(fitted, similarity=row.similarity) if fitted else None)
    from dial2vec.encoder import DialogueEncoder

    if row.train is None:
        encoder, training = DialogueEncoder.start(settings.encoder), Training()
    else:
        encoder, training = trained_encoder(artifacts, settings, work, mark=mark, with_choices=choices)
    with encoder.autocast("auto"):
        views = encoder_views(encoder, judged, batch_size=settings.evaluate.batch_size)
    return _Fitted(views, reader_of_encoder(encoder, similarity=row.similarity), encoder.autocast("auto"), training)


def _with_records(
    before: Records, system: _Fitted, artifacts: Artifacts, tasks: TaskData | None, *, seed: int
) -> Records:
    """Return the records that were there, and those of the tasks that are asked for."""
    if tasks is None or system.reader is None or tasks.key() in before:
        return before
    with system.precision:
        return before | {tasks.key(): score_utterances(system.reader, artifacts, tasks, seed=seed)}


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


def made_by(artifacts: Artifacts, system: str, settings: Settings, *, seed: int) -> str:
    """Identify what a cell's figures depend on: settings and seeds, versions of the code, and what is in the splits.

    :param settings: those of the project, not yet those of the cell.
    :param seed: of the cell.
    """
    row = ALL[system]
    ours = row.settings(settings, seed=seed)
    blocks = [asdict(getattr(ours, name)) for name in ("sample", "encoder", "train", "select")]
    if row.train is not None and hasattr(ours, ours.train.method):
        blocks.append(asdict(getattr(ours, ours.train.method)))
    versions = [SCORES_VERSION, row.version, row.baseline, row.topics, settings.evaluate.kmeans_runs]
    digest = hashlib.sha256(json.dumps([settings.seed, seed, versions, blocks]).encode())
    for name in ("train", "dev", "test"):
        path = artifacts.split(name)
        state = path.stat()
        digest.update(_file_digest(path, state.st_mtime_ns, state.st_size))
    return digest.hexdigest()[:16]


@functools.lru_cache
def _file_digest(path: Path, changed: int, size: int) -> bytes:
    """Return the SHA-256 of a file that was last changed at that time; all cells of a corpus ask for the same three."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").digest()
