"""Learn labels from examples and descriptions, and say how good they are by examples that were left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from dial2vec.collection.collection_folder import readable, whole_file
from dial2vec.collection.lenses.encoder import LensModel
from dial2vec.collection.lenses.model import (
    COLUMNS,
    Design,
    Floats,
    Turns,
    dialogue_scores,
    fit_weights,
    rarity,
    stacked,
)

# Examples from which labels are learnt, and those on each side of a label that are needed at least.
LEAST, LEAST_EACH = 20, 2
# Examples, and those with the label, from which a number is a probability; below it only orders.
CALIBRATED, CALIBRATED_EACH = 50, 10
FOLDS = 5
# Examples from which those that look wrongly labelled are left out; among fewer, many that look so are only rare.
DOUBTED = 500
# Examples on each side of a label from which a group, such as a topic, has a figure of its own.
GROUP_EACH = 5
# A word piece that alone tells the label of so many examples is likely a template's.
GIVEN_AWAY = 0.97


@dataclass(frozen=True, slots=True)
class Quality:
    """How well a label was told for examples that were left out of fitting, in [0, 1].

    :param auroc: area under the ROC curve, and its 95 % interval.
    :param precision: average precision.
    :param error: expected calibration error over ten bins.
    :param examples: number of examples with the label.
    :param left_out: number of examples that were not learnt from, because they look as if their label were wrong.
    :param by_descriptions: whether descriptions were learnt from; left out where they make log loss higher.
    :param giveaway: a word piece that alone tells nearly all examples apart, or "".
    :param groups: area under the ROC curve, and number of examples, by group with 5 examples on each side.
    """

    auroc: float
    interval: tuple[float, float]
    precision: float
    error: float
    examples: int
    left_out: int
    by_descriptions: bool
    giveaway: str = ""
    groups: dict[str, tuple[float, int]] = field(default_factory=dict)


class LensData(NamedTuple):
    """What labels are learnt from.

    :param examples: counts of the examples' turns.
    :param labels: label of each example, or the number of labels for none of them, int64 [n].
    :param spare: counts of other dialogues of the collection, for a round of self-training.
    :param sentences: counts of the descriptions of each label, and of none, as dialogues of one turn.
    :param words: returns a token by its number.
    :param groups: whether each example is in a group, by name of the group, such as a topic; bool [n].
    """

    examples: Turns
    labels: NDArray[np.int64]
    spare: Turns
    sentences: Sequence[Turns]
    words: Callable[[int], str]
    groups: Mapping[str, NDArray[np.bool_]] = MappingProxyType({})


def load_lens(path: Path) -> LensModel:
    """Read what a lens of a collection has learnt, `lenses/<name>.safetensors`.

    :raises ArtifactError: if the file is damaged.
    """
    again = f"Make the lens again with `dial2vec lens {path.parents[1]} --name {path.stem}`."
    with readable(whole_file(path, 1, again), f"; expected what a lens has learnt. {again}"):
        return LensModel.load(path)


def can_learn(labels: NDArray[np.int64], n_labels: int) -> bool:
    """Return whether examples are enough to learn from: `LEAST` in all, and `LEAST_EACH` on each side of a label."""
    counts = np.bincount(labels, minlength=n_labels + 1)[:n_labels]
    return len(labels) >= LEAST and bool(((counts >= LEAST_EACH) & (len(labels) - counts >= LEAST_EACH)).all())


def learn(data: LensData, seed: int) -> tuple[LensModel, list[Quality]]:
    """Learn each label against all else.

    :param seed: seed of the folds.
    """
    # The steps of L-BFGS are too short for several threads, which would wait for each other.
    with threadpool_limits(1):
        return _learnt(data, seed)


def _learnt(data: LensData, seed: int) -> tuple[LensModel, list[Quality]]:
    idf = rarity(stacked([data.examples, data.spare]))
    parts = [part.weighted(idf) for part in (data.examples, *data.sentences, data.spare)]
    design = Design.of(stacked(parts))
    ends = np.cumsum([0, *(len(part.starts) - 1 for part in parts)])
    tables, lines, qualities = [], [], []
    for label in range(len(data.sentences) - 1):
        known = np.concatenate(
            [data.labels == label, *(np.full(n, place == label) for place, n in enumerate(np.diff(ends)[1:-1]))]
        ).astype(float)
        parameters, line, quality = _learn_label(data, design, known, seed)
        table = np.zeros(len(idf) * COLUMNS, dtype=np.float32)
        table[design.columns] = parameters[:-1]
        tables.append(table.reshape(len(idf), COLUMNS))
        lines.append((line[0], line[0] * parameters[-1] + line[1]))
        qualities.append(quality)
    return LensModel(idf, np.stack(tables, axis=1), np.array(lines)), qualities


def _learn_label(data: LensData, design: Design, known: Floats, seed: int) -> tuple[Floats, Floats, Quality]:
    """Return the weights of a label, the line to the logarithm of its odds, and its quality.

    :param known: whether each example, and after these each sentence, has the label.
    """
    n = len(data.labels)
    is_so, sentences = known[:n], np.arange(n, len(known))
    also = sentences
    if len(sentences) and n >= CALIBRATED:
        ways = [sentences, sentences[:0]]
        tried = [_odds(_cross_fitted(_fitted, design, known, n, way, seed), is_so)[0] for way in ways]
        also = ways[int(np.argmin([log_loss(is_so, chances, labels=[0, 1]) for chances in tried]))]
    # As the labels themselves are learnt, so that the line to the odds is that of such scores.
    scores = _cross_fitted(_self_trained, design, known, n, also, seed)
    chances, line = _odds(scores, is_so)
    kept = ~_doubtful(chances, is_so == 1) if n >= DOUBTED else np.ones(n, dtype=bool)
    parameters = _self_trained(design, known, np.concatenate([np.flatnonzero(kept), also]), n)
    quality = Quality(
        auroc=(area := float(roc_auc_score(is_so, scores))),
        interval=_interval(is_so, scores, area),
        precision=float(average_precision_score(is_so, scores)),
        error=calibration_error(is_so, chances),
        examples=int(is_so.sum()),
        left_out=int((~kept).sum()),
        by_descriptions=len(also) > 0,
        giveaway=_giveaway(data, is_so),
        groups={
            name: (round(float(roc_auc_score(is_so[own], scores[own])), 4), int(own.sum()))
            for name, own in data.groups.items()
            if min(is_so[own].sum(), own.sum() - is_so[own].sum()) >= GROUP_EACH
        },
    )
    return parameters, line, quality


def _fitted(design: Design, known: Floats, used: NDArray[np.int64], _: int) -> Floats:
    return fit_weights(design.some(used), known[used])


def _self_trained(design: Design, known: Floats, used: NDArray[np.int64], n: int) -> Floats:
    """Fit, label the spare dialogues so that as large a share has the label as of the examples, and fit with them."""
    parameters = _fitted(design, known, used, n)
    spare = np.arange(len(known), len(design.starts) - 1)
    if not len(spare):
        return parameters
    scores = dialogue_scores(design.some(spare), parameters)
    guessed = scores >= np.quantile(scores, 1 - known[:n].mean())
    every = np.concatenate([used, spare])
    return fit_weights(design.some(every), np.concatenate([known[used], guessed]), parameters)


def _cross_fitted(
    fit: Callable[[Design, Floats, NDArray[np.int64], int], Floats],
    design: Design,
    known: Floats,
    n: int,
    also: NDArray[np.int64],
    seed: int,
) -> Floats:
    """Return the score of each example by a fit without it, float64 [n].

    :param fit: `_fitted` or `_self_trained`.
    :param also: sentences that each fit has, too.
    """
    is_so, scores = known[:n], np.empty(n)
    fewest = int(min(is_so.sum(), n - is_so.sum()))
    for rest, out in StratifiedKFold(min(FOLDS, fewest), shuffle=True, random_state=seed).split(scores, is_so):
        scores[out] = dialogue_scores(design.some(out), fit(design, known, np.concatenate([rest, also]), n))
    return scores


def _odds(scores: Floats, is_so: Floats) -> tuple[Floats, Floats]:
    """Return chances, and the line from scores to the logarithm of the odds."""
    line = _line(scores, is_so)
    return np.asarray(expit(scores * line[0] + line[1])), line


def _doubtful(chances: Floats, is_so: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the examples that look more like the other side than its own do on average (Northcutt et al. 2021)."""
    yes, no = chances[is_so].mean(), chances[~is_so].mean()
    return np.where(is_so, chances <= no, chances >= yes)


