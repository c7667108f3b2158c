"""LDA (Blei, Ng & Jordan 2003): a dialogue is a mixture of topics, fitted by variational Bayes.

The paper reports purity only. So the tables use as many topics as there are labels, and the cluster of a dialogue is
its largest topic. The paper's other settings are unknown. Cost: 13 s with 23 topics.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from dial2vec_papers.baselines.text import Encode, lower_words, vocabulary

# Passes over the train split; the online variant learns far less from a few thousand dialogues.
PASSES = 20
# Largest share of the training dialogues in which a word may occur.
COMMON = 0.5


def fit(train: Sequence[Dialogue], *, seed: int, topics: int = 50) -> Encode:
    """Fit topics, and return a function that computes their shares per dialogue, float32 [n, topics], rows sum to 1.

    :param topics: number of topics. The tables give the number of labels. The tasks for utterances compare vectors
        instead of forming clusters and use 50, with which the source classifies documents (section 7.2).
    :raises CorpusError: if the training dialogues share no word.
    """
    from sklearn.decomposition import LatentDirichletAllocation
    from sklearn.feature_extraction.text import CountVectorizer

    counts = CountVectorizer(analyzer=lower_words, vocabulary=vocabulary(train, at_most=COMMON))
    model = LatentDirichletAllocation(topics, max_iter=PASSES, random_state=seed)
    model.fit(counts.transform(train))

    def encode(dialogues: Sequence[Dialogue]) -> NDArray[np.float32]:
        return np.asarray(model.transform(counts.transform(dialogues)), dtype=np.float32)

    return encode
