"""Which dialogues belong to a topic, and which are like no others: they belong to nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dial2vec.collection.clustering.partition import Vectors
from dial2vec.collection.collection_folder import sampled

# Nearest others, those among which they are looked for, and the fewest from which one can tell.
NEAREST, SAMPLE, FEWEST, BLOCK = 5, 5_000, 100, 4_096
# Height of a valley of the density as compared with the peak below it; without such a valley, the limit's distance from
# the median, in distances of the 84 % quantile, which dialogues that belong to nothing do not widen. All were set on
# mixes of public corpora (docs/clusters.md). Copies differ by less than the last.
VALLEY, DISTANCE, SPREAD = 0.7, 3.5, 0.01


def belonging(vectors: Vectors, rows: NDArray[np.int64], *, seed: int) -> NDArray[np.bool_]:
    """Return whether each of some dialogues belongs to a topic, bool [rows].

    One that belongs to nothing has a lower mean cosine to its five nearest others than nearly all have.

    :param vectors: plain vectors of all dialogues, of length 1, float32 [n, d].
    :param seed: seed of the sample in which the nearest are looked for.
    """
    sample = sampled(len(vectors), SAMPLE, seed)
    among = np.asarray(vectors[sample])

    def closeness(part: NDArray[np.int64]) -> NDArray[np.float32]:
        cosines = np.asarray(vectors[part]) @ among.T
        cosines[part[:, None] == sample] = -1
        return np.asarray(np.partition(cosines, -NEAREST, axis=1)[:, -NEAREST:].mean(axis=1))

    if len(sample) < FEWEST or not len(rows):
        return np.ones(len(rows), dtype=bool)
    limit = _limit(closeness(sample))
    return np.concatenate([closeness(rows[at : at + BLOCK]) >= limit for at in range(0, len(rows), BLOCK)])


def _limit(closeness: NDArray[np.float32]) -> float:
    """Return the closeness below which a dialogue belongs to nothing."""
    from scipy.stats import gaussian_kde

    low, median, high, top = np.quantile(closeness, (0.002, 0.5, 0.84, 0.998)).tolist()
    places = np.linspace(low, top, 200)
    density = gaussian_kde(closeness)(places) if top - low > SPREAD else np.ones(200)
    highest = int(density.argmax())
    for peak in range(highest - 1, 0, -1):
        valley = peak + int(density[peak:highest].argmin())
        if density[peak - 1] < density[peak] and density[valley] < VALLEY * density[peak]:
            return float(places[valley])
    return float(median - DISTANCE * max(high - median, SPREAD))
