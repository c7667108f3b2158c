"""Plots as inline SVG: text stays text, ink is the page's text colour, and the bytes are reproducible."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dial2vec.evaluation.geometry import COLOURS
from dial2vec.evaluation.report.similarity import Similarities

# matplotlib cannot draw in `currentColor`: it draws in this otherwise unused colour, replaced later in the SVG.
INK = "#010203"


def curves(history: Sequence[Mapping[str, float]]) -> str:
    """Plot the loss over steps, with the learning rate below; empty without a step.

    :param history: logged steps in order, each with "step", "loss" and "learning_rate".
    """
    if not history:
        return ""
    figure = _figure(5.0, 3.3)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    steps = [int(entry["step"]) for entry in history]
    for axes, name in ((upper, "loss"), (lower, "learning_rate")):
        values = [entry[name] for entry in history]
        axes.plot(steps, values, color=COLOURS[0], linewidth=1.5, marker="o" if len(steps) < 3 else None)
        axes.set_ylabel(name.replace("_", " "))
        _restyle(axes)
    lower.set_xlabel("step")
    lower.set_ylim(bottom=0)
    lower.ticklabel_format(axis="y", style="sci", scilimits=(-2, 3))
    figure.align_ylabels()
    return _svg(figure, "curves")


def distributions(similarities: dict[str, Similarities]) -> dict[str, str]:
    """Plot one histogram per encoder, all on the same axes.

    :param similarities: similarities by a name that is valid in an id, such as "start".
    """
    drawn = np.array([similar.same + similar.different for similar in similarities.values()]).sum(axis=0)
    # Bars with less than a thousandth of the pairs are invisible and would stretch the axis.
    bars = np.flatnonzero(drawn > 0.001)
    top = 1.05 * max(float(max(similar.same.max(), similar.different.max())) for similar in similarities.values())
    pictures = {}
    for name, similar in similarities.items():
        figure = _figure(4.4, 2.8)
        axes = figure.subplots()
        for shares, colour, label in (
            (similar.different, COLOURS[1], "different labels"),
            (similar.same, COLOURS[0], "same label"),
        ):
            axes.stairs(100 * shares, similar.edges, fill=True, color=colour, alpha=0.35)
            axes.stairs(100 * shares, similar.edges, color=colour, linewidth=1.4, label=label)
        axes.set_xlim(similar.edges[bars[0]], similar.edges[bars[-1] + 1])
        axes.set_ylim(0, 100 * top)
        axes.set_xlabel("cosine")
        axes.set_ylabel("% of the pairs")
        axes.legend(frameon=False, labelcolor=INK)
        _restyle(axes)
        pictures[name] = _svg(figure, f"similarity-{name}")
    return pictures


def path(points: Sequence[tuple[float, float]], names: Sequence[str], *, chosen: int | None) -> str:
    """Plot candidates by uniformity (x) and adjusted alignment (y), joined in order (Liu et al. 2022, figure 3).

    :param points: (uniformity, adjusted alignment) of each candidate, the base encoder first.
    :param names: text next to each point.
    :param chosen: place of the chosen candidate; None if it has no point.
    """
    figure = _figure(5.0, 3.6)
    axes = figure.subplots()
    x, y = zip(*points, strict=True)
    axes.plot(x, y, color=COLOURS[0], linewidth=1, alpha=0.6, marker="o", markersize=4)
    axes.plot(x[0], y[0], color=COLOURS[1], marker="s", markersize=9, linestyle="none", label=f"start ({names[0]})")
    if chosen is not None:
        label = f"chosen ({names[chosen]})"
        axes.scatter(x[chosen], y[chosen], s=200, facecolors="none", edgecolors=COLOURS[2], linewidths=2, label=label)
    # More names would overlap; the table has them all.
    if len(names) <= 12:
        for place, name, side in zip(points[1:], names[1:], range(1, len(names)), strict=True):
            offset = (6, 6) if side % 2 else (6, -11)
            axes.annotate(name, place, xytext=offset, textcoords="offset points", fontsize=8, color=INK)
    axes.margins(0.15)
    axes.set_xlabel("uniformity (lower is better)")
    axes.set_ylabel("adjusted alignment (lower is better)")
    axes.legend(frameon=False, labelcolor=INK, loc="best")
    _restyle(axes)
    return _svg(figure, "path")


def _figure(width: float, height: float) -> Any:
    from matplotlib.figure import Figure  # heavy, and only the report draws

    return Figure(figsize=(width, height), dpi=200, layout="constrained", facecolor="none")


def _restyle(axes: Any) -> None:
    axes.set_facecolor("none")
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(INK)
    axes.tick_params(colors=INK, which="both")
    axes.xaxis.label.set_color(INK)
    axes.yaxis.label.set_color(INK)
    axes.yaxis.get_offset_text().set_color(INK)


def _svg(figure: Any, name: str) -> str:
    """Return the figure as an inline `<svg>` in the page's text colour; its ids start with `name`."""
    import matplotlib as mpl  # heavy, and only the report draws

    drawn = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(drawn, format="svg")
    svg = drawn.getvalue()
    svg = svg[svg.index("<svg") :].replace(INK, "currentColor")
    # The metadata contain the time of drawing.
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # The page sets the font family; the plot only its size.
    svg = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", svg)
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    # Without a fixed size the plot fills its box. The element around it has the text alternative.
    view_box = re.search(r'viewBox="[^"]*"', svg)
    opening = f'<svg xmlns:xlink="http://www.w3.org/1999/xlink" {view_box[0] if view_box else ""} aria-hidden="true">'
    return re.sub(r"<svg [^>]*>", opening, svg, count=1)
