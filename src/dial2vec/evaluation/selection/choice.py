"""Choice among the candidates of a training: without labels, by a figure, or the last one."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from conversations.words import listed
from dial2vec.evaluation import MIN_DIALOGUES
from dial2vec.evaluation.selection import TITLES
from dial2vec.evaluation.selection.criteria import CHOOSING, Views, measure_criteria

# Share of resamplings in which a candidate is above the base encoder: at least 0.9 is clearly ahead, at most 0.1
# clearly below. Both are written out because 1 - 0.9 is a little less than 0.1.
CLEARLY_AHEAD, CLEARLY_BELOW = 0.9, 0.1
# Number of criteria, of three, on which an admissible candidate is clearly ahead.
AHEAD_ON = 2
# Share of what the base encoder lacks to full agreement of the two sides, from which a clear gain in it is enough. From
# a weak base encoder k-means moves the other two criteria by more than training does (docs/recipe.md).
ENOUGH = 0.03
# Minimum share of the best gain in agreement of the two sides. A shrinking space raises the other two criteria more and
# more and loses this gain: measured in docs/recipe.md.
KEPT_SHARE = 0.5
# Loss in a criterion that a student may have. Where the base encoder's agreement of the two sides is near its ceiling
# of 1, as on sgd (0.979), students with better figures lose 0.004 to 0.007, and worse ones 0.009 and more
# (docs/student.md).
STUDENT_ALLOWANCE = 0.0075
SHARE_DRAWN = 0.8
# Figures that agree to this many decimals are equal; later decimals are rounding.
DECIMALS = 5
# Refused candidates named in a sentence; the others are counted.
NAMED = 3
MOSTLY_LOST = f"less than half of the best gain in {TITLES['cross_side']}"

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class EncodedCandidate:
    """A candidate of a training and its vectors of the dev dialogues.

    :param name: name that reads well after "the", such as "start", "head" or "checkpoint after 960 dialogues".
    :param step: optimiser steps so far; 0 for the base encoder.
    :param views: vectors of the dev dialogues, the same dialogues in the same order for all candidates.
    """

    name: str
    step: int
    views: Views


@dataclass(frozen=True, slots=True)
class CandidateResult:
    """Criteria and verdict of one candidate.

    :param criteria: each criterion on all dialogues, higher is better; empty if none was measured.
    :param ahead: share of resamplings in which the candidate is above the base encoder, per criterion, in [0, 1]; ties
        count half, so the base encoder has 0.5; empty if none was measured.
    :param score: mean rank among all candidates over resamplings and criteria, from 0 (worst) to 1 (best); None if no
        criterion was measured.
    :param verdict: reason for or against it, in a few words.
    """

    name: str
    step: int
    criteria: dict[str, float]
    ahead: dict[str, float]
    score: float | None
    verdict: str


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen candidate and the reason.

    :param chosen: place of the chosen candidate.
    :param sentence: reason, ready for a report.
    :param results: results of all candidates, in their order.
    """

    chosen: int
    sentence: str
    results: list[CandidateResult]


def choose_label_free(
    candidates: Sequence[EncodedCandidate],
    *,
    bootstraps: int,
    seed: int,
    allowance: float = 0.0,
    agreements: Sequence[float | None] | None = None,
) -> Choice:
    """Choose by the criteria in `CHOOSING`, over resampled dev dialogues; in doubt, the base encoder stays.

    A candidate is admissible if it is clearly ahead of the base encoder on two criteria or more, or on `cross_side` by
    3 % of what the base encoder lacks to 1, and below it on none. Of the admissible ones, only those stay whose gain in
    `cross_side`, on all dialogues, is at least half of the best gain and at least 0. The highest score wins, of
    students the highest agreement with the teacher; of equal ones the earlier. Each resampling draws 80 % of the
    dialogues without replacement, the same for all candidates: a dialogue drawn twice would be its own neighbour.

    :param candidates: one or more candidates, the base encoder first.
    :param bootstraps: number of resamplings, at least 1.
    :param seed: seed; resampling b is drawn by `default_rng([seed, b])` and its k-means seeded by `seed + b`.
    :param allowance: loss on all dialogues, per criterion, that does not count.
    :param agreements: mean cosine of each candidate with its teacher's vectors, None for one of another length. It
        tells the epochs of a student apart, and the score does not (docs/student.md). None where nothing taught.
    """
    n = len(candidates[0].views)
    names, steps = [candidate.name for candidate in candidates], [candidate.step for candidate in candidates]
    if n < MIN_DIALOGUES:
        needed = f"choosing without labels needs at least {MIN_DIALOGUES} dev dialogues with two speakers"
        sentence = f"The base encoder was kept: {needed}, and there are {n}. "
        sentence += "Bring more dialogues, or raise prepare.dev_share if the corpus has no splits of its own."
        return _unmeasured(names, steps, 0, sentence, "too few dialogues")
    figures = _resampled(candidates, bootstraps=bootstraps, seed=seed)
    ahead = ((figures > figures[:, :1]) + 0.5 * (figures == figures[:, :1])).mean(axis=0)
    scores = _scores(figures)
    criteria = [measure_criteria(candidate.views, seed=seed) for candidate in candidates]
    objections = _all_objections(ahead, criteria, allowance)
    admissible = [place for place, objection in enumerate(objections) if objection is None]
    worth = scores if agreements is None else [-1.0 if agreement is None else agreement for agreement in agreements]
    # `max` returns the first of equals.
    chosen = max(admissible, key=lambda place: worth[place], default=0)
    results = [
        CandidateResult(
            name=candidate.name,
            step=candidate.step,
            criteria=criteria[place],
            ahead=_by_criterion(ahead[place]),
            score=float(scores[place]),
            verdict=_verdict(place, chosen, objections[place]),
        )
        for place, candidate in enumerate(candidates)
    ]
    sentence = (
        _chosen_sentence(results[chosen], bootstraps, results, allowance, agreed=agreements is not None)
        if chosen
        else _kept_sentence(results[1:])
    )
    return Choice(chosen, sentence, results)


