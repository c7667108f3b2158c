"""LDA (Blei, Ng & Jordan 2003): a dialogue is a mixture of topics, fitted by variational Bayes.

The paper reports purity only, so its clusters are the topics themselves, as many as there are labels:
the largest share of a row. Its other settings are not known. Cost: 13 s with 23 topics.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dial2vec.baselines.text import vocabulary, words_of
from dial2vec.dialogue import Dialogue
from dial2vec.errors import CorpusError


def vectors(
    train: Sequence[Dialogue],
    judged: Sequence[Dialogue],
    *,
    seed: int,
    topics: int | None = None,
    passes: int = 20,
    common: float = 0.5,
) -> NDArray[np.float32]:
    """Return the share of each topic in each dialogue, float32 [judged, topics], rows that sum to 1.

    :param topics: None takes the number of different labels of the judged dialogues, as k-means does; which label
        is whose is not looked at.
    :param passes: over the whole train split. (The online variant learns far less from a few thousand dialogues.)
    :param common: words of more than this share of the training dialogues are left out.
    :raises CorpusError: when no word or no number of topics can be found.
    """
    from sklearn.decomposition import LatentDirichletAllocation
    from sklearn.feature_extraction.text import CountVectorizer

    counts = CountVectorizer(analyzer=words_of, vocabulary=vocabulary(train, at_most=common))
    model = LatentDirichletAllocation(topics or _n_labels(judged), max_iter=passes, random_state=seed)
    model.fit(counts.transform(train))
    return np.asarray(model.transform(counts.transform(judged)), dtype=np.float32)


def _n_labels(judged: Sequence[Dialogue]) -> int:
    n = len({dialogue.label for dialogue in judged} - {None})
    if n < 2:
        raise CorpusError(
            f"the {len(judged)} judged dialogues have {n} different labels, and LDA takes as many topics; expected at "
            "least 2. Give the number: topics=10."
        )
    return n
