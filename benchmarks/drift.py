"""How often `dial2vec drift` raises an alarm: on halves of one corpus, and with a share of different dialogues.

    .venv/bin/python benchmarks/drift.py --corpus sgd --other self_dialogue

`--dialogues` of each train split are drawn and encoded once by the starting encoder; their vectors are kept in
`artifacts/drift/`. A trial draws 500 old dialogues and a number of new ones, none twice, and judges them by the limits
of `operation.yaml`. The new ones are

- halves: from the same corpus, so that every alarm is false;
- another corpus: a share of them from `--other`;
- a new label: a share of them with a label that no other dialogue of the trial has, drawn for each trial among the
  labels with enough dialogues.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue, read_dialogues
from dial2vec.config import Drift
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.vector_cache import kept_vectors
from dial2vec.files import find_root
from dial2vec.operation.drift.comparison import find_drift
from dial2vec.operation.drift.two_samples import Floats, distances
from dial2vec.params import load_operation, load_settings
from dial2vec.pipeline.artifacts import Artifacts

OLD, NEW, SHARES = 500, (100, 300, 500), (0.05, 0.1, 0.2)
Places = NDArray[np.int64]
# Indices of the old and the new dialogues of a trial.
Draw = Callable[[np.random.Generator], tuple[Places, Places]]


@dataclass(frozen=True)
class Pool:
    """Dialogues to draw from.

    :param between: distances between the dialogues of the corpus, then of the other one, [n + m, n + m].
    :param labels: labels of the corpus's dialogues, [n].
    """

    between: Floats
    labels: list[tuple[str, ...]]


def main() -> None:
    """Measure all cells and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default="sgd")
    parser.add_argument("--other", default="self_dialogue")
    parser.add_argument("--dialogues", type=int, default=1500, help="number of dialogues drawn from each corpus")
    parser.add_argument("--trials", type=int, default=200, help="number of trials on halves; mixtures get a quarter")
    arguments = parser.parse_args()
    root = find_root()
    settings, options = load_settings(root / "params.yaml"), load_operation(root / "operation.yaml").drift
    encoder = DialogueEncoder.start(settings.encoder)
    drawn = [some(root, corpus, arguments.dialogues) for corpus in (arguments.corpus, arguments.other)]
    vectors = [
        kept_vectors(encoder, one, folder=root / "artifacts" / "drift" / corpus, precision="fp32")
        for corpus, one in zip((arguments.corpus, arguments.other), drawn, strict=True)
    ]
    pool = Pool(distances(*vectors), [dialogue.labels for dialogue in drawn[0]])
    sizes = " | ".join(f"{size} new" for size in NEW)
    sys.stdout.write(f"| {arguments.corpus} | share | {sizes} |\n|---|---|{'---|' * len(NEW)}\n")
    sys.stdout.write(line("halves", 0.0, [halves(pool, size) for size in NEW], pool, options, arguments.trials))
    for name, draws in ((arguments.other, another_corpus), ("a new label", new_label)):
        for share in SHARES:
            cells = [draws(pool, size, round(share * size)) for size in NEW]
            sys.stdout.write(line(name, share, cells, pool, options, arguments.trials // 4))
            sys.stdout.flush()


def some(root: Path, corpus: str, most: int) -> list[Dialogue]:
    """Return dialogues of a train split, drawn by a fixed seed."""
    found = list(read_dialogues(Artifacts(root, corpus).split("train")))
    return [found[place] for place in np.random.default_rng(0).permutation(len(found))[:most]]


def line(name: str, share: float, draws: list[Draw], pool: Pool, options: Drift, trials: int) -> str:
    """Return a Markdown row: alarms, and in brackets alarms of the test and of the far-away share."""
    cells = []
    for draw in draws:
        alarms = np.array([alarm(pool, draw, options, trial) for trial in range(trials)]).sum(axis=0)
        cells.append(f"{alarms[0]} of {trials} ({alarms[1]}, {alarms[2]})")
    return f"| {name} | {100 * share:.0f} % | {' | '.join(cells)} |\n"


def alarm(pool: Pool, draw: Draw, options: Drift, trial: int) -> tuple[bool, bool, bool]:
    """Return whether a trial raises an alarm, whether the two-sample test does, and whether the far-away share does."""
    old, new = draw(np.random.default_rng(trial))
    places = np.concatenate([old, new])
    reasons = find_drift(pool.between[np.ix_(places, places)], len(old), options=options, seed=trial).reasons
    far = any("far away" in reason for reason in reasons)
    return bool(reasons), len(reasons) > far, far


def halves(pool: Pool, size: int) -> Draw:
    """Return the draw of new dialogues like the old ones."""
    return another_corpus(pool, size, 0)


def another_corpus(pool: Pool, size: int, others: int) -> Draw:
    """Return the draw of `size` new dialogues, `others` of them from the other corpus."""
    n = len(pool.labels)

    def draw(rng: np.random.Generator) -> tuple[Places, Places]:
        own, strange = rng.permutation(n), n + rng.permutation(len(pool.between) - n)
        return own[:OLD], np.concatenate([own[OLD : OLD + size - others], strange[:others]])

    return draw


def new_label(pool: Pool, size: int, others: int) -> Draw:
    """Return the draw of `size` new dialogues, `others` of them with a label that the others lack."""
    most = round(SHARES[-1] * NEW[-1])
    members = {
        label: np.array([label in labels for labels in pool.labels])
        for label in sorted({label for labels in pool.labels for label in labels})
    }
    # The same labels for all cells of the table, and enough dialogues without one to draw from.
    enough = [one for one in members.values() if one.sum() >= most and (~one).sum() >= OLD + NEW[-1]]

    def draw(rng: np.random.Generator) -> tuple[Places, Places]:
        has = enough[rng.integers(len(enough))]
        without, strange = rng.permutation(np.flatnonzero(~has)), rng.permutation(np.flatnonzero(has))
        return without[:OLD], np.concatenate([without[OLD : OLD + size - others], strange[:others]])

    return draw


if __name__ == "__main__":
    main()
