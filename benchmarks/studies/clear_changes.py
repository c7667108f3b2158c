"""How often a topic that did not change is told as changed, if another is new, and how often a halving is found.

    .venv/bin/python benchmarks/studies/clear_changes.py

21 topics of unequal size; the second period has a quarter of the dialogues. Compared are the exact test of each share
of all dialogues, and `evidence.parts_p`, each at 5 % with all tries counted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dial2vec.collection.changes.evidence import LEVEL, TABLES, adjusted, exact_p, parts_p

TOPICS, TIMES = 21, 300
Test = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float64]]


def of_all(before: NDArray[np.int64], after: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the p-values of shares of all dialogues."""
    return exact_p(before, before.sum(), after, after.sum())


def tried(test: Test, n: int, new: float, halved: bool) -> tuple[float, float]:
    """Return the part of the repetitions that tell a topic that did not change, and that find the halving."""
    random, false, found = np.random.default_rng(1), 0, 0
    for _ in range(TIMES):
        rates = random.dirichlet(np.full(TOPICS - 1, 3.0))
        rates[0] = 0.13
        later = rates.copy()
        later[0] /= 2 if halved else 1
        later = np.append((1 - new) * later / later.sum(), new)
        before = random.multinomial(3 * n // 4, np.append(rates / rates.sum(), 0))
        told = adjusted(test(before, random.multinomial(n // 4, later)), tables=TABLES) <= LEVEL
        false += told[1:-1].any()
        found += told[0]
    return false / TIMES, found / TIMES


def main() -> None:
    """Print a table."""
    write = sys.stdout.write
    write("| dialogues | new topic | halved | told falsely: of all | parts | halving found: of all | parts |\n")
    write("|---|---|---|---|---|---|---|\n")
    for n in (1_000, 3_000, 20_000):
        for new, halved in ((0.0, False), (0.26, False), (0.0, True), (0.26, True)):
            figures = [tried(test, n, new, halved) for test in (of_all, parts_p)]
            shown = [f"{figure:.0%}" for column in zip(*figures, strict=True) for figure in column]
            write(f"| {n:,} | {new:.0%} | {'yes' if halved else 'no'} | {' | '.join(shown)} |\n")


if __name__ == "__main__":
    main()
