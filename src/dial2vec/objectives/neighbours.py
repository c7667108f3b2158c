"""Neighbourhood learning: each dialogue is pulled towards its nearest dialogues, and nothing is pushed apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from dial2vec.encoder.nearest import nearest

# Share of a target that stays the dialogue itself, and how often the neighbours' targets are averaged anew.
OWN_SHARE = 0.2
ROUNDS = 2


def centred(vectors: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return unit vectors about the mean direction of the corpus, [n, d], and that mean [d].

    :param vectors: pooled vectors [n, d] float32.
    """
    units = _units(vectors)
    mean = units.mean(axis=0)
    return _units(units - mean), mean


def neighbour_targets(units: NDArray[np.float32], *, k: int) -> NDArray[np.float32]:
    """Return where each dialogue is pulled to: mostly the mean of its neighbours, taken twice over. Unit rows [n, d].

    `T_0 = Z`, `T_r = unit(0.2 Z + 0.8 mean of T_{r-1} over the k nearest others)`, two rounds. In the second round the
    neighbours' own neighbours come in, with less weight: a short random walk on the neighbourhood graph.

    :param units: centred unit vectors Z [n, d] float32.
    :param k: neighbours of each dialogue, 1 to n - 1.
    """
    among = nearest(units, k=k)
    targets = units
    for _ in range(ROUNDS):
        average = targets[among[:, 0]].copy()
        for place in range(1, k):
            average += targets[among[:, place]]
        targets = _units(OWN_SHARE * units + (1 - OWN_SHARE) / k * average)
    return targets


def fit_map(
    units: NDArray[np.float32], targets: NDArray[np.float32], *, ridge: float, identity: float
) -> NDArray[np.float32]:
    """Return the linear map [d, d] that brings dialogues nearest to their targets, in closed form.

    Minimises `|Z W - T|^2 / n + λ |W - c I|^2`, so `W = (G + λ I)^-1 (Z^T T / n + λ c I)` with `G = Z^T Z / n`
    and λ = ridge x mean eigenvalue of G. Where the corpus says nothing, W falls back to c times the identity: c = 0
    forgets such directions, c = 1 leaves them as they were.

    :param units: Z [n, d] float32, centred unit rows.
    :param targets: T [n, d] float32.
    :param ridge: > 0, in units of the mean eigenvalue.
    :param identity: c, 0 to 1.
    """
    n, d = units.shape
    z = units.astype(np.float64)
    gram = z.T @ z / n
    # Where all vectors are zero there is no eigenvalue to measure by, and any strength gives c times the identity.
    strength = max(ridge * np.trace(gram) / d, 1e-12)
    right = z.T @ targets.astype(np.float64) / n + strength * identity * np.eye(d)
    fitted: NDArray[np.float32] = np.linalg.solve(gram + strength * np.eye(d), right).astype(np.float32)
    return fitted


def neighbour_loss(vectors: Tensor, targets: Tensor) -> Tensor:
    """Pull each dialogue towards the average of its neighbourhood.

    In plain words: dialogues that are already near each other belong together a little more than the encoder says.
    Nothing is pushed away, so dialogues of one topic are never driven apart for being different dialogues.

    Requirements: a start whose nearest neighbours mostly share a topic; a few hundred dialogues.
    Inputs: dialogues with targets of `neighbour_targets`, no negatives.
    Relations: `fit_map` reaches the same targets by a matrix in seconds; training the encoder beneath it goes
    further, because it also learns which words of a dialogue to listen to. `dial2vec_loss` tells a dialogue from
    copies with one side replaced, which weak encoders profit from and strong ones pay for with topics driven apart.

    :param vectors: the encoder's vectors [b, d], any length.
    :param targets: unit rows [b, d].
    :return: scalar fp32, mean of 1 - cosine, in [0, 2].

    Example::

        units, mean = centred(start_vectors)
        loss = neighbour_loss(encoder(batch), torch.from_numpy(neighbour_targets(units, k=10))[rows])
        loss.backward()
    """
    return (1 - functional.cosine_similarity(vectors.float(), targets.float(), dim=1)).mean()


def _units(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units: NDArray[np.float32] = vectors / np.maximum(lengths, 1e-12)
    return units
