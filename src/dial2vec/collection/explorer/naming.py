"""Names of areas, topics and fine topics, and where they stand on the map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.errors import ArtifactError

# Cells along each side of the grid in which the middle of a group is found, and how many of them are seen as one place:
# the name of an area is in the middle of much of it, that of a fine topic at its densest spot.
CELLS = 48
WIDTHS = (4.0, 2.0, 1.0)
LEVELS = ("area", "name", "fine")


@dataclass(frozen=True, slots=True)
class MapName:
    """The name of a group of dialogues on the map.

    :param text: name.
    :param level: 0 for an area, 1 for a topic, 2 for a fine topic.
    :param id: its place among all groups of its level, largest first, then by name; from 0.
    :param x: place on the map, in its units.
    :param y: the same, upwards.
    :param size: number of its dialogues on the map.
    """

    text: str
    level: int
    id: int
    x: float
    y: float
    size: int


def assignment_of(collection: CollectionFolder, rows: NDArray[np.int64]) -> pa.Table | None:
    """Return the groups of these dialogues, columns `area`, `name` and `fine`; None if there are no clusters.

    Dialogues that were added after the clustering have none.

    :raises ArtifactError: if the folder `clusters` of the collection cannot be read.
    """
    path = collection.folder / "clusters" / "assignment.parquet"
    if not path.exists():
        return None
    try:
        table = pq.read_table(path)
        known = table.select([name for name in LEVELS if name in table.column_names])
    except (OSError, ValueError) as error:
        raise ArtifactError(f"{path} cannot be read ({error}). Make the clusters again, or remove it.") from error
    return known.take(pa.array(np.where(rows < len(known), rows, -1), mask=rows >= len(known)))


def names_on_map(assignment: pa.Table, points: NDArray[np.float32]) -> list[MapName]:
    """Return the names of all groups, those of a level by their size.

    A name that stands on two levels, as that of a topic that is not divided, is returned for the upper one alone.

    :param assignment: columns `area`, `name` and `fine` with a row per point; null for a hidden group.
    :param points: places on the map, float32 [n, 2].
    """
    names: list[MapName] = []
    known: set[str] = set()
    cells = _cells(points)
    for level, (texts, groups) in enumerate(ranked_groups(assignment)):
        for id, text in enumerate(texts):
            rows = np.flatnonzero(groups == id)
            if text not in known:
                x, y = _middle(points[rows], cells[rows], WIDTHS[level])
                names.append(MapName(text, level, id, x, y, len(rows)))
        known.update(texts)
    return names


def ranked_groups(assignment: pa.Table) -> list[tuple[list[str], NDArray[np.int16]]]:
    """Return the groups of each level, largest first, then by name: their names, and the place of each row's group.

    :param assignment: columns `area`, `name` and `fine`; null for a hidden group.
    :return: per level the names and an int16 [n]; -1 for a row without a group.
    """
    levels = []
    for column in LEVELS:
        if column not in assignment.column_names:
            continue
        codes = assignment[column].combine_chunks().dictionary_encode()
        groups = codes.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        texts = codes.dictionary.to_pylist()
        sizes = np.bincount(groups[groups >= 0], minlength=len(texts))
        order = sorted(range(len(texts)), key=lambda code: (-sizes[code], texts[code]))
        places = np.full(len(texts) + 1, -1, dtype=np.int16)
        places[order] = np.arange(len(texts))
        levels.append(([texts[code] for code in order], places[groups]))
    return levels


def _cells(points: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the column and the row of each point in the grid, int64 [n, 2]."""
    low, extent = points.min(axis=0), max(float(np.ptp(points, axis=0).max()), 1e-9)
    return np.minimum(((points - low) / extent * CELLS).astype(np.int64), CELLS - 1)


def _middle(points: NDArray[np.float32], cells: NDArray[np.int64], width: float) -> tuple[float, float]:
    """Return the mean of the points around the densest place: a group of two parts is named at one.

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
