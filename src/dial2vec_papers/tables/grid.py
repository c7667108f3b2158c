"""All cells of the tables, in order: kept cells are not computed again, and a killed run continues."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from urllib.parse import unquote

from conversations.dialogue import read_dialogues
from conversations.files import write_errors
from dial2vec.config import Settings
from dial2vec.data.corpora.demo import write_demo
from dial2vec.data.workers import processors
from dial2vec.encoder.advice import encoder_advice
from dial2vec.encoder.loading import load_encoder
from dial2vec.errors import CorpusError, Dial2vecError, ModelError, SettingsError
from dial2vec.files import checkout_lock
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.pipeline.prepare import prepare
from dial2vec.pipeline.validate import validate
from dial2vec.processes import begin_worker
from dial2vec.project.dvc import dvc, ensure_data, targets
from dial2vec_papers.tables.cell_file import keep_cells, take_cells
from dial2vec_papers.tables.cells import (
    Cell,
    Place,
    cells_folder,
    compute_cell,
    known_cell,
    labelled_test,
    work_folder,
)
from dial2vec_papers.tables.drawing import TITLES, write_drawings
from dial2vec_papers.tables.method_tables import write_method_tables
from dial2vec_papers.tables.paper_tables import write_paper_tables
from dial2vec_papers.tables.systems import (
    COURSE_SEED,
    METHOD_ROWS,
    NO_SEED,
    SYSTEMS,
    from_encoders,
    is_system,
    system_of,
)
from dial2vec_papers.tables.utterances import TaskData

log = logging.getLogger(__name__)

THREADS = "OMP_NUM_THREADS"


def compute_tables(
    root: Path,
    settings: Settings,
    *,
    corpora: Sequence[str] = (),
    systems: Sequence[str] = (),
    encoders: Sequence[str] = (),
    seeds: Sequence[int] = (1, 2, 3),
    tasks: TaskData | None = None,
    jobs: int = 1,
    output: Path,
    file: Path | None = None,
    track: bool = True,
    say: Callable[[str], None],
) -> list[Path]:
    """Compute the missing cells of the grid, write tables and pictures, and return their paths.

    They show every cell that was ever computed with today's settings on today's splits.

    :param corpora: names of corpora; empty means all of `settings`.
    :param systems: keys of `ALL`; empty means all of `SYSTEMS`, or with tasks all of `METHOD_ROWS`.
    :param encoders: base encoders of the rows that have none of their own; empty means that of `settings`.
    :param tasks: data of the tasks for utterances; None if they are not scored.
    :param jobs: number of cells computed at the same time, each with its share of the processors.
    :param track: True uses DVC and MLflow; False reads the splits that are there, and makes only missing ones.
    :param file: file of cells; its cells count as computed, and every cell of the grid is added to it.
    :raises Dial2vecError: if a corpus or a system is unknown, a corpus cannot be scored or, at the end, cells failed.
    """
    names = list(dict.fromkeys(corpora or settings.corpora))
    rows = from_encoders(systems or (METHOD_ROWS if tasks else SYSTEMS), encoders, own=settings.encoder.name)
    grid = places(names, rows, seeds, tasks=tasks)
    with checkout_lock(root, "benchmark"):
        bring_splits(root, settings, names, tasks=tasks, track=track, say=say)
        say_unknown(root, names, encoders or [settings.encoder.name], say=say)
        with write_errors(output):
            output.mkdir(parents=True, exist_ok=True)
        if file is not None:
            say(f"{take_cells(root, file, settings)} cells taken from {file}")
            # Fails before the first cell if the file cannot be written.
            keep_cells(file, [])
        for cell in run_cells(root, settings, grid, jobs=jobs, track=track, say=say):
            if file is not None:
                keep_cells(file, [cell])
            cells = all_known(root, settings)
            write_paper_tables(cells, output)
            write_method_tables(cells, output, key=tasks.key() if tasks else None)
        return write_all(root, settings, output, tasks=tasks)


def bring_splits(
    root: Path,
    settings: Settings,
    corpora: Sequence[str],
    *,
    tasks: TaskData | None = None,
    track: bool = True,
    say: Callable[[str], None],
) -> None:
    """Make sure that all corpora are split and can be scored.

    :param track: False to prepare corpora without splits here, instead of by DVC.
    :raises SettingsError: if `settings` does not name a corpus.
    :raises CorpusError: if a test split, or the data of the tasks, cannot be scored.
    :raises Dial2vecError: if a library of the tasks is not installed.
    """
    unknown = [name for name in corpora if name not in settings.corpora]
    if unknown:
        raise SettingsError(f"no stages for {', '.join(unknown)}: put them into `corpora` of params.yaml first.")
    if tasks is not None:
        tasks.check()
    if track:
        ensure_data(root, corpora)
        dvc(root, "repro", *targets(corpora, ("validate", "prepare")))
    for name in corpora:
        artifacts = Artifacts(root, name)
        if name == "demo" and not artifacts.data.is_dir():
            write_demo(artifacts.data)
        for stage in (validate, prepare) if not artifacts.split_report.is_file() else ():
            say(f"{name}: {stage(artifacts, settings)}")
        labelled, lacking = labelled_test(artifacts), f"{name}: the test split has no two labels, one of them twice"
        if not labelled and tasks is None:
            raise CorpusError(f"{lacking}; expected them for the tables of dialogues. Give --tasks, or take it out.")
        if not labelled:
            say(f"{lacking}, so purity, Spearman and MAP of dialogues are left out.")
        if tasks is not None:
            tasks.check_split(artifacts, seed=settings.seed)


def say_unknown(root: Path, corpora: Sequence[str], encoders: Sequence[str], *, say: Callable[[str], None]) -> None:
    """Say of each test split whether base encoders do not know its language or many of its tokens."""
    for name in encoders:
        # An encoder that is missing has cells that say so.
        with suppress(ModelError):
            encoder = load_encoder(name)
            for corpus in corpora:
                test = list(read_dialogues(Artifacts(root, corpus).split("test"), may_be_empty=True))
                if advice := encoder_advice(test, encoder, trained=True):
                    say(f"{corpus}: {advice}")


def write_all(root: Path, settings: Settings, output: Path, *, tasks: TaskData | None = None) -> list[Path]:
    """Write tables, pictures and the page of curves of all known cells, and return their paths.

    :param tasks: data whose results the tables of methods show; None means the data that most cells share.
    """
    cells, key = all_known(root, settings), tasks.key() if tasks else None
    tables = write_paper_tables(cells, output) + write_method_tables(cells, output, key=key)
    return tables + write_drawings(cells, output)


def places(
    corpora: Sequence[str], systems: Sequence[str], seeds: Sequence[int], *, tasks: TaskData | None = None
) -> list[Place]:
    """Return the places of the grid, each once, seed by seed: the table of the first seed is whole early.

    :raises SettingsError: if a system is unknown.
    """
    rows = {name: system_of(name) for name in systems}
    grid = [
        Place(corpus, name, seed if row.seeded else NO_SEED, seed == COURSE_SEED and row.course, tasks)
        for seed in seeds
        for corpus in corpora
        for name, row in rows.items()
    ]
    return list(dict.fromkeys(grid))


def all_known(root: Path, settings: Settings) -> list[Cell]:
    """Return every kept cell of the corpora of `settings` that today's settings and splits made."""
    cells = []
    for corpus in settings.corpora:
        for path in sorted(cells_folder(root, corpus).glob("*-*.json")):
            system, _, seed = unquote(path.stem).rpartition("-")
            if is_system(system) and seed.isdigit():
                cell = known_cell(root, Place(corpus, system, int(seed)), settings)
                cells += [cell] if cell else []
    return cells


