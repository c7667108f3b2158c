"""The tables' figures as pictures: systems by MAP, and answers found with damaged contexts."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

from conversations.files import atomic_path
from dial2vec.evaluation.geometry import COLOURS
from dial2vec.training.augmentation import PERTURBATIONS
from dial2vec_papers.tables.systems import in_order, is_table_row, system_of

DPI, WIDTH = 110, 8.6
Rows = list[dict[str, str]]


def draw_results(table: str, path: Path) -> None:
    """Draw MAP by system, a panel per corpus, with the intervals over dialogues and the published figures.

    :param table: CSV of `paper_csv`.
    """
    rows = [row for row in _rows(table) if (row["metric"], row["view"]) == ("map", "both") and row["mean"]]
    rows = [row for row in rows if is_table_row(row["model"])]
    if not rows:
        path.unlink(missing_ok=True)
        return
    corpora = list(dict.fromkeys(row["corpus"] for row in rows))
    systems = in_order(row["model"] for row in rows)[::-1]
    figure, panels = _panels(len(corpora), 1.1 + 0.22 * len(systems))
    for panel, corpus in zip(panels, corpora, strict=True):
        mine = [row for row in rows if row["corpus"] == corpus]
        places = [systems.index(row["model"]) for row in mine]
        means = [float(row["mean"]) for row in mine]
        ends = [[abs(float(row[end]) - mean) for row, mean in zip(mine, means, strict=True)] for end in ("low", "high")]
        panel.errorbar(means, places, xerr=ends, fmt="o", color=COLOURS[0], markersize=5, label="here, 95 % interval")
        paper = [(float(row["published"]), place) for row, place in zip(mine, places, strict=True) if row["published"]]
        if paper:
            panel.plot(*zip(*paper, strict=True), "D", color=COLOURS[1], fillstyle="none", label="in the paper")
        panel.set_title(corpus, fontsize=9)
        panel.set_xlabel("MAP", fontsize=8)
        panel.set_yticks(range(len(systems)), [system_of(name).title for name in systems])
    handles, labels = panels[-1].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=7, frameon=False, loc="outside lower center", ncols=2)
    save_picture(figure, path)


def draw_methods(table: str, path: Path) -> None:
    """Draw Recall@1 of the true answer by method, a panel per corpus, with the context as it is and damaged.

    :param table: CSV of `methods_csv`.
    """
    ways = ("clean", *PERTURBATIONS)
    names = {f"{way}_recall_at_1": place for place, way in enumerate(ways)}
    rows = [row for row in _rows(table) if row["task"] == "robustness" and row["metric"] in names]
    corpora = list(dict.fromkeys(row["corpus"] for row in rows))
    if not corpora:
        path.unlink(missing_ok=True)
        return
    systems = in_order(row["model"] for row in rows)
    figure, panels = _panels(len(corpora), 3.4)
    for panel, corpus in zip(panels, corpora, strict=True):
        for place, system in enumerate(systems):
            mine = [row for row in rows if (row["corpus"], row["model"]) == (corpus, system)]
            points = sorted((names[row["metric"]], float(row["mean"])) for row in mine)
            style = {"color": COLOURS[place % len(COLOURS)], "marker": "osD^vPX"[place % 7], "markersize": 5}
            panel.plot(*zip(*points, strict=True), linestyle=":", linewidth=1, label=system_of(system).title, **style)
        panel.set_title(f"trained on {corpus}", fontsize=9)
        panel.set_xticks(range(len(ways)), ways, rotation=20)
    panels[0].set_ylabel("Recall@1 of 51", fontsize=8)
    panels[-1].legend(fontsize=7, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    save_picture(figure, path)


def _rows(table: str) -> Rows:
    return list(csv.DictReader(io.StringIO(table)))


def _panels(count: int, height: float) -> tuple[Any, list[Any]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), dpi=DPI, layout="constrained")
    panels = list(figure.subplots(1, count, sharey=True, squeeze=False)[0])
    for panel in panels:
        panel.tick_params(labelsize=7)
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(axis="both", color="#e4e8ec", linewidth=0.6)
        panel.set_axisbelow(True)
    return figure, panels


def save_picture(figure: Any, path: Path) -> None:
    """Write a figure of matplotlib as PNG."""
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format="png", metadata={"Software": None})
