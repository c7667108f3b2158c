from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations.vocabulary import by_word, word_list, word_lists, word_set
from conversations.words import from_to, mean, percent, printable, words


@given(st.text(alphabet=st.characters(max_codepoint=0x24F)))
def test_words_of_spaced_scripts_are_what_blanks_separate(text):
    assert words(text) == text.split()


def test_each_character_of_a_script_without_blanks_is_a_word():
    assert words("我的卡丢了 OK") == ["我", "的", "卡", "丢", "了", "OK"]
    assert words("カードA1をなくした") == ["カ", "ー", "ド", "A1", "を", "な", "く", "し", "た"]
    assert words("카드를 잃어버렸어요") == ["카드를", "잃어버렸어요"]


def test_what_could_steer_a_terminal_is_not_shown():
    assert printable("a\x1b[31m\nb\u202ec") == "a [31m b c"
    assert printable("x" * 200, 10) == "xxxxxxx..."


@pytest.mark.parametrize(
    ("before", "after", "written", "shown"),
    [
        (0.0323, 0.127, percent, ("3%", "13%")),
        # A half is rounded up, as in a browser; Python would round to an even number.
        (0, 0.125, percent, ("0%", "13%")),
        (0.0042, 0.09, percent, ("0.4%", "9%")),
        (0.0323, 0.0312, percent, ("3.2%", "3.1%")),
        (3.03, 2.7, mean, ("3.0", "2.7")),
        (3.04, 2.96, mean, ("3.04", "2.96")),
        (1234.5, 0.0123, mean, ("1,234", "0.012")),
        (2, 2, mean, ("2.0", "2.0")),
    ],
)
def test_two_figures_have_as_few_decimals_as_tell_them_apart(before, after, written, shown):
    assert from_to(before, after, written) == shown


def test_parts_count_as_one_list_and_every_word_is_a_text():
    assert {"agent", "kundin", "客服"} <= word_set("speakers", "roles")
    assert word_list("speech", "no")[:5] == ("false", "0", "no", "n", "f")
    assert by_word("translations")["gespräch"] == "conversation"


@pytest.mark.parametrize("subject", ["columns", "speakers", "speech", "texts", "translations"])
def test_no_list_is_empty(subject):
    def leaves(value):
        return [leaf for part in value.values() for leaf in leaves(part)] if isinstance(value, dict) else [value]

    assert all(isinstance(leaf, list) and leaf for leaf in leaves(word_lists(subject)))
