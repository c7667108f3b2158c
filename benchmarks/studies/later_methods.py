"""Do two later methods make better vectors of whole dialogues than those of `train.method`?

    .venv/bin/python benchmarks/studies/later_methods.py run demo sgd self_dialogue --seeds 1
    .venv/bin/python benchmarks/studies/later_methods.py table

Needs the splits of the corpora. Both train on single utterances, as method `dse` does, from the base encoder of
params.yaml, which then reads whole dialogues as before, or as the mean of their utterances, as after `dse`:

- `distance`: two utterances of a dialogue, 1 to 4 turns apart, get a cosine that falls by 0.2 a turn, and 0 the other
  way round and with any utterance of the corpus (curved contrastive learning, Erker et al. 2023; windows of 5
  turns as in triple-encoders, Erker et al. 2024). "before" and "after" are words in brackets here, not tokens of their
  own, and there are no marks of the speaker.
- `no_negatives`: a context of 1 to 3 utterances, through two layers, gets the vector of the same context with its
  answer, which has no gradient (BootTOD, Zeng et al. 2024). The paper's masked words are left out.

Rows go to later_methods.jsonl, encoders to artifacts/later_methods/ for `dial2vec papers evaluate`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from conversations.dialogue import Dialogue, Turn, read_dialogues
from dial2vec.config import Settings, Train
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.pooling import pool
from dial2vec.encoder.reading import sentences_apart
from dial2vec.encoder.tokens import Batch, TokenSequence
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.training.auxiliary import TwoLayers, seeded
from dial2vec.training.data import first_turns, whole_batches, word_counts_of_turns
from dial2vec.training.loop import train
from dial2vec.training.methods.dse import PairSet, consecutive_pairs
from dial2vec.training.utterances import UtteranceSet
from study import add_row, is_known, read_rows, run_study, table_of_ways
from weak_start import digest, figures

RESULTS = Path(__file__).with_suffix(".jsonl")
WINDOW, BATCH, PAIRS, RATE = 5, 64, 6400, 2e-5
READINGS = ("whole dialogues", "mean of utterances")


def main() -> None:
    """Measure what is missing, or print the table."""
    run_study(__doc__, measure_all, table=lambda: table_of_ways(read_rows(RESULTS)), options=add_options)


def add_options(run: argparse.ArgumentParser) -> None:
    """Add the options of `run`."""
    run.add_argument("--seeds", nargs="+", type=int, default=[1])
    run.add_argument("--results", type=Path, default=RESULTS, help="JSON Lines file of the rows, read and added to")


def measure_all(arguments: argparse.Namespace, root: Path, settings: Settings) -> None:
    """Train by each method with each seed, and add the rows that are missing, beside those of the base encoder."""
    for corpus in arguments.corpora:
        artifacts = Artifacts(root, corpus)
        dialogues = [one for one in read_dialogues(artifacts.split("train")) if one.n_speakers > 1]
        judged = [one for one in read_dialogues(artifacts.split("test")) if one.label is not None]
        for seed in arguments.seeds:
            for way, make in METHODS.items():
                rows = [{"corpus": corpus, "way": f"{way}, {reading}", "seed": seed} for reading in READINGS]
                if all(is_known(arguments.results, row) for row in rows):
                    continue
                encoder = DialogueEncoder.start(settings.encoder)
                folder = root / "artifacts" / "later_methods" / f"{corpus}-{way.replace(' ', '_')}-{seed}"
                losses = trained(encoder, make, dialogues, replace(settings, seed=seed), folder) if make else []
                for row, reading in zip(rows, (None, sentences_apart(encoder.own_reading.input)), strict=True):
                    encoder.read_as(reading)
                    add_row(arguments.results, row | {"losses": losses} | figures(encoder, judged, settings))
                encoder.save_pretrained(folder / "encoder")


def trained(encoder: DialogueEncoder, make: Any, dialogues: list[Dialogue], settings: Settings, folder: Path) -> Any:
    """Train in place, and return the first and the last loss."""
    options = replace(settings.dse, learning_rate=RATE, batch_size=BATCH, max_pairs=PAIRS)
    settings = replace(settings, dse=options)
    data = make(encoder, [dialogue.merged() for dialogue in dialogues], settings)
    own = train_settings(settings)
    mark = digest([own, WINDOW, settings.encoder])
    run = train(encoder, data, settings=own, seed=settings.seed, checkpoints=folder, fingerprint=mark)
    return [run.history[0]["loss"], run.history[-1]["loss"]]


def train_settings(settings: Settings) -> Train:
    """Return block `train` for these pairs."""
    return replace(
        settings.train,
        method="dse",
        learning_rate=RATE,
        epochs=1,
        batch_size=BATCH,
        gradient_accumulation=1,
        frozen_share=0.0,
        max_dialogues=PAIRS,
    )


class Pair(list[TokenSequence]):
    """Two sequences, and the cosine that they get."""

    target: float


class DistanceSet(UtteranceSet):
    """Items: an utterance marked as before, and one marked as after."""

    targets: NDArray[np.float32]

    def __getitem__(self, item: int) -> Pair:
        row = self.order[item, 1]
        pair = Pair(self.joined(number) for number in self.rows[row])
        pair.target = float(self.targets[row])
        return pair

    def collate(self, items: list[Any]) -> dict[str, Tensor]:
        """Pad the pairs, and add their cosines."""
        return super().collate(items) | {"targets": torch.tensor([pair.target for pair in items])}

    def loss(self, encoder: DialogueEncoder, settings: Train, batch: Batch, extra: dict[str, Tensor]) -> Tensor:
        """Return the squared error of the cosines."""
        before, after = pairs_of(encoder, batch)
        return functional.mse_loss(functional.cosine_similarity(before, after), extra["targets"])


class NoNegativesSet(PairSet):
    """Items: a context, and the same context with its answer."""

    def __getitem__(self, item: int) -> list[TokenSequence]:
        *context, answer = self.rows[self.order[item, 1]]
        return [self.joined(*context), self.joined(*context, answer)]

    def loss(self, encoder: DialogueEncoder, settings: Train, batch: Batch, extra: dict[str, Tensor]) -> Tensor:
        """Return 1 less the cosine of what is predicted from a context and the vector with its answer."""
        context, whole = pairs_of(encoder, batch)
        assert self.auxiliary is not None
        return 1 - functional.cosine_similarity(self.auxiliary(context), whole.detach()).mean()


def pairs_of(encoder: DialogueEncoder, batch: Batch) -> tuple[Tensor, Tensor]:
    """Return the vectors of both sequences of each item, two of [m, d]."""
    vectors = pool(encoder.sequence_states(batch), batch.roles, batch.turns, how="mean")
    first, second = vectors.unflatten(0, (-1, 2)).unbind(1)
    return first, second


def distance_set(encoder: DialogueEncoder, dialogues: list[Dialogue], settings: Settings) -> DistanceSet:
    """Return the pairs of method `distance`."""
    rows, targets = distances(dialogues, seed=settings.seed)
    marked = [replace(one, turns=tuple(marks(one.turns))) for one in dialogues]
    _, order = whole_batches(
        word_counts_of_turns(marked)[rows[:, 1]], settings=train_settings(settings), seed=settings.seed
    )
    data = DistanceSet(marked, rows, encoder.tokens, order, options=settings.dse)
    data.targets = targets
    return data


def marks(turns: Sequence[Turn]) -> list[Turn]:
    """Return each turn twice: turn t, marked as before, is number 2t, and marked as after 2t + 1."""
    return [replace(turn, text=f"[{mark}] {turn.text}") for turn in turns for mark in ("before", "after")]


def distances(dialogues: Sequence[Dialogue], *, seed: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return pairs of marked turns, int64 [m, 2], and their cosines, float32 [m].

    Of three pairs one is in order, one is the same pair the other way round, and one has a later turn of anywhere.
    """
    random = np.random.default_rng([seed, 5])
    starts = first_turns(dialogues)
    found = [
        (begin + place, begin + place + apart, apart)
        for begin, dialogue in zip(starts, dialogues, strict=False)
        for place in range(len(dialogue.turns))
        for apart in range(1, min(WINDOW, len(dialogue.turns) - place))
    ]
    first, later, apart = np.array(found, dtype=np.int64).reshape(-1, 3).T
    anywhere = random.integers(starts[-1], size=len(first))
    rows = np.stack([2 * np.stack([first, later, first]), 2 * np.stack([later, first, anywhere]) + 1], axis=-1)
    targets = np.stack([1 - apart / WINDOW, np.zeros(len(first)), np.zeros(len(first))])
    return rows.reshape(-1, 2), targets.ravel().astype(np.float32)


def no_negatives_set(encoder: DialogueEncoder, dialogues: list[Dialogue], settings: Settings) -> NoNegativesSet:
    """Return the contexts of method `no_negatives`."""
    pairs = consecutive_pairs(dialogues, variant="123-1", min_words=settings.dse.min_words)
    words = word_counts_of_turns(dialogues)[pairs[:, -1]]
    _, order = whole_batches(words, settings=train_settings(settings), seed=settings.seed)
    layers = seeded(lambda: TwoLayers(encoder.dimension, encoder.dimension), seed=settings.seed)
    return NoNegativesSet(dialogues, pairs, encoder.tokens, order, options=settings.dse, auxiliary=layers)


METHODS = {"base encoder": None, "distance": distance_set, "no negatives": no_negatives_set}

if __name__ == "__main__":
    main()
