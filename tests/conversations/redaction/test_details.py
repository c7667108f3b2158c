"""Addresses, cards and accounts in the forms in which people type and programs export them."""

from __future__ import annotations

import random

import pytest

from conversations.redaction import Redactor
from conversations.redaction.details import passes_luhn


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("card 4222\u00a02222\u00a02222\u00a02220 ok", "card [CARD] ok"),
        ("6011  1111  1111  1117", "[CARD]"),
        ("4111.1111.1111.1111.", "[CARD]."),
        ("4111\n1111\n1111\n1111", "[CARD]"),
        ("41 11 11 11 11 11 11 11", "[CARD]"),
        (
            "\uff14\uff11\uff11\uff11 \uff11\uff11\uff11\uff11 \uff11\uff11\uff11\uff11 \uff11\uff11\uff11\uff11",
            "[CARD]",
        ),
        ("4111\u200b1111\u00ad11111111", "[CARD]"),
        ("card4242424242424242x", "card[CARD]x"),
        ("in 2024 4111 1111 1111 1111 12/26 and 3782 822463 10005", "in 2024 [CARD] 12/26 and [CARD]"),
        ("kenji\uff20x.example", "[EMAIL]"),
        ('mail "john doe"@x.example, now', "mail [EMAIL], now"),
        ("bo\u200bb@x.exam\u00adple", "[EMAIL]"),
        ("ivan@почта.рф or a@b.xn--p1ai", "[EMAIL] or [EMAIL]"),
        ("DE89 3704 0044 0532 0130 00 ok", "[IBAN] ok"),
        ("iban GB29NWBK60161331926819, nl91-abna-0417-1643-00.", "iban [IBAN], [IBAN]."),
        ("MT84 MALT 0110 0001 2345 MTLC AST0 01S is mine", "[IBAN] is mine"),
    ],
)
def test_a_detail_is_masked_in_any_form(text, expected):
    assert Redactor([]).text(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "DE88 3704 0044 0532 0130 00 has another check number",
        "4222\u00a02222\u00a02222\u00a02221 has another check digit",
        'it said "go" @home, see 3.50 4.20 5.10 6.70 2.30 1.10',
        "6.50 4.20 5.10 6.70 2.30 1.11 and 4 items of 1111.1111 kg for 1111 days",
    ],
)
def test_what_only_looks_like_a_detail_is_left(text):
    assert Redactor([], countries=()).text(text) == text


def test_the_check_digit_is_that_of_the_slow_rule():
    table = {digit: sum(map(int, str(2 * digit))) for digit in range(10)}
    for _ in range(200):
        digits = "".join(random.Random(_).choices("0123456789", k=16))
        slow = sum(table[int(d)] for d in digits[-2::-2]) + sum(int(d) for d in digits[::-2])
        assert passes_luhn(digits) == (slow % 10 == 0)
