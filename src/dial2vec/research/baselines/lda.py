"""LDA (Blei, Ng & Jordan 2003): a dialogue is a mixture of topics, fitted by variational Bayes.

The paper reports purity only, so in its table the clusters are the topics themselves, as many as there are labels:
the largest share of a row. Its other settings are not known. Cost: 13 s with 23 topics.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dial2vec.dialogue import Dialogue
from dial2vec.research.baselines.encode import Encode
from dial2vec.research.baselines.text import lower_words, vocabulary


def fit(train: Sequence[Dialogue], *, seed: int, topics: int = 50, passes: int = 20, common: float = 0.5) -> Encode:
    """Fit the topics, and return what gives their shares in each dialogue, float32 [n, topics], rows that sum to 1.

    :param topics: how many. The benchmark gives the number of labels; where vectors are compared instead of clusters
        formed, as on the tasks for utterances, it is 50, the number with which the source classifies documents
        (section 7.2).
    :param passes: over the whole train split. (The online variant learns far less from a few thousand dialogues.)
    :param common: words of more than this share of the training dialogues are left out.
    :raises CorpusError: when the training dialogues share no word.
    """
    from sklearn.decomposition import LatentDirichletAllocation
    from sklearn.feature_extraction.text import CountVectorizer

    counts = CountVectorizer(analyzer=lower_words, vocabulary=vocabulary(train, at_most=common))
    model = LatentDirichletAllocation(topics, max_iter=passes, random_state=seed)
    model.fit(counts.transform(train))

    def encode(dialogues: Sequence[Dialogue]) -> NDArray[np.float32]:
        return np.asarray(model.transform(counts.transform(dialogues)), dtype=np.float32)

    return encode
