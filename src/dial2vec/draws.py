"""Seeded random draws that depend only on names, never on data order, batches, workers or other draws."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray


def rng_for(*names: str | int) -> np.random.Generator:
    """Return the random generator of some names, such as a seed and a dialogue id."""
    return np.random.default_rng(stable_hash(*names))


def stable_hash(*names: str | int) -> int:
    """Return a whole number in [0, 2^128) that depends only on the names."""
    # The length prefix keeps ("a", "bc") and ("ab", "c") apart.
    text = "".join(f"{len(str(name))}:{name}" for name in names)
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest())


def augmentation_rng(seed: int, *names: str) -> np.random.Generator:
    """Return the random generator of a seed and some names, such as a way of augmentation and a dialogue id.

    It hashes differently from `rng_for`, because published figures depend on the draws of each.

    :param seed: Random seed, at least 0.
    """
    digest = blake2b("\x1f".join(names).encode("utf-8", "replace"), digest_size=8).digest()
    return np.random.default_rng([seed, int.from_bytes(digest, "big")])


def drawn(n: int, most: int | None, *, seed: int | list[int]) -> NDArray[np.int64]:
    """Return at most `most` of n places, drawn by a seed, ascending; fewer are a subset of more, None is no limit."""
    return np.sort(np.random.default_rng(seed).permutation(n)[:most])


def share_of(share: float, n: int) -> int:
    """Return a share of n, rounded to the nearest whole number, halves up: 0.3 of 5 is 2."""
    return int(share * n + 0.5)
