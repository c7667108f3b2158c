"""The general student that comes with the package."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dial2vec.encoder
from conversations.dialogue import Dialogue, Turn
from dial2vec.encoder.student import StudentEncoder

FOLDER = Path(dial2vec.encoder.__file__).parent / "general"
LARGEST = 8.5e6


@pytest.fixture(scope="module")
def general():
    return StudentEncoder.from_pretrained(FOLDER)


def said(*turns: str) -> Dialogue:
    return Dialogue("d", tuple(Turn("ab"[place % 2], text) for place, text in enumerate(turns)))


def test_it_has_256_numbers_and_is_small(general):
    assert general.dimension == 256
    assert general.table.kind == "int8"
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < LARGEST


def test_it_comes_without_files_for_other_libraries_and_with_its_card_and_the_notice_of_wordnet():
    names = {path.name for path in FOLDER.iterdir()}
    assert names == {"table.safetensors", "tokenizer.json", "dialogue_student.json", "README.md", "NOTICE.md"}
    assert "Princeton University" in (FOLDER / "NOTICE.md").read_text(encoding="utf-8")


def test_dialogues_of_one_topic_are_nearer_than_dialogues_of_two(general):
    table = said("Can I book a table for four tonight?", "Of course, at what time would you like to eat?")
    dinner = said("I need a restaurant for dinner with my parents.", "Italian or Chinese food?")
    password = said("My password does not work any more.", "I have sent you a link to reset your account.")
    first, second, third = general.encode([table, dinner, password])
    assert first @ second > 0.3 + max(first @ third, second @ third)


def test_vectors_have_length_one_and_words_in_any_case(general):
    lower, upper = general.encode_utterances(["where is my parcel", "WHERE is my Parcel"])
    assert np.array_equal(lower, upper)
    assert np.linalg.norm(lower) == pytest.approx(1, abs=1e-5)
