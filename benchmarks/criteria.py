"""Do criteria without labels see what labels see? Good and ruinous checkpoints of many runs, each judged both ways.

    .venv/bin/python benchmarks/criteria.py run sgd self_dialogue
    .venv/bin/python benchmarks/criteria.py table

Needs the splits of the corpora (`make run` with them in `corpora`). A run here is one way of changing the start, from
too little to too much: maps with ever more neighbours, maps fitted over and over, principal components kept, removed
or whitened, random projections, maps to strangers, the encoder trained by either method at sensible and at ruinous
rates. Every checkpoint is measured on 400 labelled dev dialogues by all criteria and by all three metrics.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from label_free import lexical_neighbours, measure_all
from numpy.typing import NDArray
from scipy.stats import spearmanr

from conversations.dialogue import Dialogue, read_dialogues
from dial2vec import telemetry
from dial2vec.config import Settings
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.vector_cache import kept_vectors
from dial2vec.evaluation import TASKS
from dial2vec.evaluation.scores import score
from dial2vec.evaluation.selection.choice import EncodedCandidate, choose_label_free
from dial2vec.evaluation.selection.criteria import Views
from dial2vec.files import find_root
from dial2vec.params import load_settings
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.pipeline.select import views
from dial2vec.training.loop import train
from dial2vec.training.methods import METHODS
from dial2vec.training.methods.neighbours import centred, fit_map, neighbour_targets
from dial2vec.training.negatives import draw_samples
from dial2vec.training.plan import Given, prepare

RESULTS = Path(__file__).with_suffix(".jsonl")
DEV, TRAIN = 400, 3000
Vectors = NDArray[np.float32]
Checkpoints = Iterator[tuple[str, str, Views]]
TRAINED: dict[str, dict[str, Any]] = {
    "neighbours": {"max_dialogues": 960, "checkpoint_steps": 10},
    "neighbours, rate x 30": {"max_dialogues": 960, "checkpoint_steps": 10, "learning_rate": 3e-3},
    "dial2vec": {"method": "dial2vec", "learning_rate": 1e-5},
    "dial2vec, rate x 10": {"method": "dial2vec", "learning_rate": 1e-4},
}
SELF_GUIDED = {"max_dialogues": 120, "batch_size": 5, "gradient_accumulation": 1, "checkpoint_steps": 8}


def main() -> None:
    """Measure the corpora, or print the tables of what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run")
    run.add_argument("corpora", nargs="+")
    commands.add_parser("table")
    arguments = parser.parse_args()
    if arguments.command == "table":
        sys.stdout.write(tables())
        return
    telemetry.switch_off()
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    root = find_root()
    settings = load_settings(root / "params.yaml")
    for corpus in arguments.corpora:
        measure_corpus(Artifacts(root, corpus), settings)


def measure_corpus(artifacts: Artifacts, settings: Settings) -> None:
    """Measure every checkpoint on one corpus; its lines in the results are replaced when all are there."""
    dev = [d for d in read_dialogues(artifacts.split("dev")) if d.label is not None and d.n_speakers > 1]
    lot = np.sort(np.random.default_rng(settings.seed).permutation(len(dev))[:DEV])
    dev = [dev[place] for place in lot]
    labels = [str(dialogue.label) for dialogue in dev]
    words = lexical_neighbours([" ".join(turn.text for turn in d.turns) for d in dev], neighbours=15)
    found, seen = [], []
    for run, name, one in checkpoints(artifacts, settings, dev):
        seen.append(EncodedCandidate(f"{run}: {name}", len(seen), one))
        figures = score(one.whole, labels, runs=settings.evaluate.kmeans_runs, seed=settings.seed)
        criteria = measure_all(one, start=seen[0].views, words=words, seed=settings.seed)
        row = {"corpus": artifacts.corpus, "run": run, "checkpoint": name} | {task: figures[task] for task in TASKS}
        found.append(row | {"criteria": {key: round(value, 5) for key, value in criteria.items()}})
        sys.stdout.write(json.dumps(found[-1]) + "\n")
        sys.stdout.flush()
    choice = choose_label_free(seen, bootstraps=settings.select.bootstraps, seed=settings.seed)
    for row, judged in zip(found, choice.results, strict=True):
        row |= {"score": judged.score, "verdict": judged.verdict}
    sys.stdout.write(choice.sentence + "\n")
    others = [row for row in rows() if row["corpus"] != artifacts.corpus]
    RESULTS.write_text("".join(json.dumps(row) + "\n" for row in others + found))


