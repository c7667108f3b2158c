"""MAP, NMI and ARI of encoders on texts that the general student has not learnt from, by labels.

    python general/measure.py general all-MiniLM-L6-v2

NMI and ARI are those of k-means with as many clusters as there are labels, means of 10 runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from texts import TEST, alone, split_of

from conversations.dialogue import Dialogue
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.protocol import Encoder
from dial2vec.evaluation.clustering import cluster_scores
from dial2vec.evaluation.retrieval import retrieval_scores
from dial2vec_papers.tasks.intents import read_intents

ROOT = Path(__file__).parents[1]
INTENT_SETS = ("bank77", "clinc150")
Labelled = tuple[Sequence[Dialogue], Sequence[str]]


def hold_outs(data: Path) -> dict[str, Labelled]:
    """Return dialogues with their labels by corpus: test splits, and test sentences of intent sets."""
    sets = {}
    for name in ("sgd", "self_dialogue"):
        dialogues = [dialogue for dialogue in split_of(name, data, TEST) if len(dialogue.labels) == 1]
        sets[name] = (dialogues, [dialogue.labels[0] for dialogue in dialogues])
    dialogues, labels = sets["sgd"]
    own = [replace(each, turns=tuple(turn for turn in each.turns if turn.speaker == "user")) for each in dialogues]
    sets["sgd, users only"] = (own, labels)
    for name in INTENT_SETS:
        test = read_intents(name, data / "intents" / "intents.zip").test
        sets[f"{name}, sentences"] = (alone(test.texts), test.labels)
    return sets


def figures(encoder: Encoder, dialogues: Sequence[Dialogue], labels: Sequence[str]) -> tuple[float, float, float]:
    """Return MAP, NMI and ARI in points."""
    vectors = encoder.encode(dialogues)
    clusters = cluster_scores(vectors, labels, seed=0)
    return 100 * retrieval_scores(vectors, labels).map, 100 * clusters.nmi, 100 * clusters.ari


def main() -> None:
    """Print a row per corpus and encoder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("encoders", nargs="+", help="names or folders")
    parser.add_argument("--data", type=Path, default=ROOT / "data")
    options = parser.parse_args()
    sets = hold_outs(options.data)
    for name in options.encoders:
        encoder, rows = load_encoder(name), []
        for corpus, (dialogues, labels) in sets.items():
            rows.append(figures(encoder, dialogues, labels))
            print(f"{name} | {corpus} | " + " / ".join(f"{value:.1f}" for value in rows[-1]), flush=True)  # noqa: T201
        print(f"{name} | mean | " + " / ".join(f"{value:.1f}" for value in np.mean(rows, axis=0)))  # noqa: T201


if __name__ == "__main__":
    main()
