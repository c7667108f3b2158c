from __future__ import annotations

from dataclasses import replace

import pytest

from conversations.dialogue import Turn
from dial2vec.encoder import DialogueEncoder
from dial2vec.training.augmentation import WAYS, Tools, augment, masked_model, translation
from tests.conftest import make_dialogue

BY_STAGES = ["shuffling", "shortening", "lengthening"]


def corpus(n=6):
    return [
        make_dialogue(
            f"d{i}", *(f"{'ab'[j % 2]}: w{(3 * i + j) % 40} w{(i + 5 * j) % 40}" for j in range(6)), labels=("x",)
        )
        for i in range(n)
    ]


@pytest.fixture(scope="module")
def tools(tiny_folder):
    encoder = DialogueEncoder.from_pretrained(tiny_folder, device="cpu")
    return Tools().learned(corpus(), encoder=encoder, seed=0)


@pytest.fixture
def models(monkeypatch):
    """Tools of which only the ways' own tests need more than that they are there."""

    def other(dialogues):
        return [replace(d, turns=(Turn(d.turns[0].speaker, "other"), *d.turns[1:])) for d in dialogues]

    monkeypatch.setattr(masked_model, "inserted", lambda model, dialogues, *, seed: other(dialogues))
    monkeypatch.setattr(masked_model, "replaced", lambda model, dialogues, *, seed: other(dialogues))
    monkeypatch.setattr(translation, "back_translated", lambda model, dialogues: list(dialogues))
    return {"masked": object(), "translation": object()}


def made(dialogues, tools, seed=0, ways=BY_STAGES):
    return {way: augment(dialogues, way, tools=tools, seed=seed) for way in ways}


def test_every_way_gives_a_variant_of_each_dialogue_or_none_where_nothing_changes(tools, models):
    found = made(corpus(), replace(tools, **models), ways=WAYS)
    assert found.pop("back_translation") == [None] * 6
    for variants in found.values():
        assert all(variant.turns != own.turns for variant, own in zip(variants, corpus(), strict=True))


def test_a_variant_keeps_the_metadata_of_its_dialogue(tools):
    dialogues = [replace(dialogue, metadata={"channel": "phone"}) for dialogue in corpus()]
    for variants in made(dialogues, tools).values():
        assert {variant.metadata["channel"] for variant in variants} == {"phone"}


def test_a_variant_does_not_depend_on_the_other_dialogues(tools):
    together = made(corpus(), tools, seed=5)
    for place, dialogue in enumerate(corpus()):
        assert made([dialogue], tools, seed=5) == {way: [own[place]] for way, own in together.items()}
    assert made(corpus(), tools, seed=6) != together


def test_a_dialogue_of_one_turn_is_neither_shuffled_nor_shortened(tools):
    ways = ("shuffling", "shortening")
    assert made([make_dialogue("d", "a: w1")], tools, ways=ways) == {way: [None] for way in ways}


def test_no_dialogues_give_nothing(tools):
    assert made([], tools) == {way: [] for way in BY_STAGES}
