"""Intent augmentation: variants, the loss, and the plan."""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
import torch

from dial2vec.config import IntentAugmentation, PreservingWay, Settings, Train
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.head import Head
from dial2vec.encoder.tokens import Batch
from dial2vec.errors import ArtifactError
from dial2vec.training.augmentation import WAYS
from dial2vec.training.methods import intent_augmentation
from dial2vec.training.methods.intent_augmentation import VariantSet, intent_augmentation_loss
from dial2vec.training.negatives import draw_samples
from dial2vec.training.plan import Given
from tests.conftest import make_dialogue
from tests.training.augmentation.test_masked_model import folder as masked_folder
from tests.training.methods.tiny_runs import run

__all__ = ["masked_folder"]
TRAIN = Train(frozen_share=0.0, log_steps=1, precision="fp32", method="intent_augmentation")


OPTIONS = IntentAugmentation(batch_size=4, learning_rate=3e-3)


def corpus(n=12):
    return [
        make_dialogue(f"d{i}", *(f"{'ab'[t % 2]}: w{(3 * i + t) % 40} w{(i + 7 * t) % 40}" for t in range(10)))
        for i in range(n)
    ]


@pytest.fixture
def plan(tmp_path):
    """`plan(folder)`: an encoder and what the method prepares with it, variants kept in a folder of the test."""
    return functools.partial(planned, vectors=tmp_path / "vectors")


def planned(folder, *, vectors, options=OPTIONS, dialogues=None, seed=1):
    encoder = DialogueEncoder.from_pretrained(folder)
    dialogues = dialogues or corpus()
    samples = draw_samples(dialogues, negatives=1, passes=1, keep_role="random", min_turns=2, seed=1)
    settings = Settings(seed=seed, train=TRAIN, intent_augmentation=options)
    return encoder, intent_augmentation.plan(Given(encoder, dialogues, samples, settings, vectors))


def texts(dialogue):
    return [turn.text for turn in dialogue.turns]


def test_every_item_is_a_dialogue_with_a_variant_of_its_own_and_no_negative_without_a_masked_model(plan, tiny_folder):
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
    data = VariantSet(
        originals, preserved, corrupted, encoder.tokens, order, options=replace(OPTIONS, temperature=0.5, max_length=64)
    )
    collated = data.collate([data[item] for item in range(3)])
    batch = Batch(*(collated[name].flatten(0, 1) for name in Batch.__slots__))
    parts = [torch.from_numpy(encoder.encode(part)) for part in (originals[::-1], preserved[::-1], corrupted[1:2])]
    expected = intent_augmentation_loss(*parts, temperature=0.5)
    torch.testing.assert_close(data.loss(encoder.eval(), TRAIN, batch, {}), expected, rtol=1e-4, atol=1e-5)


def test_a_head_of_the_start_is_on_the_encoder_while_it_trains_and_its_reading_stays(plan, tiny_folder, tmp_path):
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    encoder.head = Head(torch.zeros(16), 2 * torch.eye(16))
    encoder.save_pretrained(tmp_path / "start")
    again, found = plan(tmp_path / "start")
    assert found.head is again.head
    assert torch.equal(found.head.weight, 2 * torch.eye(16))
    assert (found.reading, again.tokens.input, again.pooling) == (None, "text", "role")
    assert plan(tiny_folder)[1].head is None


def test_training_lowers_the_loss(plan, tiny_folder, tmp_path):
    encoder, found = plan(tiny_folder, options=replace(OPTIONS, epochs=12))
    result = run(encoder, found, tmp_path / "c")
    losses = [entry["loss"] for entry in result.history]
    assert np.mean(losses[-5:]) < np.mean(losses[:5]) - 0.1


def ids(sequences):
    return [sequence.ids.tolist() for sequence in sequences]


