"""The baselines that stand beside dial2vec in the table: trained on the text of the train split, never on a label.

>>> from dial2vec.baselines import BASELINES
>>> vectors = BASELINES["tfidf_svd"].vectors(train, judged, seed=42)  # doctest: +SKIP

Each `vectors(train, judged, *, seed, ...)` takes two sequences of dialogues and returns float32 [judged, d]. A row
depends on the train split, the seed and its own dialogue, never on the other judged ones: dev and test can be given
together. What is set beyond these three has a default, and is described in the baseline's module with its reference,
its cost and how it differs from the paper's row, as far as that is known (Liu et al. 2022). A cost is the processor
time of 2,000 training and 500 judged dialogues of some 150 words, on one core without a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dial2vec.baselines import doc2vec, encoder_mean, lda, simcse, tfidf_svd, whitening, word2vec, word_vectors


class Baseline(NamedTuple):
    """One row of the table.

    :param vectors: `vectors(train, judged, *, seed, ...)`, float32 [judged, d].
    :param encodes: whether it begins with an encoder, and takes its name or folder as `start`.
    """

    vectors: Callable[..., NDArray[np.float32]]
    encodes: bool = False


BASELINES: dict[str, Baseline] = {
    "lda": Baseline(lda.vectors),
    "tfidf_svd": Baseline(tfidf_svd.vectors),
    "word_vectors": Baseline(word_vectors.vectors),
    "word2vec": Baseline(word2vec.vectors),
    "doc2vec": Baseline(doc2vec.vectors),
    "encoder_mean": Baseline(encoder_mean.vectors, encodes=True),
    "simcse": Baseline(simcse.vectors, encodes=True),
    "whitening": Baseline(whitening.vectors, encodes=True),
}
