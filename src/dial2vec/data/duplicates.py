"""Near-duplicate dialogues by MinHash (Broder 1997) with bands, in linear time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from conversations.words import words

SHINGLE = 3  # words
# Two dialogues share a band with probability 99.8 % at a similarity of 80 %, and 1.5 % at 30 %.
BANDS, ROWS = 21, 6
# Maximum number of dialogues per band that one dialogue is compared with.
CANDIDATES = 8
BLOCK = 5000

Signatures = NDArray[np.uint32]
Places = NDArray[np.int64]


def signatures(dialogues: Iterable[Dialogue]) -> Signatures:
    """Return the MinHash of each dialogue's set of word triples, uint32 [n, 126].

    The share of equal entries in two rows estimates the Jaccard similarity of the two sets, with a standard deviation
    of at most 0.045. Speakers, capitals and white space are ignored.
    """
    from rensa import RMinHash

    stream, blocks = iter(dialogues), [np.zeros((0, BANDS * ROWS), dtype=np.uint32)]
    while taken := list(islice(stream, BLOCK)):
        matrix = RMinHash.digest_matrix_from_token_sets([shingles(dialogue) for dialogue in taken], BANDS * ROWS, 1)
        blocks.append(np.array(matrix.to_rows(), dtype=np.uint32))
    return np.concatenate(blocks)


def shingles(dialogue: Dialogue) -> list[str]:
    """Return the different word triples of a dialogue, or all its words as one if it has fewer than 3."""
    tokens = words(dialogue.text.lower())
    triples = (" ".join(tokens[first : first + SHINGLE]) for first in range(max(1, len(tokens) - SHINGLE + 1)))
    return list(dict.fromkeys(triples))


def nearest_among(
    signatures: Signatures, queries: Places, among: Places, *, similarity: float
) -> tuple[Places, NDArray[np.float64]]:
    """Return the most similar candidate of each query.

    :param signatures: Signatures of all dialogues, uint32 [n, 126].
    :param queries: Places of the q queries.
    :param among: Places of the candidates.
    :param similarity: Minimum share of equal entries, in (0, 1].
    :returns: Place of the most similar candidate, int64 [q], or -1; and its similarity, float64 [q].
    """
    best = np.zeros(len(queries))
    nearest = np.full(len(queries), -1, dtype=np.int64)
    if not len(queries) or not len(among):
        return nearest, best
    for keys in bands(signatures):
        order = among[np.argsort(keys[among], kind="stable")]
        first, last = (np.searchsorted(keys[order], keys[queries], side=side) for side in ("left", "right"))
        for step in range(CANDIDATES):
            asking = np.flatnonzero(first + step < last)
            others = order[first[asking] + step]
            equal = (signatures[queries[asking]] == signatures[others]).mean(axis=1)
            better = (equal >= similarity) & (equal > best[asking])
            best[asking[better]], nearest[asking[better]] = equal[better], others[better]
    return nearest, best


def bands(signatures: Signatures) -> Iterator[NDArray[np.uint64]]:
    """Yield a number per dialogue for the whole signature, then for each of its 21 bands; equal where these are equal.

    :param signatures: Signatures, uint32 [n, 126].
    """
    mixing = np.random.default_rng(0).integers(1, 2**63, size=BANDS * ROWS, dtype=np.uint64) | np.uint64(1)
    # All columns first: equal dialogues meet there, even if many others share their bands.
    for columns in (slice(None), *(slice(band * ROWS, (band + 1) * ROWS) for band in range(BANDS))):
        yield _keys(signatures[:, columns], mixing[columns])


def _keys(columns: Signatures, mixing: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return one number per row, equal for equal rows. Sums wrap around at 2^64 on purpose."""
    keys = np.zeros(len(columns), dtype=np.uint64)
    for place, factor in enumerate(mixing):
        keys += columns[:, place].astype(np.uint64) * factor
    return keys
