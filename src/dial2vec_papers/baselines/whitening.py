"""Whitening (Su et al. 2021, "Whitening sentence representations"): all directions get the same weight.

`(x - mean) W` with `W = U sqrt(1 / eigenvalues)` of the covariance, cut to its first columns. This is a PCA scaled to
unit variance. The source fits it on the sentences that it judges, or on a corpus of inference pairs; here it is fitted
on the train split. Not in the paper's table. Cost: encoding the dialogues, 180 s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from dial2vec.errors import CorpusError
from dial2vec_papers.baselines import encoder_mean
from dial2vec_papers.baselines.encode import Encode

# Smallest variance that is scaled up, as a share of the largest. Below are rounding errors of float32, and directions
# that the dialogues do not span.
LEAST_VARIANCE = 1e-6


def fit(
    train: Sequence[Dialogue],
    *,
    seed: int,
    start: str = "all-MiniLM-L6-v2",
    dimensions: int | None = 256,
    max_dialogues: int = 2000,
    contexts: bool = False,
) -> Encode:
    """Fit the map on the train split, and return a function that whitens vectors of `encoder_mean`, float32 [n, d].

    :param start: name or folder of the encoder, as for `DialogueEncoder.from_pretrained`.
    :param dimensions: number of dimensions; None keeps all that the training dialogues span, which is also the limit.
    :param max_dialogues: number of training dialogues, a seeded draw, on which the map is fitted.
    :param contexts: option of `encoder_mean.fit`.
    :raises CorpusError: if fewer than 2 training dialogues differ.
    """
    lot = np.random.default_rng(seed).permutation(len(train))[:max_dialogues]
    chosen = [train[place] for place in np.sort(lot)]
    mean = encoder_mean.fit(train, seed=seed, start=start, contexts=contexts)
    whiten = fit_whitening(mean(chosen), dimensions=dimensions)

    def encode(dialogues: Sequence[Dialogue]) -> NDArray[np.float32]:
        return whiten(mean(dialogues))

    return encode


def fit_whitening(
    vectors: NDArray[np.float32], *, dimensions: int | None = 256
) -> Callable[[NDArray[np.float32]], NDArray[np.float32]]:
    """Return the map under which the vectors have mean 0 and the identity as covariance.

    :param vectors: float32 [n, d].
    :param dimensions: number of dimensions k; fewer if the vectors span fewer.
    :return: function from float32 [m, d] to float32 [m, k], directions of largest variance first.
    :raises CorpusError: if the vectors do not differ.
    """
    from sklearn.decomposition import PCA

    if len(vectors) < 2 or not np.ptp(vectors, axis=0).any():
        raise CorpusError(
            f"whitening found {len(vectors)} training dialogues without two different vectors among them; expected "
            "at least two. Bring more dialogues."
        )
    pca = PCA(whiten=True, svd_solver="full").fit(vectors.astype(np.float64))
    spanned = int((pca.explained_variance_ > LEAST_VARIANCE * pca.explained_variance_[0]).sum())
    kept = min(spanned, dimensions or spanned)

    def whiten(others: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.asarray(pca.transform(others)[:, :kept], dtype=np.float32)

    return whiten
