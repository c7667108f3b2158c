"""Clustering of whole dialogues as a task of mteb, for those who compare encoders with it.

    python -m venv mteb && mteb/bin/pip install mteb==2.26.24
    mteb/bin/python benchmarks/studies/mteb_task.py all-MiniLM-L6-v2 --split artifacts/sgd/splits/test.jsonl

Needs neither this package nor its install: the split is the JSON Lines that `make run` writes, the model any folder or
name that sentence-transformers opens. Dialogues with one label are kept, and read as their turns joined by blanks.
mteb's score is the V-measure; `dial2vec` reports purity, which is not comparable with it.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import mteb
from datasets import Dataset, DatasetDict
from mteb.abstasks.clustering import AbsTaskClustering
from mteb.abstasks.task_metadata import TaskMetadata
from sentence_transformers import SentenceTransformer


class DialogueClustering(AbsTaskClustering):
    """Dialogues of a split, to be clustered by their one label."""

    metadata = TaskMetadata(
        name="DialogueClustering",
        description="Clustering of whole dialogues by domain, service or topic (Liu et al. 2022, section 4.1).",
        reference="https://aclanthology.org/2022.emnlp-main.490/",
        dataset={"path": "local", "revision": "local"},
        type="Clustering",
        category="t2c",
        modalities=["text"],
        eval_splits=["test"],
        eval_langs=["eng-Latn"],
        main_score="v_measure",
        date=("2018-01-01", "2022-12-31"),
        domains=["Spoken"],
        task_subtypes=["Thematic clustering"],
        license="not specified",
        annotations_creators="derived",
        dialect=[],
        sample_creation="found",
        bibtex_citation="",
        prompt="Identify what the dialogue is about",
    )
    # All of a test split are taken, which is not large.
    max_fraction_of_documents_to_embed = None

    def __init__(self, split: Path) -> None:
        super().__init__()
        self.split = split

    def load_data(self, num_proc: int | None = None, **_: object) -> None:
        """Read the split."""
        with self.split.open(encoding="utf-8") as lines:
            dialogues = [one for one in map(json.loads, lines) if len(one["labels"]) == 1]
        columns = {
            "sentences": [" ".join(turn["text"] for turn in one["turns"]) for one in dialogues],
            "labels": [one["labels"][0] for one in dialogues],
        }
        self.dataset = DatasetDict({"test": Dataset.from_dict(columns)})
        self.data_loaded = True


def main() -> None:
    """Score a model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="folder or name that sentence-transformers opens")
    parser.add_argument("--split", type=Path, required=True, help="JSON Lines of labelled dialogues")
    given = parser.parse_args()
    model = SentenceTransformer(given.model)
    results = mteb.evaluate(model, DialogueClustering(given.split), cache=None)
    scores = results.task_results[0].scores["test"][0]
    sys.stdout.write(f"V-measure {100 * scores['v_measure']:.2f} ± {100 * scores['v_measure_std']:.2f}\n")


if __name__ == "__main__":
    main()
