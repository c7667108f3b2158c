"""The baselines of the tables: trained on the text of the train split, never on a label.

>>> from dial2vec_papers.baselines import BASELINES
>>> encode = BASELINES["tfidf_svd"].fit(train, seed=42)  # doctest: +SKIP
>>> vectors = encode(judged)  # doctest: +SKIP

Each `fit(train, *, seed, ...)` takes a sequence of dialogues and returns a function that encodes n dialogues as float32
[n, d]. A vector depends on the train split, the seed and its own dialogue, never on the other dialogues: dev and test
can be encoded together. The module of a baseline describes its further options, its reference, its cost and, as far as
known, how it differs from the row of Liu et al. 2022. A cost is the processor time of 2,000 training and 500 judged
dialogues of about 150 words, on one core without a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from conversations.dialogue import Dialogue
from dial2vec.errors import Dial2vecError, ModelError, did_you_mean
from dial2vec_papers.baselines import (
    by_utterance,
    doc2vec,
    encoder_mean,
    flow,
    lda,
    simcse_trained,
    tfidf_svd,
    whitening,
    word2vec,
    word_vectors,
)
from dial2vec_papers.baselines.text import Encode


class Baseline(NamedTuple):
    """One row of the tables.

    :param fit: `fit(train, *, seed, ...)`, which returns a function that encodes dialogues.
    :param encodes: True if the baseline starts from an encoder, and takes its name or folder as `start`.
    :param on_tasks: options of `fit` for encoding utterances and contexts instead of dialogues.
    """

    fit: Callable[..., Encode]
    encodes: bool = False
    on_tasks: Mapping[str, Any] = {}


BASELINES: dict[str, Baseline] = {
    "lda": Baseline(lda.fit),
    "tfidf_svd": Baseline(tfidf_svd.fit),
    "word_vectors": Baseline(word_vectors.fit),
    "word2vec": Baseline(word2vec.fit),
    "doc2vec": Baseline(doc2vec.fit),
    "encoder_mean": Baseline(encoder_mean.fit, encodes=True, on_tasks={"contexts": True}),
    "simcse": Baseline(partial(by_utterance.fit, start="simcse", pooling="cls")),
    "simcse_trained": Baseline(simcse_trained.fit, encodes=True),
    "utterances_cls": Baseline(partial(by_utterance.fit, pooling="cls"), encodes=True),
    "utterances_mean": Baseline(by_utterance.fit, encodes=True),
    "whitening": Baseline(whitening.fit, encodes=True, on_tasks={"contexts": True}),
    "flow": Baseline(flow.fit, encodes=True, on_tasks={"contexts": True}),
}


def check_baseline(name: str) -> None:
    """Raise a Dial2vecError if the name of a baseline is unknown."""
    if name not in BASELINES:
        raise Dial2vecError(
            f"there is no baseline {name!r}.{did_you_mean(name, BASELINES)} Valid: {', '.join(BASELINES)}."
        )


def fit_baseline(
    name: str,
    train: Iterable[Dialogue],
    *,
    seed: int,
    start: str,
    topics: int | None = None,
    on_tasks: bool = False,
    title: str = "",
) -> Encode:
    """Fit a baseline by name, with its own defaults.

    :param train: training dialogues; not read if the name is unknown.
    :param start: encoder of the baselines that start from one.
    :param topics: number of topics, for LDA only; None means its default.
    :param on_tasks: True to encode utterances and contexts, as the tasks give them, instead of dialogues.
    :param title: name in errors; "" means `name`.
    :raises Dial2vecError: if the name is unknown.
    :raises ModelError: if its library or its model is missing.
    """
    check_baseline(name)
    baseline = BASELINES[name]
    options: dict[str, Any] = {"start": start} if baseline.encodes else {}
    options |= baseline.on_tasks if on_tasks else {}
    if topics is not None:
        options["topics"] = topics
    try:
        return baseline.fit(list(train), seed=seed, **options)
    except ImportError as error:
        raise ModelError(
            f"{title or f'the baseline {name!r}'} needs the library {error.name}, which is not installed. Install "
            "`dial2vec[baselines]`."
        ) from error
