"""Out-of-scope detection: a sentence that is far from the prototype of every intent belongs to none of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dial2vec.errors import Dial2vecError, did_you_mean
from dial2vec.evaluation.distribution import normalised
from dial2vec.research.tasks.encoding import Encoded, Reader, encode_distinct, stepped
from dial2vec.research.tasks.intents import OUT_OF_SCOPE, IntentSet, Sentences
from dial2vec.research.tasks.prototypes import DRAWS, SHOTS, draw_shots, intent_codes, nearest_shares, require_sentences
from dial2vec.research.tasks.records import TaskResult, points, versions_of

Rule = Literal["in_scope", "release"]


def detect_out_of_scope(
    reader: Reader,
    data: IntentSet,
    *,
    shots: Sequence[int] = SHOTS,
    draws: int = DRAWS,
    seed: int,
    rule: Rule = "in_scope",
) -> TaskResult:
    """Call a test sentence out of scope when its nearest prototype is less similar than a threshold.

    Prototypes and their draws are those of `classify_intents`. Two thresholds: the mean, and the mean minus one
    standard deviation, of the nearest prototype's similarity. For each, and each k, four figures in points, in
    [0, 100], higher is better, mean and standard deviation over the draws:

    - "accuracy": test sentences of both kinds that are classified rightly, out of scope being one more class.
    - "in_accuracy": in-scope test sentences that are not rejected and have the prototype of their intent nearest.
    - "oos_accuracy": test sentences of both kinds rightly told to be in or out of scope, whatever the intent.
    - "oos_recall": out-of-scope test sentences that are rejected.

    A name is "oos_recall_5_shot_mean" or "oos_recall_5_shot_mean_minus_sd". Vectors that collapsed to one point have
    every sentence at the threshold, where none is rejected: recall 0.

    Rule "in_scope" (default): cosines; the thresholds come from in-scope validation sentences, or where upstream has
    none from the training sentences that the draw left, so nothing of the test split and nothing out of scope is seen.
    Rule "release" is what DSE's published code does, and the one to compare with its table: the thresholds come from
    *the test sentences themselves*, both kinds; out-of-scope training sentences make one more prototype, and what is
    nearest to it is rejected too; similarities are dot products with the mean, divided by their length over all
    prototypes. Source: Zhou et al. 2022 (DSE).

    :param data: with out-of-scope test sentences; Clinc150 alone has them.
    :param shots: each k.
    :raises Dial2vecError: when `shots` or `draws` are not positive, or the rule is unknown.
    :raises CorpusError: when the data has no out-of-scope sentences, or too few sentences of an intent.
    """
    if rule not in get_args(Rule):
        raise Dial2vecError(
            f"found the rule {rule!r}; expected one of {', '.join(get_args(Rule))}.{did_you_mean(rule, get_args(Rule))}"
        )
    require_sentences(data.out_of_scope, f"{data.name} has no out-of-scope test sentences")
    require_sentences(data.test.texts, f"{data.name} has no in-scope test sentences")
    start = time.perf_counter()
    train = _training(data, rule)
    intents = sorted(set(train.labels))
    drawn = draw_shots(train, intents, most=max(shots, default=0), draws=draws, seed=seed, name=data.name)
    references = [_reference(data, drawn=set(draw.ravel().tolist()), rule=rule) for draw in drawn]
    everything = {text for reference in references for text in reference}
    texts = [*everything, *drawn.ravel().tolist(), *data.test.texts, *data.out_of_scope]
    encoded = encode_distinct(reader.utterances, texts)
    test = _Test.of(encoded, data, intents, rule)
    found: dict[str, list[float]] = {}
    for draw, reference in zip(drawn, references, strict=True):
        rows = encoded.rows(reference)
        for k in shots:
            prototypes = test.units[encoded.rows(draw[:, :k].ravel().tolist()).reshape(-1, k)].mean(axis=1)
            for (kind, threshold), figure in _figures(test, prototypes, rows, rule).items():
                found.setdefault(f"{kind}_{k}_shot_{threshold}", []).append(figure)
    return TaskResult(
        task="out_of_scope_detection",
        data=data.name,
        n=len(data.test.texts) + len(data.out_of_scope),
        figures={name: points(float(np.mean(figures))) for name, figures in found.items()},
        spread={name: points(float(np.std(figures))) for name, figures in found.items()},
        seconds=time.perf_counter() - start,
        versions=versions_of("numpy"),
        settings={"draws": draws, "seed": seed, "rule": rule},
    )


def _training(data: IntentSet, rule: Rule) -> Sentences:
    if rule == "in_scope":
        return data.train
    extra = data.out_of_scope_train
    require_sentences(extra, f"{data.name} has no out-of-scope training sentences, as the rule 'release' needs")
    return Sentences(data.train.texts + extra, data.train.labels + (OUT_OF_SCOPE,) * len(extra))


def _reference(data: IntentSet, *, drawn: set[str], rule: Rule) -> list[str]:
    """Return the sentences whose similarities give the thresholds of a draw."""
    if rule == "release":
        return [*data.test.texts, *data.out_of_scope]
    if data.validation.texts:
        return list(data.validation.texts)
    left = [text for text in data.train.texts if text not in drawn]
    require_sentences(left, f"{data.name} has no validation sentences, and the draw left no training sentences")
    return left


@dataclass(frozen=True, slots=True)
class _Test:
    """What is classified.

    :param units: normalised vectors of everything encoded, [u, d].
    :param rows: the row of each test sentence, in scope first.
    :param truth: the intent of each in-scope one.
    :param out_code: the place of the out-of-scope prototype; None where there is none.
    """

    units: NDArray[np.float64]
    rows: NDArray[np.int64]
    truth: NDArray[np.int64]
    out_code: int | None

    @classmethod
    def of(cls, encoded: Encoded[str], data: IntentSet, intents: list[str], rule: Rule) -> _Test:
        rows = encoded.rows([*data.test.texts, *data.out_of_scope])
        out_code = intents.index(OUT_OF_SCOPE) if rule == "release" else None
        return cls(normalised(encoded.vectors), rows, intent_codes(data.test.labels, intents), out_code)


def _figures(
    test: _Test, prototypes: NDArray[np.float64], reference: NDArray[np.int64], rule: Rule
) -> dict[tuple[str, str], float]:
    """Return the four figures for both thresholds, in [0, 1]."""
    targets = normalised(prototypes).T if rule == "in_scope" else prototypes.T
    similarities, compared = test.units[test.rows] @ targets, test.units[reference] @ targets
    if rule == "release":
        similarities, compared = normalised(similarities), normalised(compared)
    shares, nearest = nearest_shares(stepped(similarities))
    expected = stepped(compared).max(axis=1)
    n_in = len(test.truth)
    right = shares[np.arange(n_in), test.truth]
    # What is nearest to the prototype of everything out of scope is rejected, however near.
    in_scope = 1.0 if test.out_code is None else 1 - shares[:, test.out_code]
    figures = {}
    for name, threshold in (("mean", expected.mean()), ("mean_minus_sd", expected.mean() - expected.std())):
        # In steps as the similarities: the mean of equal numbers need not equal them to the last bit.
        near = nearest >= stepped(threshold)
        rejected = 1 - near * in_scope
        classified = np.concatenate([near[:n_in] * right, rejected[n_in:]])
        told = np.concatenate([1 - rejected[:n_in], rejected[n_in:]])
        figures["accuracy", name] = float(classified.mean())
        figures["in_accuracy", name] = float(classified[:n_in].mean())
        figures["oos_accuracy", name] = float(told.mean())
        figures["oos_recall", name] = float(rejected[n_in:].mean())
    return figures