def run_cells(
    root: Path,
    settings: Settings,
    grid: Sequence[Place],
    *,
    jobs: int = 1,
    track: bool = True,
    say: Callable[[str], None],
) -> Iterator[Cell]:
    """Yield every cell of the grid, and compute the missing ones; a failed cell does not affect the others.

    :param track: False for no MLflow runs.
    :raises Dial2vecError: at the end, if cells failed.
    """
    missing, finished, failed = [], [], 0
    for place in grid:
        cell = known_cell(root, place, settings)
        if cell is None or cell.left_out:
            missing.append(place)
            if cell is None and (known := known_cell(root, place.plain(), settings)) is not None and not known.left_out:
                say(f"{place}: {_lacking(place, known)}, so it is computed again")
        else:
            finished.append(place)
            say(f"there already: {place}: {_in_words(cell)}")
            yield cell
    # A process that was killed after it kept a cell leaves its work folder.
    for folder in {work_folder(root, place) for place in finished} - {work_folder(root, place) for place in missing}:
        shutil.rmtree(folder, ignore_errors=True)
    say(f"{len(grid) - len(missing)} of {len(grid)} cells are there, {len(missing)} to compute")
    compute = partial(_compute, root, settings, track)
    for number, (place, result) in enumerate(_computed(compute, missing, jobs, say), start=1):
        head = f"[{number}/{len(missing)}] {place}"
        if isinstance(result, Cell):
            say(f"{head}: {_in_words(result)}")
            yield result
        else:
            failed += 1
            say(f"{head}: failed: {result}")
    if failed:
        raise Dial2vecError(
            f"{failed} of {len(missing)} cells failed, for the reasons above; the others are kept. "
            "Run the same command again, which computes what is missing."
        )


