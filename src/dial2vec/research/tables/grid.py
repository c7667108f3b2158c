"""All cells of a benchmark, in order: those that are there are kept, and a killed run goes on."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from dial2vec import telemetry
from dial2vec.config import Settings
from dial2vec.errors import Dial2vecError, SettingsError, did_you_mean
from dial2vec.files import checkout_lock, ending_with, write_errors
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.pipeline.dvc import dvc, ensure_data, targets
from dial2vec.research.tables.cell_file import keep_cells, take_cells
from dial2vec.research.tables.cells import Cell, cells_folder, compute_cell, known_cell, labelled_test, work_folder
from dial2vec.research.tables.drawing import write_drawings
from dial2vec.research.tables.method_tables import write_method_tables
from dial2vec.research.tables.paper_tables import write_paper_tables
from dial2vec.research.tables.systems import ALL, COURSE_SEED, METHOD_ROWS, NO_SEED, SYSTEMS
from dial2vec.research.tables.utterances import TaskData

log = logging.getLogger(__name__)

THREADS = "OMP_NUM_THREADS"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a cell is in the grid.

    :param with_course: whether every checkpoint of its training is scored, too.
    :param tasks: data of the tasks for utterances, where they are scored, too.
    """

    corpus: str
    system: str
    seed: int
    with_course: bool = False
    tasks: TaskData | None = None

    def __str__(self) -> str:
        seed = f", seed {self.seed}" if ALL[self.system].seeded else ""
        return f"{self.corpus}, {ALL[self.system].title}{seed}"


def compute_tables(
    root: Path,
    settings: Settings,
    *,
    corpora: Sequence[str] = (),
    systems: Sequence[str] = (),
    seeds: Sequence[int] = (1, 2, 3),
    tasks: TaskData | None = None,
    jobs: int = 1,
    output: Path,
    file: Path | None = None,
    say: Callable[[str], None],
) -> list[Path]:
    """Compute what is missing of the grid, and return the tables and plots that were written.

    They show every cell that was ever computed with today's settings on today's splits.

    :param corpora: those of `settings` where none is named.
    :param systems: of `ALL`; where none is named all of `SYSTEMS`, or with tasks all of `METHOD_ROWS`.
    :param tasks: score the tasks for utterances on this data, too.
    :param jobs: cells computed at the same time, each with its share of the processors.
    :param output: folder of the tables.
    :param file: of cells; those in it count as computed, and every cell of the grid is added to it.
    :param say: shows lines to the user.
    :raises Dial2vecError: for a corpus or a system that is not known, where a corpus cannot be scored, and at the end,
        when cells failed.
    """
    names = list(dict.fromkeys(corpora or settings.corpora))
    grid = places(names, systems or list(METHOD_ROWS if tasks else SYSTEMS), seeds, tasks=tasks)
    with checkout_lock(root, "benchmark"):
        bring_splits(root, settings, names, tasks=tasks)
        with write_errors(output):
            output.mkdir(parents=True, exist_ok=True)
        if file is not None:
            say(f"{take_cells(root, file, settings)} cells taken from {file}")
            # What cannot be written is found before anything is computed.
            keep_cells(file, [])
        for cell in run_cells(root, settings, grid, jobs=jobs, say=say):
            if file is not None:
                keep_cells(file, [cell])
            cells = all_known(root, settings)
            write_paper_tables(cells, output)
            write_method_tables(cells, output, key=tasks.key() if tasks else None)
        return write_all(root, settings, output, tasks=tasks)


def bring_splits(root: Path, settings: Settings, corpora: Sequence[str], *, tasks: TaskData | None = None) -> None:
    """Run the stages that cut the corpora into splits, where they have not been run, and look at what they give.

    :param tasks: data of the tasks for utterances, where they are to be scored, too.
    :raises SettingsError: for a corpus that `settings` does not name.
    :raises CorpusError: where the test split of one, or the data of the tasks, cannot be scored.
    :raises Dial2vecError: where a library of the tasks is not installed.
    """
    unknown = [name for name in corpora if name not in settings.corpora]
    if unknown:
        raise SettingsError(f"no stages for {', '.join(unknown)}: put them into `corpora` of params.yaml first.")
    if tasks is not None:
        tasks.check()
    ensure_data(root, corpora)
    dvc(root, "repro", *targets(corpora, ("validate", "prepare")))
    for name in corpora:
        labelled_test(Artifacts(root, name))
        if tasks is not None:
            tasks.check_split(Artifacts(root, name), seed=settings.seed)


def write_all(root: Path, settings: Settings, output: Path, *, tasks: TaskData | None = None) -> list[Path]:
    """Write tables, pictures and the page of every cell that is known, and return where they are.

    :param tasks: only their results stand in the tables of methods; None is as `write_method_tables` says.
    """
    cells, key = all_known(root, settings), tasks.key() if tasks else None
    tables = write_paper_tables(cells, output) + write_method_tables(cells, output, key=key)
    return tables + write_drawings(cells, output)


