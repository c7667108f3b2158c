"""New dialogues held against the training data: figures, and a verdict in words."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from typing import Any

import numpy as np

from dial2vec.config import Drift
from dial2vec.dialogue import Dialogue
from dial2vec.draws import lot
from dial2vec.encoder import DialogueEncoder
from dial2vec.evaluation.report.excerpts import excerpt
from dial2vec.operation.drift.shape import Shape, shape_of
from dial2vec.operation.drift.two_samples import Difference, FarAway, Floats, distances, energy_test, far_away

# Dialogues that are named for a person to look at, and characters of what each begins with.
SHOWN, CHARACTERS = 5, 60


@dataclass(frozen=True, slots=True)
class Far:
    """A new dialogue that is far away from all of the training data that it was compared with.

    :param dialogue_id: its id.
    :param origin: file and line; empty where it was not read from a file.
    :param distance: to the nearest one, as a multiple of the distance from which on one is far away; above 1.
    :param begins: the beginning of its first turn.
    """

    dialogue_id: str
    origin: str
    distance: float
    begins: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """What `compare` found.

    :param alarm: True when the new dialogues differ by more than the limits of block `drift` let pass.
    :param verdict: one sentence for a person.
    :param difference: of the two sides as a whole; None where there were too few dialogues to judge.
    :param far_share: share of the new dialogues that are far away from the training data, in [0, 1]; None likewise.
    :param far_expected: that share where nothing has changed.
    :param far_p_value: how often chance alone makes so many far away, in (0, 1].
    :param farthest: up to 5 of them, the farthest first.
    :param reference: shape of the training data.
    :param new: shape of the new dialogues.
    """

    alarm: bool
    verdict: str
    reference: Shape
    new: Shape
    difference: Difference | None = None
    far_share: float | None = None
    far_expected: float | None = None
    far_p_value: float | None = None
    farthest: tuple[Far, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return a plain record for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class DriftFindings:
    """Differences between two sets of vectors, and the reasons for an alarm.

    :param reasons: for an alarm, as clauses; empty where there is none.
    """

    difference: Difference
    far: FarAway
    reasons: tuple[str, ...]


def compare(
    reference: Iterable[Dialogue], new: Iterable[Dialogue], *, encoder: DialogueEncoder, options: Drift, seed: int
) -> Comparison:
    """Compare new dialogues with those that a model was trained on; nothing is written, and no registry is asked.

    Of each side `options.max_dialogues` are drawn by their ids, so their order makes no difference, and encoded. There
    is an alarm when the two-sample test has a p-value below `options.p_value` and an effect of at least
    `options.min_effect`, or when the share of far-away dialogues is above `options.max_far_share` and chance makes so
    many with a probability below `options.p_value`.

    :param reference: dialogues of the training data, streamed once.
    :param new: likewise; fewer than `options.min_dialogues` on either side are not judged, and no alarm.
    :param encoder: the same for both; one that was not trained on the reference (docs/drift.md).
    :param options: block `drift` of the settings.
    :param seed: of the draw, and of the permutations.
    """
    (old, n_old), (fresh, n_new) = (_drawn(side, options.max_dialogues, seed) for side in (reference, new))
    was, now = shape_of(old, of=n_old), shape_of(fresh, of=n_new)
    for what, found in (("dialogues of training data", n_old), ("new dialogues", n_new)):
        if found < options.min_dialogues:
            verdict = (
                f"Too few to judge: found {found} {what}, expected at least {options.min_dialogues} "
                "(drift.min_dialogues). Collect more."
            )
            return Comparison(alarm=False, verdict=verdict, reference=was, new=now)
    findings = find_drift(distances(encoder.encode(old), encoder.encode(fresh)), len(old), options=options, seed=seed)
    far = findings.far
    return Comparison(
        alarm=bool(findings.reasons),
        verdict=_verdict(findings),
        reference=was,
        new=now,
        difference=findings.difference,
        far_share=far.share,
        far_expected=far.expected,
        far_p_value=far.p_value,
        farthest=_farthest(fresh, far),
    )


def find_drift(between: Floats, n: int, *, options: Drift, seed: int) -> DriftFindings:
    """Judge distances by the rule of `compare`.

    :param between: of `two_samples.distances`, [n + m, n + m].
    :param n: how many of them are old.
    """
    difference, far = energy_test(between, n, seed=seed), far_away(between, n)
    return DriftFindings(difference, far, (*_as_a_whole(difference, options), *_by_far_ones(far, options)))


def _drawn(dialogues: Iterable[Dialogue], most: int, seed: int) -> tuple[list[Dialogue], int]:
    """Return at most so many dialogues, and how many there were; in memory are those that are kept."""
    counted = count()
    # The dialogue comes first: after the last one nothing is counted any more.
    stream = (dialogue for dialogue, _ in zip(dialogues, counted, strict=False))
    kept = heapq.nsmallest(most, stream, key=lambda dialogue: lot(seed, "drift", dialogue.dialogue_id))
    return kept, next(counted)


def _as_a_whole(found: Difference, options: Drift) -> list[str]:
    if found.p_value >= options.p_value or found.effect < options.min_effect:
        return []
    return [
        f"as a whole they differ by {found.effect:.3f} (0 is not at all, {options.min_effect:g} is the limit), which "
        f"chance does in {_percent(found.p_value)} of all cases"
    ]


def _by_far_ones(found: FarAway, options: Drift) -> list[str]:
    if found.p_value >= options.p_value or found.share <= options.max_far_share:
        return []
    return [
        f"{_percent(found.share)} of them are far away from all training data ({_percent(found.expected)} is usual, "
        f"{_percent(options.max_far_share)} the limit)"
    ]


def _verdict(findings: DriftFindings) -> str:
    if findings.reasons:
        return f"Drift: the new dialogues are not like the training data: {', and '.join(findings.reasons)}."
    difference, far = findings.difference, findings.far
    return (
        f"No drift: the new dialogues are like the training data. As a whole they differ by {difference.effect:.3f}, "
        f"which chance does in {_percent(difference.p_value)} of all cases, and {_percent(far.share)} of them are far "
        f"away ({_percent(far.expected)} is usual)."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _farthest(dialogues: Sequence[Dialogue], far: FarAway) -> tuple[Far, ...]:
    order = np.argsort(-far.distances, kind="stable")[:SHOWN]
    # Where equal dialogues are the rule, the limit is 0, and there is nothing to be a multiple of.
    unit = far.limit or 1.0
    return tuple(
        Far(
            dialogue_id=dialogues[place].dialogue_id,
            origin=str(dialogues[place].origin or ""),
            distance=float(far.distances[place] / unit),
            begins=excerpt(dialogues[place], turns=1, characters=CHARACTERS).turns[0].text,
        )
        for place in order
        if far.distances[place] > far.limit
    )