def _line(scores: Floats, is_so: Floats) -> Floats:
    """Return slope and offset from scores to the logarithm of the odds (Platt 1999); the slope is never below 0."""
    fitted = LogisticRegression().fit(scores[:, None], is_so)
    return np.array([max(fitted.coef_[0, 0], 1e-3), fitted.intercept_[0]])


def _interval(is_so: Floats, scores: Floats, area: float) -> tuple[float, float]:
    """Return the 95 % interval of an area under the ROC curve (DeLong et al. 1988), in [0, 1]."""
    sides = scores[is_so == 1], scores[is_so == 0]
    variance = 0.0
    for own, other in (sides, sides[::-1]):
        ordered = np.sort(other)
        # Share of the other side below each score, ties by half.
        below = (np.searchsorted(ordered, own) + np.searchsorted(ordered, own, side="right")) / 2 / len(other)
        variance += float(below.var(ddof=1)) / len(own)
    reach = 1.96 * variance**0.5
    return max(0.0, area - reach), min(1.0, area + reach)


def _giveaway(data: LensData, is_so: Floats) -> str:
    """Return the token that is in nearly all examples with the label, and in nearly none without; "" without any."""
    examples = data.examples
    of_turns = csr_array(examples.tokens > 0, dtype=np.float32)
    dialogues = np.repeat(np.arange(len(is_so)), np.diff(examples.starts))
    sums = csr_array((np.ones(len(dialogues), dtype=np.float32), (dialogues, np.arange(len(dialogues)))))
    spoken = csr_array(sums @ of_turns > 0, dtype=np.float32)
    yes, no = (spoken[is_so == side].mean(0) for side in (1, 0))
    shares = (yes + 1 - no) / 2
    best = int(shares.argmax())
    return data.words(best) if shares[best] >= GIVEN_AWAY else ""


def calibration_error(is_so: Floats, chances: Floats, bins: int = 10) -> float:
    """Return the expected calibration error over bins of equal width (Naeini et al. 2015), in [0, 1]."""
    places = np.minimum((chances * bins).astype(int), bins - 1)
    gaps = np.bincount(places, is_so - chances, minlength=bins)
    return float(np.abs(gaps).sum() / len(chances))
