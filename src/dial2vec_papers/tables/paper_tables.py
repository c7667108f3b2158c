"""The cells as tables: tables 2 to 5 of Liu et al. 2022 in Markdown, and all figures as CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from conversations.files import write_text
from dial2vec.evaluation import TASKS
from dial2vec_papers.tables.cells import Cell
from dial2vec_papers.tables.charts import draw_results
from dial2vec_papers.tables.published import printed, published
from dial2vec_papers.tables.systems import ABLATIONS, ablated, in_order, is_table_row, recipe_of, system_of
from dial2vec_papers.tables.ways import TITLES

COLUMNS = ("model", "corpus", "metric", "mean", "sd", "seeds", "published", "low", "high", "ceiling", "view", "runs")

HEADING = """# Results

Written by `dial2vec papers tables`. `results.csv` has the same figures, with the MLflow run of each. Test splits, in
points; published are the figures of Liu et al. 2022 on their own splits, purity / Spearman / MAP.

![MAP by system, a panel per corpus, with intervals and the published figures](results.png)
"""
TASK_TITLES = {"purity": "Purity", "spearman": "Spearman", "map": "MAP"}
TASK_HEADS = ("purity", "Spearman", "MAP")
# Systems whose settings are changed one at a time: their heading, the base encoder that they read, and their name.
RECIPES = {
    "paper": ("Ablations", "start_separators", "200 dialogues of the paper's recipe"),
    "dialoguecse": ("Ablations of DialogueCSE", "utterances_mean", "DialogueCSE by params.yaml"),
}
CellGroups = dict[tuple[str, str], list[Cell]]


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a system on a corpus, over its seeds, in points.

    :param sd: standard deviation over seeds of training; NaN for one seed.
    :param low: lower end of the 95 % interval over dialogues, mean over seeds.
    :param published: the paper's figure; NaN if it has none.
    """

    mean: float
    sd: float
    low: float
    high: float
    published: float
    runs: tuple[str, ...]


def figure(cells: Sequence[Cell], view: str, task: str) -> Figure:
    """Return a figure over the seeds of one system on one corpus.

    :param cells: one or more cells of the same system and corpus.
    """
    points = [cell.scores[view][task] for cell in cells]
    ranges = np.mean([cell.intervals[view][task] for cell in cells], axis=0)
    system, corpus = cells[0].system, cells[0].corpus
    reported = published(system_of(system).published, corpus) if view == "both" else {}
    return Figure(
        mean=float(np.mean(points)),
        sd=float(np.std(points, ddof=1)) if len(points) > 1 else math.nan,
        low=float(ranges[0]),
        high=float(ranges[1]),
        published=reported.get(task, math.nan),
        runs=tuple(cell.run_id for cell in cells),
    )


def grouped(cells: Iterable[Cell]) -> CellGroups:
    """Return the computed cells by corpus and system, systems in the order of the registry, seeds ascending."""
    cells = list(cells)
    order = in_order(cell.system for cell in cells)
    groups: CellGroups = {}
    for cell in sorted(cells, key=lambda cell: (cell.corpus, order.index(cell.system), cell.seed)):
        if not cell.left_out:
            groups.setdefault((cell.corpus, cell.system), []).append(cell)
    return groups


def _scored(cells: Iterable[Cell]) -> CellGroups:
    """Return `grouped` without the cells of corpora that lack labels."""
    return grouped(cell for cell in cells if cell.scores)


