from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from transformers import T5ForConditionalGeneration

from dial2vec.errors import ModelError
from dial2vec.training.augmentation import translation
from dial2vec.training.augmentation.translation import BackTranslation, back_translated, load_translator
from tests.conftest import make_dialogue
from tests.tiny_models import build


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = build("t5", tmp_path_factory.mktemp("translation") / "t5")
    # As in the published T5: a translation begins with padding.
    network = T5ForConditionalGeneration.from_pretrained(found)
    network.generation_config.decoder_start_token_id = 0
    network.save_pretrained(found)
    return found


@pytest.fixture(scope="module")
def models(folder):
    """A tiny random T5 in both directions; its biases make it say words rather than nothing."""
    translator = load_translator(folder)
    # Random weights of this size say the same whatever they read; larger ones listen.
    with torch.no_grad():
        for parameter in translator.network.parameters():
            parameter.mul_(3)
    return BackTranslation(translator, translator)


def dialogues():
    return [
        make_dialogue("one", "a: w1 w2 w3", "b: w4"),
        make_dialogue("two", "a: w5 w6"),
        make_dialogue("three", "a: w7", "b: w8 w1", "a: w2"),
    ]


class Echo:
    """A model that says what it reads, its last word left out."""

    device = torch.device("cpu")

    def __init__(self):
        self.batches = []

    def generate(self, input_ids, attention_mask, **options):
        self.batches.append(len(input_ids))
        lengths = attention_mask.sum(1)
        return torch.stack(
            [row.masked_fill(torch.arange(len(row)) >= n - 2, 0) for row, n in zip(input_ids, lengths, strict=True)]
        )


def echoing(models):
    forward = replace(models.forward, network=Echo())
    return BackTranslation(forward, forward)


def test_each_turn_goes_there_and_back_and_keeps_its_speaker_and_its_place(models):
    dialogue = make_dialogue("d", "a: w1 w2 w3 w4", "b: w5 w6", "a: w7 w8 w9")
    found = back_translated(echoing(models), [dialogue])[0]
    # Both ways lose a word; where nothing is left the turn stays as it was.
    assert [(turn.speaker, turn.text) for turn in found.turns] == [("a", "w1 w2"), ("b", "w5 w6"), ("a", "w7")]


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    monkeypatch.setattr(translation, "MOST_TOKENS", 6)


def test_turns_are_translated_in_batches(models, monkeypatch):
    echo = echoing(models)
    monkeypatch.setattr(translation, "BATCH", 4)
    back_translated(echo, dialogues())
    # Six turns there; the three of one word come to nothing and need no way back.
    assert echo.forward.network.batches == [4, 2, 3]


def test_a_turn_that_is_too_long_stays(models):
    dialogue = make_dialogue("d", "a: w1 w2 w3 w4 w5 w6 w7")
    assert back_translated(echoing(models), [dialogue]) == [dialogue]


def test_batches_and_company_change_nothing(models, monkeypatch):
    together = back_translated(models, dialogues())
    assert together == [back_translated(models, [d])[0] for d in dialogues()]
    monkeypatch.setattr(translation, "BATCH", 1)
    assert together == back_translated(models, dialogues())


def test_a_model_that_cannot_translate_is_refused(tiny_folder):
    with pytest.raises(ModelError, match="cannot be loaded as a translation model"):
        load_translator(tiny_folder)


def test_a_model_without_all_its_parameters_is_refused(folder, tmp_path):
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    network = AutoModelForSeq2SeqLM.from_pretrained(folder)
    weights = {name: table for name, table in network.state_dict().items() if "decoder.block.0" not in name}
    network.save_pretrained(tmp_path, state_dict=weights)
    AutoTokenizer.from_pretrained(folder).save_pretrained(tmp_path)
    with pytest.raises(ModelError, match=r"lacks parameter decoder\.block\.0.*, which would be random"):
        load_translator(tmp_path)


def test_a_model_that_does_not_say_how_a_translation_begins_is_refused(tmp_path):
    with pytest.raises(ModelError, match="does not say with which token a translation begins"):
        load_translator(build("t5", tmp_path / "t5"))


def test_a_model_of_many_languages_is_refused(folder, monkeypatch):
    from transformers import AutoTokenizer

    load = AutoTokenizer.from_pretrained

    def many(name, **options):
        tokenizer = load(name, **options)
        tokenizer.src_lang = "en_XX"
        return tokenizer

    monkeypatch.setattr(AutoTokenizer, "from_pretrained", many)
    with pytest.raises(ModelError, match="translates between many languages"):
        load_translator(folder)
