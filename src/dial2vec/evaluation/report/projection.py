"""Vectors to points on a page."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import orthogonal_procrustes
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from dial2vec.evaluation.distribution import normalised

# Below this a neighbourhood is nearly the whole set, and t-SNE shows nothing that principal components do not.
FEWEST_FOR_TSNE = 30
PERPLEXITY = 30
COMPONENTS_BEFORE_TSNE = 50


@dataclass(frozen=True, slots=True)
class Layout:
    """Where each dialogue lies on a map.

    :param points: [n, 2] float64.
    :param method: "t-SNE", or "PCA" where there is too little for it.
    """

    points: np.ndarray
    method: str


def lay_out(vectors: np.ndarray, *, seed: int) -> Layout:
    """Place the vectors in two dimensions by t-SNE of their directions, or by `project` where that is undefined.

    The squared distance of two directions is 2 - 2 cosine, so neighbours on the map are neighbours by cosine.
    Source: van der Maaten and Hinton 2008. Takes some 10 s for 2,400 vectors.

    :param vectors: [n, d] float32; with n under 30, d under 3 or all of one direction, they are placed by `project`.
    :param seed: seed of the principal components and of t-SNE.
    """
    units = normalised(vectors).astype(np.float32)
    coincide = np.ptp(units, axis=0).max(initial=0) < 1e-6
    if len(units) < FEWEST_FOR_TSNE or units.shape[1] < 3 or coincide:
        return Layout(project(vectors, seed), "PCA")
    # One thread: t-SNE magnifies the last bit of a sum, and several threads add in whatever order they finish.
    with threadpool_limits(limits=1):
        reduced = PCA(min(COMPONENTS_BEFORE_TSNE, *units.shape), random_state=seed).fit_transform(units)
        perplexity = min(PERPLEXITY, (len(units) - 1) / 3)
        points = TSNE(2, perplexity=perplexity, init="pca", random_state=seed).fit_transform(reduced)
    return Layout(points.astype(np.float64), "t-SNE")


def turn_like(points: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the points turned and mirrored about their centre so that they lie closest to the other map.

    :param points: [n, 2] float64; distances between them do not change.
    :param other: [n, 2] float64, the same dialogues in the same order.
    """
    centred, target = points - points.mean(axis=0), other - other.mean(axis=0)
    turned: np.ndarray = centred @ orthogonal_procrustes(centred, target)[0]
    return turned


def project(vectors: np.ndarray, seed: int) -> np.ndarray:
    """Return [n, 2] float64: the vectors on their two principal components.

    :param vectors: [n, d] float32; what n or d under 2 leaves undefined is 0.
    :param seed: seed of the randomised solver that scikit-learn takes for large inputs.
    """
    points = np.zeros((len(vectors), 2))
    components = min(2, *vectors.shape)
    # All vectors equal: the share of explained variance, which nobody reads here, would be 0 / 0.
    with np.errstate(invalid="ignore"):
        points[:, :components] = PCA(components, random_state=seed).fit_transform(np.asarray(vectors, dtype=np.float64))
    return points
