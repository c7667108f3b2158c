"""The first sentence of the report: the result of the training, and how sure it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conversations.words import listed, number
from dial2vec.evaluation.intervals import Gain
from dial2vec.evaluation.report.figure_table import FigureRow, Metric, signed
from dial2vec.evaluation.report.neighbours import Neighbours
from dial2vec.evaluation.selection import TITLES
from dial2vec.evaluation.selection.choice import CLEARLY_AHEAD, CLEARLY_BELOW

KEPT = "No trained candidate was shown to be better, so the base encoder was kept"


def labelled_outcome(neighbours: Neighbours, gain: Gain, rows: Sequence[FigureRow], *, kept: bool) -> str:
    """Return the sentence of a test split with labels.

    It is about the neighbours with the same label, then about the three figures of the tasks. A difference counts if
    its 95 % interval does not hold 0.

    :param gain: gain of neighbours in points, as returned by `Neighbours.gain`.
    :param rows: rows of the table of figures.
    :param kept: True if the base encoder was kept, so that both encoders are the same.
    """
    of, before, after = f"of {neighbours.depth} neighbours", *_figures(neighbours)
    if neighbours.depth == 1:
        of = "of 100 nearest conversations"
    if kept:
        return f"{KEPT}: it finds {after} {of} with the same label."
    unit = (100 if neighbours.depth == 1 else neighbours.depth) / 100
    digits = len(after.partition(".")[2])
    points, low, high = (signed(unit * value, digits) for value in (gain.points, gain.low, gain.high))
    interval = f"{points}; 95 % interval {low} to {high}"
    if gain.low > 0:
        return (
            f"The trained encoder finds {after} {of} with the same label where its base encoder found {before} "
            f"({interval}){_rest(rows, worse='but worse', better='')}."
        )
    if gain.high < 0:
        return (
            f"The trained encoder finds only {after} {of} with the same label where its base encoder found {before} "
            f"({interval}){_rest(rows, worse='also worse', better='but better')}."
        )
    return (
        f"The trained encoder finds {after} {of} with the same label and its base encoder {before}, a difference "
        f"within the noise ({interval}){_rest(rows, worse='worse', better='better')}."
    )


def _rest(rows: Sequence[FigureRow], *, worse: str, better: str) -> str:
    """Return what the figures of the tasks add to the sentence.

    :param worse: words in front of the figures that got worse.
    :param better: words in front of those that got better; empty leaves them out.
    """
    decisive = [(_title(row.metric), row.figures["trained"]) for row in rows if row.decides]
    by = {
        verdict: [f"{title} ({figure.difference})" for title, figure in decisive if figure.verdict == verdict]
        for verdict in ("better", "worse")
    }
    parts = [
        f"{words}: {listed(by[name])}" for name, words in (("better", better), ("worse", worse)) if words and by[name]
    ]
    if not by["worse"] and worse != "also worse":
        fell = any(figure.difference.startswith("−") for _, figure in decisive)
        parts.append("nothing got clearly worse" if fell else "nothing got worse")
    return "".join(f"; {part}" for part in parts)


def _title(metric: Metric) -> str:
    # A name such as Spearman keeps its capital.
    return metric.title if metric.key == "spearman" else metric.title.lower()


def unlabelled_outcome(selection: dict[str, Any] | None, kept_neighbours: NDArray[np.int64], *, kept: bool) -> str:
    """Return the sentence of a test split without labels to compare.

    :param selection: content of `selection.json`; None if nothing was chosen.
    :param kept_neighbours: number of nearest dialogues that are the same by both encoders, of each dialogue; may be
        empty.
    :param kept: True if the base encoder was kept.
    """
    if kept:
        return f"{KEPT}, and nothing changed."
    ahead = _shares(selection)
    clear = [TITLES[name] for name, share in ahead.items() if share >= CLEARLY_AHEAD]
    below = [TITLES[name] for name, share in ahead.items() if share <= CLEARLY_BELOW]
    if clear:
        losses = f"clearly below it on {listed(below)}" if below else "clearly below it on none"
        return (
            f"Judged without labels, the trained encoder is clearly ahead of its base encoder on {listed(clear)} and "
            f"{losses}; whether its groups are the right ones, only labels can say."
        )
    moved = ""
    if len(kept_neighbours):
        moved = f": on average {number(float(kept_neighbours.mean()), 1)} of a conversation's nearest are as before"
    return f"This page shows what the training changed, but without labels it cannot say whether that is better{moved}."


def _shares(selection: dict[str, Any] | None) -> dict[str, float]:
    """Return the shares of resamplings in which the chosen candidate is ahead, by criterion."""
    if selection is None:
        return {}
    chosen = [candidate for candidate in selection["candidates"] if candidate["name"] == selection["chosen"]]
    return {name: share for name, share in (chosen[0].get("ahead") or {}).items() if name in TITLES} if chosen else {}


def _figures(neighbours: Neighbours) -> tuple[str, str]:
    """Return the mean number of neighbours with the same label by start and trained, with as few digits as differ."""
    unit = 100 if neighbours.depth == 1 else 1
    before, after = (unit * mean for mean in neighbours.means)
    digits = next((digits for digits in (1, 2, 3) if number(before, digits) != number(after, digits)), 1)
    return number(before, digits), number(after, digits)
