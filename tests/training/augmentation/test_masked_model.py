from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast, set_seed

from dial2vec.errors import ModelError
from dial2vec.training.augmentation import masked_model
from dial2vec.training.augmentation.masked_model import inserted, load_masked, replaced
from tests.conftest import make_dialogue

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{i}" for i in range(10)), "##x", "."]
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A BERT with its head for masked words, tiny and random, of 32 positions."""
    set_seed(0)
    found = tmp_path_factory.mktemp("masked")
    BertTokenizerFast(vocab={token: i for i, token in enumerate(TOKENS)}, model_max_length=32).save_pretrained(found)
    network = BertForMaskedLM(BertConfig(vocab_size=len(TOKENS), max_position_embeddings=32, **SIZES))
    network.save_pretrained(found)
    return str(found)


@pytest.fixture
def model(folder):
    return load_masked(folder, device="cpu")


class Fixed(torch.nn.Module):
    """Finds the same words likely everywhere: probabilities by token, the rest shared by all others."""

    def __init__(self, **likely):
        super().__init__()
        rest = (1 - sum(likely.values())) / (len(TOKENS) - len(likely))
        self.logits = torch.tensor([likely.get(token, rest) for token in TOKENS]).log()
        self.seen = []

    def forward(self, input_ids, attention_mask):
        self.seen += [
            [TOKENS[token] for token in row[: int(n)]] for row, n in zip(input_ids, attention_mask.sum(1), strict=True)
        ]
        return type("Output", (), {"logits": self.logits.expand(*input_ids.shape, -1)})


def fixed(model, **likely):
    return replace(model, network=Fixed(**likely))


def dialogues():
    return [
        make_dialogue("one", "a: w1 w2, w3.", "b: w4 w5 w6 w7", labels=("x",)),
        make_dialogue("two", "a: w1", "b: w2 w3 w4 w5 w6 w7 w8 w9"),
        make_dialogue("three", "a: w9 w9 w9 w9"),
    ]


def without(text, word):
    return " ".join(part for part in text.split() if part != word)


def test_insertion_puts_likely_words_between_those_said(model):
    for before, after in zip(dialogues(), inserted(fixed(model, w0=0.9), dialogues(), seed=0), strict=True):
        assert [turn.speaker for turn in after.turns] == [turn.speaker for turn in before.turns]
        assert [without(turn.text, "w0") for turn in after.turns] == [turn.text for turn in before.turns]
        n_words = sum(len(turn.text.split()) for turn in before.turns)
        assert sum(turn.text.split().count("w0") for turn in after.turns) == max(1, int(0.15 * n_words + 0.5))


@pytest.mark.parametrize("likely", [{"##x": 0.9}, {".": 0.9}, {"[SEP]": 0.9}, {}])
def test_pieces_marks_and_unlikely_words_are_rejected(monkeypatch, model, likely):
    least = 0.06 if not likely else 0.05
    monkeypatch.setattr(masked_model, "LEAST_PROBABILITY", least)
    for before, made in zip(dialogues(), inserted(fixed(model, **likely), dialogues(), seed=0), strict=True):
        assert made == before


def test_no_word_is_inserted_where_a_piece_is_likelier_and_one_is_where_it_is_not(model):
    for piece, word, changed in ((0.5, 0.4, False), (0.4, 0.5, True)):
        made = inserted(fixed(model, **{"##x": piece, "w0": word}), dialogues(), seed=0)
        assert {after != before for after, before in zip(made, dialogues(), strict=True)} == {changed}


def test_replacement_changes_content_words_only_and_keeps_marks_and_capitals(model):
    dialogue = make_dialogue("d", "a: The W1, (w2)", "b: and the w3?")
    found = replaced(fixed(model, w0=0.9), [dialogue], seed=0, share=1.0)[0]
    assert [turn.text for turn in found.turns] == ["The W0, (w0)", "and the w0?"]


def test_a_word_is_never_replaced_by_itself(model):
    dialogue = make_dialogue("d", "a: w1 w2 W1")
    found = replaced(fixed(model, w1=0.6, w2=0.3), [dialogue], seed=0, share=1.0)[0]
    assert [turn.text for turn in found.turns] == ["w2 w1 W2"]


def test_a_share_of_the_content_words_is_replaced(model):
    dialogue = make_dialogue("d", "a: " + "w1 " * 10, "b: the and of")
    found = replaced(fixed(model, w0=0.9), [dialogue], seed=0)[0]
    assert found.turns[0].text.split().count("w0") == 3
    assert found.turns[1] == dialogue.turns[1]


def test_a_dialogue_of_stop_words_has_nothing_to_replace(model):
    dialogue = make_dialogue("d", "a: the and", "b: ?")
    assert replaced(fixed(model, w0=0.9), [dialogue], seed=0) == [dialogue]


@pytest.mark.parametrize("way", [inserted, replaced])
def test_batches_and_company_change_nothing_and_seeds_do(model, way, monkeypatch):
    monkeypatch.setattr(masked_model, "LEAST_PROBABILITY", 0.0)
    options = {"seed": 3, "share": 0.5}
    together = way(model, dialogues(), **options)
    assert together == [way(model, [dialogue], **options)[0] for dialogue in reversed(dialogues())][::-1]
    assert together != way(model, dialogues(), **(options | {"seed": 4}))
    monkeypatch.setattr(masked_model, "BATCH", 1)
    assert together == way(model, dialogues(), **options)


def test_likely_words_are_drawn_in_proportion(model):
    dialogue = make_dialogue("d", "a: " + "w1 " * 20)
    texts = [
        replaced(fixed(model, w3=0.6, w4=0.2), [dialogue], seed=seed, share=1.0)[0].turns[0].text for seed in range(20)
    ]
    words = " ".join(texts).split()
    assert set(words) == {"w3", "w4"}
    assert words.count("w3") / len(words) == pytest.approx(0.75, abs=0.06)


def test_the_context_is_the_dialogue_or_some_turns_as_far_as_they_fit(model):
    dialogue = make_dialogue("d", *(f"a: w{i} w{i}" for i in range(4)))
    options = {"seed": 0, "share": 1.0}
    whole = fixed(model, w0=0.9)
    replaced(whole, [dialogue], **options)
    assert whole.network.seen == [["[CLS]", *(["[MASK]", "[MASK]", "[SEP]"] * 4)]]
    tight = replace(fixed(model, w0=0.9), longest=8)
    replaced(tight, [dialogue], **options)
    assert tight.network.seen == [["[CLS]", *(["[MASK]", "[MASK]", "[SEP]"] * 2)]] * 2


def test_words_behind_the_longest_input_are_left_alone(model):
    dialogue = make_dialogue("d", "a: " + "w1 " * 40)
    found = replaced(fixed(model, w0=0.9), [dialogue], seed=0, share=1.0)[0].turns[0].text.split()
    assert found == ["w0"] * 30 + ["w1"] * 10


def test_a_mask_that_somebody_wrote_is_not_filled(model):
    dialogue = make_dialogue("d", "a: [MASK] w1", "b: w2")
    found = replaced(fixed(model, w0=0.9), [dialogue], seed=0, share=1.0)[0]
    assert [turn.text for turn in found.turns] == ["[MASK] w1", "w0"]


def test_the_tiny_model_fills_what_it_finds_likely(monkeypatch, model):
    monkeypatch.setattr(masked_model, "LEAST_PROBABILITY", 0.0)
    made = inserted(model, dialogues(), seed=0)
    assert all(after != before for after, before in zip(made, dialogues(), strict=True))


def test_a_model_without_its_head_is_refused(tiny_folder):
    with pytest.raises(ModelError, match=r"lacks parameter cls\..+, which would be random"):
        load_masked(tiny_folder)


def test_a_model_that_is_none_is_refused(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "t5"}')
    with pytest.raises(ModelError, match="cannot be loaded as a masked language model"):
        load_masked(tmp_path)


def test_a_tokenizer_without_a_mask_is_refused(folder, tmp_path):
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    BertForMaskedLM.from_pretrained(folder).save_pretrained(tmp_path)
    words = Tokenizer(models.WordLevel({token: i for i, token in enumerate(TOKENS)}, unk_token="[UNK]"))
    PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]").save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="has no mask"):
        load_masked(tmp_path)
