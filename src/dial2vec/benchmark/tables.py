"""The cells as tables: tables 2 to 5 of Liu et al. 2022 in Markdown, and all figures as CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dial2vec.benchmark.cells import Cell
from dial2vec.benchmark.published import AGGREGATION, SPEAKERS, TASKS, published
from dial2vec.benchmark.systems import SYSTEMS

TITLES = {"purity": "purity", "spearman": "Spearman", "map": "MAP"}
COLUMNS = ("model", "corpus", "metric", "mean", "sd", "seeds", "published", "low", "high", "ceiling", "view", "runs")


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a system on a corpus, over its seeds, in points.

    :param sd: standard deviation over seeds of training; NaN for one seed.
    :param low: lower end of the 95 % interval over dialogues, mean over seeds.
    :param published: the paper's figure; NaN where it has none.
    :param runs: MLflow runs that it comes from.
    """

    mean: float
    sd: float
    low: float
    high: float
    published: float
    runs: tuple[str, ...]


def figure(cells: Sequence[Cell], view: str, task: str) -> Figure:
    """Put the seeds of one system on one corpus together.

    :param cells: at least one, of the same system and corpus.
    """
    points = [cell.scores[view][task] for cell in cells]
    ranges = np.mean([cell.intervals[view][task] for cell in cells], axis=0)
    system, corpus = cells[0].system, cells[0].corpus
    beside = published(SYSTEMS[system].published, corpus) if view == "both" else {}
    return Figure(
        mean=float(np.mean(points)),
        sd=float(np.std(points, ddof=1)) if len(points) > 1 else math.nan,
        low=float(ranges[0]),
        high=float(ranges[1]),
        published=beside.get(task, math.nan),
        runs=tuple(cell.run_id for cell in cells),
    )


def grouped(cells: Iterable[Cell]) -> dict[tuple[str, str], list[Cell]]:
    """Return the computed cells by corpus and system, systems in the order of the registry, seeds ascending."""
    order = list(SYSTEMS)
    found: dict[tuple[str, str], list[Cell]] = {}
    for cell in sorted(cells, key=lambda cell: (cell.corpus, order.index(cell.system), cell.seed)):
        if not cell.skipped:
            found.setdefault((cell.corpus, cell.system), []).append(cell)
    return found


def as_csv(cells: Iterable[Cell]) -> str:
    """Return every figure as a row: `model, corpus, metric, mean, sd, seeds, published`, then what stands behind it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for (corpus, system), group in grouped(cells).items():
        for view, scores in group[0].scores.items():
            for task in TASKS:
                found = figure(group, view, task)
                ceiling = scores["spearman_ceiling"] if task == "spearman" else math.nan
                plain = (found.mean, found.sd, len(group), found.published, found.low, found.high, ceiling)
                writer.writerow([system, corpus, task, *map(_cell, plain), view, " ".join(found.runs)])
    return out.getvalue()


def _cell(value: float) -> str:
    return "" if math.isnan(value) else f"{value:g}" if isinstance(value, int) else f"{value:.2f}"


def as_markdown(cells: Iterable[Cell]) -> str:
    """Return the tables as a page: the three tasks per corpus, single speakers, aggregation."""
    groups = grouped(cells)
    corpora = list(dict.fromkeys(corpus for corpus, _ in groups))
    parts = [_tasks(corpus, groups) for corpus in corpora]
    parts.append(_views("Single speakers (table 4)", ("first", "second", "both"), groups, SPEAKERS))
    parts.append(_views("Aggregation (table 5)", ("mean", "both"), groups, AGGREGATION))
    return "\n".join(part for part in parts if part)


def _tasks(corpus: str, groups: dict[tuple[str, str], list[Cell]]) -> str:
    mine = {system: group for (name, system), group in groups.items() if name == corpus}
    ceiling = next(iter(mine.values()))[0].scores["both"]["spearman_ceiling"]
    lines = [
        f"## {corpus}",
        "",
        f"Spearman cannot exceed {ceiling:.2f} here. Points, ± sd over seeds, [95 % interval over dialogues].",
        "",
        "| system | seeds | purity | Spearman | MAP | published |",
        "|---|---|---|---|---|---|",
    ]
    for system, group in mine.items():
        found = [figure(group, "both", task) for task in TASKS]
        beside = " / ".join(f"{one.published:.1f}" for one in found if not math.isnan(one.published))
        figures = " | ".join(_in_words(one) for one in found)
        lines.append(f"| {SYSTEMS[system].title} | {len(group)} | {figures} | {beside} |")
    return "\n".join(lines) + "\n"


def _in_words(found: Figure) -> str:
    spread = "" if math.isnan(found.sd) else f" ± {found.sd:.2f}"
    return f"{found.mean:.2f}{spread} [{found.low:.1f}, {found.high:.1f}]"


def _views(
    title: str,
    views: Sequence[str],
    groups: dict[tuple[str, str], list[Cell]],
    beside: dict[str, dict[str, tuple[float, float, float]]],
) -> str:
    """Return a table of what the ways to pool the same encoder give, as purity / Spearman / MAP."""
    rows = {key: group for key, group in groups.items() if set(views) <= set(group[0].scores)}
    if not rows:
        return ""
    lines = [f"## {title}", "", f"| corpus | system | {' | '.join(views)} |", "|---" * (len(views) + 2) + "|"]
    for (corpus, system), group in rows.items():
        cells = (" / ".join(f"{figure(group, view, task).mean:.2f}" for task in TASKS) for view in views)
        lines.append(f"| {corpus} | {SYSTEMS[system].title} | {' | '.join(cells)} |")
    for model, figures in beside.items():
        cells = (" / ".join(f"{points:.2f}" for points in figures[view]) for view in views)
        lines.append(f"| mean of six, published | {model} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
