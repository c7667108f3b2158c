"""Figures of start, trained encoder and student side by side, as printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from conversations.words import number
from dial2vec.evaluation import TASKS
from dial2vec.evaluation.intervals import Gain


@dataclass(frozen=True, slots=True)
class Metric:
    """One row of the table of figures.

    :param key: key of the metric in the scores.
    :param title: title of the metric on the page.
    :param meaning: one-line explanation for a newcomer.
    :param low: lowest possible value, as printed.
    :param high: highest possible value, as printed.
    """

    key: str
    title: str
    meaning: str
    low: str = "0"
    high: str = "100"
    higher_is_better: bool = True


METRICS = (
    Metric(
        "purity",
        "Purity",
        "Share of conversations with the commonest label of their cluster, mean ± sd over k-means runs.",
    ),
    Metric(
        "spearman",
        "Spearman",
        "Rank correlation of cosine with having the same label. The ceiling is the figure of a perfect ranking.",
        low="−100",
        high="its ceiling",
    ),
    Metric(
        "map",
        "Average precision",
        "How high the conversations of the same label rank among all others; mean over all (MAP in other papers).",
    ),
    Metric("mrr", "MRR", "Mean of 1 / rank of the first conversation of the same label."),
    Metric("ari", "ARI", "Agreement of clusters and labels on pairs, beyond chance.", low="about 0 by chance"),
    Metric("nmi", "NMI", "Information that clusters and labels share."),
    Metric("accuracy", "Accuracy", "Share of conversations in the cluster matched to their label."),
    *(
        Metric(key, title, meaning, low, high, higher_is_better=False)
        for key, title, meaning, low, high in (
            ("alignment", "Alignment", "Mean squared distance between conversations of one label.", "0", "4"),
            ("adjusted_alignment", "Adjusted alignment", "Alignment minus its value for different labels.", "−4", "4"),
            ("uniformity", "Uniformity", "How evenly the conversations spread; 0 if all coincide.", "−8", "0"),
        )
    ),
)


@dataclass(frozen=True, slots=True)
class ComparedFigure:
    """Figure of an encoder beside the base encoder's, as printed.

    :param spread: spread over the runs of k-means; empty except for purity.
    :param difference: signed difference to the base encoder's figure.
    :param interval: 95 % interval of the difference; empty if it was not computed.
    :param verdict: "better" or "worse" by the sign of the difference; "no clear change" if the interval holds 0 or the
        difference is no larger than the spread; "equal" without a difference.
    """

    figure: str
    spread: str
    difference: str
    interval: str
    verdict: str


@dataclass(frozen=True, slots=True)
class FigureRow:
    """One metric of all encoders.

    :param remark: remark such as "ceiling 61.25"; may be empty.
    :param decides: True for the three figures of the tasks.
    :param figures: figures of "start", "trained" and, if there is one, "student".
    """

    metric: Metric
    remark: str
    decides: bool
    figures: dict[str, ComparedFigure]


def figure_rows(scores: Mapping[str, dict[str, float]], gains: Mapping[str, Mapping[str, Gain]]) -> list[FigureRow]:
    """Return one row per metric.

    :param scores: figures by `evaluation.scores.score` of "start", "trained" and, if there is one, "student".
    :param gains: gains over the base encoder with their intervals, by encoder ("trained", "student") and metric.
    """
    ceiling = f"ceiling {number(scores['trained']['spearman_ceiling'])}"
    return [
        FigureRow(
            metric=metric,
            remark=ceiling if metric.key == "spearman" else "",
            decides=metric.key in TASKS,
            figures={
                name: _compared(metric, scores["start"], own, gains.get(name, {}).get(metric.key))
                for name, own in scores.items()
            },
        )
        for metric in METRICS
    ]


def _compared(metric: Metric, start: dict[str, float], scores: dict[str, float], gain: Gain | None) -> ComparedFigure:
    difference = round(scores[metric.key] - start[metric.key], 2)
    improvement = difference if metric.higher_is_better else -difference
    # Only purity has a spread: it is the mean of several runs.
    spread = scores.get(f"{metric.key}_sd")
    within = spread is not None and abs(difference) <= max(start[f"{metric.key}_sd"], spread)
    unclear = within or (gain is not None and gain.low <= 0 <= gain.high)
    return ComparedFigure(
        figure=number(scores[metric.key]),
        spread="" if spread is None else f"± {spread:.2f}",
        difference=signed(difference),
        interval="" if gain is None else f"{signed(gain.low)} to {signed(gain.high)}",
        verdict="equal"
        if not difference
        else "no clear change"
        if unclear
        else "better"
        if improvement > 0
        else "worse",
    )


def signed(value: float, digits: int = 2) -> str:
    """Return a number as printed, with its sign unless it is 0."""
    return f"{'+' if round(value, digits) > 0 else ''}{number(value, digits)}"
