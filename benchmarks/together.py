"""Methods put together: warm-ups on utterances, mixed dialogues as further positives, corrupted ones as negatives.

    .venv/bin/python benchmarks/together.py run sgd self_dialogue
    .venv/bin/python benchmarks/together.py table

Needs the splits of the corpora (`make run` with them in `corpora`). Every way ends with a training for dialogues, of
the same dialogues in the same order: the default's neighbourhoods, or dial2vec as in the paper with fewer dialogues.
The last weights are scored on 800 labelled dev dialogues, without choice or map. Damage changes token ids, again at
each step: "mixed" is ConMix with 30 % of another dialogue's tokens, pulled to the same target; "corrupted" has 30 % of
its words replaced by random ones, and has to stay farther from the target than the dialogue.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from study import add_row, is_known, read_rows, run_study, table_of_ways
from torch import Tensor
from torch.nn import functional

from conversations.dialogue import Dialogue, read_dialogues
from conversations.files import atomic_path
from dial2vec.config import Settings, Train
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.tokens import Batch
from dial2vec.evaluation import TASKS
from dial2vec.evaluation.scores import score
from dial2vec.files import code_hash
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.training.augmentation import TOKEN_WAYS
from dial2vec.training.augmentation.token_ways import Vocabulary
from dial2vec.training.methods import METHODS
from dial2vec.training.methods.neighbours import NeighbourSet, neighbour_loss
from dial2vec.training.negatives import draw_samples
from dial2vec.training.plan import Given, carry_out
from dial2vec_papers.tables.systems import PAPER_SAMPLES, PAPER_TRAINING

RESULTS = Path(__file__).with_suffix(".jsonl")
DEV, SHARPNESS = 800, 0.2


@dataclass(frozen=True, slots=True)
class Way:
    """A chain of trainings.

    :param methods: methods in order, each starting from the weights of the one before.
    :param damage: key of `TOKEN_WAYS` for a damaged copy of each dialogue in the last training; "" for none.
    """

    methods: tuple[str, ...]
    damage: str = ""


WAYS = {
    "default": Way(("neighbours",)),
    "DSE, then default": Way(("dse", "neighbours")),
    "DialogueCSE, then default": Way(("dialoguecse", "neighbours")),
    "default with mixed dialogues": Way(("neighbours",), damage="conmix"),
    "default against corrupted dialogues": Way(("neighbours",), damage="replacement"),
    "dial2vec": Way(("dial2vec",)),
    "DSE, then dial2vec": Way(("dse", "dial2vec")),
    "DialogueCSE, then dial2vec": Way(("dialoguecse", "dial2vec")),
}


class Damaged:
    """The items of neighbourhood learning, with the loss of a damaged copy of each dialogue added.

    :param way: key of `TOKEN_WAYS`: "conmix" makes a further positive, any other a negative.
    """

    auxiliary = None

    def __init__(self, data: NeighbourSet, encoder: DialogueEncoder, way: str) -> None:
        self.data, self.order, self.way = data, data.order, way
        self.vocabulary = Vocabulary.of(encoder.tokens.tokenizer).to(encoder.device)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, item: int) -> Any:
        return self.data[item]

    def collate(self, items: list[Any]) -> dict[str, Tensor]:
        """Return the padded batch."""
        return self.data.collate(items)

    def count_cut(self) -> int:
        """Return the number of dialogues that are cut."""
        return self.data.count_cut()

    def loss(self, encoder: DialogueEncoder, settings: Train, batch: Batch, extra: dict[str, Tensor]) -> Tensor:
        """Return the mean of both pulls, or the pull with the corrupted copy held off."""
        damaged = TOKEN_WAYS[self.way](batch, self.vocabulary, generator=torch.default_generator)
        vectors, others = encoder(batch), encoder(damaged)
        pull = neighbour_loss(vectors, extra["targets"])
        if self.way == "conmix":
            return (pull + neighbour_loss(others, extra["targets"])) / 2
        near, far = (functional.cosine_similarity(one, extra["targets"], dim=1) for one in (vectors, others))
        return pull + SHARPNESS * functional.softplus((far - near) / SHARPNESS).mean()


def main() -> None:
    """Measure the ways that are missing, or print the table of all."""
    run_study(__doc__, measure_all, table=lambda: table_of_ways(read_rows(RESULTS)), options=add_options)


def add_options(run: argparse.ArgumentParser) -> None:
    """Add the options of `run`."""
    run.add_argument("--seed", type=int, action="append", help="default: 1")
    run.add_argument("--way", action="append", choices=WAYS)


def measure_all(arguments: argparse.Namespace, root: Path, settings: Settings) -> None:
    """Measure the ways on every corpus with every seed."""
    for seed in arguments.seed or [1]:
        for corpus in arguments.corpora:
            for name in ["start", *(arguments.way or WAYS)]:
                measure(Artifacts(root, corpus), replace(settings, seed=seed), name)


def measure(artifacts: Artifacts, settings: Settings, name: str) -> None:
    """Train in a way that has no row yet, and add its row."""
    place = {"corpus": artifacts.corpus, "way": name, "seed": settings.seed, "made_by": made_by(artifacts, settings)}
    if is_known(RESULTS, place):
        return
    began = time.perf_counter()
    encoder = DialogueEncoder.start(settings.encoder)
    if name != "start":
        *first, last = WAYS[name].methods
        kept = artifacts.root / "artifacts" / "together" / str(place["made_by"])
        for method in first:
            kept /= method
            if not (kept / "encoder").is_dir():
                trained(encoder, artifacts, settings, method, vectors=kept / "vectors")
                kept.mkdir(parents=True, exist_ok=True)
                with atomic_path(kept / "encoder") as part:
                    encoder.save_pretrained(part)
            reading, encoder = encoder.own_reading, DialogueEncoder.from_pretrained(kept / "encoder")
            # Trained on single utterances, the encoder would read dialogues turn by turn.
            encoder.read_as(reading)
        trained(encoder, artifacts, settings, last, vectors=kept / last, damage=WAYS[name].damage)
    dev = [one for one in read_dialogues(artifacts.split("dev")) if one.label is not None]
    lot = np.random.default_rng(0).permutation(len(dev))[:DEV]
    judged = [dev[number] for number in np.sort(lot)]
    with encoder.autocast("auto"):
        vectors = encoder.encode(judged, batch_size=8)
    labels = [str(one.label) for one in judged]
    figures = score(vectors, labels, runs=settings.evaluate.kmeans_runs, seed=0)
    seconds = round(time.perf_counter() - began)
    add_row(RESULTS, place | {"seconds": seconds} | {task: figures[task] for task in TASKS})


def made_by(artifacts: Artifacts, settings: Settings) -> str:
    """Return a hash of everything except the way that a row depends on: settings, splits and code."""
    digest = hashlib.sha256(json.dumps(asdict(settings), sort_keys=True, default=str).encode())
    digest.update(code_hash().encode() + Path(__file__).read_bytes())
    for split in ("train", "dev"):
        digest.update(artifacts.split(split).read_bytes())
    return digest.hexdigest()[:16]


def trained(
    encoder: DialogueEncoder, artifacts: Artifacts, settings: Settings, method: str, *, vectors: Path, damage: str = ""
) -> None:
    """Train the encoder in place by one method, as params.yaml sets it; `vectors` keeps those of its start."""
    dialogues: list[Dialogue] = list(read_dialogues(artifacts.split("train")))
    ours = replace(settings, train=replace(settings.train, method=method, checkpoint_steps=10_000))
    if method == "dial2vec":
        paper = {name: value for name, value in PAPER_TRAINING.items() if name not in ("method", "checkpoint_steps")}
        ours = replace(ours, train=replace(ours.train, **paper))
    samples = draw_samples(
        dialogues, **{name: value for name, value in PAPER_SAMPLES.items() if name != "among"}, seed=settings.seed
    )
    plan = METHODS[method](Given(encoder, dialogues, samples, ours, vectors))
    assert plan.data is not None, plan.note
    data = plan.data
    if isinstance(data, NeighbourSet) and damage:
        plan = replace(plan, data=Damaged(data, encoder, damage))
    with tempfile.TemporaryDirectory() as folder:
        carry_out(
            plan,
            encoder,
            seed=ours.seed,
            checkpoints=Path(folder) / "last",
            adaptation=Path(folder) / "before",
            fingerprint="together",
        )


if __name__ == "__main__":
    main()
