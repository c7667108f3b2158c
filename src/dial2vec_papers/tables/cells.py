"""Cells of the tables: one system, one corpus, one seed; computed once, kept with their MLflow run."""

from __future__ import annotations

import functools
import hashlib
import json
import shutil
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue, read_dialogues
from conversations.files import read_json, sha256_of, write_json
from dial2vec.config import Settings, flat
from dial2vec.errors import ArtifactError, MissingDataError, ModelError
from dial2vec.evaluation.intervals import Interval, contributions, intervals
from dial2vec.evaluation.scores import figures, task_scores
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.pipeline.scoring import n_labels, scoring
from dial2vec_papers.tables.course import Training, course, trained_encoder, trained_student
from dial2vec_papers.tables.systems import COURSE_SEED, System, system_of, teacher_of
from dial2vec_papers.tables.utterances import Records, TaskData
from dial2vec_papers.tables.views import ViewVectors, encoder_views, fitted_baseline
from dial2vec_papers.tables.ways import other_ways
from dial2vec_papers.tasks.encoding import Reader, reader_of_baseline, reader_of_encoder

# Raise it when the code of scores or intervals changes their figures: all cells are then computed again.
SCORES_VERSION = 1
CHOICE_FIELDS = ("by_labels", "label_free", "label_free_name")


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place in the grid of cells.

    :param system: name of a system, as `system_of` takes it.
    :param with_course: True if every checkpoint of the training is scored, too.
    :param tasks: data of the tasks for utterances; None if they are not scored.
    """

    corpus: str
    system: str
    seed: int
    with_course: bool = False
    tasks: TaskData | None = None

    def __str__(self) -> str:
        row = system_of(self.system)
        return f"{self.corpus}, {row.title}" + (f", seed {self.seed}" if row.seeded else "")

    def plain(self) -> Place:
        """Return the same place without course and tasks."""
        return Place(self.corpus, self.system, self.seed)

    @property
    def training(self) -> Place:
        """The place whose training it takes: a student's is that of its teacher, any other's is its own."""
        return Place(self.corpus, teacher_of(self.system), self.seed)


@dataclass(frozen=True, slots=True)
class Cell:
    """Results of one system on the test split of one corpus, with one seed.

    :param made_by: hash of settings and splits; a cell of another hash does not count.
    :param scores: view -> figures, as `evaluation.scores.score` returns them. Baselines have the view "both" only.
        Empty, like intervals and ways, if the test split lacks labels.
    :param intervals: view -> task -> 95 % interval over dialogues.
    :param ways: figures of the view "both" by the rules of the paper and of its published code, as
        `ways.other_ways` returns them; empty in cells of earlier versions.
    :param chosen: Field of its `course.Training`, as are by_labels, label_free, label_free_name, steps and tokens.
    :param course: figures of the test split at every checkpoint, the base encoder first, each with its "step"; empty if
        not asked for.
    :param task_records: results of the tasks for utterances by the key of their data; empty if not asked for.
    :param seconds: time to train, encode and score, in the process that finished the cell.
    :param left_out: reason why the cell could not be computed, as a sentence; all other results are then empty. "" if
        it was computed.
    """

    corpus: str
    system: str
    seed: int
    made_by: str
    scores: dict[str, dict[str, float]] = field(default_factory=dict)
    intervals: dict[str, dict[str, Interval]] = field(default_factory=dict)
    ways: dict[str, float] = field(default_factory=dict)
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

    @property
    def place(self) -> Place:
        """Its place in the grid."""
        return Place(self.corpus, self.system, self.seed)


def cells_folder(root: Path, corpus: str) -> Path:
    """Return the folder of a corpus's cells."""
    return root / "artifacts" / "benchmark" / corpus


def cell_path(root: Path, place: Place) -> Path:
    """Return the file of a cell."""
    # An encoder can be a path or a name with a slash.
    return cells_folder(root, place.corpus) / f"{quote(place.system, safe='@')}-{place.seed}.json"


def work_folder(root: Path, place: Place) -> Path:
    """Return the folder in which a cell is trained; it is not needed once all cells of this training are kept."""
    return cell_path(root, place.training).with_suffix(".work")


def cell_of(record: dict[str, Any]) -> Cell:
    """Return a cell from its JSON; fields that cells no longer have are ignored.

    :raises TypeError: if a field is missing.
    :raises AttributeError: if the JSON is no object.
    """
    names = {known.name for known in fields(Cell)}
    return Cell(**{name: value for name, value in record.items() if name in names})


