"""Names of areas, topics and fine topics, and where they stand on the map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.errors import ArtifactError

# Cells along each side of the grid in which the densest place of a group is found.
CELLS = 48
LEVELS = ("area", "name", "fine")


@dataclass(frozen=True, slots=True)
class MapName:
    """The name of a group of dialogues on the map.

    :param text: name.
    :param level: 0 for an area, 1 for a topic, 2 for a fine topic.
    :param x: place on the map, in its units.
    :param y: the same, upwards.
    :param size: number of its dialogues on the map.
    """

    text: str
    level: int
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
    found: list[MapName] = []
    known: set[str] = set()
    cells = _cells(points)
    for level, column in enumerate(LEVELS):
        if column not in assignment.column_names:
            continue
        codes = assignment[column].combine_chunks().dictionary_encode()
        groups = codes.indices.fill_null(-1).to_numpy()
        own = []
        for code, text in enumerate(codes.dictionary.to_pylist()):
            rows = np.flatnonzero(groups == code)
            if text not in known and len(rows):
                x, y = _densest(points[rows], cells[rows])
                own.append(MapName(text, level, x, y, len(rows)))
        known.update(name.text for name in own)
        found += sorted(own, key=lambda name: (-name.size, name.text))
    return found


def _cells(points: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the cell of each point, numbered over the grid, int64 [n]."""
    low, extent = points.min(axis=0), max(float(np.ptp(points, axis=0).max()), 1e-9)
    across, up = np.minimum(((points - low) / extent * CELLS).astype(np.int64), CELLS - 1).T
    return np.asarray(across * CELLS + up)


def _densest(points: NDArray[np.float32], cells: NDArray[np.int64]) -> tuple[float, float]:
    """Return the middle of the points in the cell that has most of them: a group of two parts is named at one."""
    numbers, counts = np.unique(cells, return_counts=True)
    x, y = points[cells == numbers[counts.argmax()]].mean(axis=0)
    return float(x), float(y)
