"""The search behind the default recipe: variants, corpus sizes and seeds, trained, chosen without labels, and scored.

    .venv/bin/python benchmarks/recipe.py run sgd self_dialogue --sizes 200 500 2000 all --seeds 1 2 3
    .venv/bin/python benchmarks/recipe.py run sgd --variants paper map default --split dev
    .venv/bin/python benchmarks/recipe.py table

Needs the splits of the corpora (`make run` with them in `corpora`). One line per cell goes to benchmarks/recipe.jsonl.
A cell that stands there, made with today's params.yaml, is not run again, so a run that was killed goes on; delete the
file to run all anew. A cell takes its own training dialogues (a seeded lot of the given size), runs the stages sample,
train and select as the pipeline does, and scores the choice.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from dial2vec import telemetry
from dial2vec.config import Settings
from dial2vec.dialogue import read_dialogues, write_dialogues
from dial2vec.encoder import DialogueEncoder
from dial2vec.evaluation import TASKS
from dial2vec.evaluation.measure import measure
from dial2vec.files import read_json
from dial2vec.params import load_settings
from dial2vec.pipeline.artifacts import Artifacts, find_root
from dial2vec.pipeline.sample import sample
from dial2vec.pipeline.select import select
from dial2vec.pipeline.train import train_encoder
from dial2vec.research.tables.systems import PAPER_TRAINING

RESULTS = Path(__file__).with_suffix(".jsonl")
PAPER = PAPER_TRAINING | {"checkpoint_steps": 20}
AS_THE_PAPER_READS = {"input": "separators"}
# name -> what differs from params.yaml in the blocks `encoder` and `train`, and how the choice is made.
VARIANTS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "default": ({}, {}, "label_free"),
    "default, last candidate": ({}, {}, "last"),
    "default, with separators": (AS_THE_PAPER_READS, {}, "label_free"),
    "map": ({}, {"epochs": 0}, "label_free"),
    "paper": (AS_THE_PAPER_READS, PAPER, "last"),
    "paper, chosen": (AS_THE_PAPER_READS, PAPER, "label_free"),
    "paper, a fifth of the rate": (AS_THE_PAPER_READS, PAPER | {"learning_rate": 2e-6}, "last"),
    "rate 5e-5": ({}, {"learning_rate": 5e-5}, "label_free"),
    "rate 2e-4": ({}, {"learning_rate": 2e-4}, "label_free"),
    "all layers": ({}, {"frozen_share": 0.0}, "label_free"),
    "twice the steps": ({}, {"max_dialogues": 3840}, "label_free"),
}
# Encoders that nothing is trained on, and how they read.
STARTS: dict[str, dict[str, Any]] = {"start": {}, "start, with separators": AS_THE_PAPER_READS}


def main() -> None:
    """Run the cells that are missing, or print what is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run")
    run.add_argument("corpora", nargs="+")
    run.add_argument("--variants", nargs="+", default=["default"], choices=sorted(VARIANTS))
    run.add_argument("--sizes", nargs="+", default=["all"], help="training dialogues, or all")
    run.add_argument("--seeds", nargs="+", type=int, default=[42])
    run.add_argument("--split", choices=["dev", "test"], default="test", help="what is scored")
    commands.add_parser("table")
    arguments = parser.parse_args()
    if arguments.command == "table":
        sys.stdout.write(table(rows()))
        return
    telemetry.switch_off()
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    root = find_root()
    settings = load_settings(root / "params.yaml")
    for corpus in arguments.corpora:
        for start in STARTS:
            cell(root, settings, corpus, start, "all", settings.seed, arguments.split)
        for seed in arguments.seeds:
            for size in arguments.sizes:
                for variant in arguments.variants:
                    cell(root, settings, corpus, variant, size, seed, arguments.split)


def rows() -> list[dict[str, Any]]:
    """Return the cells that were run."""
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.is_file() else []


