"""Vectors as points of a map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import orthogonal_procrustes
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from dial2vec.evaluation.distribution import normalised

# With fewer, a neighbourhood is nearly the whole set and t-SNE shows no more than principal components.
FEWEST_FOR_TSNE = 30
PERPLEXITY = 30
COMPONENTS_BEFORE_TSNE = 50


@dataclass(frozen=True, slots=True)
class Layout:
    """Position of each dialogue on a map.

    :param points: positions, float64 [n, 2].
    :param method: "t-SNE", or "PCA" if t-SNE is undefined.
    """

    points: np.ndarray
    method: str


def lay_out(vectors: np.ndarray, *, seed: int) -> Layout:
    """Lay out the vectors by t-SNE of their directions (van der Maaten and Hinton 2008), or by `project`.

    As |a - b|² = 2 - 2 cosine, neighbours on the map are neighbours by cosine. 2,400 vectors take about 10 s.

    :param vectors: vectors, float32 [n, d]; `project` is used if n < 30, d < 3 or all have the same direction.
    :param seed: seed of the principal components and of t-SNE.
    """
    units = normalised(vectors).astype(np.float32)
    coincide = np.ptp(units, axis=0).max(initial=0) < 1e-6
    if len(units) < FEWEST_FOR_TSNE or units.shape[1] < 3 or coincide:
        return Layout(project(vectors, seed), "PCA")
    # One thread: t-SNE magnifies the last bit of a sum, and the order of summation varies with several threads.
    with threadpool_limits(limits=1):
        reduced = PCA(min(COMPONENTS_BEFORE_TSNE, *units.shape), random_state=seed).fit_transform(units)
        perplexity = min(PERPLEXITY, (len(units) - 1) / 3)
        points = TSNE(2, perplexity=perplexity, init="pca", random_state=seed).fit_transform(reduced)
    return Layout(points.astype(np.float64), "t-SNE")


def turn_like(points: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Rotate and mirror the points about their centre to match the other map as closely as possible.

    :param points: positions, float64 [n, 2]; the distances between them do not change.
    :param other: positions of the same dialogues on the other map, float64 [n, 2].
    """
    centred, target = points - points.mean(axis=0), other - other.mean(axis=0)
    turned: np.ndarray = centred @ orthogonal_procrustes(centred, target)[0]
    return turned


def project(vectors: np.ndarray, seed: int) -> np.ndarray:
    """Return the vectors on their first two principal components, float64 [n, 2]; missing components are 0.

    :param vectors: vectors, float32 [n, d].
    :param seed: seed of the randomised solver that scikit-learn uses for large inputs.
    """
    points = np.zeros((len(vectors), 2))
    components = min(2, *vectors.shape)
    # If all vectors are equal, the unused share of explained variance is 0 / 0.
    with np.errstate(invalid="ignore"):
        points[:, :components] = PCA(components, random_state=seed).fit_transform(np.asarray(vectors, dtype=np.float64))
    return points
