"""What are the negatives of a batch, by `train.batches`, and how many tokens does ConMix replace?

    .venv/bin/python benchmarks/studies/batches.py demo sgd self_dialogue

Needs the splits of the corpora (`dvc repro` of stage prepare). Columns, for answers of DSE in batches of 128 and of
DialAug in batches of 20, by the settings of params.yaml: standard deviation of the answers' words inside a batch, and
the share of answers of which the batch has another one with the same text, so that it counts as a negative; for
DialAug also the share of the words' tokens that ConMix changes; one that it replaces by the same token is not changed.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from conversations.dialogue import Dialogue
from conversations.words import words
from dial2vec.config import Settings
from dial2vec.data.dialogue_file import DialogueFile
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.tokens import Batch
from dial2vec.files import find_root
from dial2vec.params import load_settings
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.training.augmentation.token_ways import mix_tokens
from dial2vec.training.data import TrainingSet
from dial2vec.training.methods import dialaug, dse
from dial2vec.training.negatives import draw_samples
from dial2vec.training.plan import Given, Plan

HEAD = "| corpus | method | batches | sd of words | twins, % | ConMix, % |\n|---|---|---|---|---|---|\n"
ROW = "| {} | {} | {} | {:.2f} | {:.1f} | {} |\n"


def answers_of(data: TrainingSet, turns: Sequence[str], dialogues: Sequence[Dialogue]) -> list[str]:
    """Return the text of each answer in training order."""
    if isinstance(data, dse.PairSet):
        return [turns[data.rows[place, -1]] for place in data.order[:, 1]]
    rows = data.answers[data.order[:, 1]]
    return [dialogues[number].turns[turn].text for number, turn in rows]


def spread_and_twins(answers: Sequence[str], size: int) -> tuple[float, float]:
    """Return the mean standard deviation of the words in a batch, and the share of answers with a twin, in percent."""
    batches = [answers[i : i + size] for i in range(0, len(answers), size)]
    spread = np.mean([np.std([len(words(text)) for text in batch]) for batch in batches])
    twins = sum(count for batch in batches for count in Counter(batch).values() if count > 1)
    return float(spread), 100 * twins / len(answers)


def contexts(plan: Plan) -> Iterator[Batch]:
    """Yield the contexts of each batch."""
    data, size = plan.data, plan.train.batch_size
    assert data is not None
    for first in range(0, len(data), size):
        whole = data.collate([data[item] for item in range(first, first + size)])
        yield Batch(*(whole[name][:, 0] for name in Batch.__slots__))


def mixed_share(plan: Plan) -> float:
    """Return the share of the tokens of words that ConMix changes, in percent."""
    generator, changed, total = torch.Generator().manual_seed(1), 0, 0
    for batch in contexts(plan):
        after = mix_tokens(batch, plan.data.vocabulary, generator=generator)
        changed += int((after.ids != batch.ids).sum())
        total += int((batch.attention.bool() & ~plan.data.vocabulary.fixed[batch.ids]).sum())
    return 100 * changed / total


def measure(name: str, root: Path, settings: Settings) -> None:
    """Print the rows of a corpus."""
    dialogues = list(DialogueFile(Artifacts(root, name).split("train")))
    encoder = DialogueEncoder.start(settings.encoder)
    samples = draw_samples(dialogues, negatives=1, passes=1, keep_role="random", min_turns=5, seed=settings.seed)
    merged = [dialogue.merged() for dialogue in dialogues if dialogue.n_speakers > 1]
    turns = [turn.text for dialogue in merged for turn in dialogue.turns]
    for method in (dse, dialaug):
        for batches in ("length", "random"):
            own = replace(settings, train=replace(settings.train, batches=batches))
            plan = method.plan(Given(encoder, dialogues, samples, own, root))
            of_two = [dialogue for dialogue in dialogues if dialogue.n_speakers > 1]
            spread, twins = spread_and_twins(answers_of(plan.data, turns, of_two), plan.train.batch_size)
            mixed = f"{mixed_share(plan):.1f}" if method is dialaug else ""
            sys.stdout.write(ROW.format(name, method.__name__.rpartition(".")[2], batches, spread, twins, mixed))
            sys.stdout.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+")
    folder = find_root()
    sys.stdout.write(HEAD)
    for corpus in parser.parse_args().corpora:
        measure(corpus, folder, load_settings(folder / "params.yaml"))