def cell(root: Path, settings: Settings, corpus: str, variant: str, size: str, seed: int, split: str) -> None:
    """Run one cell unless it stands in the results."""
    ours = settings_of(settings, variant, seed=seed)
    key = {"corpus": corpus, "variant": variant, "size": size, "seed": seed, "split": split, "settings": digest(ours)}
    if any(key.items() <= row.items() for row in rows()):
        return
    began = time.perf_counter()
    source = Artifacts(root, corpus)
    scored = list(read_dialogues(source.split(split)))
    if variant in STARTS:
        encoder, chosen = DialogueEncoder.start(ours.encoder), "start"
    else:
        encoder, chosen = trained(source, ours, size)
    seconds = time.perf_counter() - began
    options = settings.evaluate
    # The same k-means seeds for all seeds of training: their noise is not the method's.
    with encoder.autocast("auto"):
        found = measure(encoder, scored, runs=options.kmeans_runs, seed=settings.seed, batch_size=8, progress=False)
    figures = {task: (found.scores or {}).get(task) for task in (*TASKS, "purity_sd", "spearman_ceiling")}
    line = json.dumps(key | {"chosen": chosen, "seconds": round(seconds)} | figures)
    with RESULTS.open("a") as handle:
        handle.write(line + "\n")
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def trained(source: Artifacts, ours: Settings, size: str) -> tuple[DialogueEncoder, str]:
    """Train on a seeded lot of the training split, choose, and return the encoder and what was chosen."""
    train = list(read_dialogues(source.split("train")))
    n = len(train) if size == "all" else int(size)
    lot = np.random.default_rng([ours.seed, 3]).permutation(len(train))[:n]
    with tempfile.TemporaryDirectory() as folder:
        scratch = Artifacts(Path(folder), source.corpus)
        scratch.splits.mkdir(parents=True)
        write_dialogues(scratch.split("train"), [train[place] for place in np.sort(lot)])
        shutil.copyfile(source.split("dev"), scratch.split("dev"))
        for stage in (sample, train_encoder, select):
            stage(scratch, ours)
        encoder = DialogueEncoder.from_pretrained(scratch.model)
        return encoder, str(read_json(scratch.selection)["chosen"])


def settings_of(settings: Settings, variant: str, *, seed: int) -> Settings:
    """Return the settings of a variant, or of a start."""
    reading, training, selection = VARIANTS.get(variant) or (STARTS[variant], {}, "last")
    return replace(
        settings,
        seed=seed,
        encoder=replace(settings.encoder, **reading),
        train=replace(settings.train, **training),
        select=replace(settings.select, selection=selection),
    )


def digest(settings: Settings) -> str:
    """Identify what a cell depends on: rows of another recipe must not stand in for today's."""
    blocks = [settings.sample, settings.encoder, settings.train, settings.select, settings.evaluate]
    return hashlib.sha256(json.dumps([asdict(block) for block in blocks]).encode()).hexdigest()[:8]


def table(cells: list[dict[str, Any]]) -> str:
    """Return the cells as a Markdown table: mean and standard deviation over seeds."""
    lines = [
        "| corpus, split | variant | training dialogues | seeds | purity | Spearman | MAP | chosen |",
        "|---|---|---|---|---|---|---|---|",
    ]
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for one in cells:
        groups.setdefault((one["corpus"], one["split"], one["variant"], one["size"]), []).append(one)
    for (corpus, split, variant, size), group in groups.items():
        figures = [_mean_and_sd([one[task] for one in group]) for task in TASKS]
        names = [one["chosen"] for one in group]
        chosen = ", ".join(f"{name} ({names.count(name)})" for name in dict.fromkeys(names))
        lines.append(
            f"| {corpus}, {split} | {variant} | {'–' if variant in STARTS else size} | {len(group)} | "
            f"{' | '.join(figures)} | {chosen} |"
        )
    return "\n".join(lines) + "\n"


def _mean_and_sd(figures: list[float]) -> str:
    spread = f" ± {statistics.stdev(figures):.2f}" if len(figures) > 1 else ""
    return f"{statistics.mean(figures):.2f}{spread}"


if __name__ == "__main__":
    main()
