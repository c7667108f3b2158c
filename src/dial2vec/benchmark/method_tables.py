"""The methods on all tasks: what a team that chooses one looks at, in Markdown and as CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dial2vec.augmentation import PERTURBATIONS
from dial2vec.benchmark.cells import Cell
from dial2vec.benchmark.published import INTENT_SETS, INTENTS
from dial2vec.benchmark.systems import ALL
from dial2vec.benchmark.tables import Groups, grouped
from dial2vec.evaluation import TASKS
from dial2vec.files import atomic_path

HEADING = """# Methods on all tasks

Written by `dial2vec benchmark --tasks`, with all figures in `method-results.csv`. In points, mean ± sd over seeds of
training. Every method begins with the same encoder, learns from the train split of the corpus, and is scored at its
last checkpoint; "default" alone is scored at the one that the choice without labels took.
"""
CSV_COLUMNS = ("model", "corpus", "task", "data", "kind", "metric", "mean", "sd", "seeds")


class Key(NamedTuple):
    """A figure of a task.

    :param data: what it was measured on.
    :param kind: which of several measurements of the task: the rule, or the number of candidates; else empty.
    """

    task: str
    data: str
    kind: str
    metric: str


def figures_of(cell: Cell) -> dict[Key, float]:
    """Return every figure of the tasks for utterances of a cell."""
    return {
        Key(record["task"], record["data"], _kind(record), metric): value
        for record in cell.tasks
        for metric, value in record["figures"].items()
    }


def _kind(record: Mapping[str, Any]) -> str:
    settings = record["settings"]
    return settings.get("rule") or (f"of {settings['negatives'] + 1}" if "negatives" in settings else "")


# Columns of the table: title -> task, kind and metrics. Where there are several data or metrics, their mean.
PERTURBED = tuple(f"{name}_recall_at_1" for name in PERTURBATIONS)
SUMMARY: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "intents, 1 shot": ("intent_classification", "", ("accuracy_1_shot",)),
    "5 shots": ("intent_classification", "", ("accuracy_5_shot",)),
    "out of scope": ("out_of_scope_detection", "in_scope", ("accuracy_5_shot_mean_minus_sd",)),
    "retrieval": ("semantic_retrieval", "", ("map",)),
    "answers, R@1": ("response_selection", "of 51", ("recall_at_1",)),
    "MRR": ("response_selection", "of 51", ("mrr",)),
    "perturbed, R@1": ("robustness", "of 51", PERTURBED),
}


def summarised(cell: Cell, title: str) -> float:
    """Return a column of `SUMMARY` for a cell; NaN where its task was not run."""
    task, kind, metrics = SUMMARY[title]
    found = [
        value
        for key, value in figures_of(cell).items()
        if key.task == task and key.kind == kind and key.metric in metrics
    ]
    return float(np.mean(found)) if found else math.nan


def as_markdown(cells: Sequence[Cell]) -> str:
    """Return the tables as a page; empty where no cell has the tasks."""
    groups = grouped(cell for cell in cells if cell.tasks)
    if not groups:
        return ""
    corpora = dict.fromkeys(corpus for corpus, _ in groups)
    parts = [_methods(corpus, groups) for corpus in corpora]
    parts += [_intents(corpus, groups) for corpus in corpora]
    parts += [_perturbations(corpus, groups) for corpus in corpora]
    return "\n".join([HEADING, *(part for part in parts if part)])


def _methods(corpus: str, groups: Groups) -> str:
    titles = ["purity", "Spearman", "MAP", *SUMMARY]
    rows = []
    for name, group in _of(corpus, groups):
        dialogues = [_spread([cell.scores["both"][task] for cell in group]) for task in TASKS]
        utterances = [_spread([summarised(cell, title) for cell in group]) for title in SUMMARY]
        rows.append([ALL[name].title, str(len(group)), *dialogues, *utterances, _read(group), _choice(group)])
    head = ["method", "seeds", *titles, "tokens read", "without labels"]
    words = (
        "Intents: mean of the intent sets. Out of scope: 5 shots, threshold mean - sd. Perturbed: mean of the five. "
        "Without labels: the step, of all, that the choice without labels would have taken, 0 being the start."
    )
    return _table(f"## {corpus}\n\n{words}", head, rows)


def _intents(corpus: str, groups: Groups) -> str:
    rows = []
    for name, group in _of(corpus, groups):
        found = [figures_of(cell) for cell in group]
        keys = [
            Key("intent_classification", data, "", f"accuracy_{shots}_shot") for shots in (1, 5) for data in INTENT_SETS
        ]
        if all(key in found[0] for key in keys):
            rows.append([ALL[name].title, *(_spread([one[key] for one in found]) for key in keys)])
    if not rows:
        return ""
    for model, by_shots in INTENTS.items():
        figures = [*by_shots[1], *by_shots.get(5, (math.nan,) * len(INTENT_SETS))]
        rows.append([f"{model} (BERT-base), published", *(_spread([one]) for one in figures)])
    head = ["method", *(f"{data}, {shots}" for shots in (1, 5) for data in INTENT_SETS)]
    return _table(f"## Intents by prototypes, trained on {corpus}\n\nWith 1 and with 5 shots.", head, rows)


def _perturbations(corpus: str, groups: Groups) -> str:
    ways = ("clean", *PERTURBATIONS)
    rows = []
    for name, group in _of(corpus, groups):
        found = [figures_of(cell) for cell in group]
        cells = []
        for way in ways:
            keys = [Key("robustness", corpus, "of 51", f"{way}_{metric}") for metric in ("recall_at_1", "mrr")]
            if all(key in found[0] for key in keys):
                cells.append(" / ".join(_spread([one[key] for one in found]) for key in keys))
        if cells:
            rows.append([ALL[name].title, *cells])
    words = "Recall@1 of 51 / MRR of the true answer, with the context as it is and perturbed."
    return _table(f"## Response selection, {corpus}\n\n{words}", ["method", *ways], rows) if rows else ""


def _of(corpus: str, groups: Groups) -> list[tuple[str, list[Cell]]]:
    return [(system, group) for (name, system), group in groups.items() if name == corpus]


def _table(words: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [
        words,
        "",
        f"| {' | '.join(head)} |",
        "|---" * len(head) + "|",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]
    return "\n".join(lines) + "\n"


def _spread(values: Sequence[float]) -> str:
    if any(math.isnan(value) for value in values):
        return ""
    spread = f" ± {np.std(values, ddof=1):.2f}" if len(values) > 1 else ""
    return f"{np.mean(values):.2f}{spread}"


def _read(group: Sequence[Cell]) -> str:
    read = [cell.tokens for cell in group if cell.tokens]
    return f"{np.mean(read) / 1000:.0f}k" if read else ""


def _choice(group: Sequence[Cell]) -> str:
    return ", ".join("" if cell.label_free is None else str(cell.label_free) for cell in group)


def as_csv(cells: Sequence[Cell]) -> str:
    """Return every figure of the tasks as a row, mean and sd over seeds."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for (corpus, system), group in grouped(cell for cell in cells if cell.tasks).items():
        found = [figures_of(cell) for cell in group]
        for key in found[0]:
            values = [one[key] for one in found if key in one]
            sd = f"{np.std(values, ddof=1):.2f}" if len(values) > 1 else ""
            writer.writerow([system, corpus, *key, f"{np.mean(values):.2f}", sd, len(values)])
    return out.getvalue()


def write_method_tables(cells: Sequence[Cell], folder: Path) -> list[Path]:
    """Write `method-results.md` and `method-results.csv` where a cell has the tasks, and return where they are."""
    if not any(cell.tasks for cell in cells):
        return []
    paths = []
    for name, text in (("method-results.md", as_markdown(cells)), ("method-results.csv", as_csv(cells))):
        with atomic_path(folder / name) as temporary:
            temporary.write_text(text, encoding="utf-8")
        paths.append(folder / name)
    return paths
