"""One static HTML page about one trained model: figures, curves and a map of the test dialogues."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jinja2
import numpy as np
from sklearn.decomposition import PCA

from dial2vec.evaluation import TASKS


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that the page shows.

    :param corpus: name of the corpus.
    :param split_sizes: dialogues per split, in the order of display.
    :param start: figures of the untrained start by `evaluation.scores.score`, on the test split; None without labels.
    :param trained: the same of the trained model; None without labels.
    :param start_name: the start's name, such as "all-MiniLM-L6-v2".
    :param settings: flat settings, such as {"train.epochs": 1}.
    :param loss: (step, loss) pairs, in order.
    :param learning_rate: (step, learning rate) pairs, in order.
    :param map_of_start: [n, 2] projection of the test dialogues by the start (`project`); None or n = 0 for no map.
    :param map_of_trained: [n, 2] projection by the trained model; None or n = 0 for no map.
    :param labels: n labels in the order of the maps; empty when the corpus has none.
    :param notes: sentences such as "12 dialogues were longer than 512 tokens and were cut."
    :param made: date of the report.
    """

    corpus: str
    split_sizes: dict[str, int]
    start: dict[str, float] | None
    trained: dict[str, float] | None
    start_name: str
    settings: dict[str, object]
    loss: list[tuple[int, float]]
    learning_rate: list[tuple[int, float]]
    map_of_start: np.ndarray | None
    map_of_trained: np.ndarray | None
    labels: list[str]
    notes: list[str]
    made: str


@dataclass(frozen=True, slots=True)
class Metric:
    """One row of the table.

    :param key: its name among the scores.
    :param title: its name on the page.
    :param higher_is_better: its direction.
    :param low: lowest possible value, as printed.
    :param high: highest possible value, as printed.
    :param meaning: one line for a reader who does not know it.
    """

    key: str
    title: str
    higher_is_better: bool
    low: str
    high: str
    meaning: str


METRICS = (
    Metric(
        "purity",
        "Purity",
        True,
        "0",
        "100",
        "Share of dialogues that carry the commonest label of their cluster, mean ± sd over runs of k-means.",
    ),
    Metric(
        "spearman",
        "Spearman",
        True,
        "−100",
        "its ceiling",
        "Rank correlation of similarity with having the same label. The ceiling is the figure of a perfect ranking.",
    ),
    Metric(
        "map", "MAP", True, "0", "100", "Mean average precision: how far up a dialogue finds those of its own label."
    ),
    Metric("mrr", "MRR", True, "0", "100", "Mean of 1 / rank of the first dialogue of the same label."),
    Metric(
        "ari", "ARI", True, "about 0 by chance", "100", "Pairs that clusters and labels treat alike, beyond chance."
    ),
    Metric("nmi", "NMI", True, "0", "100", "Information that clusters and labels share."),
    Metric("accuracy", "Accuracy", True, "0", "100", "Share of dialogues in the one cluster matched to their label."),
    Metric("alignment", "Alignment", False, "0", "4", "Mean squared distance between dialogues of one label."),
    Metric(
        "adjusted_alignment",
        "Adjusted alignment",
        False,
        "−4",
        "4",
        "Alignment minus the mean squared distance between dialogues of different labels.",
    ),
    Metric("uniformity", "Uniformity", False, "−8", "0", "How evenly all dialogues spread; 0 means that all coincide."),
)

# Middle lightness: every colour stands out from a white and from a near-black page.
COLOURS = ("#3b82f6", "#e8590c", "#2f9e44", "#c2255c", "#9c6ade", "#b08900", "#0c8599", "#e64980", "#7a8c00", "#8d6e63")
# (matplotlib's marker, the same shape as a character). Seven shapes against ten colours: 70 labels look different.
MARKERS = (("o", "●"), ("s", "■"), ("^", "▲"), ("D", "◆"), ("v", "▼"), ("P", "✚"), ("*", "★"))
# matplotlib cannot draw in `currentColor`, so it draws in a colour nobody uses, which is then replaced in the SVG.
INK = "#010203"