def choose_by_scores(
    names: Sequence[str], steps: Sequence[int], figures: Sequence[float | None], *, title: str
) -> Choice:
    """Choose the candidate with the highest figure, of equal ones the earlier; without figures, the base encoder stays.

    :param names: names of the candidates, the base encoder first.
    :param figures: figure of each candidate, higher is better; None or NaN if it could not be measured.
    :param title: title of the figures, such as "dev purity".
    """
    known = [-math.inf if figure is None or math.isnan(figure) else figure for figure in figures]
    best = max(known)
    if best == -math.inf:
        return _unmeasured(
            names, steps, 0, f"The base encoder was kept: without labels there is no {title}.", f"no {title}"
        )
    chosen = known.index(best)
    if chosen:
        start = "" if known[0] == -math.inf else f", and the base encoder {known[0]:.2f}"
        sentence = f"The {names[chosen]} was chosen: it has the highest {title}, {best:.2f}{start}."
    else:
        sentence = f"The base encoder was kept: no candidate has a higher {title} than its {best:.2f}."
    return _unmeasured(names, steps, chosen, sentence, f"not the highest {title}")


def choose_last(names: Sequence[str], steps: Sequence[int]) -> Choice:
    """Choose the last candidate without measuring any.

    :param names: names of the candidates, the base encoder first.
    """
    last = len(names) - 1
    sentence = f"The {names[last]} was chosen: it is the last candidate, and none was compared."
    return _unmeasured(names, steps, last, sentence, "not the last")


def _unmeasured(names: Sequence[str], steps: Sequence[int], chosen: int, sentence: str, refused: str) -> Choice:
    """Return a choice without criteria; `refused` is the verdict on all but the base encoder and the chosen one."""
    results = [
        CandidateResult(name, step, {}, {}, None, _verdict(place, chosen, refused))
        for place, (name, step) in enumerate(zip(names, steps, strict=True))
    ]
    return Choice(chosen, sentence, results)


def _resampled(candidates: Sequence[EncodedCandidate], *, bootstraps: int, seed: int) -> Matrix:
    """Return the criteria in resampled dialogues, [bootstraps, candidates, criteria] float64."""
    n = len(candidates[0].views)
    figures = np.empty((bootstraps, len(candidates), len(CHOOSING)))
    for b in range(bootstraps):
        rows = np.sort(np.random.default_rng([seed, b]).choice(n, size=round(SHARE_DRAWN * n), replace=False))
        for place, candidate in enumerate(candidates):
            criteria = measure_criteria(candidate.views.take(rows), seed=seed + b)
            figures[b, place] = [criteria[criterion] for criterion in CHOOSING]
    return np.round(figures, DECIMALS)


def _scores(figures: Matrix) -> Matrix:
    """Return the mean rank of each candidate, from 0 to 1; 1 for a single candidate."""
    others = figures.shape[1] - 1
    if not others:
        return np.ones(1)
    ranks: Matrix = (rankdata(figures, axis=1) - 1) / others
    return ranks.mean(axis=(0, 2))


