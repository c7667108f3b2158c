"""The search for the default recipe: variants, corpus sizes and seeds, trained, chosen without labels, and scored.

    .venv/bin/python benchmarks/recipe.py run sgd self_dialogue --sizes 200 500 2000 all --seeds 1 2 3
    .venv/bin/python benchmarks/recipe.py run sgd --variants paper map default --split dev
    .venv/bin/python benchmarks/recipe.py run sgd self_dialogue --variants default student --seeds 42 1 2
    .venv/bin/python benchmarks/recipe.py run demo sgd self_dialogue --sizes 120+40 240+80 --seeds 1 2 3
    .venv/bin/python benchmarks/recipe.py table

Needs the splits of the corpora (`make run` with them in `corpora`). One line per cell goes to benchmarks/recipe.jsonl.
A cell of today's params.yaml is not run again, so a killed run continues; delete the file to run all again. A cell
draws its dialogues by its seed, runs the stages sample, train and select like the pipeline, and scores the choice.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import tempfile
import time
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from study import Row, add_row, is_known, over_seeds, read_rows, run_study

from conversations.dialogue import Dialogue, read_dialogues, write_dialogues
from conversations.files import read_json
from dial2vec.config import Settings
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.loading import Encoder, load_encoder
from dial2vec.evaluation import TASKS
from dial2vec.evaluation.measure import measure
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.pipeline.distil import distil
from dial2vec.pipeline.sample import sample
from dial2vec.pipeline.select import select
from dial2vec.pipeline.train import train_encoder
from dial2vec_papers.tables.systems import PAPER_TRAINING

RESULTS = Path(__file__).with_suffix(".jsonl")
PAPER = PAPER_TRAINING | {"checkpoint_steps": 20}
AS_THE_PAPER_READS = {"input": "separators"}
# name -> differences from params.yaml in the blocks `encoder` and `train`, and the choice.
VARIANTS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "default": ({}, {}, "label_free"),
    # The student of the default; docs/student.md.
    "student": ({}, {}, "label_free"),
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
# Untrained encoders, and their differences from block `encoder`.
STARTS: dict[str, dict[str, Any]] = {"start": {}, "start, with separators": AS_THE_PAPER_READS}


def main() -> None:
    """Run the cells that are missing, or print the table of all."""
    run_study(__doc__, measure_all, table=lambda: table(read_rows(RESULTS)), options=add_options)


def add_options(run: argparse.ArgumentParser) -> None:
    """Add the options of `run`."""
    run.add_argument("--variants", nargs="+", default=["default"], choices=sorted(VARIANTS))
    run.add_argument(
        "--sizes", nargs="+", default=["all"], help="numbers of training dialogues, or all; 120+40 draws 40 of dev, too"
    )
    run.add_argument("--seeds", nargs="+", type=int, default=[42])
    run.add_argument("--split", choices=["dev", "test"], default="test", help="split that is scored")


def measure_all(arguments: argparse.Namespace, root: Path, settings: Settings) -> None:
    """Run every cell: the starts, then seeds x sizes x variants of each corpus."""
    for corpus in arguments.corpora:
        for start in STARTS:
            cell(root, settings, corpus, start, "all", settings.seed, arguments.split)
        for seed in arguments.seeds:
            for size in arguments.sizes:
                for variant in arguments.variants:
                    cell(root, settings, corpus, variant, size, seed, arguments.split)


def cell(root: Path, settings: Settings, corpus: str, variant: str, size: str, seed: int, split: str) -> None:
    """Run one cell unless the results have it."""
    ours = settings_of(settings, variant, seed=seed)
    key = {"corpus": corpus, "variant": variant, "size": size, "seed": seed, "split": split, "settings": digest(ours)}
    if is_known(RESULTS, key):
        return
    began = time.perf_counter()
    source = Artifacts(root, corpus)
    scored = list(read_dialogues(source.split(split)))
    if variant in STARTS:
        encoder, chosen = DialogueEncoder.start(ours.encoder), "start"
    else:
        encoder, chosen = trained(source, ours, size, with_student=variant == "student")
    seconds = time.perf_counter() - began
    options = settings.evaluate
    # The same k-means seed for all seeds of training: its noise is not the method's.
    with encoder.autocast("auto") if isinstance(encoder, DialogueEncoder) else nullcontext():
        found = measure(encoder, scored, runs=options.kmeans_runs, seed=settings.seed, batch_size=8, progress=False)
    figures = {task: (found.scores or {}).get(task) for task in (*TASKS, "purity_sd", "spearman_ceiling")}
    add_row(RESULTS, key | {"chosen": chosen, "seconds": round(seconds)} | figures)


def trained(source: Artifacts, ours: Settings, size: str, *, with_student: bool) -> tuple[Encoder, str]:
    """Train on a seeded draw of the train split, choose, and return the encoder and the name of the choice.

    :param with_student: True returns the student of that encoder, or the start if no student is kept.
    """
    n_train, _, n_dev = size.partition("+")
    with tempfile.TemporaryDirectory() as folder:
        scratch = Artifacts(Path(folder), source.corpus)
        scratch.splits.mkdir(parents=True)
        for split, n in (("train", n_train), ("dev", n_dev or "all")):
            write_dialogues(scratch.split(split), drawn(source.split(split), n, seed=ours.seed))
        shutil.copyfile(source.split_report, scratch.split_report)
        for stage in (sample, train_encoder, select):
            stage(scratch, ours)
        if with_student:
            distil(scratch, ours)
            if scratch.kept_student is None:
                return DialogueEncoder.start(ours.encoder), "start"
            return load_encoder(scratch.student), str(read_json(scratch.distillation)["chosen"])
        encoder = DialogueEncoder.from_pretrained(scratch.model)
        return encoder, str(read_json(scratch.selection)["chosen"])


def drawn(split: Path, n: str, *, seed: int) -> list[Dialogue]:
    """Return n dialogues of a split, drawn by the seed, in their order; n may be "all"."""
    dialogues = list(read_dialogues(split))
    lot = np.random.default_rng([seed, 3]).permutation(len(dialogues))[: len(dialogues) if n == "all" else int(n)]
    return [dialogues[place] for place in np.sort(lot)]


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
    """Return a hash of the settings of a cell: rows of another recipe must not replace today's."""
    blocks = [settings.sample, settings.encoder, settings.train, settings.select, settings.evaluate]
    return hashlib.sha256(json.dumps([asdict(block) for block in blocks]).encode()).hexdigest()[:8]


def table(cells: list[Row]) -> str:
    """Return the cells as a Markdown table: mean and standard deviation over seeds."""
    lines = [
        "| corpus, split | variant | training dialogues | seeds | purity | Spearman | MAP | chosen |",
        "|---|---|---|---|---|---|---|---|",
    ]
    groups: dict[tuple[str, ...], list[Row]] = {}
    for one in cells:
        groups.setdefault((one["corpus"], one["split"], one["variant"], one["size"]), []).append(one)
    for (corpus, split, variant, size), group in groups.items():
        figures = [over_seeds([one[task] for one in group]) for task in TASKS]
        names = [one["chosen"] for one in group]
        chosen = ", ".join(f"{name} ({names.count(name)})" for name in dict.fromkeys(names))
        lines.append(
            f"| {corpus}, {split} | {variant} | {'–' if variant in STARTS else size} | {len(group)} | "
            f"{' | '.join(figures)} | {chosen} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
