"""Out-of-scope detection: a sentence that is far from the prototypes of all intents has no intent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dial2vec.evaluation.distribution import normalised
from dial2vec.evaluation.ranking import stepped
from dial2vec_papers.tasks.encoding import Reader, encode_distinct
from dial2vec_papers.tasks.intents import OUT_OF_SCOPE, IntentSet, Sentences
from dial2vec_papers.tasks.prototypes import DRAWS, SHOTS, draw_shots, intent_codes, nearest_shares, require_sentences
from dial2vec_papers.tasks.records import Figures, TaskResult, summary, timed

Rule = Literal["in_scope", "paper", "release"]


@timed("numpy")
def detect_out_of_scope(
    reader: Reader,
    data: IntentSet,
    *,
    shots: Sequence[int] = SHOTS,
    draws: int = DRAWS,
    seed: int,
    rule: Rule = "in_scope",
) -> TaskResult:
    """Call a test sentence out of scope if its nearest prototype is less similar than a threshold.

    Prototypes and their draws are those of `classify_intents`. Two thresholds: the mean, and the mean minus one
    standard deviation, of the nearest prototype's similarity. For each, and each k, four figures in points, in
    [0, 100], higher is better, mean and standard deviation over the draws:

    - "accuracy": share of all test sentences that are classified correctly; out of scope is one more class.
    - "in_accuracy": share of in-scope test sentences not rejected and nearest to the prototype of their intent.
    - "oos_accuracy": share of all test sentences correctly recognised as in or out of scope, whatever the intent.
    - "oos_recall": share of out-of-scope test sentences that are rejected.

    A full name is "oos_recall_5_shot_mean" or "oos_recall_5_shot_mean_minus_sd". If all vectors are equal, every
    sentence is at the threshold and none is rejected: recall 0.

    Three rules say where the thresholds come from. Source: Zhou et al. 2022 (DSE), section 4.2.

    - "in_scope" (default): in-scope validation sentences, or without these the training sentences that were not drawn.
      No test and no out-of-scope sentence is seen. Prototypes are means of normalised vectors, similarities cosines.
    - "paper", the paper's text: *every test sentence*, in and out of scope. Prototypes are means of the vectors as they
      are, similarities cosines. The paper prints one shot with the mean minus one standard deviation.
    - "release", the paper's code: every test sentence, too. Out-of-scope training sentences make one more prototype;
      sentences nearest to it are rejected. Prototypes are means of normalised vectors, and similarities dot products,
      divided by their norm over all prototypes.

    :param data: intent set with out-of-scope test sentences; only Clinc150 has them.
    :param shots: numbers of sentences per intent, each a k.
    :raises CorpusError: if the data has no out-of-scope sentences, or too few sentences of an intent.
    """
    require_sentences(data.out_of_scope, f"{data.name} has no out-of-scope test sentences")
    require_sentences(data.test.texts, f"{data.name} has no in-scope test sentences")
    train = _training(data, rule)
    intents = sorted(set(train.labels))
    drawn = draw_shots(train, intents, most=max(shots), draws=draws, seed=seed, name=data.name)
    references = [_reference(data, drawn=set(draw.ravel().tolist()), rule=rule) for draw in drawn]
    everything = {text for reference in references for text in reference}
    texts = [*everything, *drawn.ravel().tolist(), *data.test.texts, *data.out_of_scope]
    encoded = encode_distinct(reader.utterances, texts)
    units = normalised(encoded.vectors)
    averaged = encoded.vectors.astype(np.float64) if rule == "paper" else units
    tested, truth = units[encoded.rows([*data.test.texts, *data.out_of_scope])], intent_codes(data.test.labels, intents)
    # Place of the prototype of out-of-scope sentences, if there is one.
    out_code = intents.index(OUT_OF_SCOPE) if rule == "release" else None
    runs: list[Figures] = [{} for _ in drawn]
    for run, draw, reference in zip(runs, drawn, references, strict=True):
        compared = units[encoded.rows(reference)]
        for k in shots:
            prototypes = averaged[encoded.rows(draw[:, :k].ravel().tolist()).reshape(-1, k)].mean(axis=1)
            for (kind, threshold), figure in _figures(tested, truth, prototypes, compared, out_code, rule).items():
                run[f"{kind}_{k}_shot_{threshold}"] = figure
    figures, spread = summary(runs)
    return TaskResult(
        task="out_of_scope_detection",
        data=data.name,
        n=len(data.test.texts) + len(data.out_of_scope),
        figures=figures,
        spread=spread,
        settings={"draws": draws, "seed": seed, "rule": rule},
    )


def _training(data: IntentSet, rule: Rule) -> Sentences:
    if rule != "release":
        return data.train
    extra = data.out_of_scope_train
    require_sentences(extra, f"{data.name} has no out-of-scope training sentences, as the rule 'release' needs")
    return Sentences(data.train.texts + extra, data.train.labels + (OUT_OF_SCOPE,) * len(extra))


def _reference(data: IntentSet, *, drawn: set[str], rule: Rule) -> list[str]:
    """Return the sentences whose similarities set the thresholds of a draw."""
    if rule != "in_scope":
        return [*data.test.texts, *data.out_of_scope]
    if data.validation.texts:
        return list(data.validation.texts)
    left = [text for text in data.train.texts if text not in drawn]
    require_sentences(left, f"{data.name} has no validation sentences, and the draw left no training sentences")
    return left


def _figures(
    tested: NDArray[np.float64],
    truth: NDArray[np.int64],
    prototypes: NDArray[np.float64],
    reference: NDArray[np.float64],
    out_code: int | None,
    rule: Rule,
) -> dict[tuple[str, str], float]:
    """Return the four figures for both thresholds, in [0, 1].

    :param tested: normalised vectors of the test sentences, in scope first.
    :param truth: intents of the in-scope test sentences.
    :param reference: normalised vectors of the sentences that set the thresholds.
    """
    targets = prototypes.T if rule == "release" else normalised(prototypes).T
    similarities, compared = tested @ targets, reference @ targets
    if rule == "release":
        similarities, compared = normalised(similarities), normalised(compared)
    shares, nearest = nearest_shares(stepped(similarities))
    expected = stepped(compared).max(axis=1)
    n_in = len(truth)
    right = shares[np.arange(n_in), truth]
    # Sentences nearest to the out-of-scope prototype are rejected, however near they are.
    in_scope = 1.0 if out_code is None else 1 - shares[:, out_code]
    figures = {}
    for name, threshold in (("mean", expected.mean()), ("mean_minus_sd", expected.mean() - expected.std())):
        # Rounded like the similarities: the mean of equal numbers can differ from them in the last bit.
        near = nearest >= stepped(threshold)
        rejected = 1 - near * in_scope
        classified = np.concatenate([near[:n_in] * right, rejected[n_in:]])
        recognised = np.concatenate([1 - rejected[:n_in], rejected[n_in:]])
        figures["accuracy", name] = float(classified.mean())
        figures["in_accuracy", name] = float(classified[:n_in].mean())
        figures["oos_accuracy", name] = float(recognised.mean())
        figures["oos_recall", name] = float(rejected[n_in:].mean())
    return figures
