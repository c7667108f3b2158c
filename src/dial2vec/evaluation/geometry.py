"""What the maps of the report and of the explorer share: points, colours, and where a name stands."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import orthogonal_procrustes
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits
from tqdm.auto import tqdm

from conversations.progress import moving, waiting
from dial2vec.encoder.nearest import unit_rows

Points = NDArray[np.float32]

# Of the points of maps; the first four differ most for every kind of eye, and none is the accent of the pages
# (tests/collection/explorer/test_colouring.py).
HUES = ("#7a45c4", "#c2770b", "#0f8fb3", "#b03a5b", "#8a6d1b", "#2f74d0", "#0b8a6f", "#6b7280")
# Of charts, which need more of them: readable on a white and on a near-black page.
COLOURS = ("#2398f3", "#d08219", "#b23966", "#9037c7", "#b06cbe", "#6265f8", "#f75775", "#5d6092", "#7e7000", "#099b62")
# With fewer, a neighbourhood is nearly the whole set and t-SNE shows no more than principal components.
FEWEST_FOR_TSNE = 30
PERPLEXITY = 30
COMPONENTS_BEFORE_TSNE = 50
# Steps of t-SNE with early exaggeration, steps after it, and steps per update of the progress bar. From principal
# components, 250 and 500 steps keep no more of the nearest neighbours (docs/explorer.md).
EARLY, LATE, EVERY = 75, 175, 5
# Number of vectors from which interpolation on a grid is faster than a tree.
FEWEST_FOR_GRID = 10_000
# Cells along each side of the grid in which the middle of a group is found.
CELLS = 48


def mixed(colour: str, part: float) -> str:
    """Return a colour mixed with a part of white, or of black if it is below 0.

    >>> mixed("#7a45c4", 0.3)
    '#a27dd6'
    """
    return f"#{bytes(round(own + abs(part) * (255 * (part > 0) - own)) for own in bytes.fromhex(colour[1:])).hex()}"


@dataclass(frozen=True, slots=True)
class Layout:
    """Position of each dialogue on a map.

    :param points: positions around 0, float32 [n, 2].
    :param method: "t-SNE", or "PCA" if t-SNE is undefined.
    """

    points: Points
    method: Literal["t-SNE", "PCA"]


def lay_out(vectors: NDArray[np.float32], *, seed: int, progress: bool = False) -> Layout:
    """Place vectors by t-SNE of their directions' principal components (van der Maaten and Hinton 2008), or `project`.

    As |a - b|² = 2 - 2 cosine, neighbours on the map are neighbours by cosine. The same seed gives the same bytes on
    one machine. One thread does all the work: t-SNE magnifies the last bit of a sum, and several threads would add in
    varying order. Source: Linderman et al. 2019 (FIt-SNE), by openTSNE.

    :param vectors: vectors, float32 [n, d]; `project` is used if n < 30, d < 3 or all have the same direction.
    :param progress: True for a progress bar if standard error is a terminal.
    """
    units = unit_rows(vectors)
    coincide = np.ptp(units, axis=0).max(initial=0) < 1e-6
    if len(units) < FEWEST_FOR_TSNE or units.shape[1] < 3 or coincide:
        return Layout(project(vectors, seed).astype(np.float32), "PCA")
    with waiting("map") if progress else nullcontext():
        from openTSNE import TSNE  # heavy, and not needed for a stored map

    steps = tqdm(total=EARLY + LATE, desc="map", unit="step", disable=None if progress else True, leave=False)
    with threadpool_limits(limits=1), moving(steps) as bar:
        reduced = PCA(min(COMPONENTS_BEFORE_TSNE, *units.shape), random_state=seed).fit_transform(units)
        tsne = TSNE(
            perplexity=min(PERPLEXITY, (len(units) - 1) / 3),
            initialization="pca",
            negative_gradient_method="fft" if len(units) >= FEWEST_FOR_GRID else "bh",
            early_exaggeration_iter=EARLY,
            n_iter=LATE,
            n_jobs=1,
            random_state=seed,
            callbacks=lambda *_: bar.update(EVERY) and None,
            callbacks_every_iters=EVERY,
        )
        points = np.asarray(tsne.fit(reduced))
    return Layout((points - points.mean(axis=0)).astype(np.float32), "t-SNE")


def project(vectors: NDArray[np.float32], seed: int) -> NDArray[np.float64]:
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


def turned_like(points: Points, other: Points) -> NDArray[np.float64]:
    """Rotate and mirror points about their centre to match another map of the same dialogues; distances stay.

    Source: Procrustes analysis (Schönemann 1966).

    :param points: positions, float32 [n, 2].
    :param other: positions on the other map, float32 [n, 2].
    """
    centred, target = (np.asarray(places - places.mean(axis=0), dtype=np.float64) for places in (points, other))
    turned: NDArray[np.float64] = centred @ orthogonal_procrustes(centred, target)[0]
    return turned


def cells_of(points: NDArray[np.generic]) -> NDArray[np.int64]:
    """Return the column and the row of each point in a grid of 48 x 48 cells over the map, int64 [n, 2]."""
    low, extent = points.min(axis=0), max(float(np.ptp(points, axis=0).max()), 1e-9)
    return np.minimum(((points - low) / extent * CELLS).astype(np.int64), CELLS - 1)


def middle_of(points: NDArray[np.generic], cells: NDArray[np.int64], width: float) -> tuple[float, float]:
    """Return the mean of the points around the densest place: a group in two parts is named at one.

    :param points: points of the group, [n, 2].
    :param cells: their cells, by `cells_of`.
    :param width: standard deviation of the bell by which points count around a place, in cells.
    """
    apart = np.arange(CELLS) - np.arange(CELLS)[:, None]
    near = np.exp(-0.5 * (apart / width) ** 2)
    counts = np.zeros((CELLS, CELLS))
    np.add.at(counts, (cells[:, 0], cells[:, 1]), 1)
    column, row = np.unravel_index((near @ counts @ near).argmax(), counts.shape)
    weights = near[column, cells[:, 0]] * near[row, cells[:, 1]]
    x, y = weights @ points / weights.sum()
    return float(x), float(y)
