"""Groups of dialogues without labels, named by their words, so that a map of them has names and colours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from dial2vec.data.terms import characteristic_terms, names_of
from dial2vec.evaluation.clustering import kmeans
from dial2vec.evaluation.distribution import normalised
from dial2vec.evaluation.selection.criteria import n_clusters


def named_groups(dialogues: Sequence[Dialogue], vectors: NDArray[np.float32], *, seed: int) -> list[str]:
    """Return the name of each dialogue's group: the terms that are frequent in it and rare in the others.

    The groups are those of one k-means run on the directions of the vectors, one per 15 dialogues and at most 20.

    :param dialogues: n dialogues.
    :param vectors: their vectors, float32 [n, d].
    :param seed: seed of k-means.
    """
    if len(dialogues) < 2:
        return [names_of([[]], [1])[0] for _ in dialogues]
    clusters = kmeans(normalised(vectors).astype(np.float32), n_clusters(len(dialogues)), seed)
    # With few distinct vectors some groups stay empty.
    numbers, groups = np.unique(clusters, return_inverse=True)
    terms = characteristic_terms(dialogues, groups.tolist(), len(numbers))
    names = names_of(terms, range(1, len(numbers) + 1))
    return [names[group] for group in groups.tolist()]