def checkpoints(artifacts: Artifacts, settings: Settings, dev: list[Dialogue]) -> Checkpoints:
    """Yield (run, checkpoint, views of dev); the start first."""
    encoder = DialogueEncoder.start(settings.encoder)
    start = views(encoder, dev)
    yield "start", "start", start
    dialogues = list(read_dialogues(artifacts.split("train")))
    lot = np.sort(np.random.default_rng(settings.seed).permutation(len(dialogues))[:TRAIN])
    dialogues = [dialogues[place] for place in lot]
    with tempfile.TemporaryDirectory() as folder:
        pooled = kept_vectors(encoder, dialogues, folder=Path(folder), precision="auto")
    for run, name, mapped in maps(pooled):
        yield run, name, Views(mapped(start.whole), mapped(start.first), mapped(start.second))
    for run, changes in TRAINED.items():
        yield from trained(run, changes, dialogues, settings, dev)


Map = tuple[str, str, Callable[[Vectors], Vectors]]


def maps(pooled: Vectors) -> Iterator[Map]:
    """Yield (run, checkpoint, map of vectors) of everything that needs no training, fitted on the start's vectors."""
    units, mean = centred(pooled)
    yield "centred", "mean removed", through(mean)
    yield from neighbour_maps(units, mean)
    yield from other_maps(units, mean)


def through(mean: Vectors, *weights: Vectors) -> Callable[[Vectors], Vectors]:
    """Return the function that centres vectors and maps them by one matrix after the other."""

    def mapped(vectors: Vectors) -> Vectors:
        x = unit(unit(vectors) - mean)
        for weight in weights:
            x = unit(x @ weight)
        return x

    return mapped


def neighbour_maps(units: Vectors, mean: Vectors) -> Iterator[Map]:
    """Yield maps to neighbours: more of them, held back more, over and over, and to strangers instead."""
    for k in (3, 8, 14, 30, 60, 120, 300, 800):
        weight = fit_map(units, neighbour_targets(units, k=k), ridge=0.1, identity=1)
        yield "map, more neighbours", f"k {k}", through(mean, weight)
    for ridge in (0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0):
        weight = fit_map(units, neighbour_targets(units, k=14), ridge=ridge, identity=1)
        yield "map, held back", f"ridge {ridge:g}", through(mean, weight)
    weights: list[Vectors] = []
    now = units
    for times in range(1, 7):
        weights.append(fit_map(now, neighbour_targets(now, k=14), ridge=0.1, identity=0))
        now = unit(now @ weights[-1])
        yield "map, over and over", f"{times} times", through(mean, *weights)
    shuffled = np.random.default_rng(0).permutation(len(units))
    for own in (0.9, 0.5, 0.0):
        targets = unit(own * units + (1 - own) * units[shuffled])
        weight = fit_map(units, targets, ridge=0.1, identity=0)
        yield "map to strangers", f"own share {own:g}", through(mean, weight)


