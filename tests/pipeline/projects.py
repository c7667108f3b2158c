"""Small projects of own transcripts for the tiny encoder, and their stages."""

from __future__ import annotations

import json

import numpy as np
import yaml

from dial2vec.params import load_settings
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.pipeline.evaluate import evaluate
from dial2vec.pipeline.prepare import prepare
from dial2vec.pipeline.sample import sample
from dial2vec.pipeline.select import select
from dial2vec.pipeline.train import train_encoder
from dial2vec.pipeline.validate import validate

READY = (validate, prepare, sample)
TO_THE_FIGURES = (*READY, train_encoder, select, evaluate)


def write_calls(folder, n, *, topics=3, first=0, seed=0, broken=0):
    """Write dialogues of some topics, each with ten words of its own besides ten that all share, and broken lines.

    The words are numbered from `first`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    words = np.arange(first, first + 10 * (topics + 1)).reshape(topics + 1, 10)
    lines = []
    for i in range(n):
        own = words[[i % topics, topics]].ravel()
        turns = [{"speaker": "ab"[t % 2], "text": " ".join(f"w{w}" for w in rng.choice(own, 3))} for t in range(5)]
        lines.append(json.dumps({"dialogue_id": f"d{i}", "turns": turns, "labels": [f"topic{first + i % topics}"]}))
    (folder / "calls.jsonl").write_text("\n".join([*lines, *["{broken"] * broken]))


def make_project(folder, tiny_folder):
    """Make a project with 120 dialogues in corpus `calls`, 74 to train and 19 of dev: by the paper's method."""
    write_calls(folder / "data" / "calls", 120, broken=1)
    params = {
        "corpora": ["calls"],
        "prepare": {"dev_share": 0.2, "test_share": 0.2},
        "sample": {"negatives": 2},
        "encoder": {"name": tiny_folder},
        "train": {
            "method": "dial2vec",
            "max_dialogues": 10,
            "batch_size": 2,
            "gradient_accumulation": 1,
            "log_steps": 1,
            "checkpoint_steps": 3,
            "learning_rate": 1e-2,
        },
        "select": {"selection": "last"},
        "evaluate": {"kmeans_runs": 2},
    }
    (folder / "params.yaml").write_text(yaml.safe_dump(params))
    (folder / "dvc.yaml").touch()
    return folder


def enlarge(project):
    """Give it 300 dialogues, enough for the default method and the default choice."""
    write_calls(project / "data" / "calls", 300, broken=1)
    change(project, "train", method="neighbours", max_dialogues=40, batch_size=4)
    change(project, "select", selection="label_free", bootstraps=3)


def change(project, block, **values):
    path = project / "params.yaml"
    params = yaml.safe_load(path.read_text())
    params[block] = params.get(block, {}) | values
    path.write_text(yaml.safe_dump(params))


def run(project, *stages, corpus="calls"):
    """Run stages, and return the artifacts and what each stage said."""
    artifacts, settings = Artifacts(project, corpus), load_settings(project / "params.yaml")
    return artifacts, [stage(artifacts, settings) for stage in stages]
