"""Courses of training as pictures and as a page: figure 3 of Liu et al. 2022, choices of checkpoints, ablations."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dial2vec.evaluation.geometry import COLOURS
from dial2vec.html import rendered
from dial2vec_papers.tables.cells import Cell
from dial2vec_papers.tables.charts import save_picture
from dial2vec_papers.tables.paper_tables import write_texts
from dial2vec_papers.tables.systems import ABLATIONS, ablated, in_order, is_table_row, recipe_of, system_of

WIDTH, HEIGHT, DPI = 4.2, 3.2, 130
CHOICES = (("by_labels", "s", "chosen by purity on dev"), ("label_free", "o", "chosen without labels"))
TITLES = {"purity": "purity", "spearman": "Spearman", "map": "MAP"}
SHOWN = ("step", *TITLES, "uniformity", "adjusted_alignment")


def write_drawings(cells: Sequence[Cell], folder: Path) -> list[Path]:
    """Draw all cells with a course, and return the files; older files without a cell are removed."""
    order = in_order(cell.system for cell in cells)
    courses = sorted((cell for cell in cells if cell.course), key=lambda cell: (cell.corpus, order.index(cell.system)))
    recipes = [cell for cell in courses if is_table_row(cell.system)]
    changed = [cell for cell in courses if not is_table_row(cell.system)]
    files: dict[str, tuple[Sequence[Cell], Callable[[Sequence[Cell], Path], None]]] = {
        "alignment-uniformity.png": (recipes, draw_paths),
        "course.png": (recipes, draw_courses),
        "ablations.png": (courses if changed else [], draw_ablations),
        "curves.html": (courses, write_curves),
        "curves.json": (courses, write_curves),
    }
    for name, (shown, draw) in files.items():
        if shown:
            draw(shown, folder / name)
        else:
            (folder / name).unlink(missing_ok=True)
    return [folder / name for name, (shown, _) in files.items() if shown]


def draw_paths(cells: Sequence[Cell], path: Path) -> None:
    """Draw uniformity (x) against alignment (y) over training, one panel per cell (Liu et al. 2022, figure 3)."""
    figure, axes = _panels(len(cells), columns=3)
    for panel, cell in zip(axes, cells, strict=True):
        x, y = ([point[name] for point in cell.course] for name in ("uniformity", "adjusted_alignment"))
        panel.plot(x, y, color=COLOURS[0], linewidth=1, marker="o", markersize=3)
        panel.plot(x[0], y[0], "s", color=COLOURS[1], label="start")
        for point in cell.course[1:]:
            place = (point["uniformity"], point["adjusted_alignment"])
            panel.annotate(f"{point['step']:.0f}", place, (4, 4), textcoords="offset points", fontsize=7)
        panel.margins(0.15)
        panel.set_title(_named(cell, cells), fontsize=9)
        panel.set_xlabel("uniformity (lower is better)", fontsize=8)
        panel.set_ylabel("adjusted alignment (lower is better)", fontsize=8)
        panel.legend(fontsize=7, frameon=False)
    save_picture(figure, path)


def draw_courses(cells: Sequence[Cell], path: Path) -> None:
    """Draw the three tasks over the steps, a row per cell, with the choices of labels and criteria."""
    figure, axes = _panels(len(cells) * len(TITLES), columns=len(TITLES))
    for place, panel in enumerate(axes):
        cell, task = cells[place // len(TITLES)], list(TITLES)[place % len(TITLES)]
        _curve(panel, cell, task, COLOURS[0], "")
        panel.set_title(f"{_named(cell, cells)}: {TITLES[task]}", fontsize=9)
        panel.set_xlabel("step", fontsize=8)
        if place == 0:
            panel.legend(fontsize=7, frameon=False)
    save_picture(figure, path)


def draw_ablations(cells: Sequence[Cell], path: Path) -> None:
    """Draw MAP over the steps, a panel per corpus and setting, each with the recipe that it changes.

    :param cells: cells with a course, at least one of them an ablation.
    """
    by_place = {(cell.corpus, cell.system): cell for cell in cells}
    panels: dict[str, list[Cell]] = {}
    for corpus in dict.fromkeys(cell.corpus for cell in cells):
        for setting in ABLATIONS:
            group = [by_place[corpus, system] for system in ablated(setting) if (corpus, system) in by_place]
            recipe = by_place.get((corpus, recipe_of(setting)))
            if group:
                panels[f"{corpus}: {setting}"] = [recipe, *group] if recipe else group
    figure, axes = _panels(len(panels), columns=3)
    for panel, (title, group) in zip(axes, panels.items(), strict=True):
        for place, cell in enumerate(group):
            _curve(panel, cell, "map", COLOURS[place], system_of(cell.system).title)
        panel.set_title(title, fontsize=9)
        panel.set_xlabel("step (□ by purity on dev, ○ without labels)", fontsize=8)
        panel.set_ylabel(TITLES["map"], fontsize=8)
        panel.legend(fontsize=7, frameon=False)
    save_picture(figure, path)


def _named(cell: Cell, cells: Sequence[Cell]) -> str:
    """Return the corpus of a cell, with its system if the picture has several."""
    several = len({other.system for other in cells}) > 1
    return f"{cell.corpus}, {system_of(cell.system).title}" if several else cell.corpus


def _curve(panel: Any, cell: Cell, task: str, colour: str, label: str) -> None:
    """Draw a task over the steps with both choices marked. If `label` is empty, the marks are labelled instead."""
    steps = [point["step"] for point in cell.course]
    values = [point[task] for point in cell.course]
    panel.plot(steps, values, color=colour, linewidth=1.4, marker=".", label=label or None)
    for name, marker, words in CHOICES:
        # Circles are larger, since both choices may be the same point.
        size, step = (11 if marker == "o" else 7), getattr(cell, name)
        if step is None:
            continue
        panel.plot(
            step,
            values[steps.index(step)],
            marker,
            markersize=size,
            color=colour,
            fillstyle="none",
            linestyle="none",
            label=None if label else words,
        )


def write_curves(cells: Sequence[Cell], path: Path) -> None:
    """Write the interactive page, or for a .json file its data, a line per course."""
    courses = curve_data(cells)
    lines = ",\n".join(json.dumps(course, allow_nan=False) for course in courses)
    write_texts(path.parent, {path.name: f"[\n{lines}\n]\n" if path.suffix == ".json" else render_curves(courses)})


def curve_data(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Return the courses of cells: corpus, title, a point per checkpoint (`SHOWN`), chosen steps and MLflow run."""
    return [
        {
            "corpus": cell.corpus,
            "title": system_of(cell.system).title,
            "points": [[point[name] for name in SHOWN] for point in cell.course],
            "chosen": [cell.by_labels, cell.label_free],
            "run": cell.run_id,
        }
        for cell in cells
    ]


def render_curves(courses: Sequence[Mapping[str, Any]]) -> str:
    """Return the interactive page: every course over its steps and as a path. The page needs no network.

    :param courses: records of `curve_data`.
    """
    # "</" would end the script element that holds the data.
    data = json.dumps({"courses": courses, "colours": COLOURS}, allow_nan=False).replace("</", "<\\/")
    return rendered("dial2vec_papers.tables", "curves.html", data=data, courses=courses)


def _panels(count: int, *, columns: int) -> tuple[Any, list[Any]]:
    from matplotlib.figure import Figure

    columns = min(columns, count)
    rows = -(-count // columns)
    figure = Figure(figsize=(WIDTH * columns, HEIGHT * rows), dpi=DPI, layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False).ravel())
    for panel in axes:
        panel.tick_params(labelsize=7)
    for spare in axes[count:]:
        spare.set_visible(False)
    return figure, axes[:count]
