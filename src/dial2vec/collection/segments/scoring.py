"""How well found boundaries match true ones: F1 with a tolerance, Pk and WindowDiff."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def boundary_f1(cuts: Sequence[Sequence[int]], true: Sequence[Sequence[int]], *, tolerance: int = 0) -> float:
    """Return the F1 of boundaries over all dialogues, in [0, 1]; 1 if there are neither found nor true ones.

    Each true boundary matches at most one found boundary, the nearest within the tolerance.

    :param cuts: found boundaries of each dialogue, ascending: turns at which a segment begins, without the first turn.
    :param true: true boundaries of each dialogue.
    :param tolerance: largest distance, in turns.
    """
    matches = total = 0
    for own, others in zip(cuts, true, strict=True):
        left = list(others)
        total += len(own) + len(left)
        for place in own:
            if left and abs(nearest := min(left, key=lambda other: abs(other - place)) - place) <= tolerance:
                left.remove(place + nearest)
                matches += 1
    return 2 * matches / total if total else 1.0


def pk(cuts: Sequence[int], true: Sequence[int], turns: int, *, window: int) -> float:
    """Return Pk (Beeferman et al. 1999), in [0, 1], 0 is best.

    It is the share of pairs of turns at a distance of `window` of which only one of both segmentations says that they
    are in the same segment.

    :param turns: number of turns, more than `window`.
    """
    own, other = _segment_of(cuts, turns), _segment_of(true, turns)
    same = own[window:] == own[:-window]
    return float((same != (other[window:] == other[:-window])).mean())


def window_diff(cuts: Sequence[int], true: Sequence[int], turns: int, *, window: int) -> float:
    """Return WindowDiff (Pevzner and Hearst 2002), in [0, 1], 0 is best: windows with different numbers of boundaries.

    :param turns: number of turns, more than `window`.
    """
    own, other = _segment_of(cuts, turns), _segment_of(true, turns)
    return float(((own[window:] - own[:-window]) != (other[window:] - other[:-window])).mean())


def _segment_of(cuts: Sequence[int], turns: int) -> np.ndarray:
    """Return the number of the segment of each turn, int64 [turns]."""
    begins = np.zeros(turns, dtype=np.int64)
    begins[list(cuts)] = 1
    return np.cumsum(begins)