def test_the_same_seed_makes_the_same_variants_and_another_others(tiny_folder, tmp_path):
    one, same, other = (
        planned(tiny_folder, vectors=tmp_path / name, seed=seed)[1].data
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    assert ids(one.preserved) == ids(same.preserved) != ids(other.preserved)


def test_with_a_masked_model_dialogues_are_corrupted_and_words_inserted(plan, tiny_folder, masked_folder, tmp_path):
    options = replace(OPTIONS, ways=("insertion", "shuffling"), masked_model=masked_folder, epochs=2)
    encoder, found = plan(tiny_folder, options=options)
    longer = 0
    for item in range(len(found.data)):
        original, preserved, corrupted = found.data[item]
        longer += len(preserved.ids) > len(original.ids)
        # As many words as before, in turns of the same speakers, and some of them others.
        assert corrupted.roles.tolist() == original.roles.tolist()
        assert corrupted.ids.tolist() != original.ids.tolist()
    assert 0 < longer < len(found.data)
    result = run(encoder, found, tmp_path / "c")
    assert result.steps == 2 * (len(np.unique(found.data.order[:, 1])) // 4)


@pytest.fixture
def making(monkeypatch):
    """Variants in blocks of four, and the list of the dialogues of which one is being made; "until" stops that."""
    made = {"ids": [], "until": 99, "real": intent_augmentation.augment}

    def counting(dialogues, way, *, tools, seed):
        if len(made["ids"]) >= made["until"]:
            raise KeyboardInterrupt
        made["ids"] += [(way, dialogue.dialogue_id) for dialogue in dialogues]
        return made["real"](dialogues, way, tools=tools, seed=seed)

    monkeypatch.setattr(intent_augmentation, "BLOCK", 4)
    monkeypatch.setattr(intent_augmentation, "augment", counting)
    return made


def test_a_kill_while_variants_are_made_costs_those_of_a_block(tiny_folder, tmp_path, masked_folder, making):
    options = replace(OPTIONS, ways=("shuffling", "shortening"), masked_model=masked_folder)
    _, whole = planned(tiny_folder, vectors=tmp_path / "whole", options=options)
    expected = making["ids"].copy()
    making.update(ids=[], until=9)
    with pytest.raises(KeyboardInterrupt):
        planned(tiny_folder, vectors=tmp_path / "cut", options=options)
    n_before = len(making["ids"])
    making.update(until=99)
    _, rest = planned(tiny_folder, vectors=tmp_path / "cut", options=options)
    assert 9 <= n_before < len(expected)
    assert making["ids"] == expected
    for part in ("dialogues", "preserved", "corrupted"):
        assert ids(getattr(rest.data, part)) == ids(getattr(whole.data, part))


def test_variants_that_are_all_there_ask_for_no_model_and_other_settings_for_all(
    plan, tiny_folder, masked_folder, making, monkeypatch
):
    asked, real = [], intent_augmentation.tools_for

    def counting(options, *given, **named):
        asked.append(options.ways)
        return real(options, *given, **named)

    monkeypatch.setattr(intent_augmentation, "tools_for", counting)
    options = replace(OPTIONS, ways=("shuffling",), masked_model=masked_folder)
    plan(tiny_folder, options=options)
    n_made = len(making["ids"])
    plan(tiny_folder, options=options)
    assert (len(asked), len(making["ids"])) == (1, n_made)
    plan(tiny_folder, options=options, seed=2)
    plan(tiny_folder, options=replace(options, masked_model=None), seed=2)
    plan(tiny_folder, options=replace(options, masked_model=None), seed=2, dialogues=corpus(11))
    assert len(asked) == 4


def test_a_way_that_is_named_twice_is_drawn_twice_as_often_and_keeps_dialogues_apart(plan, tiny_folder, making):
    _, found = plan(tiny_folder, options=replace(OPTIONS, ways=("shuffling", "shortening", "shuffling")))
    assert sorted(name for _, name in making["ids"]) == sorted(f"d{i}" for i in range(12))
    for item in range(len(found.data)):
        original, preserved, _ = found.data[item]
        assert set(preserved.ids) <= set(original.ids)


def test_variants_train_on_no_more_tokens_than_the_methods_own_limit(plan, tiny_folder):
    _, found = plan(tiny_folder, options=replace(OPTIONS, max_length=9))
    assert {len(sequence.ids) for sequence in found.data[0][:2]} == {9}
    assert found.data.count_cut() == len(np.unique(found.data.order[:, 1]))


def test_the_settings_name_all_ways_that_keep_the_intent():
    assert {*get_args(PreservingWay), intent_augmentation.CORRUPTING} == set(WAYS)


def test_dialogues_that_cannot_be_changed_leave_nothing_to_train_on(plan, tiny_folder):
    short = [make_dialogue(f"d{i}", "a: w1", "b: w2") for i in range(4)]
    with pytest.raises(ArtifactError, match=r"0 of the 4 dialogues .+ have a variant by shortening"):
        plan(tiny_folder, options=replace(OPTIONS, ways=("shortening",)), dialogues=short)


def loss_by_definition(dialogues, preserved, corrupted, temperature):
    def cosine(a, b):
        return torch.exp(a @ b / (a.norm() * b.norm()) / (temperature or 1))

    terms = []
    for i, dialogue in enumerate(dialogues):
        rest = sum(cosine(dialogue, other) for other in [*preserved, *corrupted])
        terms.append(-torch.log(cosine(dialogue, preserved[i]) / rest))
    return sum(terms) / len(terms)


def some(b=4, h=3, d=5, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(n, d, generator=generator, dtype=torch.float64) for n in (b, b, h)]


@pytest.mark.parametrize("temperature", [0.05, 1.0, None])
@pytest.mark.parametrize("hard", [0, 1, 6])
def test_it_equals_the_formula_in_double_precision(hard, temperature):
    given = some(h=hard)
    found = intent_augmentation_loss(*given, temperature=temperature)
    torch.testing.assert_close(found, loss_by_definition(*given, temperature), rtol=1e-10, atol=1e-12)


def test_a_hard_negative_like_the_dialogue_itself_costs_as_much_as_a_coin_toss():
    dialogue = torch.eye(1, 3, dtype=torch.float64)
    assert intent_augmentation_loss(dialogue, dialogue, dialogue).item() == pytest.approx(math.log(2))
    assert intent_augmentation_loss(dialogue, dialogue, dialogue[:0]).item() == pytest.approx(0.0)


def test_its_gradient_is_that_of_the_formula():
    given = [vectors.requires_grad_() for vectors in some(3, 2)]
    assert torch.autograd.gradcheck(lambda *v: intent_augmentation_loss(*v, temperature=0.3), given)


def test_it_is_finite_in_bf16_and_counts_in_fp32():
    given = [vectors.bfloat16().requires_grad_() for vectors in some()]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = intent_augmentation_loss(*given)
    loss.backward()
    assert loss.dtype == torch.float32
    assert all(torch.isfinite(one.grad).all() for one in given)
