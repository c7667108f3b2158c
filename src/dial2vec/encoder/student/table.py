"""`TokenTable`: a vector and a weight per token, in memory and as `table.safetensors`."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save

from dial2vec.encoder.folder import damaged
from dial2vec.encoder.inputs import check_name
from dial2vec.errors import ModelError

Rows = Literal["fp32", "fp16", "int8"]
DTYPES: dict[str, np.dtype[Any]] = {"fp32": np.dtype("f4"), "fp16": np.dtype("f2"), "int8": np.dtype("i1")}
# Texts whose tokens are added at a time.
TEXTS = 1024
# A product of matrices reads a row some 40 times faster than a gather, but also for texts without the token. So tokens
# are counted in a matrix if at least 1 in 32 texts has them, but no more than 1,024 tokens: 8 MiB of counts.
COMMON, MOST = 32, 1024
# Rows that are gathered at a time: 0.8 MiB with 384 numbers each, which stay in the cache of a core.
CHUNK = 512
# OpenBLAS uses all its threads from 2 ** 18 multiplications on, and waits some 15 ms for one whose core is busy.
# Products of fewer stay in one thread: 0.75 ms instead of 0.6, and the same rounding with any number of threads.
SIDE, UNTHREADED = 64, 2**18
# A single lock for all tables, as a table with a lock could not be pickled. It is held only while rows are added.
LOCK = threading.Lock()


class TokenTable:
    """A row and a weight per token of a vocabulary. A text's vector is the weighted mean of its tokens' rows.

    :param rows: float32, float16 or int8 [V, d].
    :param weights: positive weight of each token, [V].
    :param scales: number that each int8 row is multiplied by, [V]; None for other rows.
    :raises ModelError: if the arrays do not fit each other, or hold a value that is not finite.
    """

    def __init__(
        self, rows: NDArray[Any], weights: NDArray[np.float32], scales: NDArray[np.float32] | None = None
    ) -> None:
        if rows.dtype not in DTYPES.values() or rows.ndim != 2:
            raise ModelError(
                f"found rows of {rows.dtype} with shape {rows.shape} in a table; expected {', '.join(DTYPES)} with "
                "shape [V, d]. Convert the rows."
            )
        if (rows.dtype == np.int8) != (scales is not None):
            raise ModelError(f"found rows of {rows.dtype} in a table; int8 rows, and only these, need scales.")
        for name, values in (("weights", weights), ("scales", scales)):
            if values is not None and (values.shape != rows.shape[:1] or not (values > 0).all()):
                raise ModelError(f"found {name} with shape {values.shape}; expected {len(rows)} numbers above 0.")
        # A sum is finite only if all its numbers are, and it needs no second table in memory.
        if not np.isfinite([rows.sum(dtype=np.float64), weights.sum()]).all():
            raise ModelError("found a number in a table that is not finite; expected finite numbers. Train again.")
        self.rows = rows
        self.weights = weights.astype(np.float32, copy=False)
        self.scales = scales
        # Weighted rows so far, with room for more, and the place of each token's row there; -1 if it is not computed.
        self._weighted = np.zeros((0, self.dimension), dtype=np.float32)
        self._places = np.full(len(rows), -1)
        self._known = 0

    def __reduce__(self) -> tuple[Any, ...]:
        # Without the weighted rows, into which a copy that joblib has mapped read-only could not write.
        return TokenTable, (self.rows, self.weights, self.scales)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def dimension(self) -> int:
        """Length d of a row."""
        return int(self.rows.shape[1])

    @property
    def kind(self) -> Rows:
        """Type of the rows."""
        kinds: tuple[Rows, ...] = get_args(Rows)
        return next(kind for kind in kinds if DTYPES[kind] == self.rows.dtype)

    def weighted(self, ids: NDArray[Any]) -> NDArray[np.float32]:
        """Return the row of each token times its weight, float32 [n, d]; computed once and kept."""
        if (self._places[ids] < 0).any():
            with LOCK:
                self._weigh(np.unique(ids[self._places[ids] < 0]))
        return self._weighted[self._places[ids]]

    def _weigh(self, new: NDArray[Any]) -> None:
        """Add tokens to the weighted rows. Other threads may read meanwhile, so their places are set last."""
        known = self._known + len(new)
        if known > len(self._weighted):
            grown = np.empty((min(2 * known, len(self)), self.dimension), dtype=np.float32)
            grown[: self._known] = self._weighted[: self._known]
            self._weighted = grown
        factors = self.weights[new] if self.scales is None else self.weights[new] * self.scales[new]
        np.multiply(self.rows[new], factors[:, None], dtype=np.float32, out=self._weighted[self._known : known])
        self._places[new] = np.arange(self._known, known)
        self._known = known

    def sums(
        self, ids: NDArray[np.int32], lengths: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the sum of the weighted rows of each text, float32 [n, d], and the sum of its weights, float32 [n].

        :param ids: token ids of all texts, end to end.
        :param lengths: number of tokens of each text, [n].
        """
        sums = np.zeros((len(lengths), self.dimension), dtype=np.float32)
        weights = np.zeros(len(lengths), dtype=np.float32)
        ends = np.cumsum(lengths)
        for first in range(0, len(lengths), TEXTS):
            part = slice(first, first + TEXTS)
            own = ids[ends[first] - lengths[first] : ends[part][-1]]
            texts = np.repeat(np.arange(len(lengths[part])), lengths[part])
            weights[part] = np.bincount(texts, self.weights[own], minlength=len(lengths[part]))
            rare = self._add_common(sums[part], own, texts)
            self._add(sums[part], own[rare], texts[rare])
        return sums, weights

    def _add_common(
        self, sums: NDArray[np.float32], ids: NDArray[np.int32], texts: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Add the rows of common tokens as a product of matrices; return which tokens are left."""
        counts = np.bincount(ids, minlength=len(self))
        common = np.flatnonzero(counts * COMMON > len(sums))
        if len(common) > MOST:
            common = common[np.argpartition(counts[common], -MOST)[-MOST:]]
        columns = np.full(len(self), -1)
        columns[common] = np.arange(len(common))
        places = columns[ids]
        added = places >= 0
        cells = texts[added] * len(common) + places[added]
        table = np.bincount(cells, minlength=len(sums) * len(common)).reshape(len(sums), len(common))
        sums += product(table, self.weighted(common))
        return ~added

    def _add(self, sums: NDArray[np.float32], ids: NDArray[np.int32], texts: NDArray[np.int64]) -> None:
        """Add the rows of tokens one by one."""
        for first in range(0, len(ids), CHUNK):
            within = texts[first : first + CHUNK]
            begins = np.flatnonzero(np.diff(within, prepend=-1))
            sums[within[begins]] += np.add.reduceat(self.weighted(ids[first : first + CHUNK]), begins)

    def as_rows(self, rows: Rows) -> TokenTable:
        """Return the table with rows of another type; int8 rows have a scale each, a power of 2."""
        check_name("rows", rows, get_args(Rows))
        if self.rows.dtype == DTYPES[rows]:
            return self
        exact = self.rows.astype(np.float32)
        if self.scales is not None:
            exact *= self.scales[:, None]
        if rows != "int8":
            with np.errstate(over="ignore"):
                return TokenTable(exact.astype(DTYPES[rows]), self.weights)
        # Powers of 2: a weight times and over its scale is the same number again, so a saved copy has the same hash.
        scales = np.ldexp(np.float32(1), np.frexp(np.abs(exact).max(1) / np.float32(127))[1])
        return TokenTable(np.rint(exact / scales[:, None]).astype(np.int8), self.weights, scales)

    def save(self, path: Path) -> None:
        """Write a safetensors file with the keys of model2vec: `embeddings` times `weights` are the weighted rows."""
        arrays = {"embeddings": np.ascontiguousarray(self.rows), "weights": self.weights}
        if self.scales is not None:
            arrays |= {"weights": self.weights * self.scales, "scales": self.scales}
        # Not `save_file`: its file can be read by its owner only.
        path.write_bytes(save(arrays))

    @classmethod
    def load(cls, path: Path) -> TokenTable:
        """Read a table.

        :raises ModelError: if the file is missing or damaged.
        """
        if not path.is_file():
            raise ModelError(f"{path} is missing; expected the table of a student. Save the student again.")
        with damaged(f"{path} does not hold a whole table", kind="student"):
            arrays = load_file(path)
            rows, weights, scales = arrays["embeddings"], arrays["weights"], arrays.get("scales")
            with np.errstate(divide="ignore", invalid="ignore"):
                return cls(rows, weights if scales is None else weights / scales, scales)


def product(counts: NDArray[np.int64], rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the product of two matrices, float32, computed in one thread."""
    (n, k), d = counts.shape, rows.shape[1]
    height = max(min(SIDE, n), 1)
    depth = UNTHREADED // (height * SIDE)
    padded = np.zeros((n + -n % height, k), dtype=np.float32)
    padded[:n] = counts
    blocks = padded.reshape(len(padded) // height, height, k)
    result = np.zeros((*blocks.shape[:2], d), dtype=np.float32)
    for column in range(0, d, SIDE):
        for row in range(0, k, depth):
            part = rows[row : row + depth, column : column + SIDE]
            result[:, :, column : column + SIDE] += blocks[:, :, row : row + depth] @ part
    return result.reshape(len(padded), d)[:n]
