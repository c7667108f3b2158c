"""TF-IDF and a truncated SVD (latent semantic analysis, Deerwester et al. 1990). Not in the paper's table.

Cost: 1 s.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dial2vec.baselines.text import vocabulary, words_of
from dial2vec.dialogue import Dialogue


def vectors(
    train: Sequence[Dialogue], judged: Sequence[Dialogue], *, seed: int, dimensions: int = 256
) -> NDArray[np.float32]:
    """Return each dialogue's unit TF-IDF vector on the first right singular vectors of those of the train split.

    :param dimensions: of the result, fewer where the train split has fewer dialogues or words.
    :return: float32 [judged, d].
    :raises CorpusError: when the training dialogues share no word.
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    known = vocabulary(train)
    weights = TfidfVectorizer(analyzer=words_of, vocabulary=known, sublinear_tf=True, norm="l2")
    svd = TruncatedSVD(min(dimensions, len(known), len(train)), random_state=seed).fit(weights.fit_transform(train))
    return np.asarray(svd.transform(weights.transform(judged)), dtype=np.float32)
