"""TF-IDF and a truncated SVD (latent semantic analysis, Deerwester et al. 1990). Not in the paper's table.

Cost: 1 s.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from dial2vec_papers.baselines.text import Encode, lower_words, vocabulary

# Fewer if the train split has fewer dialogues or words.
DIMENSIONS = 256


def fit(train: Sequence[Dialogue], *, seed: int) -> Encode:
    """Return a function that projects unit TF-IDF vectors on the train split's right singular vectors, float32 [n, d].

    :raises CorpusError: if the training dialogues share no word.
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    known = vocabulary(train)
    weights = TfidfVectorizer(analyzer=lower_words, vocabulary=known, sublinear_tf=True, norm="l2")
    svd = TruncatedSVD(min(DIMENSIONS, len(known), len(train)), random_state=seed).fit(weights.fit_transform(train))

    def encode(dialogues: Sequence[Dialogue]) -> NDArray[np.float32]:
        return np.asarray(svd.transform(weights.transform(dialogues)), dtype=np.float32)

    return encode
