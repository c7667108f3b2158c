"""Does the paper's method gain from a weak start? MiniLM with half of its layers random, then masked words, then both.

    .venv/bin/python benchmarks/studies/weak_start.py run sgd --seeds 1 2 3
    .venv/bin/python benchmarks/studies/weak_start.py run sgd --dialogues all --epochs 5 --mlm-epochs 10   # on a GPU
    .venv/bin/python benchmarks/studies/weak_start.py table

Needs the splits of the corpora (`make run` with them in `corpora`, or `dvc repro` of stage prepare). The encoders of
Liu et al. 2022 know words, but nothing about sentences. all-MiniLM-L6-v2 without its training on sentences is not at
hand, so here each seed makes a start of its own: the upper 3 of its 6 layers get random weights, and the whole network
guesses masked words of the train split, 8 turns at a time with separators between them. From that start come the recipe
of params.yaml and the preset dial2vec-paper, with separators as in its published code, and `--dialogues` and `--epochs`
instead of the whole: both are in the rows. Scored are the test split's purity, Spearman and MAP.

Rows go to weak_start.jsonl or `--results`, work to artifacts/weak_start/. Rows of the same seed, dialogues, epochs and
rate are not computed again: take those out by hand whose recipe has changed since. A killed command continues from the
last whole checkpoint of its training.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from conversations.dialogue import Dialogue, read_dialogues
from conversations.files import read_json
from dial2vec.config import Settings
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.backbone import layers
from dial2vec.evaluation import TASKS
from dial2vec.evaluation.measure import measure
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.training.auxiliary import seeded
from dial2vec.training.data import first_turns, training_order, word_counts_of_turns
from dial2vec.training.loop import Names, train
from dial2vec.training.methods.masked import MaskedSet, masked_head
from dial2vec.training.utterances import NONE
from dial2vec_papers.commands import take_device
from dial2vec_papers.presets import with_preset
from dial2vec_papers.tables.course import trained_encoder
from study import add_row, is_known, read_rows, run_study, table_of_ways

RESULTS = Path(__file__).with_suffix(".jsonl")
BASE, READING = "all-MiniLM-L6-v2", "separators"
TURNS, BATCH, RATE = 8, 32, 2e-4
# Checkpoints of the paper's training, each a candidate.
CHECKPOINTS = 8
RULES = {"last": "last", "dev_purity": "best purity on dev", "label_free": "chosen without labels"}


def main() -> None:
    """Measure what is missing, or print the table."""
    run_study(__doc__, measure_all, table=lambda: table_of_ways(read_rows(RESULTS)), options=add_options)


def add_options(run: argparse.ArgumentParser) -> None:
    """Add the options of `run`."""
    run.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    run.add_argument("--base", default=BASE, help="name or folder of the encoder whose upper half forgets")
    run.add_argument("--mlm-epochs", type=int, default=1, help="passes over the train split by masked words")
    run.add_argument("--mlm-windows", type=int, help="largest number of windows per pass; default: all")
    run.add_argument("--dialogues", default="2000", help="training dialogues of the paper's method, or all")
    run.add_argument("--epochs", type=int, default=1, help="of the paper's method; 0 is the published script's number")
    run.add_argument("--rate", type=float, help="learning rate of the paper's method; default: the preset's")
    run.add_argument(
        "--batch", type=int, help="dialogues read at once by the paper's method, which steps by 20; default: 5"
    )
    run.add_argument("--device", help="cpu, cuda or cuda:1; default: a GPU if there is one")
    run.add_argument("--results", type=Path, default=RESULTS, help="JSON Lines file of the rows, read and added to")
    run.add_argument("--recipe-dialogues", type=int, help="train.max_dialogues of the recipe; default: params.yaml's")
    run.add_argument("--judged", type=int, help="number of test dialogues, for a trial; default: all")


def measure_all(arguments: argparse.Namespace, root: Path, settings: Settings) -> None:
    """Measure the strong start once, then each seed's weak start, the recipe and the paper's method from it."""
    take_device(arguments.device)
    for corpus in arguments.corpora:
        artifacts = Artifacts(root, corpus)
        judged = [one for one in read_dialogues(artifacts.split("test")) if one.label is not None][: arguments.judged]
        strong = {"corpus": corpus, "way": Path(arguments.base).name, "judged": len(judged)}
        if not is_known(arguments.results, strong):
            encoder = DialogueEncoder.from_pretrained(arguments.base, input=READING)
            add_row(arguments.results, strong | figures(encoder, judged, settings))
        for seed in arguments.seeds:
            one_seed(arguments, artifacts, judged, replace(settings, seed=seed))


def one_seed(arguments: argparse.Namespace, artifacts: Artifacts, judged: list[Dialogue], settings: Settings) -> None:
    """Make the weak start of a seed, train from it in both ways, and add the rows that are missing."""
    part = {"base": Path(arguments.base).name, "mlm_epochs": arguments.mlm_epochs, "mlm_windows": arguments.mlm_windows}
    work = artifacts.root / "artifacts" / "weak_start" / f"{artifacts.corpus}-{settings.seed}-{digest(part)}"
    start = work / "start"
    key = {"corpus": artifacts.corpus, "seed": settings.seed, "judged": len(judged), **part}
    if not (start / "config.json").is_file():
        weak_start(list(read_dialogues(artifacts.split("train"))), start, settings, arguments)
    if not is_known(arguments.results, weak := key | {"way": "weak start"}):
        add_row(arguments.results, weak | figures(DialogueEncoder.from_pretrained(start), judged, settings))
    settings = replace(settings, encoder=replace(settings.encoder, name=str(start), input=READING))
    for name, ours, rules in (
        ("recipe", recipe(settings, arguments), ("label_free", "last")),
        (papers_name(arguments), papers(settings, artifacts.corpus, arguments), tuple(RULES)),
    ):
        about = {
            "dialogues": ours.train.max_dialogues,
            "epochs": ours.train.epochs,
            "rate": ours.train.learning_rate,
        }
        mark = digest(asdict(ours))
        for rule in rules:
            if is_known(arguments.results, row := key | {"way": f"{name}, {RULES[rule]}"} | about):
                continue
            chosen = replace(ours, select=replace(ours.select, selection=rule))
            folder = work / f"{name.split()[0]}-{mark}"
            encoder, training = trained_encoder(artifacts, chosen, folder, mark=mark, with_choices=True)
            more: dict[str, Any] = {"settings": mark, "chosen": training.chosen, "steps": training.steps}
            if rule == "label_free":
                # With their criteria and their figures on dev, which say why.
                more["candidates"] = read_json(Artifacts(folder, artifacts.corpus).selection)["candidates"]
            add_row(arguments.results, row | more | figures(encoder, judged, settings))


def papers_name(arguments: argparse.Namespace) -> str:
    """Return the name of the paper's method in the table; another rate makes another row."""
    return "paper's method" + ("" if arguments.rate is None else f" at a rate of {arguments.rate:g}")


