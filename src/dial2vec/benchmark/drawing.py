"""Curves of training as PNG, for the docs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dial2vec.benchmark.curves import Curve
from dial2vec.evaluation.pictures import COLOURS
from dial2vec.files import atomic_path

WIDTH, HEIGHT, DPI = 4.2, 3.2, 130


def draw_curves(curves: Sequence[Curve], path: Path, *, task: str = "map") -> None:
    """Draw a figure over the steps of training, one panel per corpus and setting, with the two choices marked.

    :param curves: at least one. In a panel stand those whose names begin with the same word, beside the recipe itself.
    :param task: which figure.
    """
    panels: dict[tuple[str, str], list[Curve]] = {}
    for one in curves:
        panels.setdefault((one.corpus, one.name.split(" ")[0]), []).append(one)
    recipes = {corpus: panels.pop((corpus, word)) for corpus, word in list(panels) if word == "the"}
    shown = {key: [*recipes.get(key[0], []), *group] for key, group in panels.items()} or {
        (corpus, "recipe"): group for corpus, group in recipes.items()
    }
    figure, axes = _panels(len(shown))
    for panel, ((corpus, word), group) in zip(axes, shown.items(), strict=True):
        for place, one in enumerate(group):
            steps = [point["step"] for point in one.points]
            values = [point[task] for point in one.points]
            panel.plot(steps, values, color=COLOURS[place], linewidth=1.4, label=one.name)
            for step, marker in ((one.by_labels, "s"), (one.label_free, "o")):
                panel.plot(step, values[steps.index(step)], marker, color=COLOURS[place], fillstyle="none")
        panel.set_title(f"{corpus}: {word}", fontsize=9)
        panel.set_xlabel("step (□ chosen by labels of dev, ○ without labels)", fontsize=8)
        panel.set_ylabel(task.upper() if task == "map" else task, fontsize=8)
        panel.legend(fontsize=7, frameon=False)
    _save(figure, path)


def draw_paths(curves: Sequence[Curve], path: Path) -> None:
    """Draw uniformity (x) against alignment (y) over training, one panel per corpus (Liu et al. 2022, figure 3).

    :param curves: at least one.
    """
    figure, axes = _panels(len(curves))
    for panel, one in zip(axes, curves, strict=True):
        x, y = ([point[name] for point in one.points] for name in ("uniformity", "adjusted_alignment"))
        panel.plot(x, y, color=COLOURS[0], linewidth=1, marker="o", markersize=3)
        panel.plot(x[0], y[0], "s", color=COLOURS[1], label="start")
        for point in one.points[:: max(1, len(one.points) // 5)]:
            panel.annotate(f"{point['step']:.0f}", (point["uniformity"], point["adjusted_alignment"]), fontsize=7)
        panel.set_title(one.corpus, fontsize=9)
        panel.set_xlabel("uniformity (lower is better)", fontsize=8)
        panel.set_ylabel("adjusted alignment (lower is better)", fontsize=8)
        panel.legend(fontsize=7, frameon=False)
    _save(figure, path)


def _panels(count: int) -> tuple[Any, list[Any]]:
    from matplotlib.figure import Figure

    columns = min(3, count)
    rows = -(-count // columns)
    figure = Figure(figsize=(WIDTH * columns, HEIGHT * rows), layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False).ravel())
    for spare in axes[count:]:
        spare.set_visible(False)
    return figure, axes[:count]


def _save(figure: Any, path: Path) -> None:
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=DPI, format="png", metadata={"Software": None})
