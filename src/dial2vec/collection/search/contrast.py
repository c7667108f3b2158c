"""Directions that say what is wanted and what is not."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dial2vec.collection.search.exact import unit_vector
from dial2vec.errors import CorpusError

# Shorter than this, what is left of a query is rounding and says nothing.
LEAST = 0.05


def without(wanted: NDArray[np.float32], unwanted: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the direction of a query without what it shares with others, of length 1, float32 [d].

    The query's projection on the space of the unwanted vectors is taken off, so the result is orthogonal to each of
    them; their order and number do not matter. Neither subtracting a multiple of the vectors nor leaving out the
    dialogues that are close to them suits all kinds of questions better (docs/search.md, "More ways").

    :param wanted: vector of the query, of length 1, float32 [d].
    :param unwanted: vectors of what is not wanted, float32 [m, d].
    :raises CorpusError: if nothing is left of the query.
    """
    _, lengths, directions = np.linalg.svd(unwanted, full_matrices=False)
    kept = directions[lengths > 1e-4 * lengths.max(initial=0)]
    left = (wanted - kept.T @ (kept @ wanted)).astype(np.float32)
    if np.linalg.norm(left) < LEAST:
        raise CorpusError(
            "found the same meaning in the query and in what it should not be (--not), so nothing is left to search "
            "for; expected two that differ. Reword one of them."
        )
    return unit_vector(left)
