"""Names in any form of Unicode, and in the cases of the languages that an export shows."""

from __future__ import annotations

import unicodedata

import pytest

from conversations.redaction import Redactor

GERMAN = "Ich habe das nicht und wir sind mit dem Auto da."
POLISH = "Nie wiem, jak to jest, proszę pana, że mam pytanie."
FINNISH = "Niin, olen myös sitä mieltä, mutta tämä kiitos."
TURKISH = "Bu için çok teşekkürler, merhaba, bir şey değil."


@pytest.mark.parametrize(
    "text",
    [
        unicodedata.normalize("NFD", "José Álvarez"),
        "Jose Alvarez",
        "J\u200bose A\u00adlvarez",
        "\uff2a\uff4f\uff53\uff45 \uff21\uff4c\uff56\uff41\uff52\uff45\uff5a",
        "jose_alvarez",
        "José\u00a0Álvarez",
    ],
)
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_name_is_masked_in_every_form(text, form):
    redactor = Redactor([unicodedata.normalize(form, "José Álvarez")])
    assert redactor.text(f"ask {text}!") == "ask [NAME]!"


@pytest.mark.parametrize(
    ("name", "texts", "text", "expected"),
    [
        ("Hans Müller", GERMAN, "Müllers Auto, Hansens Rad, Mueller", "[NAME] Auto, [NAME] Rad, [NAME]"),
        ("Anna Kowalska", POLISH, "z Anną Kowalską, Annie i Kowalskiej", "z [NAME], [NAME] i [NAME]"),
        ("Jan Novák", "Ale jsem tu, prosím.", "Jana Nováka, Novákovi, Janem", "[NAME], [NAME], [NAME]"),
        ("Liisa Virtanen", FINNISH, "Liisalle ja Virtasen, Virtaselta", "[NAME] ja [NAME], [NAME]"),
        ("Ayşe Demir", TURKISH, "Ayşe'nin, Ayşeye ve Demirden", "[NAME]'nin, [NAME] ve [NAME]"),
        ("Анна Петрова", "", "с анной петровой, Анне", "с [NAME], [NAME]"),
        ("Сергей Достоевский", "", "Сергею Достоевскому", "[NAME]"),
    ],
)
def test_names_are_masked_in_the_cases_of_the_languages_that_an_export_shows(name, texts, text, expected):
    assert Redactor([name], texts=[texts]).text(text) == expected


def test_where_a_language_is_not_shown_its_endings_make_no_name():
    english = ["I have a question about my bill.", "Sure, and what is it?"]
    redactor = Redactor(["Ann Mark", "Bill Rose"], texts=english)
    text = "Marks, Anna and Roses are others, and so are Markova, Annie, Billa"
    assert redactor.text(text) == text


def test_a_word_with_an_ending_is_left_in_small_letters_but_where_its_bearer_speaks():
    redactor = Redactor(["Вера"])
    text = "без веры"
    assert redactor.text(text) == text
    assert redactor.text(text, here={"вера"}) == "без [NAME]"
