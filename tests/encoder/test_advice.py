from __future__ import annotations

import pytest

from conversations.dialogue import Dialogue, Turn
from dial2vec.data.languages import start_advice
from dial2vec.encoder.advice import encoder_advice, unknown_advice
from dial2vec.encoder.loading import load_encoder


def of(*texts: str) -> list[Dialogue]:
    return [Dialogue(str(n), (Turn("caller", text),)) for n, text in enumerate(texts)]


@pytest.mark.parametrize("model", ["general", "all-MiniLM-L6-v2"])
def test_unknown_tokens_of_words_are_counted_and_those_of_emoji_are_not(model):
    encoder = load_encoder(model)
    emoji = ["Where is my parcel? 😡😡😡", "On its way! 🚚📦🎉", "Thanks ❤️👍🏽👍🏽", "You are welcome 🙏🏿🤗"]
    assert encoder.unknown_share(emoji) > 0.2
    assert unknown_advice(emoji, encoder) is None
    assert unknown_advice([], encoder) is None
    khmer = ["តើកញ្ចប់របស់ខ្ញុំនៅឯណា", "អរគុណច្រើន", "Thanks"]
    assert unknown_advice(khmer, encoder) == (
        f"92% of the tokens are unknown to {model}, which reads them all as one and the "
        "same; take an encoder that knows this language or script (docs/languages.md)."
    )
    assert encoder_advice(of(*khmer), encoder) == unknown_advice(khmer, encoder)
    chinese = "我想预订一张两个人的桌子"
    # What is said of a known language is enough.
    assert encoder_advice(of(chinese), encoder) == start_advice(of(chinese), model)
    assert encoder_advice(of("Where is my parcel"), encoder) is None
