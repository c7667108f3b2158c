"""Groups of dialogues against their labels: communities, k-means and BERTopic on the same vectors.

    .venv/bin/dial2vec run            # with corpora: [sgd, self_dialogue] in params.yaml
    .venv/bin/python -m pip install --no-deps --target artifacts/bertopic umap-learn hdbscan numba llvmlite pynndescent
    .venv/bin/python benchmarks/groups.py sgd self_dialogue --bertopic artifacts/bertopic

Up to 2,000 dialogues of test, and of dev if test has fewer. NMI and ARI against the labels, means over the seeds;
`agree` is the lowest ARI between two seeds. BERTopic runs with its defaults, then with its outliers reassigned by the
vectors. Its outliers count as a group of their own in the first case.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from conversations.dialogue import Dialogue, read_dialogues
from dial2vec.collection.clustering.communities import centres_of_groups, communities
from dial2vec.collection.clustering.levels import areas_of, assign_fine, divide_topics
from dial2vec.collection.clustering.partition import assign, centres_of
from dial2vec.collection.collection_folder import sampled
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.nearest import unit_rows

MOST = 2000
SEEDS = (1, 2, 3, 4, 5)

Vectors = NDArray[np.float32]
Way = Callable[[Vectors, list[str], int], NDArray[np.int64]]


def dialogues_of(corpus: str, root: Path) -> list[Dialogue]:
    """Return at most 2,000 labelled dialogues of test, and of dev if there are too few."""
    dialogues: list[Dialogue] = []
    for split in ("test", "dev"):
        if len(dialogues) < MOST:
            dialogues += read_dialogues(root / corpus / "splits" / f"{split}.jsonl")
    labelled = [dialogue for dialogue in dialogues if dialogue.labels]
    return [labelled[row] for row in sampled(len(labelled), MOST, 1)]


def own(units: Vectors, texts: list[str], seed: int) -> NDArray[np.int64]:
    """Return what `dial2vec cluster` finds."""
    return communities(units, seed=seed).astype(np.int64)


def k_means(k: int) -> Way:
    """Return k-means with the true number of labels, which nobody knows beforehand."""
    return lambda units, texts, seed: assign(units, centres_of(units, k, seed=seed)).groups.astype(np.int64)


def bertopic(*, reassigned: bool) -> Way:
    """Return BERTopic at its defaults; UMAP, its only random part, gets the seed."""

    def find(units: Vectors, texts: list[str], seed: int) -> NDArray[np.int64]:
        from bertopic import BERTopic
        from umap import UMAP

        reduce = UMAP(
            n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", low_memory=False, random_state=seed
        )
        model = BERTopic(umap_model=reduce, calculate_probabilities=False)
        topics, _ = model.fit_transform(texts, units)
        if reassigned:
            topics = model.reduce_outliers(texts, topics, strategy="embeddings", embeddings=units)
        return np.asarray(topics)

    return find


def row(corpus: str, vectors: str, name: str, way: Way, units: Vectors, texts: list[str], labels: list[str]) -> str:
    """Return a row of the table."""
    begun = time.perf_counter()
    groups = [way(units, texts, seed) for seed in SEEDS]
    seconds = (time.perf_counter() - begun) / len(SEEDS)
    figures = [
        100 * np.mean([score(labels, own_groups) for own_groups in groups])
        for score in (normalized_mutual_info_score, adjusted_rand_score)
    ]
    agree = min(adjusted_rand_score(*pair) for pair in combinations(groups, 2))
    numbers = sorted({len(set(own_groups.tolist()) - {-1}) for own_groups in groups})
    outliers = np.mean([(own_groups < 0).mean() for own_groups in groups])
    count = str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}"
    cells = [corpus, vectors, name, count, *(f"{figure:.1f}" for figure in figures), f"{agree:.3f}"]
    return f"| {' | '.join(cells)} | {outliers:.1%} | {seconds:.1f} |"


def levels(units: Vectors) -> str:
    """Return the numbers of areas, topics and fine topics, and check that they nest."""
    groups = communities(units, seed=1)
    centres = centres_of_groups(units, groups)
    fine_centres, parents = divide_topics(units, groups, len(centres), seed=1)
    fine = assign_fine(units, groups, fine_centres, parents)
    nested = bool((parents[fine] == groups).all())
    return f"{areas_of(centres).max() + 1} areas, {len(centres)} topics, {len(parents)} fine topics; nested: {nested}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+")
    parser.add_argument("--bertopic", type=Path, help="folder in which BERTopic with UMAP and HDBSCAN is installed")
    parser.add_argument("--artifacts", type=Path, default=Path("artifacts"))
    arguments = parser.parse_args()
    if arguments.bertopic:
        sys.path.append(str(arguments.bertopic))
    out = sys.stdout
    out.write("| corpus | vectors | groups by | k | NMI | ARI | agree | outliers | seconds |\n|" + "---|" * 9 + "\n")
    nests = []
    for corpus in arguments.corpora:
        dialogues = dialogues_of(corpus, arguments.artifacts)
        texts = [" ".join(turn.text for turn in dialogue.turns) for dialogue in dialogues]
        labels = [dialogue.labels[0] for dialogue in dialogues]
        ways: dict[str, Way] = {"communities": own, "k-means, true k": k_means(len(set(labels)))}
        if arguments.bertopic:
            ways |= {"BERTopic": bertopic(reassigned=False), "BERTopic, reassigned": bertopic(reassigned=True)}
        for vectors, name in (("start", "all-MiniLM-L6-v2"), ("trained", str(arguments.artifacts / corpus / "model"))):
            units = unit_rows(np.asarray(load_encoder(name).encode(dialogues), dtype=np.float32))
            for title, way in ways.items():
                out.write(row(corpus, vectors, title, way, units, texts, labels) + "\n")
                out.flush()
            nests.append(f"{corpus}, {vectors}: {levels(units)}")
    out.write("\n".join(["", *nests, ""]))


if __name__ == "__main__":
    main()
