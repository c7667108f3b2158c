"""Small training runs of the methods on utterances, and of intent augmentation, that several tests use."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dial2vec.config import DialAug, DialogueCse, Dse, IntentAugmentation, Settings, Train
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.tokens import Batch
from dial2vec.training.methods import METHODS
from dial2vec.training.negatives import draw_samples
from dial2vec.training.plan import Given
from tests.conftest import make_dialogue

TRAIN = Train(frozen_share=0.0, log_steps=1, checkpoint_steps=2, precision="fp32", warmup_share=0.0)


SETTINGS = {
    "dse": Settings(train=replace(TRAIN, method="dse"), dse=Dse(batch_size=6, min_words=1, learning_rate=3e-3)),
    "dialoguecse": Settings(
        train=replace(TRAIN, method="dialoguecse"),
        dialoguecse=DialogueCse(
            negatives=2, batch_size=6, learning_rate=3e-3, aggregation="attention", frozen_share=0.0, mlm_epochs=0.0
        ),
    ),
    "dialaug": Settings(
        train=replace(TRAIN, method="dialaug"), dialaug=DialAug(batch_size=6, learning_rate=3e-3, answering="any")
    ),
}


VARIANTS = Settings(
    train=replace(TRAIN, method="intent_augmentation"),
    intent_augmentation=IntentAugmentation(ways=("shuffling",), batch_size=2, learning_rate=3e-3),
)


LINES = [f"{'ab'[t % 2]}: w{t}" for t in range(4)]

LONG = "one two three four"


# Utterances 0 to 4, of which 2 is too short; then 5 and 6.
NUMBERED = [
    make_dialogue("x", f"a: {LONG}", f"b: {LONG}", "a: too short", f"b: {LONG}", f"a: {LONG}"),
    make_dialogue("y", f"a: {LONG}", f"b: {LONG}"),
]

DIALOGUES = [
    make_dialogue("short", "a: w0 w1", "b: w2"),
    make_dialogue("middle", "b: w3", "a: w4 w5", "b: w6"),
    make_dialogue("long", "a: " + "w7 " * 8, "b: w8", "a: w9"),
]


def corpus(n=8):
    """Dialogues of four turns, which share words within a dialogue."""
    return [
        make_dialogue(
            f"d{i}",
            *(f"{'ab'[t % 2]}: w{(5 * i + t) % 40} w{5 * i % 40} w{(5 * i + 1) % 40}" for t in range(4)),
        )
        for i in range(n)
    ]


def planned(folder, method, *, settings=None, dialogues=None, seed=1, vectors=None):
    encoder = DialogueEncoder.from_pretrained(folder)
    dialogues = dialogues or corpus()
    # Of the samples, which are of long dialogues here, methods on utterances take nothing.
    least = 2 if method == "intent_augmentation" else 50
    samples = draw_samples(dialogues, negatives=1, passes=1, keep_role="random", min_turns=least, seed=1)
    settings = replace(settings or SETTINGS[method], seed=seed)
    return encoder, METHODS[method](Given(encoder, dialogues, samples, settings, vectors))


def run(encoder, plan, folder):
    """Carry a plan out, and return the record of its training."""
    before = folder.with_name(f"before-{folder.name}")
    return plan.run(encoder, seed=1, checkpoints=folder, adaptation=before, fingerprint="x")[1]


def flat_batch(data, items):
    collated = data.collate([data[item] for item in items])
    return Batch(*(collated[name].flatten(0, 1) for name in Batch.__slots__))


def train_with_a_kill(plan_again, folder, monkeypatch):
    """Kill a run after three steps and train it to its end; return the encoder, and the record of the second part.

    :param plan_again: Function that returns a new encoder with its plan.
    """
    encoder, plan = plan_again()
    steps, loss = [], plan.data.loss

    def killed(*arguments):
        steps.append(1)
        if len(steps) > 3:
            raise KeyboardInterrupt
        return loss(*arguments)

    monkeypatch.setattr(plan.data, "loss", killed)
    with pytest.raises(KeyboardInterrupt):
        run(encoder, plan, folder)
    encoder, plan = plan_again()
    return encoder, run(encoder, plan, folder)
