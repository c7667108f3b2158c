from __future__ import annotations

import re
from dataclasses import replace

import pytest

from conversations.dialogue import Turn
from dial2vec.encoder import DialogueEncoder
from dial2vec.training.augmentation import WAYS, Tools, augment, masked_model, translation
from dial2vec.training.augmentation.augmentation_page import compared, render_variants
from dial2vec.training.augmentation.made import Made
from dial2vec.training.augmentation.variants import Variant
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
        return [Made(replace(d, turns=(Turn(d.turns[0].speaker, "other"), *d.turns[1:]))) for d in dialogues]

    monkeypatch.setattr(masked_model, "inserted", lambda model, dialogues, *, seed: other(dialogues))
    monkeypatch.setattr(masked_model, "replaced", lambda model, dialogues, *, seed: other(dialogues))
    monkeypatch.setattr(translation, "back_translated", lambda model, dialogues: [Made(d, "no") for d in dialogues])
    return {"masked": object(), "translation": object()}


def test_every_way_gives_one_variant_of_each_dialogue(tools, models):
    found = augment(corpus(), list(WAYS), tools=replace(tools, **models), seed=0)
    assert [[variant.way for variant in variants] for variants in found] == [list(WAYS)] * 6
    for dialogue, variants in zip(corpus(), found, strict=True):
        assert [v.dialogue.dialogue_id for v in variants] == [f"{dialogue.dialogue_id}#{way}" for way in WAYS]
        assert [v.preserving for v in variants] == [True] * 5 + [False]
        assert [v.changed for v in variants] == [v.dialogue.turns != dialogue.turns for v in variants]
        assert [v.way for v in variants if not v.changed] == ["back_translation"]
        assert [v.note for v in variants if v.note] == ["no"]
        assert [v.dialogue.labels for v in variants] == [("x",)] * 5 + [()]


def test_a_variant_keeps_the_metadata_of_its_dialogue(tools):
    dialogues = [replace(dialogue, metadata={"channel": "phone"}) for dialogue in corpus()]
    found = augment(dialogues, BY_STAGES, tools=tools, seed=0)
    assert {variant.dialogue.metadata["channel"] for variants in found for variant in variants} == {"phone"}


def test_a_variant_does_not_depend_on_the_other_dialogues(tools):
    together = augment(corpus(), BY_STAGES, tools=tools, seed=5)
    assert [augment([dialogue], BY_STAGES, tools=tools, seed=5)[0] for dialogue in reversed(corpus())][::-1] == together
    assert augment(corpus(), BY_STAGES, tools=tools, seed=6) != together
    assert augment(corpus(), ["shortening"], tools=tools, seed=5) == [[variants[1]] for variants in together]


def test_a_dialogue_of_one_turn_says_why_it_was_not_changed(tools):
    [found] = augment([make_dialogue("d", "a: w1")], ["shuffling", "shortening"], tools=tools, seed=0)
    assert [variant.changed for variant in found] == [False, False]
    assert [variant.note for variant in found] == [
        "it has one turn only, so there is nothing to shuffle",
        "without any of its stages a speaker would be gone",
    ]


def test_no_dialogues_and_no_ways_give_nothing(tools):
    assert augment([], BY_STAGES, tools=tools, seed=0) == []
    assert augment(corpus(2), [], tools=Tools(), seed=0) == [[], []]


def marks(original, variant):
    return [(shown.mark, shown.turn.text) for shown in compared(original, variant)]


def test_the_page_marks_what_was_moved_left_out_new_and_changed():
    original = make_dialogue("d", "a: one", "b: two", "a: three", "b: four")
    moved = make_dialogue("d", "a: three", "b: four", "a: one", "b: two")
    assert sorted(marks(original, moved)) == [
        ("", "four"),
        ("", "three"),
        ("moved", "one"),
        ("moved", "two"),
    ] or sorted(marks(original, moved)) == [("", "one"), ("", "two"), ("moved", "four"), ("moved", "three")]
    short = make_dialogue("d", "a: one", "b: four")
    assert marks(original, short) == [("", "one"), ("left out", "two"), ("left out", "three"), ("", "four")]
    long = make_dialogue("d", "a: one", "b: two", "a: foreign", "a: three", "b: four")
    assert marks(original, long)[2] == ("new", "foreign")
    other = make_dialogue("d", "a: one", "b: twenty two", "a: three", "b: four")
    assert [shown.mark for shown in compared(original, other)] == ["", "changed", "", ""]
    assert compared(original, other)[1].pieces == (("twenty", True), (" ", False), ("two", False))


def test_the_page_needs_no_network_and_escapes_what_was_said():
    original = make_dialogue("<d>", "a: one & <two>", "b: three")
    changed = make_dialogue("<d>#insertion", "a: one & more <two>", "b: three")
    html = render_variants(
        [
            (
                original,
                [
                    Variant("insertion", changed, preserving=True, changed=True),
                    Variant("replacement", original, preserving=False, changed=False, note="nothing fits"),
                ],
            )
        ]
    )
    assert "2 variants of 1 dialogue, 1 of them with another intent. Nothing could be changed in 1 of them." in html
    assert "<mark>more</mark>" in html
    assert "one &amp; " in html
    assert "&lt;two&gt;" in html
    assert "Not changed: nothing fits." in html
    assert "<two>" not in html
    assert "prefers-color-scheme: dark" in html
    assert not re.search(r"(src|href)=|https?:|@import|url\(", html)
