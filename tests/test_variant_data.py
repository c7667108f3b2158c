"""Intent augmentation: which dialogues have variants, and what the loss sees of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from conftest import make_dialogue
from dial2vec.config import IntentAugmentation, Settings, Train
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import ArtifactError, SettingsError
from dial2vec.head import Head
from dial2vec.methods import METHODS
from dial2vec.objectives.intent_augmentation import intent_augmentation_loss
from dial2vec.sampling import draw_samples
from dial2vec.tokens import Batch
from dial2vec.training import train
from dial2vec.variant_data import VariantSet

TRAIN = Train(frozen_share=0.0, log_steps=1, precision="fp32", method="intent_augmentation")
OPTIONS = IntentAugmentation(batch_size=4, learning_rate=3e-3)


def corpus(n=12):
    return [
        make_dialogue(f"d{i}", *(f"{'ab'[t % 2]}: w{(3 * i + t) % 40} w{(i + 7 * t) % 40}" for t in range(10)))
        for i in range(n)
    ]


def plan(folder, *, options=OPTIONS, dialogues=None, seed=1):
    encoder = DialogueEncoder.from_pretrained(folder)
    dialogues = dialogues or corpus()
    samples = draw_samples(dialogues, negatives=1, passes=1, keep_role="random", min_turns=2, seed=1)
    settings = Settings(train=TRAIN, intent_augmentation=options)
    made = METHODS["intent_augmentation"](encoder, dialogues, samples, settings=settings, seed=seed, vectors=None)
    return encoder, made


def texts(dialogue):
    return [turn.text for turn in dialogue.turns]


def test_every_item_is_a_dialogue_with_a_variant_of_its_own_and_no_negative_without_a_masked_model(tiny_folder):
    _, found = plan(tiny_folder, options=replace(OPTIONS, ways=("shuffling",)))
    for item in range(len(found.data)):
        original, preserved, corrupted = found.data[item]
        assert sorted(original.ids) == sorted(preserved.ids)
        assert original.ids.tolist() != preserved.ids.tolist()
        assert corrupted.roles.tolist() == [-1]


def test_the_loss_is_that_of_the_vectors_and_a_missing_variant_is_no_negative(tiny_folder):
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    originals, preserved = corpus(3), corpus(6)[3:]
    corrupted = [None, corpus(8)[7], None]
    order = np.array([[0, 2], [0, 1], [0, 0]])
    data = VariantSet(originals, preserved, corrupted, encoder.tokens, order, temperature=0.5, max_length=64)
    collated = data.collate([data[item] for item in range(3)])
    batch = Batch(*(collated[name].flatten(0, 1) for name in Batch.__slots__))
    parts = [torch.from_numpy(encoder.encode(part)) for part in (originals[::-1], preserved[::-1], corrupted[1:2])]
    expected = intent_augmentation_loss(*parts, temperature=0.5)
    torch.testing.assert_close(data.loss(encoder.eval(), TRAIN, batch, {}), expected, rtol=1e-4, atol=1e-5)


def test_a_head_of_the_start_is_on_the_encoder_while_it_trains_and_its_reading_stays(tiny_folder, tmp_path):
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    encoder.head = Head(torch.zeros(16), 2 * torch.eye(16))
    encoder.save_pretrained(tmp_path / "start")
    again, found = plan(tmp_path / "start")
    assert found.head is again.head
    assert torch.equal(found.head.weight, 2 * torch.eye(16))
    assert (found.reading, again.tokens.input, again.pooling) == (None, "text", "role")
    assert plan(tiny_folder)[1].head is None


def test_training_lowers_the_loss(tiny_folder, tmp_path):
    encoder, found = plan(tiny_folder, options=replace(OPTIONS, epochs=12))
    result = train(encoder, found.data, settings=found.train, seed=1, checkpoints=tmp_path / "c", fingerprint="x")
    losses = [entry["loss"] for entry in result.history]
    assert np.mean(losses[-5:]) < np.mean(losses[:5]) - 0.1


def test_the_same_seed_makes_the_same_variants(tiny_folder):
    one, same = (plan(tiny_folder)[1].data for _ in range(2))
    assert [sequence.ids.tolist() for sequence in one.preserved] == [
        sequence.ids.tolist() for sequence in same.preserved
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ways": ()}, r"ways is \[\]; expected some of insertion, back_translation, shuffling"),
        ({"ways": ("replacement",)}, r"ways is \['replacement'\]; expected some of"),
        ({"ways": ("insertion",)}, "insertion, which needs a model. Set masked_model"),
        ({"ways": ("back_translation",)}, "needs two models. Set translation_models"),
    ],
)
def test_ways_that_cannot_be_gone_are_said(tiny_folder, changes, message):
    with pytest.raises(SettingsError, match=message):
        plan(tiny_folder, options=replace(OPTIONS, **changes))


def test_dialogues_that_cannot_be_changed_leave_nothing_to_train_on(tiny_folder):
    short = [make_dialogue(f"d{i}", "a: w1", "b: w2") for i in range(4)]
    with pytest.raises(ArtifactError, match=r"0 of the 4 dialogues .+ have a variant by shortening"):
        plan(tiny_folder, options=replace(OPTIONS, ways=("shortening",)), dialogues=short)
