from __future__ import annotations

import pytest

from conversations.dialogue import Dialogue, Turn
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
        f"67% of the tokens are unknown to {model}, which reads them all as one and the "
        "same; take an encoder that knows this language or script (docs/languages.md)."
    )
    assert encoder_advice(of(*khmer), encoder) == unknown_advice(khmer, encoder)
    assert encoder_advice(of("Where is my parcel"), encoder) is None


@pytest.mark.parametrize(("model", "share"), [("general", "100%"), ("all-MiniLM-L6-v2", "63%")])
def test_share_and_language_are_said_in_one_sentence(monkeypatch, model, share):
    encoder, chinese = load_encoder(model), of("我想预订一张两个人的桌子，请问还有空位吗")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    reason = f"The dialogues are in Chinese, and {model} was trained on English and does not know {share} of the tokens"
    assert encoder_advice(chinese, encoder) == f"{reason}; begin with --model multilingual."
    assert encoder_advice(chinese, encoder, trained=True) == (
        f"{reason}; set encoder.name to an encoder of the hub that knows Chinese (docs/languages.md)."
    )


def test_a_sorted_sequence_is_sampled_and_an_iterator_read_from_its_begin():
    encoder, dialogues = load_encoder("general"), of(*["Where is my parcel?"] * 600, *["តើកញ្ចប់"] * 400)
    advice = encoder_advice(dialogues, encoder)
    assert "unknown to general" in str(advice)
    assert encoder_advice(dialogues, encoder) == advice
    assert encoder_advice(iter(dialogues), encoder) is None
