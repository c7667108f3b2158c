"""Seeded draws that depend on names alone, never on the order of the data or on what else is drawn."""

from __future__ import annotations

import hashlib

import numpy as np


def stream(*names: str | int) -> np.random.Generator:
    """Return the generator of random numbers that belongs to these names, such as a seed and the id of a dialogue.

    Not `augmentation.streams.stream`: each has figures behind it that were drawn by its own seeds, and would change.
    """
    return np.random.default_rng(lot(*names))


def lot(*names: str | int) -> int:
    """Return a whole number in [0, 2^128) that these names always draw; different names draw different ones."""
    # A name's length stands before it, so that ("a", "bc") and ("ab", "c") are two.
    told = "".join(f"{len(str(name))}:{name}" for name in names)
    return int.from_bytes(hashlib.blake2b(told.encode("utf-8", "surrogatepass"), digest_size=16).digest())
