"""Prefect flow: every training of the papers' tables as a task, then the tables. Run it by `make tables`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dial2vec import telemetry
from dial2vec.files import checkout_lock, find_root
from dial2vec.operation.pages import use_prefect
from dial2vec.processes import collect_rarely

ROOT = find_root(Path(__file__).parent)
# Prefect reads its environment while it is imported.
telemetry.switch_off()
use_prefect(ROOT)
collect_rarely()

from prefect import flow, get_run_logger, task
from prefect.artifacts import create_table_artifact

from dial2vec.config import Settings
from dial2vec.evaluation import TASKS
from dial2vec.operation.schedule.temporary_server import run_now
from dial2vec.params import load_settings
from dial2vec_papers.tables.cells import Cell, Place
from dial2vec_papers.tables.grid import bring_splits, by_training, places, run_cells, write_all
from dial2vec_papers.tables.systems import METHOD_ROWS, SYSTEMS, system_of
from dial2vec_papers.tables.utterances import TaskData


@task(task_run_name="{name}", retries=1, retry_delay_seconds=10)
def cells(name: str, group: list[Place], settings: Settings) -> list[Cell]:
    """Compute the cells of one training unless they are kept; their messages go to the log of the run.

    :param name: name of the task's run.
    """
    return list(run_cells(ROOT, settings, group, say=get_run_logger().info))


@flow(name="tables")
def tables(
    corpora: list[str] | None = None,
    systems: list[str] | None = None,
    seeds: tuple[int, ...] = (1, 2, 3),
    tasks: TaskData | None = None,
) -> list[str]:
    """Fill the tables, and return the files that were written. Kept cells are not computed again.

    :param corpora: names of corpora; None means all of params.yaml.
    :param systems: keys of `ALL`; None means all of `SYSTEMS`, or with tasks all of `METHOD_ROWS`.
    :param tasks: data of the tasks for utterances; None if they are not scored.
    """
    settings = load_settings(ROOT / "params.yaml")
    names = corpora or list(settings.corpora)
    grid = places(names, systems or list(METHOD_ROWS if tasks else SYSTEMS), seeds, tasks=tasks)
    with checkout_lock(ROOT, "flow tables"):
        bring_splits(ROOT, settings, names, tasks=tasks, say=get_run_logger().info)
        rows = [
            _row(done) for group in by_training(grid) for done in cells("; ".join(map(str, group)), group, settings)
        ]
        written = write_all(ROOT, settings, ROOT / "artifacts" / "benchmark", tasks=tasks)
    create_table_artifact(key="tables", table=rows, description="Test splits, in points")
    for path in written:
        get_run_logger().info("wrote %s", path)
    return [str(path) for path in written]


def _row(done: Cell) -> dict[str, Any]:
    scores = done.scores.get("both", {})
    place = {"corpus": done.corpus, "system": system_of(done.system).title, "seed": done.seed}
    return place | {task: scores.get(task) for task in TASKS} | {"left out": done.left_out}


if __name__ == "__main__":
    run_now(ROOT, tables)
