"""The gate in front of the alias `champion`: pure arithmetic on dev figures, no registry in sight."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from dial2vec.config import Promote
from dial2vec.evaluation import NOTHING_TO_SCORE, TASKS
from dial2vec.evaluation.intervals import Contributions, Gain, gains

Scores = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Contender:
    """A registered version and what it reached on dev.

    :param version: number in the registry.
    :param scores: at least `TASKS`, in points (0 to 100; Spearman -100 to 100); None where labels leave nothing to
        score.
    :param contributions: what each dialogue of dev adds to them; None where dev is not at hand.
    :param measured: False when its figures are of another dev split than the others'.
    """

    version: str
    scores: Scores | None
    contributions: Contributions | None = None
    measured: bool = True


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the gate decided.

    :param promoted: True when the candidate is the new champion.
    :param reasons: one sentence per figure that fell short; empty when promoted.
    :param gains: "start" and "champion" -> figure -> by how much the candidate is above it on dev; empty where they
        were not compared dialogue by dialogue.
    :param ground: what it was decided by.
    """

    promoted: bool
    reasons: list[str]
    gains: dict[str, dict[str, Gain]] = field(default_factory=dict)
    ground: str = "its figures on dev are above those of the start and of the champion"


def judge(candidate: Contender, start: Contender, champion: Contender, *, margins: Promote, seed: int = 0) -> Verdict:
    """Decide whether `candidate` becomes champion.

    It must beat the starting encoder *and* the present champion in every one of `TASKS`, by at least the margins; and
    where a margin is above 0, the interval of the gain, by the paired bootstrap over the dialogues of dev, must be
    above 0 as well. Figures are compared as they are printed, to two decimals, so that every reason can be checked by
    eye. A missing figure or NaN never promotes.

    :param start: the untrained encoder that the candidate was trained from; often the champion itself.
    :param margins: least gain in points, where a negative one allows a loss, and the confidence of the interval.
    :param seed: of the bootstrap.
    """
    if candidate.version == champion.version:
        return Verdict(False, [already_champion(candidate.version)])
    rivals = {"champion": champion} if start.version == champion.version else {"start": start, "champion": champion}
    everyone = {"candidate": candidate, **rivals}
    reasons = [_without_figures(who, one) for who, one in everyone.items() if one.scores is None]
    if reasons:
        return Verdict(False, reasons)
    found = {who: _gains(candidate, rival, margins, seed) for who, rival in rivals.items()}
    reasons = [
        reason
        for metric in TASKS
        for who, rival in rivals.items()
        if (
            reason := _shortfall(metric, candidate, rival, who, getattr(margins, f"min_{metric}_gain"))
            or _doubt(metric, who, found[who], margins)
        )
    ]
    return Verdict(not reasons, reasons, {who: one for who, one in found.items() if one})


def already_champion(version: str) -> str:
    """Return the reason that a candidate is not promoted when it need not be."""
    return f"version {version} is the champion already"


def verdict_sentence(verdict: Verdict) -> str:
    """Return why it was decided so, in a sentence.

    >>> verdict_sentence(Verdict(True, [], {"champion": {"map": Gain(1.2, 0.3, 2.1)}}))
    'On dev it gains over the champion: map +1.20 [+0.30, +2.10].'
    """
    if not verdict.promoted:
        return "; ".join(verdict.reasons)
    said = [
        f"over the {who}: {', '.join(f'{metric} {gain}' for metric, gain in found.items())}"
        for who, found in verdict.gains.items()
    ]
    return f"On dev it gains {'; '.join(said)}." if said else f"{verdict.ground[:1].upper()}{verdict.ground[1:]}."


def figures_sentence(scores: Scores | None) -> str:
    """Return one plain sentence with the figures on dev.

    >>> figures_sentence({"purity": 70.0, "map": 56.0})
    'On dev: purity 70.00, map 56.00.'
    """
    if scores is None:
        return f"There are no figures on dev: {NOTHING_TO_SCORE}."
    return f"On dev: {', '.join(f'{metric} {scores[metric]:.2f}' for metric in TASKS if metric in scores)}."


def _gains(candidate: Contender, rival: Contender, margins: Promote, seed: int) -> dict[str, Gain]:
    if candidate.contributions is None or rival.contributions is None:
        return {}
    # Without a confidence to reach, the usual interval is shown.
    return gains(candidate.contributions, rival.contributions, seed=seed, coverage=margins.confidence or 0.95)


def _doubt(metric: str, who: str, found: Mapping[str, Gain], margins: Promote) -> str | None:
    """Return why a gain that is large enough may be chance, or None."""
    if not margins.confidence or getattr(margins, f"min_{metric}_gain") <= 0:
        return None
    confidence = f"{100 * margins.confidence:g} % confidence"
    if metric not in found:
        return (
            f"whether {metric} on dev is above the {who}'s with {confidence} needs the dialogues, and they are not here"
        )
    gain = found[metric]
    if gain.low > 0:
        return None
    return (
        f"{metric} on dev is {gain.points:.2f} above the {who}'s, which may be chance: with {confidence} the gain lies "
        f"between {gain.low:+.2f} and {gain.high:+.2f}; needed above 0"
    )


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
