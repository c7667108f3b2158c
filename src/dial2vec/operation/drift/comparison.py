"""Comparison of new dialogues with the training data: figures, and a verdict in words."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from typing import Any

import numpy as np
import pandas as pd

from conversations.dialogue import Dialogue
from dial2vec.config import Drift
from dial2vec.data.validation.frames import dialogue_frame
from dial2vec.data.validation.profile import LanguageSample
from dial2vec.draws import stable_hash
from dial2vec.encoder.protocol import Encoder
from dial2vec.evaluation.excerpts import excerpt
from dial2vec.operation.drift.two_samples import Difference, FarAway, distances, energy_test, far_away

# Number of far dialogues to show, and characters of each first turn.
SHOWN, CHARACTERS = 5, 60
Quartiles = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Shape:
    """Lengths, speakers and languages of a set of dialogues.

    :param dialogues: Number of all dialogues.
    :param compared: Number of drawn dialogues, which the other figures describe.
    :param turns: Quartiles of the turns per dialogue.
    :param words: Quartiles of the words per dialogue.
    :param speakers: Mean number of speakers.
    :param one_speaker: Share of the dialogues with only one speaker.
    :param languages: Share of each language (ISO 639-1), most frequent first.
    """

    dialogues: int
    compared: int
    turns: Quartiles
    words: Quartiles
    speakers: float
    one_speaker: float
    languages: dict[str, float]


def shape_of(dialogues: Sequence[Dialogue], *, total: int) -> Shape:
    """Return the shape of dialogues.

    :param dialogues: Drawn dialogues; without any, all figures are 0.
    :param total: Number of dialogues from which they were drawn.
    """
    frame, languages = dialogue_frame(dialogues), LanguageSample()
    languages.add(list(dialogues), frame)
    speakers = frame["n_speakers"].to_numpy()
    return Shape(
        dialogues=total,
        compared=len(frame),
        turns=_quartiles(frame["n_turns"]),
        words=_quartiles(frame["words"]),
        speakers=float(speakers.mean()) if len(speakers) else 0.0,
        one_speaker=float((speakers < 2).mean()) if len(speakers) else 0.0,
        languages=languages.shares(),
    )


def _quartiles(column: pd.Series) -> Quartiles:
    low, middle, high = np.quantile(column.to_numpy(), (0.25, 0.5, 0.75)) if len(column) else (0.0, 0.0, 0.0)
    return float(low), float(middle), float(high)


@dataclass(frozen=True, slots=True)
class Far:
    """A new dialogue that is far away from all compared training data.

    :param dialogue_id: Id of the dialogue.
    :param origin: File and line; "" if it was not read from a file.
    :param distance: Distance to the nearest training dialogue, as a multiple of the limit for far away; above 1.
    :param begins: Beginning of the first turn.
    """

    dialogue_id: str
    origin: str
    distance: float
    begins: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Result of `compare`; figures are None if either side has too few dialogues.

    :param alarm: True if the new dialogues differ by more than the limits of block `drift`.
    :param verdict: Verdict as one sentence.
    :param difference: Difference between the two sides as a whole.
    :param far_share: Share of the new dialogues that are far away from the training data, in [0, 1].
    :param far_expected: Expected share if nothing has changed.
    :param far_p_value: Probability of so many far dialogues by chance alone, in (0, 1].
    :param farthest: Up to 5 far dialogues, the farthest first.
    :param reference: Shape of the training data.
    :param new: Shape of the new dialogues.
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
        """Return a record for JSON."""
        return asdict(self)


def compare(
    reference: Iterable[Dialogue], new: Iterable[Dialogue], *, encoder: Encoder, options: Drift, seed: int
) -> Comparison:
    """Compare new dialogues with those that a model was trained on; write nothing, and use no registry.

    From each side `options.max_dialogues` are drawn by their ids, so that their order has no effect, and encoded. An
    alarm needs one of two things: the two-sample test has a p-value below `options.p_value` and an effect of at least
    `options.min_effect`; or the share of far dialogues is above `options.max_far_share` with a p-value below
    `options.p_value`.

    :param reference: Dialogues of the training data, streamed once.
    :param new: New dialogues, streamed once; fewer than `options.min_dialogues` on either side give no alarm.
    :param encoder: Encoder for both sides; it should not be trained on the reference (docs/drift.md).
    :param options: Block `drift` of the settings.
    :param seed: Random seed of the draws and permutations.
    """
    (old, n_old), (fresh, n_new) = (_drawn(side, options.max_dialogues, seed) for side in (reference, new))
    old_shape, new_shape = shape_of(old, total=n_old), shape_of(fresh, total=n_new)
    for noun, number in (("dialogues of training data", n_old), ("new dialogues", n_new)):
        if number < options.min_dialogues:
            verdict = (
                f"Too few to judge: found {number} {noun}, expected at least {options.min_dialogues} "
                "(drift.min_dialogues). Collect more."
            )
            return Comparison(alarm=False, verdict=verdict, reference=old_shape, new=new_shape)
    between = distances(encoder.encode(old), encoder.encode(fresh))
    difference, far = energy_test(between, len(old), seed=seed), far_away(between, len(old))
    reasons = [*_as_a_whole(difference, options), *_by_far_ones(far, options)]
    return Comparison(
        alarm=bool(reasons),
        verdict=_verdict(difference, far, reasons),
        reference=old_shape,
        new=new_shape,
        difference=difference,
        far_share=far.share,
        far_expected=far.expected,
        far_p_value=far.p_value,
        farthest=_farthest(fresh, far),
    )


def _drawn(dialogues: Iterable[Dialogue], most: int, seed: int) -> tuple[list[Dialogue], int]:
    """Return at most `most` dialogues, and the number of all; only the drawn ones are kept in memory."""
    counted = count()
    # `zip` asks for the dialogue first, so that the end is not counted.
    stream = (dialogue for dialogue, _ in zip(dialogues, counted, strict=False))
    kept = heapq.nsmallest(most, stream, key=lambda dialogue: stable_hash(seed, "drift", dialogue.dialogue_id))
    return kept, next(counted)


def _as_a_whole(difference: Difference, options: Drift) -> list[str]:
    if difference.p_value >= options.p_value or difference.effect < options.min_effect:
        return []
    return [
        f"as a whole they differ by {difference.effect:.3f} (0 is not at all, {options.min_effect:g} is the limit), "
        f"which chance does in {_percent(difference.p_value)} of all cases"
    ]


def _by_far_ones(far: FarAway, options: Drift) -> list[str]:
    if far.p_value >= options.p_value or far.share <= options.max_far_share:
        return []
    return [
        f"{_percent(far.share)} of them are far away from all training data ({_percent(far.expected)} is usual, "
        f"{_percent(options.max_far_share)} the limit)"
    ]


def _verdict(difference: Difference, far: FarAway, reasons: Sequence[str]) -> str:
    if reasons:
        return f"Drift: the new dialogues are not like the training data: {', and '.join(reasons)}."
    return (
        f"No drift: the new dialogues are like the training data. As a whole they differ by {difference.effect:.3f}, "
        f"which chance does in {_percent(difference.p_value)} of all cases, and {_percent(far.share)} of them are far "
        f"away ({_percent(far.expected)} is usual)."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _farthest(dialogues: Sequence[Dialogue], far: FarAway) -> tuple[Far, ...]:
    order = np.argsort(-far.distances, kind="stable")[:SHOWN]
    # If most dialogues are equal, the limit is 0 and cannot be the unit.
    unit = far.limit or 1.0
    return tuple(
        Far(
            dialogue_id=dialogues[index].dialogue_id,
            origin=str(dialogues[index].origin or ""),
            distance=float(far.distances[index] / unit),
            begins=excerpt(dialogues[index], turns=1, characters=CHARACTERS).turns[0].text,
        )
        for index in order
        if far.distances[index] > far.limit
    )
