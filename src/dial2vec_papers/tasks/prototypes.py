"""Intents by prototypes: a few sentences represent an intent, and a test sentence gets the nearest intent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dial2vec.draws import rng_for
from dial2vec.errors import CorpusError
from dial2vec.evaluation.distribution import normalised
from dial2vec.evaluation.ranking import stepped
from dial2vec_papers.tasks.encoding import Reader, encode_distinct
from dial2vec_papers.tasks.intents import IntentSet, Sentences
from dial2vec_papers.tasks.records import Figures, TaskResult, summary, timed

# Zhou et al. 2022: one and five sentences per intent, ten draws of them.
SHOTS, DRAWS = (1, 5), 10
Prototype = Literal["units", "mean", "release"]


@timed("numpy")
def classify_intents(
    reader: Reader,
    data: IntentSet,
    *,
    shots: Sequence[int] = SHOTS,
    draws: int = DRAWS,
    seed: int,
    prototype: Prototype = "units",
) -> TaskResult:
    """Classify the in-scope test sentences by the nearest of few-shot prototypes.

    A prototype is the mean of k training sentences drawn for an intent. Figure "accuracy_1_shot", and so on for each k:
    share of the test sentences whose nearest prototype is that of their intent, mean and standard deviation over the
    draws, in points, in [0, 100], higher is better, 100 / number of intents by chance. Equally near prototypes share a
    sentence, so equal vectors score at chance. A zero vector has similarity 0 to everything. Source: Zhou et al. 2022
    (DSE), section 4.2, after Snell et al. 2017.

    :param prototype: "units" is the mean of *normalised* vectors, and the nearest has the greatest cosine, so that a
        long vector counts no more than others; "mean", the paper's text, is the mean of the vectors as they are, with
        the cosine; "release", the paper's code, is the mean of normalised vectors, with the dot product. With one shot
        all three are the same.
    :param shots: numbers of sentences per intent, each a k.
    :param draws: number of seeded draws; the draw for a smaller k is part of the draw for a greater one.
    :param seed: random seed; the draws also depend on the texts, but not on their order.
    :raises CorpusError: if an intent has fewer than k training sentences, or there are no test sentences.
    """
    intents = sorted(set(data.train.labels))
    # Only drawn sentences are encoded: of SNIPS at most 350 of its 13,038 training sentences.
    drawn = draw_shots(data.train, intents, most=max(shots), draws=draws, seed=seed, name=data.name)
    require_sentences(data.test.texts, f"{data.name} has no test sentences")
    encoded = encode_distinct(reader.utterances, [*drawn.ravel().tolist(), *data.test.texts])
    units = normalised(encoded.vectors)
    queries, truth = units[encoded.rows(data.test.texts)], intent_codes(data.test.labels, intents)
    averaged = encoded.vectors.astype(np.float64) if prototype == "mean" else units
    supports = averaged[encoded.rows(drawn.ravel().tolist()).reshape(drawn.shape)]
    accuracies: list[Figures] = [{} for _ in supports]
    for accuracy, support in zip(accuracies, supports, strict=True):
        for k in shots:
            means = support[:, :k].mean(axis=1)
            prototypes = means if prototype == "release" else normalised(means)
            shares, _ = nearest_shares(stepped(queries @ prototypes.T))
            accuracy[f"accuracy_{k}_shot"] = shares[np.arange(len(truth)), truth].mean()
    figures, spread = summary(accuracies)
    return TaskResult(
        task="intent_classification",
        data=data.name,
        n=len(truth),
        figures=figures,
        spread=spread,
        settings={"draws": draws, "seed": seed, "prototype": prototype},
    )


def draw_shots(
    train: Sentences, intents: Sequence[str], *, most: int, draws: int, seed: int, name: str
) -> NDArray[np.object_]:
    """Draw training sentences of each intent, texts [draws, intents, most]; the first k are the draw for k shots.

    :param most: number of sentences per intent.
    :raises CorpusError: if an intent has too few sentences.
    """
    members = defaultdict(list)
    for text, intent in sorted(zip(train.texts, train.labels, strict=True)):
        members[intent].append(text)
    require_sentences(intents, f"{name} has no training sentences")
    few = min(intents, key=lambda intent: len(members[intent]))
    if len(members[few]) < most:
        raise CorpusError(
            f"{name} has {len(members[few])} training sentences of the intent {few!r}; expected at least {most}, as "
            "many as the shots. Take fewer shots."
        )
    drawn = np.empty((draws, len(intents), most), dtype=object)
    for draw in range(draws):
        for code, intent in enumerate(intents):
            order = rng_for(seed, draw, intent).permutation(len(members[intent]))
            drawn[draw, code] = [members[intent][row] for row in order[:most]]
    return drawn


def require_sentences(sentences: Sequence[str], otherwise: str) -> None:
    """Raise an error that begins with `otherwise` if there are no sentences.

    :raises CorpusError: if so.
    """
    if not sentences:
        raise CorpusError(f"{otherwise}; expected some. Take another intent set.")


def intent_codes(labels: Sequence[str], intents: Sequence[str]) -> NDArray[np.int64]:
    """Return the index of each label in the intents, int64 [n]."""
    place = {intent: code for code, intent in enumerate(intents)}
    return np.array([place[label] for label in labels], dtype=np.int64)


def nearest_shares(similarities: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the shares of the nearest prototypes, [n, c] with rows of sum 1, and the greatest similarities, [n].

    :param similarities: similarities of n sentences to c prototypes, rounded so that ties are exact.
    """
    greatest = similarities.max(axis=1)
    nearest = similarities == greatest[:, None]
    return nearest / nearest.sum(axis=1, keepdims=True), greatest
