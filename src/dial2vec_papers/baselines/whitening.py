"""Whitening (Su et al. 2021, "Whitening sentence representations"): all directions get the same weight.

`(x - mean) W` with `W = U sqrt(1 / eigenvalues)` of the covariance, cut to its first columns. This is a PCA scaled to
unit variance. The source fits it on the sentences that it judges, or on a corpus of inference pairs; here it is fitted
on the train split. Not in the paper's table. Cost: encoding the dialogues, 180 s.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from dial2vec_papers.baselines.encoder_mean import Map, fit_mean_map, require_different
from dial2vec_papers.baselines.text import Encode

# Smallest variance that is scaled up, as a share of the largest. Below are rounding errors of float32, and directions
# that the dialogues do not span.
LEAST_VARIANCE = 1e-6
DIMENSIONS = 256


def fit(train: Sequence[Dialogue], *, seed: int, start: str = "all-MiniLM-L6-v2", contexts: bool = False) -> Encode:
    """Fit the map on the train split, and return a function that whitens vectors of `encoder_mean`, float32 [n, d].

    :param start: name or folder of the encoder, as for `DialogueEncoder.from_pretrained`.
    :raises CorpusError: if fewer than 2 training dialogues differ.
    """
    return fit_mean_map(train, fit_whitening, seed=seed, start=start, contexts=contexts)


def fit_whitening(vectors: NDArray[np.float32]) -> Map:
    """Return the map under which the vectors have mean 0 and the identity as covariance.

    :param vectors: float32 [n, d].
    :return: function from float32 [m, d] to float32 [m, k], k at most 256, directions of largest variance first.
    :raises CorpusError: if the vectors do not differ.
    """
    from sklearn.decomposition import PCA

    require_different(vectors, "whitening")
    pca = PCA(whiten=True, svd_solver="full").fit(vectors.astype(np.float64))
    spanned = int((pca.explained_variance_ > LEAST_VARIANCE * pca.explained_variance_[0]).sum())
    kept = min(spanned, DIMENSIONS)

    def whiten(others: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.asarray(pca.transform(others)[:, :kept], dtype=np.float32)

    return whiten
