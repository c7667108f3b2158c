"""How well found boundaries match true ones: F1 with a tolerance."""

from __future__ import annotations

from collections.abc import Sequence


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
