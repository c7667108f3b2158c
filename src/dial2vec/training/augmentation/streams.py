"""Random draws that depend on the seed and on what is augmented, never on batches, workers or the order of work."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from dial2vec.errors import Dial2vecError


def stream(seed: int, *names: str) -> np.random.Generator:
    """Return a generator of its own for a seed and some names, such as a way and the id of a dialogue.

    Not `tasks.draws.stream`: variants that encoders were trained on were drawn by these seeds, and figures of the tasks
    by those; either would change.

    :param seed: 0 at least.
    :raises Dial2vecError: for a negative seed.
    """
    if seed < 0:
        raise Dial2vecError(f"seed is {seed}; expected 0 or more. Give another.")
    digest = blake2b("\x1f".join(names).encode("utf-8", "replace"), digest_size=8).digest()
    return np.random.default_rng([seed, int.from_bytes(digest, "big")])


def share_of(share: float, n: int) -> int:
    """Return how many of n a share is, to the nearest, a half upwards: 0.3 of 5 are 2.

    :param share: 0 to 1.
    :raises Dial2vecError: for another share.
    """
    require_share(share)
    return int(share * n + 0.5)


def require_share(share: float) -> None:
    """Make sure that a number is a share.

    :raises Dial2vecError: when it is not in 0 to 1.
    """
    if not 0 <= share <= 1:
        raise Dial2vecError(f"share is {share}; expected a number from 0 (nothing) to 1 (everything). Give another.")
