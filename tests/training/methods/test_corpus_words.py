"""A masked language model that is trained on the corpus: its runs of turns, what it learns, and that it is kept."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from dial2vec.config import IntentAugmentation, Settings, Train
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import ModelError, SettingsError
from dial2vec.training.augmentation.masked_model import replaced
from dial2vec.training.methods import corpus_words, intent_augmentation
from dial2vec.training.methods.corpus_words import corpus_masked_model, runs_of_turns
from dial2vec.training.negatives import draw_samples
from dial2vec.training.plan import Given
from tests.conftest import make_dialogue
from tests.tiny_models import build

TRAIN = Train(log_steps=1, precision="fp32", method="intent_augmentation")
OPTIONS = IntentAugmentation(
    ways=("insertion", "shuffling"), masked_model="corpus", masked_steps=4, batch_size=4, stages="clusters"
)


def corpus(n=12):
    """Dialogues in which w7 always follows w5."""
    return [make_dialogue(f"d{i}", *(f"{'ab'[t % 2]}: w5 w7 w{(i + t) % 5} w5 w7" for t in range(6))) for i in range(n)]


def given(folder, tmp_path, *, options=OPTIONS):
    encoder, dialogues = DialogueEncoder.from_pretrained(folder, device="cpu"), corpus()
    samples = draw_samples(dialogues, negatives=1, passes=1, keep_role="random", min_turns=2, seed=1)
    return Given(encoder, dialogues, samples, Settings(train=TRAIN, intent_augmentation=options), tmp_path)


def test_runs_are_four_neighbouring_turns_of_one_dialogue():
    dialogues = [make_dialogue("x", *(f"a: w{t}" for t in range(6))), make_dialogue("y", "a: w1")]
    assert runs_of_turns(dialogues).tolist() == [[0, 1, 2, 3], [4, 5, -1, -1], [6, -1, -1, -1]]


def test_it_learns_the_words_of_the_corpus_and_the_start_stays(tiny_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(corpus_words, "LEARNING_RATE", 1e-2)
    monkeypatch.setattr(corpus_words, "HEAD_RATE", 1e-2)
    asked = given(tiny_folder, tmp_path, options=replace(OPTIONS, masked_steps=60))
    before = {name: value.clone() for name, value in asked.encoder.state_dict().items()}
    model = corpus_masked_model(asked, tmp_path)
    assert all(torch.equal(value, before[name]) for name, value in asked.encoder.state_dict().items())
    ids = model.tokenizer("w5 [MASK] w1", return_tensors="pt")["input_ids"]
    likely = model.network(input_ids=ids).logits[0, 2].argmax()
    assert model.tokenizer.convert_ids_to_tokens(int(likely)) == "w7"
    # The words of a run are read together: w7 is likely at either end of a dialogue.
    [made] = replaced(model, [make_dialogue("d", "a: w5 w1", "b: w5 w7")], seed=1, share=1.0)
    assert made.turns[0].text == "w5 w7" or "w7" in made.turns[0].text


def test_it_is_trained_once_and_then_read_from_its_folder(tiny_folder, tmp_path, monkeypatch):
    first = corpus_masked_model(given(tiny_folder, tmp_path), tmp_path)
    monkeypatch.setattr(corpus_words, "train", None)
    again = corpus_masked_model(given(tiny_folder, tmp_path), tmp_path)
    weights = again.network.state_dict()
    assert all(torch.equal(value, weights[name]) for name, value in first.network.state_dict().items())


def test_the_method_inserts_and_corrupts_with_it(tiny_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(corpus_words, "LEARNING_RATE", 1e-2)
    monkeypatch.setattr(corpus_words, "HEAD_RATE", 1e-2)
    plan = intent_augmentation.plan(given(tiny_folder, tmp_path, options=replace(OPTIONS, masked_steps=60)))
    items = [plan.data[item] for item in range(len(plan.data))]
    assert (tmp_path / "variants" / "masked_model" / "config.json").is_file()
    assert any(len(preserved.ids) > len(original.ids) for original, preserved, _ in items)
    corrupted = [(original, other) for original, _, other in items if other.roles[0] >= 0]
    assert corrupted
    assert all(original.ids.tolist() != other.ids.tolist() for original, other in corrupted)


def test_several_processes_do_not_train_it(tiny_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(corpus_words, "n_processes", lambda: 2)
    with pytest.raises(SettingsError, match="trains a model in one process; found 2"):
        corpus_masked_model(given(tiny_folder, tmp_path), tmp_path)


def test_an_encoder_that_cannot_guess_words_is_refused_with_advice_about_this_method(tmp_path):
    folder = build("plato", tmp_path / "plato")
    with pytest.raises(ModelError, match=r"intent_augmentation\.masked_model"):
        corpus_masked_model(given(folder, tmp_path), tmp_path)
