"""Whitening (Su et al. 2021, "Whitening sentence representations"): every direction of the vectors counts alike.

`(x - mean) W` with `W = U sqrt(1 / eigenvalues)` of the covariance, cut to its first columns. This is a PCA scaled to
unit variance. The source fits it on the sentences that it judges, or on a corpus of inference pairs; here it is fitted
on the train split. Not in the paper's table. Cost: that of encoding the training dialogues, 180 s with the judged.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dial2vec.baselines import encoder_mean
from dial2vec.dialogue import Dialogue
from dial2vec.errors import CorpusError

# Least variance that is scaled up, as a share of the largest: below it lie the rounding errors of float32, and the
# directions that n dialogues do not span.
LEAST_VARIANCE = 1e-6


def vectors(
    train: Sequence[Dialogue],
    judged: Sequence[Dialogue],
    *,
    seed: int,
    start: str = "all-MiniLM-L6-v2",
    dimensions: int | None = 256,
    max_dialogues: int = 2000,
) -> NDArray[np.float32]:
    """Return the whitened vectors of `encoder_mean`, float32 [judged, d].

    :param start: the encoder, as `DialogueEncoder.from_pretrained` takes it.
    :param dimensions: of the result, fewer where the training dialogues span fewer; None keeps all that they span.
    :param max_dialogues: training dialogues, a seeded lot, to which the map is fitted. Encoding them is the cost.
    :raises CorpusError: when there are fewer than two different training dialogues.
    """
    lot = np.random.default_rng(seed).permutation(len(train))[:max_dialogues]
    chosen = [train[place] for place in np.sort(lot)]
    encoded = encoder_mean.vectors(train, [*chosen, *judged], seed=seed, start=start)
    return whitened(encoded[: len(chosen)], encoded[len(chosen) :], dimensions=dimensions)


def whitened(
    fitted_to: NDArray[np.float32], applied_to: NDArray[np.float32], *, dimensions: int | None = 256
) -> NDArray[np.float32]:
    """Return `applied_to` under the map that gives `fitted_to` mean 0 and the identity as covariance.

    :param fitted_to: float32 [n, d].
    :param applied_to: float32 [m, d].
    :param dimensions: k, fewer where `fitted_to` spans fewer.
    :return: float32 [m, k], the directions of largest variance first.
    :raises CorpusError: when the rows of `fitted_to` do not differ.
    """
    from sklearn.decomposition import PCA

    if len(fitted_to) < 2 or not np.ptp(fitted_to, axis=0).any():
        raise CorpusError(
            f"whitening found {len(fitted_to)} training dialogues without two different vectors among them; expected "
            "at least two. Bring more dialogues."
        )
    pca = PCA(whiten=True, svd_solver="full").fit(fitted_to.astype(np.float64))
    spanned = int((pca.explained_variance_ > LEAST_VARIANCE * pca.explained_variance_[0]).sum())
    return np.asarray(pca.transform(applied_to)[:, : min(spanned, dimensions or spanned)], dtype=np.float32)
