"""Do topics that another collection takes over sort its dialogues as well as its own? Figures of docs/clusters.md.

    .venv/bin/python benchmarks/studies/shared_topics.py sgd taskmaster4 --archives FOLDER

One half of a corpus makes the topics, without the dialogues of one label; the other half takes them over, and is also
clustered by itself. Each of the labels of at least 5 % of the dialogues is left out in turn. The corpora are those of
topic_corpora.py, at most 2,000 dialogues of each; the encoder is `general`.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from conversations.dialogue import Dialogue, write_dialogues
from dial2vec.collection import Collection, add
from dial2vec.collection.clustering import cluster
from dial2vec.collection.clustering.clusters import read_assignment
from dial2vec.collection.clustering.topics_file import save_topics
from dial2vec.encoder.loading import load_encoder
from topic_corpora import CORPORA, read_topics

MOST, LEAST = 2_000, 0.05


def main() -> None:
    """Print a row per corpus."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+", metavar="CORPUS", help=f"among {', '.join(CORPORA)}")
    parser.add_argument("--archives", type=Path)
    arguments = parser.parse_args()
    for name in arguments.corpora:
        dialogues = read_topics(name, arguments.archives)
        order = np.random.default_rng(1).permutation(len(dialogues))[:MOST].tolist()
        row = measured([replace(dialogues[at], dialogue_id=str(at)) for at in order])
        print(f"| {name} | {' | '.join(row)} |", flush=True)  # noqa: T201


def measured(dialogues: Sequence[Dialogue]) -> list[str]:
    """Return the NMI of topics of its own and of those taken over, labels left out and appeared, and the file's kB."""
    first, second = dialogues[::2], dialogues[1::2]
    labels = np.array([dialogue.labels[0] for dialogue in second])
    figures, appeared, size = [], 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        own = indexed(work / "own", second)
        cluster(own)
        left_out = [label for label, n in Counter(labels.tolist()).items() if n >= LEAST * len(labels)]
        for label in left_out:
            made = indexed(work / f"first {label}", [dialogue for dialogue in first if dialogue.labels[0] != label])
            known = {topic.id for topic in cluster(made).clusters}
            save_topics(made, work / "topics")
            size = (work / "topics").stat().st_size
            other = indexed(work / f"second {label}", second)
            cluster(other, topics=work / "topics")
            ids = read_assignment(other)
            rest = labels != label
            both = [normalized_mutual_info_score(labels[rest], each[rest]) for each in (read_assignment(own), ids)]
            figures.append(both)
            new = [id for id in np.unique(ids) if id not in known]
            # A new topic that holds most of the label, and mostly the label.
            appeared += any(min((labels[ids == id] == label).mean(), (ids[~rest] == id).mean()) > 0.5 for id in new)
    by_itself, taken = np.mean(figures, axis=0)
    return [f"{by_itself:.2f}", f"{taken:.2f}", f"{appeared} of {len(left_out)}", f"{size / 1000:.0f}"]


def indexed(folder: Path, dialogues: Sequence[Dialogue]) -> Collection:
    """Return a collection of the dialogues."""
    source = folder.with_suffix(".jsonl")
    write_dialogues(source, dialogues)
    add(folder, source, encoder=load_encoder("general"), progress=False, turns=False)
    return Collection(folder)


if __name__ == "__main__":
    main()