def render_report(report: Report) -> str:
    """Return the page as HTML that needs no network: style and plots are inside.

    :param report: what to show; without `start` and `trained` the page says that there are no labels to judge by.
    """
    rows = _rows(report)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("dial2vec", "evaluation"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page: str = environment.get_template("report.html").render(
        report=report,
        headline=_headline(rows),
        rows=rows,
        metrics=METRICS,
        curves=_curves(report),
        curves_in_words=_curves_in_words(report.loss),
        maps=_maps(report),
        legend=_legend(report.labels),
    )
    return page


def project(vectors: np.ndarray, seed: int) -> np.ndarray:
    """Return [n, 2] float64: the vectors on their two principal components.

    :param vectors: [n, d] float32; what n or d under 2 leaves undefined is 0.
    :param seed: seed of the randomised solver that scikit-learn takes for large inputs.
    """
    points = np.zeros((len(vectors), 2))
    components = min(2, *vectors.shape)
    # All vectors equal: the share of explained variance, which nobody reads here, would be 0 / 0.
    with np.errstate(invalid="ignore"):
        points[:, :components] = PCA(components, random_state=seed).fit_transform(np.asarray(vectors, dtype=np.float64))
    return points


def _headline(rows: list[dict[str, str]]) -> str:
    if not rows:
        return (
            "The test dialogues carry no labels to judge by, so this page cannot say whether the trained model is "
            "better or worse than its start."
        )
    parts: dict[str, list[str]] = {}
    for row in rows:
        if row["key"] in TASKS:
            caution = f", {row['caution']}" if row["caution"] else ""
            by = "" if row["verdict"] == "equal" else f" ({row['difference']}{caution})"
            parts.setdefault(row["verdict"], []).append(row["title"] + by)
    phrases = {"better": "better than its start on", "worse": "worse than its start on", "equal": "equal to it on"}
    said = [f"{phrase} {_and(parts[verdict])}" for verdict, phrase in phrases.items() if verdict in parts]
    return f"The trained model is {_and(said)}."


def _rows(report: Report) -> list[dict[str, str]]:
    """One row per metric: start, trained, difference, and the verdict on the difference as printed."""
    if report.start is None or report.trained is None:
        return []
    rows = []
    for metric in METRICS:
        before, after = report.start[metric.key], report.trained[metric.key]
        difference = round(after - before, 2)
        gain = difference if metric.higher_is_better else -difference
        row = {
            "key": metric.key,
            "title": metric.title,
            "start": _number(before),
            "trained": _number(after),
            "difference": f"{'+' if difference > 0 else ''}{_number(difference)}",
            "verdict": "better" if gain > 0 else "worse" if gain < 0 else "equal",
            "arrow": "↑" if metric.higher_is_better else "↓",
            "remark": "",
            "start_spread": "",
            "trained_spread": "",
            "caution": "",
        }
        if metric.key == "purity":
            spreads = report.start["purity_sd"], report.trained["purity_sd"]
            row["start_spread"], row["trained_spread"] = (f"± {spread:.2f}" for spread in spreads)
            row["caution"] = "within the spread" if 0 < abs(difference) <= max(spreads) else ""
        if metric.key == "spearman":
            row["remark"] = f"ceiling {_number(report.trained['spearman_ceiling'])}"
        rows.append(row)
    return rows


def _number(value: float) -> str:
    # Adding 0.0 turns a rounded -0.0 into 0.0.
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")


def _and(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]


def _curves_in_words(loss: list[tuple[int, float]]) -> str:
    if not loss:
        return "No loss was recorded."
    (first, before), (last, after) = loss[0], loss[-1]
    return f"The loss goes from {before:.3f} at step {first} to {after:.3f} at step {last}."


def _curves(report: Report) -> str:
    """Loss over steps with the learning rate below, as SVG; empty without a loss."""
    if not report.loss:
        return ""
    figure = _figure(5.0, 3.3)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    for axes, pairs, name in ((upper, report.loss, "loss"), (lower, report.learning_rate, "learning rate")):
        steps, values = zip(*pairs, strict=True) if pairs else ((), ())
        axes.plot(steps, values, color=COLOURS[0], linewidth=1.5, marker="o" if len(pairs) < 3 else None)
        axes.set_ylabel(name)
        _restyle(axes)
    lower.set_xlabel("step")
    lower.set_ylim(bottom=0)
    lower.ticklabel_format(axis="y", style="sci", scilimits=(-2, 3))
    figure.align_ylabels()
    return _svg(figure, "curves")


def _maps(report: Report) -> list[dict[str, str]]:
    """Both scatter plots as SVG with their titles; empty without points."""
    both = {"Start": report.map_of_start, "Trained": report.map_of_trained}
    drawn = {title: points for title, points in both.items() if points is not None and len(points)}
    return [{"title": title, "svg": _map(points, report.labels, title.lower())} for title, points in drawn.items()]


def _map(points: np.ndarray, labels: list[str], name: str) -> str:
    figure = _figure(4.4, 4.0)
    axes = figure.subplots()
    members = np.asarray(labels or [""] * len(points), dtype=object)
    size = float(np.clip(20_000 / max(len(points), 1), 6, 30))
    for index, label in enumerate(sorted(set(members))):
        x, y = points[members == label].T
        colour, (marker, _) = _look(index)
        # A picture inside the SVG: its bytes do not grow with every point, as those of drawn points would.
        axes.scatter(x, y, s=size, color=colour, marker=marker, linewidths=0, alpha=0.8, rasterized=True)
    axes.set_xticks([])
    axes.set_yticks([])
    _restyle(axes)
    return _svg(figure, name)


def _look(index: int) -> tuple[str, tuple[str, str]]:
    return COLOURS[index % len(COLOURS)], MARKERS[index % len(MARKERS)]


def _legend(labels: list[str]) -> list[dict[str, Any]]:
    looks = [(label, *_look(index)) for index, label in enumerate(sorted(set(labels)))]
    return [
        {"label": label, "colour": colour, "shape": shape, "count": labels.count(label)}
        for label, colour, (_, shape) in looks
    ]


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
    """Return the figure as an inline `<svg>`: text as text, ids of its own, in the page's colour, equal every time."""
    import matplotlib as mpl  # heavy, and only the report draws

    drawn = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(drawn, format="svg")
    svg = drawn.getvalue()
    svg = svg[svg.index("<svg") :].replace(INK, "currentColor")
    # Among the metadata is the time of drawing.
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # The page sets the typeface; only the size is the plot's.
    svg = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", svg)
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    # Without a size of its own it fills its box; whoever cannot see it is told by the text alternative around it.
    view_box = re.search(r'viewBox="[^"]*"', svg)
    opening = f'<svg xmlns:xlink="http://www.w3.org/1999/xlink" {view_box[0] if view_box else ""} aria-hidden="true">'
    return re.sub(r"<svg [^>]*>", opening, svg, count=1)
