import numpy as np
import pytest

from conversations.dialogue import Dialogue, Turn
from dial2vec.data.phrases import Phrases, Speech
from dial2vec.encoder.names import GENERAL, resolve
from dial2vec.encoder.student import StudentEncoder

STUDENT = StudentEncoder.from_pretrained(resolve(GENERAL))


def phrases_of(*texts: str, speaker: str = "user") -> Phrases:
    speech = Speech.read([Dialogue(str(at), (Turn(speaker, text),), ()) for at, text in enumerate(texts)])
    return Phrases.find(speech, STUDENT.word_rows(speech.words.vocabulary)[1])


def said(phrases: Phrases) -> dict[str, float]:
    rows = np.ones(phrases.inside.shape[0], dtype=bool)
    return {phrases.wording(at, rows): float(phrases.whole[at]) for at in range(len(phrases.keys))}


def test_phrases_have_words_of_meaning_at_both_ends_and_are_shown_as_mostly_said():
    found = said(phrases_of("I want to change my seat", "change my seat please", "can you change a seat"))
    assert {*found} == {"change", "seat", "change my seat"}


def test_a_phrase_ends_at_punctuation_numbers_and_addresses():
    found = said(phrases_of(*["change, seat 12 window ann@seats.example card"] * 3))
    assert {*found} == {"change", "seat", "window", "card"}


@pytest.mark.parametrize("text", ["why hasn't my top up worked", "my flight was not cancelled yesterday"])
def test_what_is_mostly_denied_is_no_phrase_without_its_negation(text):
    found = said(phrases_of(*[text] * 3))
    assert all(whole < 0.3 for phrase, whole in found.items() if phrase in ("top up worked", "worked", "cancelled"))


def test_a_negation_and_a_light_word_join_what_they_mostly_precede():
    assert "did not receive cash" in said(phrases_of(*["I did not receive cash"] * 3))
    assert "new internet connection" in said(phrases_of(*["a new internet connection"] * 3))
    assert "internet connection" in said(phrases_of("new internet connection", *["an internet connection"] * 3))


def test_particles_belong_to_their_verb():
    assert "top up failed" in said(phrases_of(*["the top up failed"] * 3))


def test_names_are_told_by_capitals_inside_sentences_and_acronyms_keep_theirs():
    phrases = phrases_of(*["Card lost near London at an ATM"] * 3)
    texts = phrases.speech.words.vocabulary
    assert {texts[at] for at in np.flatnonzero(phrases.speech.names)} == {"london", "atm"}
    assert "London at an ATM" in said(phrases)


def test_only_the_customer_counts_unless_silent():
    def read(customer: str) -> set[str]:
        turns = (Turn("agent", "welcome to the garden shop with flowers"), Turn("customer", customer))
        return set(Speech.read([Dialogue("a", turns, ())]).words.vocabulary)

    assert "garden" not in read("my flowers are late")
    assert "garden" in read("ok")
