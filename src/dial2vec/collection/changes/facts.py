"""What is known of dialogues, counted in cells: numbers and values of the metadata, and labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.data.metadata import Evidence, kinds_of, typed
from dial2vec.errors import CorpusError, did_you_mean

# Key of the labels, unless the metadata has this key.
LABEL = "label"

Cells = NDArray[np.int64]
Figures = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Values:
    """The values of one key.

    :param key: key of the metadata, or "label".
    :param names: values, as texts.
    :param rows: rows of dialogues with a value, ascending; a dialogue with several labels comes several times.
    :param codes: number of the value of each of these rows.
    """

    key: str
    names: list[str]
    rows: NDArray[np.int64]
    codes: NDArray[np.int64]

    def counts(self, cells: Cells, n_cells: int) -> tuple[Cells, Cells]:
        """Return the dialogues of each cell with each value [n_cells, values], and with any value [n_cells].

        :param cells: cell of each dialogue from 0; -1 leaves a dialogue out.
        """
        kept = cells[self.rows] >= 0
        rows, codes = self.rows[kept], self.codes[kept]
        places = cells[rows] * len(self.names) + codes
        counts = np.bincount(places, minlength=n_cells * len(self.names)).reshape(n_cells, len(self.names))
        return counts, np.bincount(cells[rows[np.diff(rows, prepend=-1) > 0]], minlength=n_cells)


@dataclass(frozen=True, slots=True)
class KnownFacts:
    """Numbers and values of dialogues.

    :param numbers: values of each numeric key, float64 [n]; NaN without a value.
    :param values: keys with few different values.
    """

    numbers: dict[str, Figures]
    values: list[Values]


def facts_of(*collections: CollectionFolder, keys: Sequence[str] = ()) -> KnownFacts:
    """Return the facts of the dialogues of collections, one collection after the other.

    :param keys: keys of the metadata, or "label"; () takes all, except those with free texts or times.
    :raises CorpusError: if a key is unknown, or holds free texts or times.
    """
    columns = [collection.rows["metadata"] for collection in collections]
    packed = pa.chunked_array([chunk for column in columns for chunk in column.chunks], columns[0].type)
    kinds = kinds_of([packed])
    labels = pa.concat_arrays([chunk for collection in collections for chunk in collection.rows["labels"].chunks])
    has_labels = LABEL not in kinds and len(pc.list_flatten(labels)) > 0
    for key in keys:
        _require_usable(key, kinds, has_labels, collections[0])
    numbers, values = dict[str, Figures](), list[Values]()
    for key, evidence in kinds.items():
        if keys and key not in keys:
            continue
        if evidence.kind == "number":
            column = typed(packed, key, evidence).cast(pa.float64(), safe=False)
            numbers[key] = np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
        elif evidence.kind == "category":
            values.append(_values(key, typed(packed, key, evidence).cast(pa.string())))
    if has_labels and (not keys or LABEL in keys):
        values.append(_values(LABEL, pc.list_flatten(labels), rows=pc.list_parent_indices(labels)))
    return KnownFacts(numbers, values)


def _require_usable(key: str, kinds: Mapping[str, Evidence], has_labels: bool, collection: CollectionFolder) -> None:
    """Raise an error unless the key has numbers or few different values."""
    usable = [name for name in kinds if kinds[name].kind in ("number", "category")] + [LABEL] * has_labels
    if key in usable:
        return
    listed = ", ".join(usable[:8]) + (", ..." if len(usable) > 8 else "") or "none"
    if key in kinds:
        kind = "times" if kinds[key].kind == "time" else "free texts"
        raise CorpusError(
            f"metadata {key!r} of {collection.folder} holds {kind}; expected a key with numbers or few "
            f"different values: {listed}. Name one of these with --key."
        )
    raise CorpusError(
        f"no dialogue of {collection.folder} has metadata {key!r}; expected one of: {listed}."
        f"{did_you_mean(key, usable)} Name one of these with --key."
    )


def _values(key: str, column: pa.Array, *, rows: pa.Array | None = None) -> Values:
    coded = column.dictionary_encode()
    codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    at = np.arange(len(codes)) if rows is None else rows.to_numpy(zero_copy_only=False).astype(np.int64)
    return Values(key, coded.dictionary.to_pylist(), at[codes >= 0], codes[codes >= 0])


def sums_of(numbers: Figures, cells: Cells, n_cells: int) -> tuple[Figures, float]:
    """Return number of values, sum and sum of squares per cell, float64 [3, n_cells], less a middle; and that middle.

    Without the middle, the squares of large numbers would cancel.

    :param numbers: a number per dialogue; NaN is no value.
    :param cells: cell of each dialogue from 0; -1 leaves a dialogue out.
    """
    kept = np.isfinite(numbers) & (cells >= 0)
    middle = float(numbers[kept].mean()) if kept.any() else 0.0
    own, at = numbers[kept] - middle, cells[kept]
    return np.array([np.bincount(at, weight, minlength=n_cells) for weight in (np.ones_like(own), own, own**2)]), middle


def mean_and_sd(sums: Figures, middle: float) -> tuple[Figures, Figures]:
    """Return the mean and the standard deviation (n - 1 degrees of freedom) of each cell; NaN without enough values.

    :param sums: result of `sums_of`, or sums or differences of its columns.
    """
    n, total, squares = sums
    nothing = np.full(len(n), np.nan)
    mean = np.divide(total, n, out=nothing.copy(), where=n > 0)
    variance = np.divide(squares - n * mean**2, n - 1, out=nothing.copy(), where=n > 1)
    # What rounding leaves of equal values.
    variance[variance < 1e-12 * squares / np.maximum(n, 1)] = 0.0
    return mean + middle, np.sqrt(variance)