def _computed(
    compute: Callable[..., Cell | str], missing: Sequence[Place], jobs: int, say: Callable[[str], None]
) -> Iterator[tuple[Place, Cell | str]]:
    """Compute cells, and yield each, or the reason of its failure; those of one training come one after the other."""
    if jobs == 1:
        for group in by_training(missing):
            for place in group:
                say(f"{place} ...")
                yield place, compute(place, keep_training=place is not group[-1])
        return
    with (
        _threads(jobs),
        # Spawned: a forked process would inherit locks that threads of loaded libraries hold.
        ProcessPoolExecutor(jobs, get_context("spawn"), initializer=begin_worker, initargs=(os.getpid(),)) as pool,
    ):
        try:
            waiting = [pool.submit(_compute_group, compute, group) for group in by_training(missing)]
            for done in as_completed(waiting):
                yield from done.result()
        except BrokenProcessPool as error:
            raise Dial2vecError(
                "a process that computed cells was killed, perhaps for lack of memory. Cells that were finished are "
                "kept: run the same command again, with a smaller --jobs."
            ) from error
        finally:
            pool.shutdown(cancel_futures=True)


def by_training(places: Sequence[Place]) -> list[list[Place]]:
    """Return the places in groups that take the same training, in their order."""
    groups: dict[Place, list[Place]] = {}
    for place in places:
        groups.setdefault(place.training, []).append(place)
    return list(groups.values())


def _compute_group(compute: Callable[..., Cell | str], group: Sequence[Place]) -> list[tuple[Place, Cell | str]]:
    return [(place, compute(place, keep_training=place is not group[-1])) for place in group]


def _compute(root: Path, settings: Settings, track: bool, place: Place, *, keep_training: bool) -> Cell | str:
    try:
        return compute_cell(root, place, settings, keep_training=keep_training, track=track)
    except Dial2vecError as error:
        return str(error)
    except Exception as error:
        # An error of a library in one cell must not cost the hours of the others.
        log.info("%s", place, exc_info=True)
        return f"{type(error).__name__}: {error}"


@contextmanager
def _threads(jobs: int) -> Iterator[None]:
    """Give each of `jobs` processes that start meanwhile its share of the processors, unless `THREADS` is set."""
    before = os.environ.get(THREADS)
    os.environ[THREADS] = before or str(max(1, processors() // jobs))
    try:
        yield
    finally:
        if before is None:
            del os.environ[THREADS]
        else:
            os.environ[THREADS] = before


def _lacking(place: Place, known: Cell) -> str:
    """Return why a kept cell is computed again."""
    lacks = ["its course"] if place.with_course and not known.course else []
    lacks += ["these tasks"] if place.tasks and place.tasks.key() not in known.task_records else []
    gone = " and its weights were not kept" if system_of(place.system).train is not None else ""
    return f"there without {' and '.join(lacks)}{gone}"


def _in_words(cell: Cell) -> str:
    if cell.left_out:
        return f"left out: {cell.left_out}"
    scores = cell.scores.get("both", {})
    figures = [f"{title} {scores[task]:.2f}" for task, title in TITLES.items() if task in scores]
    run = f", run {cell.run_id[:8]}" if cell.run_id else ""
    return f"{', '.join(figures) or 'the tasks for utterances'} ({cell.seconds:.0f} s{run})"
