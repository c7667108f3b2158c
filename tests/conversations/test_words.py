from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations.vocabulary import by_word, word_list, word_lists, word_set
from conversations.words import printable, words


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


def test_parts_count_as_one_list_and_every_word_is_a_text():
    assert {"agent", "kundin", "客服"} <= word_set("speakers", "roles")
    assert word_list("speech", "no")[:5] == ("false", "0", "no", "n", "f")
    assert by_word("translations")["gespräch"] == "conversation"


@pytest.mark.parametrize("subject", ["columns", "speakers", "speech", "texts", "translations"])
def test_no_list_is_empty(subject):
    def leaves(value):
        return [leaf for part in value.values() for leaf in leaves(part)] if isinstance(value, dict) else [value]

    assert all(isinstance(leaf, list) and leaf for leaf in leaves(word_lists(subject)))