def paper_csv(cells: Iterable[Cell]) -> str:
    """Return every figure as a row of `COLUMNS`.

    Models that only the paper has come after the systems of their corpus, without a mean.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    groups = _scored(cells)
    for corpus in dict.fromkeys(corpus for corpus, _ in groups):
        for system, group in systems_of(corpus, groups).items():
            for view, scores in group[0].scores.items():
                for task in TASKS:
                    value = figure(group, view, task)
                    ceiling = scores["spearman_ceiling"] if task == "spearman" else math.nan
                    plain = (value.mean, value.sd, len(group), value.published, value.low, value.high, ceiling)
                    writer.writerow([system, corpus, task, *map(_number, plain), view, " ".join(value.runs)])
        for model in _only_published(systems_of(corpus, groups)):
            for task, points in published(model, corpus).items():
                writer.writerow([model, corpus, task, "", "", "", _number(points), "", "", "", "both", ""])
    return out.getvalue()


def systems_of(corpus: str, groups: CellGroups) -> dict[str, list[Cell]]:
    """Return the cells of one corpus by system, in the order of the groups."""
    return {system: group for (name, system), group in groups.items() if name == corpus}


def _only_published(systems: Iterable[str]) -> list[str]:
    """Return the models of the paper that correspond to no system."""
    ours = {system_of(system).published for system in systems}
    return [model for model in printed()["models"] if model not in ours]


def _number(value: float) -> str:
    if isinstance(value, int):
        return str(value)
    return "" if math.isnan(value) else f"{value:.2f}"


def paper_markdown(cells: Sequence[Cell]) -> str:
    """Return the tables as a page: the three tasks over the corpora and per corpus, the paper's rules, and the rest.

    The rest is speakers, aggregation, checkpoints and ablations.

    The last section names the systems that were left out, with the reasons.
    """
    groups = _scored(cells)
    rows = {key: group for key, group in groups.items() if is_table_row(key[1])}
    corpora = list(dict.fromkeys(corpus for corpus, _ in rows))
    parts = [_over_corpora(task, title, corpora, rows) for task, title in TASK_TITLES.items()]
    parts += [_tasks(corpus, rows) for corpus in corpora]
    parts += [_by_other_rules(corpus, rows) for corpus in corpora]
    parts.append(_views("Single speakers (table 4)", ("first", "second", "both"), rows, printed()["speakers"]))
    parts.append(_views("Aggregation (table 5)", ("mean", "both"), rows, printed()["aggregation"]))
    parts.append(_checkpoints(groups))
    trained = dict.fromkeys(corpus for corpus, _ in groups)
    parts += [_ablation(corpus, recipe, groups) for recipe in RECIPES for corpus in trained]
    parts.append(_left_out(cells))
    return "\n".join([HEADING, *(part for part in parts if part)])


def _over_corpora(task: str, title: str, corpora: Sequence[str], groups: CellGroups) -> str:
    """Return tables 2 and 3 of the paper for one task: a column per corpus, and the average of those here.

    A system that lacks a corpus has no average. Published rows average the corpora of the table that the paper has.
    """
    if len(corpora) < 2:
        return ""
    rows = []
    for system in in_order(name for _, name in groups):
        mine = [groups.get((corpus, system)) for corpus in corpora]
        points = [math.nan if group is None else figure(group, "both", task).mean for group in mine]
        rows.append([system_of(system).title, *map(_number, [*points, float(np.mean(points))])])
    for model in printed()["models"] if set(corpora) & set(printed()["corpora"]) else ():
        points = [published(model, corpus).get(task, math.nan) for corpus in corpora]
        if not np.isnan(points).all():
            rows.append([f"{model}, published", *map(_number, [*points, float(np.nanmean(points))])])
    words = (
        "Mean over seeds. The average is over the corpora of this table; of published rows, over those that they have."
    )
    return table(f"## {title}, all corpora (tables 2 and 3)\n\n{words}", ["system", *corpora, "average"], rows)


def _by_other_rules(corpus: str, groups: CellGroups) -> str:
    """Return purity and Spearman by the rules of the paper and of its published code, beside ours."""
    mine = {name: group for name, group in systems_of(corpus, groups).items() if all(cell.ways for cell in group)}
    if not mine:
        return ""
    words = (
        "Purity: ours (`evaluate.kmeans_runs` runs of k-means, or as `evaluate.kmeans` says); the paper's (10 runs, as "
        "many clusters as the corpus has labels); the release's (the best of 10 starts, as many clusters as the split "
        "has labels). Spearman: ours and the release's (every other dialogue); the paper's (one random partner, the "
        "mean of 10 draws)."
    )
    rows = []
    for system, group in mine.items():
        ours = [figure(group, "both", task).mean for task in ("purity", "spearman")]
        others = [float(np.mean([cell.ways.get(name, math.nan) for cell in group])) for name in TITLES]
        rows.append([system_of(system).title, *map(_number, [*ours, *others])])
    head = ["system", "purity: ours", "Spearman: ours", *TITLES.values()]
    return table(f"## By the paper's rules, {corpus}\n\n{words}", head, rows)


def _tasks(corpus: str, groups: CellGroups) -> str:
    mine = systems_of(corpus, groups)
    ceiling = next(iter(mine.values()))[0].scores["both"]["spearman_ceiling"]
    rows = []
    for system, group in mine.items():
        values = [figure(group, "both", task) for task in TASKS]
        reported = " / ".join(f"{value.published:.1f}" for value in values if not math.isnan(value.published))
        rows.append([system_of(system).title, str(len(group)), *map(_in_words, values), reported])
    for model in _only_published(mine):
        if points := published(model, corpus):
            reported = " / ".join(f"{point:.1f}" for point in points.values())
            rows.append([f"{model}, in the paper only{' |' * 4}", reported])
    words = f"Spearman cannot exceed {ceiling:.2f} here. ± sd over seeds, [95 % interval over dialogues]."
    return table(f"## {corpus}\n\n{words}", ["system", "seeds", *TASK_HEADS, "published"], rows)


def _in_words(value: Figure) -> str:
    spread = "" if math.isnan(value.sd) else f" ± {value.sd:.2f}"
    return f"{value.mean:.2f}{spread} [{value.low:.1f}, {value.high:.1f}]"


def _views(
    title: str, views: Sequence[str], groups: CellGroups, reported: Mapping[str, Mapping[str, Sequence[float]]]
) -> str:
    """Return a table of the views of the same encoders, as purity / Spearman / MAP."""
    rows = [
        [corpus, system_of(system).title]
        + [_triple({task: figure(group, view, task).mean for task in TASKS}) for view in views]
        for (corpus, system), group in groups.items()
        if set(views) <= set(group[0].scores)
    ]
    if not rows:
        return ""
    for model, figures in reported.items():
        cells = [_triple(dict(zip(TASKS, figures[view], strict=True))) for view in views]
        rows.append(["mean of six, published", model, *cells])
    return table(f"## {title}", ["corpus", "system", *views], rows)


def _triple(scores: Mapping[str, float]) -> str:
    return " / ".join(f"{scores[task]:.2f}" for task in TASKS)


def _checkpoints(groups: CellGroups) -> str:
    """Return the test figures of every choice of a checkpoint, for trainings whose course was scored."""
    courses = [cell for group in groups.values() for cell in group if cell.course]
    if not courses:
        return ""
    rows = []
    for cell in courses:
        by_step = {int(point["step"]): point for point in cell.course}
        best = max(by_step, key=lambda step: by_step[step]["map"])
        shown = (0, best, max(by_step), cell.by_labels, cell.label_free)
        figures = ["" if step is None else f"{_triple(by_step[step])}, step {step}" for step in shown]
        rows.append([cell.corpus, system_of(cell.system).title, str(cell.seed), *figures])
    words = "On the test split, with its step. The best has the highest MAP on that same split, known only afterwards."
    head = ["corpus", "system", "seed", "start", "best", "last", "chosen by purity on dev", "chosen without labels"]
    return table(f"## Which checkpoint\n\n{words}", head, rows)


def _ablation(corpus: str, recipe: str, groups: CellGroups) -> str:
    """Return a recipe of `RECIPES` with one setting changed, at the last checkpoint."""
    mine, (heading, start, words) = systems_of(corpus, groups), RECIPES[recipe]
    settings = [setting for setting in ABLATIONS if recipe_of(setting) == recipe]
    changed = [system for setting in settings for system in ablated(setting) if system in mine]
    if not changed:
        return ""
    rows = [
        [system_of(system).title, str(len(mine[system]))]
        + [_in_words(figure(mine[system], "both", task)) for task in TASKS]
        for system in (start, recipe, *changed)
        if system in mine
    ]
    words = f"{words} with one setting changed, at the last checkpoint."
    return table(f"## {heading}, {corpus}\n\n{words}", ["changed", "seeds", *TASK_HEADS], rows)


def _left_out(cells: Iterable[Cell]) -> str:
    lines = dict.fromkeys(f"- {system_of(cell.system).title}: {cell.left_out}" for cell in cells if cell.left_out)
    return "\n".join(["## Left out", "", *lines]) + "\n" if lines else ""


def table(words: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return words and a table below them in Markdown."""
    lines = [words, "", f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"


def write_paper_tables(cells: Sequence[Cell], folder: Path) -> list[Path]:
    """Write `results.csv`, `results.md` and its picture, and return their paths."""
    figures = paper_csv(cells)
    draw_results(figures, folder / "results.png")
    return [*write_texts(folder, {"results.csv": figures, "results.md": paper_markdown(cells)}), folder / "results.png"]


def write_texts(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    """Write files by name, and return their paths."""
    for name, text in texts.items():
        write_text(folder / name, text)
    return [folder / name for name in texts]