def places(
    corpora: Sequence[str], systems: Sequence[str], seeds: Sequence[int], *, tasks: TaskData | None = None
) -> list[Place]:
    """Return the cells to compute, each once, seed by seed, so that a whole table stands after the first.

    :param tasks: data of the tasks for utterances, where they are scored, too.

    :raises SettingsError: for a system that is none.
    """
    for name in systems:
        if name not in ALL:
            raise SettingsError(f"there is no system {name!r}.{did_you_mean(name, ALL)} Valid: {', '.join(ALL)}.")
    found = [
        Place(
            corpus,
            system,
            seed if ALL[system].seeded else NO_SEED,
            seed == COURSE_SEED and ALL[system].course,
            tasks,
        )
        for seed in seeds
        for corpus in corpora
        for system in systems
    ]
    return list(dict.fromkeys(found))


def all_known(root: Path, settings: Settings) -> list[Cell]:
    """Return every cell of the corpora of `settings` that today's settings would give again."""
    found = []
    for corpus in settings.corpora:
        for path in sorted(cells_folder(root, corpus).glob("*-*.json")):
            system, _, seed = path.stem.rpartition("-")
            if system in ALL and seed.isdigit():
                cell = known_cell(root, corpus, system, int(seed), settings)
                found += [cell] if cell else []
    return found


def run_cells(
    root: Path, settings: Settings, grid: Sequence[Place], *, jobs: int = 1, say: Callable[[str], None]
) -> Iterator[Cell]:
    """Yield every cell of the grid, computing those that are not there.

    A cell that fails does not keep the others from being computed.

    :raises Dial2vecError: at the end, when cells failed.
    """
    missing, failed = [], 0
    for place in grid:
        where = (root, place.corpus, place.system, place.seed, settings)
        cell = known_cell(*where, with_course=place.with_course, tasks=place.tasks)
        if cell is None or cell.left_out:
            missing.append(place)
            if cell is None and (known := known_cell(*where)) is not None and not known.left_out:
                say(f"{place}: {_lacking(place, known)}, so it is computed again")
        else:
            # A process that was killed between the two leaves both.
            shutil.rmtree(work_folder(root, place.corpus, place.system, place.seed), ignore_errors=True)
            say(f"there already: {place}: {_in_words(cell)}")
            yield cell
    say(f"{len(grid) - len(missing)} of {len(grid)} cells are there, {len(missing)} to compute")
    for number, (place, found) in enumerate(_computed(root, settings, missing, jobs, say), start=1):
        head = f"[{number}/{len(missing)}] {place}"
        if isinstance(found, Cell):
            say(f"{head}: {_in_words(found)}")
            yield found
        else:
            failed += 1
            say(f"{head}: failed: {found}")
    if failed:
        raise Dial2vecError(
            f"{failed} of {len(missing)} cells failed, for the reasons above; the others are kept. "
            "Run the same command again, which computes what is missing."
        )


def _computed(
    root: Path, settings: Settings, missing: Sequence[Place], jobs: int, say: Callable[[str], None]
) -> Iterator[tuple[Place, Cell | str]]:
    """Compute cells, and yield each, or the reason why it failed."""
    if jobs == 1:
        for place in missing:
            say(f"{place} ...")
            yield place, _compute(root, settings, place)
        return
    with (
        _threads(jobs),
        # Spawned, since a forked process would share the threads' locks of the libraries that are loaded here.
        ProcessPoolExecutor(jobs, get_context("spawn"), initializer=_begin, initargs=(os.getpid(),)) as pool,
    ):
        try:
            waiting = {pool.submit(_compute, root, settings, place): place for place in missing}
            for done in as_completed(waiting):
                yield waiting[done], done.result()
        except BrokenProcessPool as error:
            raise Dial2vecError(
                "a process that computed cells was killed, perhaps for lack of memory. Cells that were finished are "
                "kept: run the same command again, with a smaller --jobs."
            ) from error
        finally:
            pool.shutdown(cancel_futures=True)


def _begin(parent: int) -> None:
    telemetry.switch_off()
    ending_with(parent)()


def _compute(root: Path, settings: Settings, place: Place) -> Cell | str:
    try:
        where = (root, place.corpus, place.system, place.seed, settings)
        return compute_cell(*where, with_course=place.with_course, tasks=place.tasks)
    except Dial2vecError as error:
        return str(error)
    except Exception as error:
        # Hours of other cells shall not be lost to whatever a library raises in one.
        log.info("%s", place, exc_info=True)
        return f"{type(error).__name__}: {error}"


@contextmanager
def _threads(jobs: int) -> Iterator[None]:
    """Let each of so many processes that begin meanwhile use its share of the processors, or what is set already."""
    before = os.environ.get(THREADS)
    os.environ[THREADS] = before or str(max(1, len(os.sched_getaffinity(0)) // jobs))
    try:
        yield
    finally:
        if before is None:
            del os.environ[THREADS]
        else:
            os.environ[THREADS] = before


def _lacking(place: Place, known: Cell) -> str:
    """Say why a cell that is there does not serve."""
    lacks = ["its course"] if place.with_course and not known.course else []
    lacks += ["these tasks"] if place.tasks and place.tasks.key() not in known.task_records else []
    gone = " and its weights were not kept" if ALL[place.system].train is not None else ""
    return f"there without {' and '.join(lacks)}{gone}"


def _in_words(cell: Cell) -> str:
    if cell.left_out:
        return f"left out: {cell.left_out}"
    found = cell.scores["both"]
    return (
        f"purity {found['purity']:.2f}, Spearman {found['spearman']:.2f}, MAP {found['map']:.2f} "
        f"({cell.seconds:.0f} s, run {cell.run_id[:8]})"
    )
