"""The gate: decide from dev figures alone whether a candidate becomes champion."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from dial2vec.config import Promote
from dial2vec.evaluation import NO_LABELS, TASKS
from dial2vec.evaluation.intervals import Contributions, Gain, gains

Scores = Mapping[str, float]
GROUND = "its figures on dev are above those of the base encoder and of the champion"


@dataclass(frozen=True, slots=True)
class Contender:
    """A registered version and its figures on dev.

    :param version: number in the registry; for a teacher with the model's name.
    :param scores: figures, at least `TASKS`, in points (0 to 100; Spearman -100 to 100); None if labels leave nothing
        to score.
    :param contributions: share of each dev dialogue in the figures; None if dev was not measured now.
    :param measured: False if the figures belong to another dev split.
    """

    version: str
    scores: Scores | None
    contributions: Contributions | None = None
    measured: bool = True


@dataclass(frozen=True, slots=True)
class Verdict:
    """Decision of the gate.

    :param promoted: True if the candidate is the new champion.
    :param reasons: one sentence per figure that fell short; empty if promoted.
    :param gains: "start", "champion" and "teacher" -> figure -> gain of the candidate over it on dev; empty if
        dialogues were not compared one by one.
    :param ground: reason for a promotion.
    """

    promoted: bool
    reasons: list[str]
    gains: dict[str, dict[str, Gain]] = field(default_factory=dict)
    ground: str = GROUND


def judge(
    candidate: Contender,
    start: Contender,
    champion: Contender,
    teacher: Contender | None = None,
    *,
    margins: Promote,
    seed: int = 0,
) -> Verdict:
    """Decide whether `candidate` becomes champion.

    It must beat the base encoder *and* the champion in each of `TASKS`, by at least the margins. If a margin is
    above 0, the interval of the gain must also be above 0 (paired bootstrap over the dialogues of dev). A student may
    lose at most `margins.student_tolerance` against its teacher. Figures are compared to two decimals, as printed, so
    readers can check every reason. A missing figure or NaN never promotes.

    :param start: untrained encoder that the candidate was trained from; often the champion itself.
    :param teacher: encoder that a student imitates; None for other candidates.
    :param margins: minimum gains in points (negative ones allow a loss) and the confidence of the interval.
    """
    if candidate.version == champion.version:
        return Verdict(False, [already_champion(candidate.version)])
    rivals = {"champion": champion} if start.version == champion.version else {"start": start, "champion": champion}
    ground = GROUND
    if teacher is not None:
        rivals["teacher"] = teacher
        ground += f", and at most {margins.student_tolerance:g} points below those of its teacher"
    everyone = {"candidate": candidate, **rivals}
    reasons = [_without_figures(who, contender) for who, contender in everyone.items() if contender.scores is None]
    if reasons:
        return Verdict(False, reasons)
    gained = {who: _gains(candidate, rival, margins, seed) for who, rival in rivals.items()}
    reasons = [
        reason
        for metric in TASKS
        for who, rival in rivals.items()
        if (
            reason := _shortfall(metric, candidate, rival, who, _margin(metric, who, margins))
            or _doubt(metric, who, gained[who], margins)
        )
    ]
    return Verdict(not reasons, reasons, {who: by_metric for who, by_metric in gained.items() if by_metric}, ground)


def _called(who: str) -> str:
    return "base encoder" if who == "start" else who


def already_champion(version: str) -> str:
    """Return the reason not to promote a champion."""
    return f"version {version} is the champion already"


def verdict_sentence(verdict: Verdict) -> str:
    """Return the reason for a verdict as a sentence.

    >>> verdict_sentence(Verdict(True, [], {"champion": {"map": Gain(1.2, 0.3, 2.1)}}))
    'On dev it gains over the champion: map +1.20 [+0.30, +2.10].'
    """
    if not verdict.promoted:
        return "; ".join(verdict.reasons)
    over = {"start": "over the base encoder", "champion": "over the champion", "teacher": "against the teacher"}
    gained = [
        f"{over[who]}: {', '.join(f'{metric} {gain}' for metric, gain in by_metric.items())}"
        for who, by_metric in verdict.gains.items()
    ]
    return f"On dev it gains {'; '.join(gained)}." if gained else f"{verdict.ground[:1].upper()}{verdict.ground[1:]}."


def figures_sentence(scores: Scores | None) -> str:
    """Return the figures on dev as a sentence.

    >>> figures_sentence({"purity": 70.0, "map": 56.0})
    'On dev: purity 70.00, map 56.00.'
    """
    if scores is None:
        return f"There are no figures on dev: {NO_LABELS}."
    return f"On dev: {', '.join(f'{metric} {scores[metric]:.2f}' for metric in TASKS if metric in scores)}."


def _gains(candidate: Contender, rival: Contender, margins: Promote, seed: int) -> dict[str, Gain]:
    if candidate.contributions is None or rival.contributions is None:
        return {}
    # Without a required confidence the page shows the usual interval.
    return gains(candidate.contributions, rival.contributions, seed=seed, coverage=margins.confidence or 0.95)


def _margin(metric: str, who: str, margins: Promote) -> float:
    """Return the minimum gain over a rival; below 0 it is the largest loss."""
    margin: float = -margins.student_tolerance if who == "teacher" else getattr(margins, f"min_{metric}_gain")
    return margin


def _doubt(metric: str, who: str, gained: Mapping[str, Gain], margins: Promote) -> str | None:
    """Return why a large enough gain may be chance, or None."""
    if not margins.confidence or _margin(metric, who, margins) <= 0:
        return None
    confidence = f"{100 * margins.confidence:g} % confidence"
    if metric not in gained:
        return (
            f"{metric} on dev cannot be compared with the {_called(who)}'s at {confidence}: the dialogues are not here"
        )
    gain = gained[metric]
    if gain.low > 0:
        return None
    return (
        f"{metric} on dev is {gain.points:.2f} above the {_called(who)}'s, which may be chance: with {confidence} "
        f"the gain lies between {gain.low:+.2f} and {gain.high:+.2f}; needed above 0"
    )


def _gain(figure: float, rival: float) -> float:
    # Adding 0.0 turns -0.0 into 0.0.
    return round(round(figure, 2) - round(rival, 2), 2) + 0.0


def _without_figures(who: str, contender: Contender) -> str:
    return (
        f"the {_called(who)} (version {contender.version}) has no figures on dev, and without them nothing is "
        f"promoted: {NO_LABELS}"
    )


def _shortfall(metric: str, candidate: Contender, rival: Contender, who: str, margin: float) -> str | None:
    """Return why this figure fails, or None if it passes."""
    figures = []
    for name, contender in (("candidate", candidate), (who, rival)):
        figure = (contender.scores or {}).get(metric, math.nan)
        if math.isnan(figure):
            return f"{metric} on dev is missing for the {_called(name)} (version {contender.version})"
        figures.append(figure)
    ours, theirs = figures
    gain = _gain(ours, theirs)
    if gain >= margin:
        return None
    side = "below" if gain < 0 else "above"
    apart = f"is {abs(gain):.2f} {side} the {_called(who)}'s {theirs:.2f}" if gain else f"equals the {_called(who)}'s"
    way = f", more than is left to 100: lower promote.min_{metric}_gain" if theirs + margin > 100 else ""
    return f"{metric} {ours:.2f} on dev {apart}; needed {margin:+.2f}{way}"
