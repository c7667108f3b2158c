"""The methods on all tasks, to choose one from: in Markdown and as CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dial2vec.evaluation import TASKS
from dial2vec.training.augmentation import PERTURBATIONS
from dial2vec_papers.tables.cells import Cell
from dial2vec_papers.tables.charts import draw_methods
from dial2vec_papers.tables.paper_tables import TASK_HEADS, CellGroups, grouped, systems_of, table, write_texts
from dial2vec_papers.tables.published import printed
from dial2vec_papers.tables.systems import System, in_order, system_of
from dial2vec_papers.tables.utterances import key_of_most
from dial2vec_papers.tasks.intents import INTENT_SETS
from dial2vec_papers.tasks.records import kind_of

HEADING = """# Methods on all tasks

Written by `dial2vec papers tables --tasks`. `method-results.csv` has all figures. In points, mean ± sd over seeds; "(1
of 2)" if only 1 of 2 seeds has the figure.

![Recall@1 of the true answer by method, with contexts as they are and damaged, a panel per corpus](method-results.png)
"""
# Notes on rows: text -> condition of the rows that it names.
ROWS: dict[str, Callable[[System], bool]] = {
    "trained from the start on the train split of the corpus, at the last checkpoint": (
        lambda row: row.train is not None and row.selection == "last"
    ),
    "the same, at the checkpoint that the choice without labels took": (
        lambda row: row.train is not None and row.selection == "label_free"
    ),
    "the same, at the checkpoint with the best purity on dev, which takes its labels": (
        lambda row: row.train is not None and row.selection == "dev_purity"
    ),
    "a baseline, fitted to the train split if it learns anything": lambda row: bool(row.baseline),
    "not trained": lambda row: not row.baseline and row.train is None,
    "answers ranked by the dot product, as in training, instead of the cosine": lambda row: row.similarity == "dot",
    "answers ranked by codes, as in training": lambda row: row.similarity == "poly",
}
CSV_COLUMNS = ("model", "corpus", "task", "data", "kind", "metric", "mean", "sd", "seeds")
TITLES = {"map": "MAP", "mrr": "MRR", "spearman": "Spearman"}
# Tasks with columns of their own, and kinds of response selection without.
SHOWN = ("intent_classification", "out_of_scope_detection", "semantic_retrieval", "response_selection", "robustness")
OTHER_KINDS = ("given", "last 1 turn")
SENTENCES = ("candidate_ranking", "sentence_pairs")
# Sets whose published figures are not comparable: `tasks.intents.read_hwu64` says why.
NOT_COMPARABLE = ("hwu64",)


class Key(NamedTuple):
    """A figure of a task.

    :param kind: variant of the task: the rule or the number of candidates; "" if there is only one.
    """

    task: str
    data: str
    kind: str
    metric: str


def figures_of(cell: Cell, data_key: str) -> dict[Key, float]:
    """Return every figure of a cell on the tasks for utterances, and the number of contexts that were cut, if any."""
    figures = {}
    for record in cell.task_records.get(data_key, []):
        cut = {"contexts_cut": float(record["cut"])} if record.get("cut") else {}
        for metric, value in (record["figures"] | cut).items():
            figures[Key(record["task"], record["data"], kind_of(record["settings"]), metric)] = value
    return figures


# Columns of the table: title -> task, kind and metrics; a column is the mean over all data and metrics.
PERTURBED = tuple(f"{name}_recall_at_1" for name in PERTURBATIONS)
SUMMARY: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "intents, 1 shot": ("intent_classification", "", ("accuracy_1_shot",)),
    "5 shots": ("intent_classification", "", ("accuracy_5_shot",)),
    "out of scope": ("out_of_scope_detection", "in_scope", ("accuracy_5_shot_mean_minus_sd",)),
    "retrieval": ("semantic_retrieval", "", ("map",)),
    "answers, R@1 of 10": ("response_selection", "of 10", ("recall_at_1",)),
    "of 51": ("response_selection", "of 51", ("recall_at_1",)),
    "of 100": ("response_selection", "of 100", ("recall_at_1",)),
    "MRR of 51": ("response_selection", "of 51", ("mrr",)),
    "perturbed, R@1 of 51": ("robustness", "of 51", PERTURBED),
}


def summarised(figures: Mapping[Key, float], title: str) -> float:
    """Return a column of `SUMMARY` for the figures of a cell; NaN if its task was not run."""
    task, kind, metrics = SUMMARY[title]
    values = [
        figure for key, figure in figures.items() if (key.task, key.kind) == (task, kind) and key.metric in metrics
    ]
    return float(np.mean(values)) if values else math.nan


def methods_markdown(cells: Sequence[Cell], data_key: str) -> str:
    """Return the tables as a page; "" if no cell has the tasks on this data."""
    groups = _measured(cells, data_key)
    if not groups:
        return ""
    corpora = dict.fromkeys(corpus for corpus, _ in groups)
    parts = [
        part(corpus, groups, data_key)
        for part in (_methods, _intents, _out_of_scope, _sentences, _perturbations, _others)
        for corpus in corpora
    ]
    return "\n".join([_heading(groups, cells, data_key), *(part for part in parts if part)])


def _measured(cells: Iterable[Cell], data_key: str) -> CellGroups:
    return grouped(cell for cell in cells if data_key in cell.task_records)


def _heading(groups: CellGroups, cells: Sequence[Cell], data_key: str) -> str:
    systems = in_order(name for _, name in groups)
    lines = []
    for words, is_so in ROWS.items():
        titles = [system_of(system).title for system in systems if is_so(system_of(system))]
        lines += [f"- {words}: {', '.join(titles)}"] if titles else []
    other = sum(bool(cell.task_records) and data_key not in cell.task_records for cell in cells)
    lines += [f"- not shown: {other} cells whose tasks were on other data or by other code"] if other else []
    return "\n".join([HEADING, *lines]) + "\n"


def _methods(corpus: str, groups: CellGroups, data_key: str) -> str:
    rows = []
    for name, group in systems_of(corpus, groups).items():
        measured = [figures_of(cell, data_key) for cell in group]
        scores = [cell.scores.get("both", {}) for cell in group]
        dialogues = [_over_seeds([figures.get(task, math.nan) for figures in scores]) for task in TASKS]
        utterances = [_over_seeds([summarised(figures, title) for figures in measured]) for title in SUMMARY]
        chosen = "; ".join(f"{cell.label_free_name}, of {cell.steps} steps" for cell in group if cell.label_free_name)
        rows.append([system_of(name).title, str(len(group)), *dialogues, *utterances, _tokens(group), chosen])
    head = ["method", "seeds", *TASK_HEADS, *SUMMARY, "tokens trained on", "chosen without labels"]
    words = (
        "Intents: mean of the intent sets. Out of scope: 5 shots, threshold mean - sd. Perturbed: mean of the five. "
        "Tokens trained on: without tokens that were only encoded, to fit heads or to make variants. Chosen without "
        "labels: the checkpoint that this choice takes, or would take with the first seed, and the number of steps."
    )
    if not any(cell.scores for group in systems_of(corpus, groups).values() for cell in group):
        words += " The test split lacks labels, so purity, Spearman and MAP are left out."
    return table(f"## {corpus}\n\n{words}", head, rows)


def _intents(corpus: str, groups: CellGroups, data_key: str) -> str:
    columns = [(shots, data) for shots in (1, 5) for data in INTENT_SETS]
    keys = [Key("intent_classification", data, "", f"accuracy_{shots}_shot") for shots, data in columns]
    rows = _rows(corpus, groups, data_key, [(key,) for key in keys], reported="intents")
    head = ["method", *(f"{data}, {shots}" for shots, data in columns)]
    words = (
        "With 1 and with 5 shots. Published by Zhou et al. 2022; * is not comparable: the paper split these sentences "
        "differently and used them as typed."
    )
    return table(f"## Intents by prototypes, trained on {corpus}\n\n{words}", head, rows) if rows else ""


def _out_of_scope(corpus: str, groups: CellGroups, data_key: str) -> str:
    kinds = ("accuracy", "in_accuracy", "oos_accuracy", "oos_recall")
    task, data = "out_of_scope_detection", "clinc150"
    columns = [(Key(task, data, "paper", f"{kind}_1_shot_mean_minus_sd"),) for kind in kinds]
    rows = _rows(corpus, groups, data_key, columns, reported="out_of_scope")
    words = "With 1 shot, by the rule of Zhou et al. 2022: mean - sd over all test sentences."
    return table(f"## Out of scope, trained on {corpus}\n\n{words}", ["method", *kinds], rows) if rows else ""


def _sentences(corpus: str, groups: CellGroups, data_key: str) -> str:
    words = (
        f"## Sentences, trained on {corpus}\n\nSR, MAP and MRR of given candidates, and D-STS, Spearman's correlation "
        "with people's scores (Liu et al. 2021, section 5.1). Published on the paper's own files."
    )
    return _all_of(corpus, groups, data_key, lambda key: key.task in SENTENCES, words, reported="sentences")


def _others(corpus: str, groups: CellGroups, data_key: str) -> str:
    """Return a table of the other tasks, of given candidates and of single utterances."""

    def shown(key: Key) -> bool:
        return key.task not in (*SHOWN, *SENTENCES) or key.kind.endswith(OTHER_KINDS)

    return _all_of(corpus, groups, data_key, shown, f"## Other tasks, trained on {corpus}", reported="")


def _all_of(
    corpus: str, groups: CellGroups, data_key: str, shown: Callable[[Key], bool], words: str, *, reported: str
) -> str:
    """Return a table with a column for each figure that is to be shown, but drops; "" if there is none."""
    measured = [figures_of(cell, data_key) for (where, _), group in groups.items() if where == corpus for cell in group]
    keys = sorted({key for figures in measured for key in figures if shown(key) and not key.metric.endswith("_drop")})
    rows = _rows(corpus, groups, data_key, [(key,) for key in keys], reported=reported)
    titles = [TITLES.get(key.metric, key.metric.replace("_", " ")) for key in keys]
    heads = [", ".join(filter(None, (key.data, key.kind, title))) for key, title in zip(keys, titles, strict=True)]
    return table(words, ["method", *heads], rows) if rows else ""


def _perturbations(corpus: str, groups: CellGroups, data_key: str) -> str:
    ways = ("clean", *PERTURBATIONS)
    columns = [
        tuple(Key("robustness", corpus, "of 51", f"{way}_{metric}") for metric in ("recall_at_1", "mrr"))
        for way in ways
    ]
    rows = _rows(corpus, groups, data_key, columns, reported="responses")
    words = (
        "Recall@1 of 51 / MRR of the true answer, with the context as it is and perturbed. Published by Poddar et al. "
        "2022 on Taskmaster-3."
    )
    return table(f"## Response selection, {corpus}\n\n{words}", ["method", *ways], rows) if rows else ""


def _rows(
    corpus: str, groups: CellGroups, data_key: str, columns: Sequence[tuple[Key, ...]], *, reported: str
) -> list[list[str]]:
    """Return a row for each system that has any of the figures; a slash separates figures of the same column.

    :param reported: section of `published.yaml`, if it has it, whose rows follow if there are others.
    """
    rows = []
    for name, group in systems_of(corpus, groups).items():
        measured = [figures_of(cell, data_key) for cell in group]
        cells = [
            [_over_seeds([figures.get(key, math.nan) for figures in measured]) for key in keys] for keys in columns
        ]
        if any(part for parts in cells for part in parts):
            rows.append([system_of(name).title, *(" / ".join(filter(None, parts)) for parts in cells)])
    for model, metrics in printed().get(reported, {}).items() if rows else ():
        cells = [[_published(metrics.get(key.metric, math.nan), key.data) for key in keys] for keys in columns]
        rows.append([f"{model}, published", *(" / ".join(filter(None, parts)) for parts in cells)])
    return rows


def _published(figure: float | Mapping[str, float], data: str) -> str:
    """Return a published figure, by data if it is a mapping; "" if there is none."""
    value = figure.get(data, math.nan) if isinstance(figure, Mapping) else figure
    return _over_seeds([value]) + ("*" if data in NOT_COMPARABLE and not math.isnan(value) else "")


def _over_seeds(values: Sequence[float]) -> str:
    """Return mean and sd of the figures that are not NaN, and their number if some are NaN."""
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return ""
    spread = f" ± {np.std(known, ddof=1):.2f}" if len(known) > 1 else ""
    return f"{np.mean(known):.2f}{spread}" + (f" ({len(known)} of {len(values)})" if len(known) < len(values) else "")


def _tokens(group: Sequence[Cell]) -> str:
    read = [cell.tokens for cell in group if cell.tokens]
    return f"{np.mean(read) / 1000:.0f}k" if read else ""


def methods_csv(cells: Sequence[Cell], data_key: str) -> str:
    """Return every figure of the tasks as a row, mean and sd over the seeds that have it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for (corpus, system), group in _measured(cells, data_key).items():
        measured = [figures_of(cell, data_key) for cell in group]
        for key in dict.fromkeys(key for figures in measured for key in figures):
            values = [figures[key] for figures in measured if key in figures]
            sd = f"{np.std(values, ddof=1):.2f}" if len(values) > 1 else ""
            writer.writerow([system, corpus, *key, f"{np.mean(values):.2f}", sd, len(values)])
    return out.getvalue()


def write_method_tables(cells: Sequence[Cell], folder: Path, *, key: str | None = None) -> list[Path]:
    """Write `method-results.md`, its CSV and its picture if a cell has the tasks, and return their paths.

    :param key: key of the task data; results on other data are not shown. None means the data of today's tasks that
        most cells share.
    """
    key = key_of_most(cell.task_records for cell in cells) if key is None else key
    if not _measured(cells, key):
        return []
    texts = {"method-results.md": methods_markdown(cells, key), "method-results.csv": methods_csv(cells, key)}
    picture = folder / "method-results.png"
    draw_methods(texts["method-results.csv"], picture)
    return [*write_texts(folder, texts), picture]
