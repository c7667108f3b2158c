"""Linear maps that bring dialogues nearer to their neighbours, fitted in closed form; docs/recipe.md."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dial2vec.encoder.nearest import nearest_others, unit_rows

# The map falls back to the identity if the corpus is too small: 0.8 d / n in units of the mean eigenvalue (n = 200,
# d = 384: 1.5; n = 1,000 and more: 0.3, below which dialogues of unseen topics pay for the known ones).
LEAST_RIDGE, RIDGE_PER_DIMENSION = 0.3, 0.8
# Share of a dialogue's own vector in its target, and the number of times that the neighbours' targets are averaged.
OWN_SHARE = 0.2
ROUNDS = 2


def ridge_of(n: int, d: int) -> float:
    """Return the strength of the ridge for n vectors of length d, in units of the mean eigenvalue."""
    return max(LEAST_RIDGE, RIDGE_PER_DIMENSION * d / n)


def neighbourhood_size(n: int) -> int:
    """Return the number of neighbours per dialogue in a corpus of n: a quarter of the root of n, at least 5.

    Too many reach beyond the topic; too few carry the noise of single dialogues. Topics grow with the corpus, and so
    does their number. 200 dialogues: 5, 1,000: 8, 5,000: 18, 20,000: 35. Measured in docs/recipe.md.
    """
    return max(1, min(n - 1, max(5, round(n**0.5 / 4))))


def centred(vectors: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return unit vectors about the mean direction of the corpus, [n, d], and that mean [d].

    :param vectors: Pooled vectors [n, d] float32.
    """
    units = unit_rows(vectors)
    mean = units.mean(axis=0)
    return unit_rows(units - mean), mean


def neighbour_targets(units: NDArray[np.float32], *, k: int) -> NDArray[np.float32]:
    """Return the target of each dialogue: mostly the mean of its neighbours, taken twice. Unit rows [n, d].

    `T_0 = Z`, `T_r = unit(0.2 Z + 0.8 mean of T_{r-1} over the k nearest others)`, two rounds. The second round adds
    the neighbours' own neighbours, with less weight: a short random walk on the neighbourhood graph.

    :param units: Centred unit vectors Z [n, d] float32.
    :param k: Neighbours of each dialogue, 1 to n - 1.
    """
    among = nearest_others(units, k=k)
    targets = units
    for _ in range(ROUNDS):
        average = targets[among[:, 0]].copy()
        for place in range(1, k):
            average += targets[among[:, place]]
        targets = unit_rows(OWN_SHARE * units + (1 - OWN_SHARE) / k * average)
    return targets


def fit_map(
    units: NDArray[np.float32], targets: NDArray[np.float32], *, ridge: float, identity: float
) -> NDArray[np.float32]:
    """Return the linear map [d, d] that brings dialogues nearest to their targets, in closed form.

    Minimises `|Z W - T|^2 / n + λ |W - c I|^2`, so `W = (G + λ I)^-1 (Z^T T / n + λ c I)` with `G = Z^T Z / n`
    and λ = ridge x mean eigenvalue of G. In directions about which the corpus says nothing, W falls back to c times
    the identity: c = 0 forgets such directions, c = 1 leaves them as they were.

    :param units: Z [n, d] float32, centred unit rows.
    :param targets: T [n, d] float32.
    :param ridge: Strength > 0, in units of the mean eigenvalue.
    :param identity: c, 0 to 1.
    """
    n, d = units.shape
    z = units.astype(np.float64)
    gram = z.T @ z / n
    # If all vectors are zero there is no eigenvalue to measure by, and any strength gives c times the identity.
    strength = max(ridge * np.trace(gram) / d, 1e-12)
    right = z.T @ targets.astype(np.float64) / n + strength * identity * np.eye(d)
    fitted: NDArray[np.float32] = np.linalg.solve(gram + strength * np.eye(d), right).astype(np.float32)
    return fitted
