"""Topics that are known beforehand: which dialogues get one, and what becomes of the others.

    .venv/bin/python benchmarks/studies/known_topics.py --archives FOLDER

Of 2,000 questions of clinc150 (150 intents) and banking77 (77), half of the intents are known, or five (mean of five
draws): by the name of the intent in words, or by three questions that are not in the collection.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.parquet as pq
import yaml
from numpy.typing import NDArray
from sklearn.metrics import normalized_mutual_info_score

import topic_corpora as corpora
from conversations.dialogue import Dialogue, write_dialogues
from dial2vec.collection import Collection, add
from dial2vec.collection.clustering import cluster
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.names import GENERAL

DIALOGUES, EXAMPLES, DRAWS = 2_000, 3, 5


def grouped(collection: Collection, topics: list[dict[str, object]]) -> tuple[NDArray[np.str_], NDArray[np.int32]]:
    """Cluster a collection from scratch; return the known topic of each dialogue, or "", and its cluster."""
    (collection.folder / "topics.yaml").write_text(yaml.safe_dump(topics), encoding="utf-8")
    clusters = cluster(collection, from_scratch=True)
    groups = pq.read_table(collection.folder / "clusters" / "assignment.parquet")["cluster"].to_numpy()
    known = {one.id: one.known for one in clusters.clusters}
    return np.array([known[group] for group in groups]), groups


def report(name: str, dialogues: list[Dialogue], folder: Path) -> None:
    """Write the rows of a corpus."""
    order = np.random.default_rng(1).permutation(len(dialogues))
    inside, outside = order[:DIALOGUES], order[DIALOGUES:]
    write_dialogues(folder / f"{name}.jsonl", [dialogues[at] for at in inside])
    add(folder / name, folder / f"{name}.jsonl", encoder=load_encoder(GENERAL), progress=False)
    collection, labels = Collection(folder / name), np.array([dialogues[at].labels[-1] for at in inside])
    without = grouped(collection, [])[1]
    for given in (len({*labels}) // 2, 5):
        for way in ("name in words", f"{EXAMPLES} questions"):
            rows = []
            for seed in range(1 if given > 5 else DRAWS):
                chosen = np.random.default_rng(seed).choice(sorted({*labels}), given, replace=False)
                texts = {label: [dialogues[at].turns[0].text for at in outside if dialogues[at].labels[-1] == label]
                         for label in chosen.tolist()}  # fmt: skip
                topics = [
                    {"name": label, "description": label.replace("_", " ")}
                    if "words" in way else {"name": label, "examples": questions[:EXAMPLES]}
                    for label, questions in texts.items()
                ]  # fmt: skip
                known, groups = grouped(collection, topics)
                own, rest = np.isin(labels, chosen), ~np.isin(labels, chosen)
                right = known == labels
                rows.append([
                    right[own].mean(), ((known != "") & ~right)[own].mean(), (known != "")[rest].mean(),
                    *(normalized_mutual_info_score(labels[rest], by[rest]) for by in (groups, without)),
                ])  # fmt: skip
            figures = " | ".join(f"{100 * figure:.1f}" for figure in np.mean(rows, axis=0))
            sys.stdout.write(f"| {name} | {given} | {way} | {figures} |\n")
            sys.stdout.flush()


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--archives", type=Path, required=True)
    archives = parser.parse_args().archives
    sys.stdout.write(
        "| corpus | known | by | right, % | another, % | of the others, % | NMI | without |\n" + "|---" * 8 + "|\n"
    )
    with TemporaryDirectory() as folder:
        for name in ("clinc150", "banking77"):
            report(name, corpora.intents(archives, name), Path(folder))


if __name__ == "__main__":
    main()