def other_maps(units: Vectors, mean: Vectors) -> Iterator[Map]:
    """Yield principal components kept, whitened or removed, and random projections."""
    _, sizes, axes = np.linalg.svd(units - units.mean(axis=0), full_matrices=False)
    for kept in (4, 8, 16, 32, 64, 128, 256):
        yield "principal components", f"{kept} kept", through(mean, axes[:kept].T)
        yield "whitening", f"{kept} kept", through(mean, axes[:kept].T / sizes[:kept])
    for removed in (1, 2, 3, 5, 10, 20):
        rest = np.eye(axes.shape[1]) - axes[:removed].T @ axes[:removed]
        yield "top removed", f"{removed} removed", through(mean, rest.astype(np.float32))
    for kept in (4, 8, 16, 32, 64, 128):
        drawn = np.random.default_rng(kept).normal(size=(units.shape[1], kept)).astype(np.float32)
        yield "random projection", f"to {kept}", through(mean, drawn)


def trained(
    run: str, changes: dict[str, Any], dialogues: list[Dialogue], settings: Settings, dev: list[Dialogue]
) -> Checkpoints:
    """Train by a method and yield each checkpoint on the way."""
    extra = SELF_GUIDED if changes.get("method") == "dial2vec" else {}
    options = replace(settings.train, **(changes | extra))
    samples = draw_samples(dialogues, negatives=9, passes=1, keep_role="random", min_turns=5, seed=settings.seed)
    with tempfile.TemporaryDirectory() as folder:
        encoder = DialogueEncoder.start(settings.encoder)
        checkpoints_folder = Path(folder) / "checkpoints"
        given = Given(encoder, dialogues, samples, replace(settings, train=options), Path(folder) / "vectors")
        plan = METHODS[options.method](given)
        prepare(encoder, plan)
        train(encoder, plan.data, settings=options, seed=settings.seed, checkpoints=checkpoints_folder, fingerprint=run)
        from safetensors.torch import load_file

        for path in sorted(checkpoints_folder.glob("weights-*"), key=lambda path: int(path.stem.split("-")[1])):
            encoder.network.load_state_dict(load_file(path), strict=False)
            yield run, f"step {path.stem.split('-')[1]}", views(encoder, dev)


def unit(vectors: Vectors) -> Vectors:
    """Return the rows at length 1."""
    scaled: Vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return scaled.astype(np.float32)


def rows() -> list[dict[str, Any]]:
    """Return what was measured."""
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.is_file() else []


def tables() -> str:
    """Return one Markdown table per corpus: rank correlation with each metric, and what each criterion would choose."""
    found, text = rows(), ""
    for corpus in dict.fromkeys(row["corpus"] for row in found):
        ours = [row for row in found if row["corpus"] == corpus]
        runs = len({row["run"] for row in ours})
        text += f"**{corpus}**: {len(ours)} checkpoints of {runs} runs. Rank correlation with purity / Spearman / MAP; "
        text += "then the MAP of what it chooses, minus the best of all, and minus the start.\n\n"
        text += "| criterion | correlations | chooses | MAP | regret | against the start (all three) |\n"
        text += "|---|---|---|---|---|---|\n"
        ranked = {name: [row["criteria"][name] for row in ours] for name in ours[0]["criteria"]}
        for name, values in ranked.items():
            text += line(name, values, int(np.argmax(values)), ours)
        chosen = next(place for place, row in enumerate(ours) if row["verdict"] == "chosen")
        text += line("**the rule**: mean rank of three", [row["score"] for row in ours], chosen, ours) + "\n"
    return text


def line(name: str, values: list[float], chosen: int, ours: list[dict[str, Any]]) -> str:
    """Return one row of the table."""
    figures = np.array([[row[task] for task in TASKS] for row in ours])
    correlations = " / ".join(f"{spearmanr(values, column).statistic:.2f}" for column in figures.T)
    best, gain = figures[:, -1].max(), figures[chosen] - figures[0]
    what = f"{ours[chosen]['run']}, {ours[chosen]['checkpoint']}"
    return (
        f"| {name} | {correlations} | {what} | {figures[chosen, -1]:.1f} | {figures[chosen, -1] - best:.1f} | "
        f"{' / '.join(f'{one:+.1f}' for one in gain)} |\n"
    )


if __name__ == "__main__":
    main()
