"""The gate in front of the alias `champion`: pure arithmetic on dev figures, no registry in sight."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from dial2vec.config import Promote
from dial2vec.evaluation import NOTHING_TO_SCORE, TASKS

Scores = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Contender:
    """A registered version and what it reached on dev.

    :param version: number in the registry.
    :param scores: at least `TASKS`, in points (0 to 100; Spearman -100 to 100); None where labels leave nothing to
        score.
    """

    version: str
    scores: Scores | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the gate decided.

    :param promoted: True when the candidate is the new champion.
    :param reasons: one sentence per figure that fell short; empty when promoted.
    """

    promoted: bool
    reasons: list[str]


def judge(candidate: Contender, start: Contender, champion: Contender, *, margins: Promote) -> Verdict:
    """Decide whether `candidate` becomes champion.

    It must beat the starting encoder *and* the present champion in every one of `TASKS`, by at least the margins.
    Figures are compared as they are printed, to two decimals, so that every reason can be checked by eye. A missing
    figure or NaN never promotes.

    :param start: the untrained encoder that the candidate was trained from; often the champion itself.
    :param margins: least gain in points; negative allows a loss.
    """
    if candidate.version == champion.version:
        return Verdict(False, [f"version {candidate.version} is the champion already"])
    rivals = {"champion": champion} if start.version == champion.version else {"start": start, "champion": champion}
    everyone = {"candidate": candidate, **rivals}
    reasons = [_without_figures(who, one) for who, one in everyone.items() if one.scores is None]
    if not reasons:
        reasons = [
            reason
            for metric in TASKS
            for who, rival in rivals.items()
            if (reason := _shortfall(metric, candidate, rival, who, getattr(margins, f"min_{metric}_gain")))
        ]
    return Verdict(not reasons, reasons)


def describe(scores: Scores | None, start: Scores | None, *, split: str) -> str:
    """Return one plain sentence with the figures of a split, better and worse alike.

    >>> describe({"purity": 70.0, "map": 56.0}, {"purity": 69.0, "map": 56.5}, split="dev")
    'On dev: purity 70.00 (start 69.00, +1.00), map 56.00 (start 56.50, -0.50).'
    """
    if scores is None:
        return f"There are no figures on {split}: {NOTHING_TO_SCORE}."
    found = [metric for metric in TASKS if metric in scores]
    return f"On {split}: {', '.join(_figure(metric, scores, start) for metric in found)}."


def _figure(metric: str, scores: Scores, start: Scores | None) -> str:
    if start is None or metric not in start:
        return f"{metric} {scores[metric]:.2f}"
    return f"{metric} {scores[metric]:.2f} (start {start[metric]:.2f}, {_gain(scores[metric], start[metric]):+.2f})"


def _gain(figure: float, rival: float) -> float:
    # Adding 0.0 turns -0.0 into 0.0.
    return round(round(figure, 2) - round(rival, 2), 2) + 0.0


def _without_figures(who: str, contender: Contender) -> str:
    found = f"the {who} (version {contender.version}) has no figures on dev"
    return f"{found}, and without them nothing is promoted: {NOTHING_TO_SCORE}"


def _shortfall(metric: str, candidate: Contender, rival: Contender, who: str, margin: float) -> str | None:
    """Return why this figure fails, or None when it passes."""
    figures = []
    for name, one in (("candidate", candidate), (who, rival)):
        figure = (one.scores or {}).get(metric, math.nan)
        if math.isnan(figure):
            return f"{metric} on dev is missing for the {name} (version {one.version})"
        figures.append(figure)
    ours, theirs = figures
    gain = _gain(ours, theirs)
    if gain >= margin:
        return None
    if gain == 0:
        return f"{metric} {ours:.2f} on dev equals the {who}'s; needed {margin:+.2f}"
    where = "below" if gain < 0 else "above"
    return f"{metric} {ours:.2f} on dev is {abs(gain):.2f} {where} the {who}'s {theirs:.2f}; needed {margin:+.2f}"