def recipe(settings: Settings, arguments: argparse.Namespace) -> Settings:
    """Return the recipe of params.yaml."""
    most = arguments.recipe_dialogues or settings.train.max_dialogues
    return replace(settings, train=replace(settings.train, max_dialogues=most))


def papers(settings: Settings, corpus: str, arguments: argparse.Namespace) -> Settings:
    """Return the preset dial2vec-paper with the asked number of dialogues and epochs, read with separators."""
    whole = with_preset(settings, "dial2vec-paper", corpus=corpus)
    dialogues = None if arguments.dialogues == "all" else int(arguments.dialogues)
    epochs = arguments.epochs or whole.train.epochs
    step = whole.train.batch_size * whole.train.gradient_accumulation
    steps = (dialogues or 0) * epochs // step
    every = max(1, steps // CHECKPOINTS) if dialogues else whole.train.checkpoint_steps
    rate = arguments.rate or whole.train.learning_rate
    batch = arguments.batch or whole.train.batch_size
    training = replace(
        whole.train,
        max_dialogues=dialogues,
        epochs=epochs,
        checkpoint_steps=every,
        learning_rate=rate,
        batch_size=batch,
        gradient_accumulation=max(1, step // batch),
    )
    return replace(whole, train=training, encoder=replace(whole.encoder, input=READING), evaluate=settings.evaluate)


def weak_start(dialogues: list[Dialogue], folder: Path, settings: Settings, arguments: argparse.Namespace) -> None:
    """Give half of the layers random weights, train all by masked words, and save the encoder, which reads as trained.

    A killed training continues from its checkpoints beside the folder.
    """
    encoder = DialogueEncoder.from_pretrained(arguments.base, input=READING)
    upper = layers(encoder.backbone)
    seeded(lambda: [forget(layer) for layer in upper[len(upper) // 2 :]], seed=settings.seed)
    rows = windows(dialogues)
    words = word_counts_of_turns(dialogues)
    lengths = np.where(rows == NONE, 0, words[rows]).sum(1)
    options = replace(
        settings.train,
        learning_rate=RATE,
        epochs=arguments.mlm_epochs,
        max_dialogues=arguments.mlm_windows,
        batch_size=BATCH,
        gradient_accumulation=1,
        frozen_share=0.0,
        weight_decay=0.01,
        checkpoint_steps=100,
    )
    order = training_order(lengths, passes=1, settings=options, seed=settings.seed)
    head = masked_head(encoder, seed=settings.seed)
    cut = replace(settings.dialoguecse, max_length=encoder.max_length, mlm_max_masks=None)
    data = MaskedSet(dialogues, rows, encoder.tokens, order, options=cut, auxiliary=head)
    fingerprint = digest([settings.seed, asdict(options), len(order), TURNS])
    checkpoints = folder.with_name("masked_words")
    trained = train(
        encoder,
        data,
        settings=options,
        seed=settings.seed,
        checkpoints=checkpoints,
        fingerprint=fingerprint,
        names=Names("train", "windows"),
    )
    (folder.with_name("masked_words.json")).write_text(json.dumps(trained.history, indent=1))
    encoder.save_pretrained(folder)


def forget(layer: nn.Module) -> None:
    """Give a layer the weights of an untrained BERT (Devlin et al. 2019): normal with sd 0.02, no bias, norms of 1."""
    for module in layer.modules():
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=0.02)
            nn.init.zeros_(module.bias)
        elif isinstance(module, nn.LayerNorm):
            nn.init.ones_(module.weight)
            nn.init.zeros_(module.bias)


def windows(dialogues: list[Dialogue]) -> np.ndarray:
    """Return the turns of each window of a dialogue, by their numbers through all dialogues, int64 [m, TURNS]."""
    rows = []
    for begin, dialogue in zip(first_turns(dialogues), dialogues, strict=False):
        n = len(dialogue.turns)
        for first in range(0, n, TURNS):
            places = [begin + place for place in range(first, min(first + TURNS, n))]
            rows.append(places + [NONE] * (TURNS - len(places)))
    return np.array(rows, dtype=np.int64)


def figures(encoder: DialogueEncoder, judged: list[Dialogue], settings: Settings) -> dict[str, Any]:
    """Return purity, Spearman and MAP of the judged dialogues, with the same seed of k-means for all."""
    runs = settings.evaluate.kmeans_runs
    with encoder.autocast("auto"):
        found = measure(encoder, judged, runs=runs, seed=42, batch_size=32, progress=False).scores
    return {task: (found or {}).get(task) for task in TASKS}


def digest(value: Any) -> str:
    """Return a short hash of what a row was made with."""
    return hashlib.sha256(json.dumps(value, default=str).encode()).hexdigest()[:8]


if __name__ == "__main__":
    main()
