from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

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