def known_cell(root: Path, place: Place, settings: Settings) -> Cell | None:
    """Return a kept cell that today's settings and splits made, else None.

    A cell that was left out counts, too. A cell without the course or the tasks of `place` does not count.
    """
    path, artifacts, tasks = cell_path(root, place), Artifacts(root, place.corpus), place.tasks
    if not path.is_file() or not artifacts.split("test").is_file():
        return None
    try:
        cell = cell_of(read_json(path))
    except (ArtifactError, TypeError, AttributeError):
        return None
    # Without labels there is no course.
    if place.with_course and cell.scores and not cell.course:
        return None
    if tasks and not cell.left_out and tasks.key() not in cell.task_records:
        return None
    return cell if cell.made_by == made_by(artifacts, place.system, settings, seed=place.seed) else None


def compute_cell(
    root: Path, place: Place, settings: Settings, *, keep_training: bool = False, track: bool = True
) -> Cell:
    """Compute a cell and keep it, with an MLflow run. The course and the task results that it had before stay.

    A killed computation continues from the last whole checkpoint of its training. If something is missing, such as the
    word vectors of a baseline, the cell says so and is tried again next time.

    :param keep_training: True if another cell takes the same training next.
    :param track: False for no MLflow run.
    :raises ModelError: if something is missing for a kept cell that lacks only its course or tasks.
    """
    began = time.perf_counter()
    artifacts, row, tasks = Artifacts(root, place.corpus), system_of(place.system), place.tasks
    ours = row.settings(settings, seed=place.seed, corpus=place.corpus)
    mark = made_by(artifacts, place.system, settings, seed=place.seed)
    cell = Cell(place.corpus, place.system, place.seed, mark)
    judged, work = labelled_test(artifacts), work_folder(root, place)
    with_course = place.with_course and bool(judged)
    known = known_cell(root, place.plain(), settings)
    before = known if known is not None and not known.left_out else cell
    try:
        choices = with_course or (row.choices and place.seed == COURSE_SEED)
        marks = (made_by(artifacts, place.training.system, settings, seed=place.seed), mark)
        fitted = _fitted(row, artifacts, ours, work, judged, marks=marks, choices=choices, tasks=tasks is not None)
        records = _with_records(before.task_records, fitted, artifacts, tasks, seed=settings.seed)
    except (ModelError, MissingDataError) as error:
        if before is not cell:
            raise
        return _kept(root, replace(cell, left_out=str(error)))
    cell = replace(
        cell,
        **(_scored(fitted.views, judged, settings, artifacts, topics=row.topics) if judged else {}),
        course=course(artifacts, ours, work, judged, seed=settings.seed) if with_course else before.course,
        task_records=records,
        seconds=round(time.perf_counter() - began, 1),
        **_of_training(fitted.training, before),
    )
    cell = _kept(root, replace(cell, run_id=_log(root, cell, ours) if track else ""))
    if not keep_training:
        shutil.rmtree(work, ignore_errors=True)
    return cell


def _of_training(training: Training, before: Cell) -> dict[str, Any]:
    """Return the fields of a training; if the choices were not asked for this time, the earlier ones stay."""
    kept = CHOICE_FIELDS if training.label_free is None else ()
    return asdict(training) | {name: getattr(before, name) for name in kept}


def _kept(root: Path, cell: Cell) -> Cell:
    write_json(cell_path(root, cell.place), asdict(cell))
    return cell


