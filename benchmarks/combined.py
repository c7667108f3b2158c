"""dial2vec's own loss and neighbourhood learning: alone, added up, and with neighbours and strangers as samples.

    .venv/bin/python benchmarks/combined.py run sgd self_dialogue
    .venv/bin/python benchmarks/combined.py table

Needs the splits of the corpora (`make run` with them in `corpora`). Every way trains on the same dialogues for the same
number of steps with centring as head, and is scored on 800 labelled dev dialogues, without choice or map. In
"strangers" each negative takes its other side from one distant dialogue instead of turn by turn from anywhere. In
"neighbours as positives" a dialogue with its other side from a neighbour is a second positive.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from study import add_row, is_known, read_rows, run_study, table_of_ways
from torch import Tensor

from conversations.dialogue import Dialogue, read_dialogues
from dial2vec.config import Settings, Train
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.tokens import Batch, DialogueTokenizer
from dial2vec.evaluation import TASKS
from dial2vec.evaluation.scores import score
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.training.data import training_order
from dial2vec.training.loop import train
from dial2vec.training.methods.dial2vec import SelfGuidedSet, dial2vec_loss
from dial2vec.training.methods.neighbours import Fitted, fit_maps, neighbour_loss, neighbourhood_size
from dial2vec.training.negatives import Samples, draw_samples

RESULTS = Path(__file__).with_suffix(".jsonl")
TRAIN, DEV, TRAINED, NEGATIVES, MAX_LENGTH = 2000, 800, 160, 3, 256
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Way:
    """A combination of the two losses.

    :param pull: weight of the neighbourhood loss.
    :param guide: weight of the self-guided loss.
    :param strangers: True if negatives take a whole side from one far dialogue.
    :param positives: True if a side from a neighbour makes a second positive.
    :param rate: learning rate, as a multiple of the default.
    """

    pull: float
    guide: float
    strangers: bool = False
    positives: bool = False
    rate: float = 1.0


WAYS = {
    "neighbours": Way(1, 0),
    "dial2vec": Way(0, 1),
    "dial2vec, a tenth of the rate": Way(0, 1, rate=0.1),
    "dial2vec, strangers": Way(0, 1, strangers=True),
    "dial2vec, strangers, neighbours as positives": Way(0, 1, strangers=True, positives=True),
    "neighbours + 0.03 dial2vec": Way(1, 0.03),
    "neighbours + 0.03 dial2vec, strangers, neighbours as positives": Way(1, 0.03, strangers=True, positives=True),
}


class BothLosses(SelfGuidedSet):
    """Items of the self-guided task, each with the target of its dialogue.

    :param targets: targets of `samples.dialogues`, unit rows [m, d] float32.
    """

    def __init__(
        self,
        dialogues: list[Dialogue],
        samples: Samples,
        tokenizer: DialogueTokenizer,
        order: Places,
        targets: NDArray[np.float32],
        way: Way,
    ) -> None:
        super().__init__(dialogues, samples, tokenizer, order)
        self.targets, self.way = targets, way

    def __getitem__(self, item: int) -> Any:
        """Return the dialogue with its samples, cut as in training by default, and its target."""
        return [one.first(MAX_LENGTH) for one in super().__getitem__(item)], self.targets[self.order[item, 1]]

    def collate(self, items: list[Any]) -> dict[str, Tensor]:
        """Pad the sequences, and add `targets` float32 [items, d]."""
        targets = torch.from_numpy(np.stack([target for _, target in items]))
        return super().collate([sequences for sequences, _ in items]) | {"targets": targets}

    def loss(self, encoder: DialogueEncoder, settings: Train, batch: Batch, extra: dict[str, Tensor]) -> Tensor:
        """Return the weighted sum of both losses."""
        hidden, n = encoder.hidden_states(batch), 1 + self.samples.negatives.shape[1]
        total = torch.zeros((), device=hidden.device)
        if self.way.pull:
            vectors = encoder.through_head(encoder.pooled(hidden, batch)[::n])
            total = total + self.way.pull * neighbour_loss(vectors, extra["targets"])
        if self.way.guide:
            places = torch.arange(n, device=hidden.device)
            # The second positive, if any, is sample 1; it has the same negatives.
            sets = [places[places != 1], places[1:]] if self.way.positives else [places]
            for among in sets:
                rows = (torch.arange(0, len(hidden), n, device=hidden.device)[:, None] + among).flatten()
                guided = dial2vec_loss(
                    hidden[rows],
                    batch.turns[rows],
                    batch.roles[rows],
                    n_samples=len(among),
                    temperature=settings.temperature,
                    window=settings.window,
                )
                total = total + self.way.guide / len(sets) * guided
        return total


def main() -> None:
    """Measure the ways that are missing, or print the table of all."""
    run_study(__doc__, measure, table=lambda: table_of_ways(read_rows(RESULTS)))


def measure(arguments: argparse.Namespace, root: Path, settings: Settings) -> None:
    """Measure every way on every corpus."""
    for corpus in arguments.corpora:
        measure_corpus(Artifacts(root, corpus), settings)


def measure_corpus(artifacts: Artifacts, settings: Settings) -> None:
    """Train in every way that has no row yet, and add a row for each."""
    rng = np.random.default_rng(settings.seed)
    dialogues = drawn(list(read_dialogues(artifacts.split("train"))), TRAIN, rng)
    dev = drawn([one for one in read_dialogues(artifacts.split("dev")) if one.label is not None], DEV, rng)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("start", *WAYS):
            key = {"corpus": artifacts.corpus, "way": name}
            if is_known(RESULTS, key):
                continue
            began = time.perf_counter()
            encoder = DialogueEncoder.start(settings.encoder)
            if name != "start":
                train_by(WAYS[name], encoder, dialogues, settings, Path(folder))
            with encoder.autocast("auto"):
                vectors = encoder.encode(dev, batch_size=8)
            labels = [str(one.label) for one in dev]
            figures = score(vectors, labels, runs=settings.evaluate.kmeans_runs, seed=settings.seed)
            seconds = round(time.perf_counter() - began)
            add_row(RESULTS, key | {"seconds": seconds} | {task: figures[task] for task in TASKS})


def drawn(dialogues: list[Dialogue], n: int, rng: np.random.Generator) -> list[Dialogue]:
    """Return n of the dialogues, in their order."""
    return [dialogues[place] for place in np.sort(rng.permutation(len(dialogues))[:n])]


def train_by(way: Way, encoder: DialogueEncoder, dialogues: list[Dialogue], settings: Settings, folder: Path) -> None:
    """Train the encoder in place."""
    seed = settings.seed
    drawn_samples = draw_samples(
        dialogues, negatives=NEGATIVES + way.positives, passes=1, keep_role="random", min_turns=5, seed=seed
    )
    usable = [dialogues[place] for place in drawn_samples.dialogues]
    options = replace(
        settings.train,
        learning_rate=settings.train.learning_rate * way.rate,
        max_dialogues=TRAINED,
        batch_size=4,
        gradient_accumulation=2,
        checkpoint_steps=1000,
    )
    fitted = fit_maps(encoder, usable, settings=options, vectors=folder / "vectors")
    encoder.head = fitted.centring
    samples = with_sides(drawn_samples, dialogues, fitted, way, seed=seed) if way.strangers else drawn_samples
    words = np.array([sum(len(turn.text) for turn in one.turns) for one in usable])
    order = training_order(words, passes=1, settings=options, seed=seed)
    data = BothLosses(dialogues, samples, encoder.tokens, order, fitted.targets, way)
    train(encoder, data, settings=options, seed=seed, checkpoints=folder / "checkpoints", fingerprint=repr(way))


def with_sides(samples: Samples, dialogues: list[Dialogue], fitted: Fitted, way: Way, *, seed: int) -> Samples:
    """Return the samples with each replaced side from one distant dialogue, or for positives from a neighbour."""
    first = np.concatenate([[0], np.cumsum([len(one.turns) for one in dialogues])])
    roles = [np.array(one.roles) for one in dialogues]
    near = np.argsort(-fitted.targets @ fitted.targets.T, axis=1)
    m = len(samples.dialogues)
    negatives = samples.negatives.copy()
    for item, place in enumerate(samples.dialogues):
        rng = np.random.default_rng([seed, 5, item])
        columns = np.arange(samples.first_turn[item], samples.first_turn[item + 1])
        for number in range(negatives.shape[1]):
            close = way.positives and number == 0
            other = rng.integers(1, 1 + neighbourhood_size(m)) if close else rng.integers(m // 2, m)
            giver = samples.dialogues[near[item, other]]
            keep = samples.kept[0, number, item]
            spoken = first[giver] + np.flatnonzero(roles[giver] != keep)
            replaced = roles[place] != keep
            # Turn by turn in the giver's order, repeated if it has fewer turns.
            negatives[0, number, columns[replaced]] = np.resize(spoken, replaced.sum())
    return replace(samples, negatives=negatives)


if __name__ == "__main__":
    main()
