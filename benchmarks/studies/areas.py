"""How large and how pure are areas? Figures of docs/clusters.md.

    .venv/bin/python benchmarks/studies/areas.py sgd sgd_customers demo clinc150 --archives FOLDER

The corpora are those of topic_corpora.py, 2,000 dialogues each; the coarser labels are the domains. Beside the areas of
today stand those of version 0.3 and its followers, one cut of the tree whatever the sizes, the smallest number of areas
of which none has more than 35 %, and a second tree of the topics' centres, from which their mean is taken. `named` is
the share of dialogues that are in a topic which the name of their area names.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import normalized_mutual_info_score

from adapting import Pool, drawn
from dial2vec.collection.clustering.levels import areas_of_topics
from dial2vec.collection.clustering.naming import area_name
from dial2vec.collection.clustering.partition import Groups, centres_of_groups
from dial2vec.collection.clustering.tree import MOST_AREAS, Levels, Tree, find_levels
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.nearest import unit_rows
from topic_corpora import CORPORA, read_topics

DIALOGUES = 2_000


def main() -> None:
    """Print a line per corpus, encoder and way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+", metavar="CORPUS", help=f"among {', '.join(CORPORA)}")
    parser.add_argument("--archives", type=Path)
    parser.add_argument("--encoders", nargs="+", default=["general", "all-MiniLM-L6-v2"])
    given = parser.parse_args()
    sys.stdout.write(
        "| corpus | vectors | areas by | areas | largest, % | purity, % | NMI, % |\n|---|---|---|---|---|---|---|\n"
    )
    for name in given.corpora:
        dialogues = drawn(read_topics(name, given.archives), DIALOGUES, 0)
        coarse = [dialogue.labels[0] for dialogue in dialogues]
        for model in given.encoders:
            encoder = load_encoder(model)
            pool = Pool(dialogues, unit_rows(encoder.encode(dialogues)), encoder)
            sys.stdout.write(f"named, {name}, {model}: {100 * named(pool):.0f} %\n")
            for way, areas in ways(pool):
                figures = len(set(areas)), 100 * np.bincount(areas).max() / len(areas), 100 * purity(areas, coarse)
                nmi = 100 * normalized_mutual_info_score(coarse, areas)
                sys.stdout.write(
                    f"| {name} | {model} | {way} | {figures[0]} | {figures[1]:.0f} | {figures[2]:.0f} | {nmi:.0f} |\n"
                )
                sys.stdout.flush()


def ways(pool: Pool) -> Iterator[tuple[str, Groups]]:
    """Yield each way of finding areas, with the area of each dialogue."""
    units = pool.fit(1)(pool.plain)
    levels, tree = find_levels(units, pool.plain, seed=1), Tree(units, pool.plain)
    topics, k = levels.topics, int(levels.topics.max()) + 1

    def areas(cuts: Sequence[Groups]) -> Groups:
        return areas_of_topics(topics, Levels(topics, levels.rows, tuple(cuts)), k)[topics]

    yield "before", tree.cut(tree.best(2, max(2, min(MOST_AREAS, k // 2))))
    yield "today", areas(levels.areas)
    yield "smallest number", areas([tree.cut(number) for number in range(2, MOST_AREAS + 1)])
    centres = centres_of_groups(units, topics)
    merges = linkage(unit_rows(centres - centres.mean(axis=0)), "ward")
    divisions = [
        fcluster(merges, number, "maxclust").astype(np.int32)[topics] - 1 for number in tree.numbers_of_areas(k)
    ]
    yield "centred centres", areas(divisions)
    yield "topics themselves", topics


def named(pool: Pool) -> float:
    """Return the share of dialogues that are in a topic that the name of their area names."""
    units = pool.fit(1)(pool.plain)
    levels = find_levels(units, pool.plain, seed=1)
    sizes = np.bincount(levels.topics)
    areas, centres = areas_of_topics(levels.topics, levels, len(sizes)), centres_of_groups(units, levels.topics)
    places = [np.flatnonzero(areas == area) for area in np.unique(areas)]
    # Topics whose names are their numbers.
    topics = [SimpleNamespace(name=f"{at}", size=size, unclear=False) for at, size in enumerate(sizes)]
    names = [area_name([topics[at] for at in own], centres[own]).split(" and ")[0] for own in places]
    return float(sizes[[int(number) for name in names for number in re.findall(r"\d+", name)]].sum() / sizes.sum())


def purity(groups: Groups, labels: Sequence[str]) -> float:
    """Return the share of dialogues that have the commonest label of their group."""
    numbers = np.unique(labels, return_inverse=True)[1]
    counts = np.zeros((int(groups.max()) + 1, int(numbers.max()) + 1))
    np.add.at(counts, (groups, numbers), 1)
    return float(counts.max(axis=1).sum() / len(groups))


if __name__ == "__main__":
    main()