def _scored(
    views: ViewVectors, judged: list[Dialogue], settings: Settings, artifacts: Artifacts, *, topics: bool
) -> dict[str, Any]:
    """Return the figures of every view, with `settings.seed` for k-means and bootstrap: their noise is no system's."""
    labels, options = [str(dialogue.label) for dialogue in judged], scoring(artifacts, settings)
    scores, ranges, seed = {}, {}, settings.seed
    for name, vectors in views.items():
        clusters = vectors.argmax(axis=1) if topics else None
        task = task_scores(vectors, labels, clusters=clusters, **options)
        scores[name] = figures(task, vectors, labels)
        ranges[name] = intervals(contributions(task, labels), seed=seed)
    ways = other_ways(views["both"], labels, n_labels=n_labels(artifacts), seed=seed, topics=topics)
    return {"scores": scores, "intervals": ranges, "ways": ways}


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

    :param reader: reader of utterances and contexts; None if the tasks were not asked for.
    :param precision: context in which the reader computes.
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
    marks: tuple[str, str],
    choices: bool,
    tasks: bool,
) -> _Fitted:
    """Fit or train a system.

    :param judged: dialogues to encode; none if the test split lacks labels.
    :param marks: hashes of what its training and its cell depend on; only a student's differ.
    """
    if row.baseline:
        views = {"both": fitted_baseline(row, artifacts, judged, settings)(judged)} if judged else {}
        # Fitted again: above, LDA has as many topics as labels, and encoders read whole dialogues.
        fitted = fitted_baseline(row, artifacts, judged, settings, on_tasks=True) if tasks else None
        return _Fitted(views, reader_of_baseline(fitted, similarity=row.similarity) if fitted else None)
    from dial2vec.encoder import DialogueEncoder

    if row.student:
        return _fitted_student(artifacts, settings, work, judged, marks=marks, tasks=tasks)
    if row.train is None:
        encoder, training = DialogueEncoder.start(settings.encoder), Training()
    else:
        encoder, training = trained_encoder(artifacts, settings, work, mark=marks[0], with_choices=choices)
    with encoder.autocast("auto"):
        views = encoder_views(encoder, judged, batch_size=settings.evaluate.batch_size) if judged else {}
    return _Fitted(views, reader_of_encoder(encoder, similarity=row.similarity), encoder.autocast("auto"), training)


def _fitted_student(
    artifacts: Artifacts, settings: Settings, work: Path, judged: list[Dialogue], *, marks: tuple[str, str], tasks: bool
) -> _Fitted:
    student, training = trained_student(artifacts, settings, work, marks=marks)

    def encode(dialogues: Sequence[Dialogue]) -> NDArray[np.float32]:
        return student.encode(dialogues, batch_size=settings.evaluate.batch_size)

    views = {"both": encode(judged)} if judged else {}
    return _Fitted(views, reader_of_baseline(encode) if tasks else None, training=training)


def _with_records(
    before: Records, system: _Fitted, artifacts: Artifacts, tasks: TaskData | None, *, seed: int
) -> Records:
    """Return the earlier records with those of the requested tasks."""
    if tasks is None or system.reader is None or tasks.key() in before:
        return before
    with system.precision:
        return before | {tasks.key(): tasks.results(system.reader, artifacts, seed=seed)}


def labelled_test(artifacts: Artifacts) -> list[Dialogue]:
    """Return the dialogues of the test split that have exactly one label.

    The list is empty if there are fewer than 2 labels, or no label occurs twice: they cannot be scored.
    """
    judged = [dialogue for dialogue in read_dialogues(artifacts.split("test")) if dialogue.label is not None]
    return judged if 2 <= len({dialogue.label for dialogue in judged}) < len(judged) else []


def made_by(artifacts: Artifacts, system: str, settings: Settings, *, seed: int) -> str:
    """Return a hash of everything a cell depends on: settings, seeds, versions of the code and contents of the splits.

    :param settings: settings of the project, not of the cell.
    """
    row = system_of(system)
    ours = row.settings(settings, seed=seed, corpus=artifacts.corpus)
    blocks = [asdict(getattr(ours, name)) for name in ("sample", "encoder", "train", "select")]
    if ours.train.batches == "random":
        # Not if it is the default, so that older cells of other methods count; rows that it changes have new versions.
        del blocks[2]["batches"]
    if row.train is not None and hasattr(ours, method := str(ours.train.method)):
        blocks.append(asdict(getattr(ours, method)))
    if row.student:
        blocks.append(asdict(ours.distil))
    versions = [SCORES_VERSION, row.version, row.baseline, row.topics, settings.evaluate.kmeans_runs]
    scored = settings.evaluate
    # Not if it is the default, so that older cells count.
    versions += [other for other in (scored.kmeans, scored.clusters) if other not in ("ours", "split")]
    digest = hashlib.sha256(json.dumps([settings.seed, seed, versions, blocks]).encode())
    for name in ("train", "dev", "test"):
        path = artifacts.split(name)
        state = path.stat()
        digest.update(_file_digest(path, state.st_mtime_ns, state.st_size))
    return digest.hexdigest()[:16]


@functools.lru_cache
def _file_digest(path: Path, changed: int, size: int) -> bytes:
    """Return the SHA-256 of a file; cached, since all cells of a corpus ask for the same three."""
    return sha256_of(path)