def _all_objections(ahead: Matrix, criteria: Sequence[dict[str, float]], allowance: float) -> list[str | None]:
    """Return the objection to each candidate, or None."""
    # On all dialogues: among fewer, the same number of neighbours reaches further and a shrinking space loses less.
    gains = [
        {name: round(figures[name] - criteria[0][name] + allowance, DECIMALS) for name in CHOOSING}
        for figures in criteria
    ]
    harmless = [{name for name in CHOOSING if allowance and gained[name] >= 0} for gained in gains]
    agreement = [gained["cross_side"] for gained in gains]
    enough = allowance + ENOUGH * (1 - criteria[0]["cross_side"])
    objections = [
        _objection(shares, names, agrees=gain >= enough)
        for shares, names, gain in zip(ahead, harmless, agreement, strict=True)
    ]
    best = max((gain for gain, objection in zip(agreement, objections, strict=True) if objection is None), default=0.0)
    refused = MOSTLY_LOST if best > 0 else f"no gain in {TITLES['cross_side']}"
    # If the best gain is below 0, half of it is higher than the best itself, so all are refused.
    return [
        refused if objection is None and gain < KEPT_SHARE * best else objection
        for gain, objection in zip(agreement, objections, strict=True)
    ]


def _objection(ahead: Matrix, harmless: Collection[str], *, agrees: bool) -> str | None:
    """Return why a candidate is not admissible, or None.

    :param harmless: criteria whose loss does not count.
    :param agrees: True if its gain in agreement of the two sides is enough where it is clear.
    """
    shares = _by_criterion(ahead)
    below = [TITLES[name] for name, share in shares.items() if share <= CLEARLY_BELOW and name not in harmless]
    if below:
        return f"clearly below the base encoder on {listed(below)}"
    enough = agrees and shares["cross_side"] >= CLEARLY_AHEAD
    if not enough and (ahead >= CLEARLY_AHEAD).sum() < AHEAD_ON:
        return "not clearly ahead of the base encoder on two criteria"
    return None


def _verdict(place: int, chosen: int, objection: str | None) -> str:
    if place == chosen:
        return "chosen"
    return "the base encoder" if place == 0 else objection or "admissible"


def _chosen_sentence(
    result: CandidateResult, bootstraps: int, everyone: Sequence[CandidateResult], allowance: float, *, agreed: bool
) -> str:
    clear = [criterion for criterion in CHOOSING if result.ahead[criterion] >= CLEARLY_AHEAD]
    below = [TITLES[criterion] for criterion in CHOOSING if result.ahead[criterion] <= CLEARLY_BELOW]
    unclear = [TITLES[name] for name in CHOOSING if name not in clear and TITLES[name] not in below]
    shares = [f"{result.ahead[criterion] * 100:.0f} %" for criterion in clear]
    # Only the first share names the resamplings.
    shares[0] = f"in {shares[0]} of {bootstraps} resamplings"
    ahead = [f"{TITLES[criterion]} ({share})" for criterion, share in zip(clear, shares, strict=True)]
    sentence = f"The {result.name} was chosen: it is clearly ahead of the base encoder on {listed(ahead)}"
    if unclear:
        sentence += f", and not clearly below it on {listed(unclear)}"
    if below:
        sentence += f", and at most {allowance:g} below it on {listed(below)}"
    admissible = sum(other.verdict in ("chosen", "admissible") for other in everyone)
    shrunk = any(other.verdict == MOSTLY_LOST for other in everyone)
    if admissible > 1 or shrunk:
        half = f" and that have half of the best gain in {TITLES['cross_side']}" if shrunk else ""
        best = "agrees most with the teacher" if agreed else "ranks highest"
        sentence += f"; of the {admissible} candidates for which this holds{half} it {best}"
    return sentence + "."


def _kept_sentence(others: Sequence[CandidateResult]) -> str:
    if not others:
        return "The base encoder was kept: there is no other candidate."
    ranked = sorted(others, key=lambda result: -(result.score or 0))
    reasons = [f"{result.name}: {result.verdict}" for result in ranked[:NAMED]]
    if len(ranked) > NAMED:
        reasons.append(f"and {len(ranked) - NAMED} more")
    condition = "is clearly ahead of it on two of three criteria, or enough on one, and clearly below it on none"
    if any(result.verdict.startswith("no gain") for result in others):
        condition = f"that is clearly ahead of it gains in {TITLES['cross_side']}"
    return f"The base encoder was kept: no candidate {condition} ({'; '.join(reasons)})."


def _by_criterion(figures: Matrix) -> dict[str, float]:
    return {criterion: float(figure) for criterion, figure in zip(CHOOSING, figures, strict=True)}
