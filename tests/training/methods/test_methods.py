"""What holds for several methods: they learn, resume after a kill, and obey their own settings."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
import torch

from dial2vec.config import DialAug, Dse, Method, Settings
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.head import Head
from dial2vec.errors import ArtifactError, Dial2vecError
from dial2vec.training.methods import METHODS
from dial2vec.training.negatives import draw_samples
from dial2vec.training.plan import Given
from tests.conftest import make_dialogue
from tests.training.methods.tiny_runs import SETTINGS, VARIANTS, corpus, planned, run, train_with_a_kill


def test_every_method_that_the_settings_allow_can_be_planned():
    assert set(METHODS) == set(get_args(Method)) - {"auto"}


@pytest.mark.parametrize("method", METHODS)
def test_making_a_plan_leaves_the_encoder_as_it_was(tiny_folder, tmp_path, method):
    encoder, dialogues = DialogueEncoder.from_pretrained(tiny_folder), corpus(120)
    encoder.head = Head(torch.zeros(16), 2 * torch.eye(16))
    samples = draw_samples(dialogues, negatives=1, passes=1, keep_role="random", min_turns=2, seed=1)
    settings = Settings(dialaug=DialAug(augmentation="deletion", deleted="[DEL]"), dse=Dse(min_words=1))

    def state():
        return encoder.tokens, len(encoder.tokens.tokenizer), encoder.pooling, encoder.head

    weights, before = {name: value.clone() for name, value in encoder.state_dict().items()}, state()
    plan = METHODS[method](Given(encoder, dialogues, samples, settings, tmp_path))
    assert plan.data is not None
    assert state() == before
    assert weights.keys() == encoder.state_dict().keys()
    assert all(torch.equal(weights[name], value) for name, value in encoder.state_dict().items())


@pytest.mark.parametrize("method", SETTINGS)
def test_training_lowers_the_loss_and_trains_what_stands_beside(tiny_folder, tmp_path, method):
    longer = replace(SETTINGS[method], **{method: replace(getattr(SETTINGS[method], method), epochs=8)})
    encoder, found = planned(tiny_folder, method, settings=longer)
    beside = {name: value.clone() for name, value in found.data.auxiliary.named_parameters()}
    losses = [entry["loss"] for entry in run(encoder, found, tmp_path / "c").history]
    assert np.mean(losses[-4:]) < np.mean(losses[:4]) - 0.05
    assert any(not torch.equal(beside[name], value) for name, value in found.data.auxiliary.named_parameters())


@pytest.mark.parametrize("method", [*SETTINGS, "intent_augmentation"])
def test_a_run_that_was_killed_goes_on_to_the_same_weights(tiny_folder, tmp_path, method, monkeypatch):
    options = {"settings": (SETTINGS | {"intent_augmentation": VARIANTS})[method], "vectors": tmp_path / "vectors"}
    encoder, found = planned(tiny_folder, method, **options)
    run(encoder, found, tmp_path / "whole")
    again, rest = train_with_a_kill(lambda: planned(tiny_folder, method, **options), tmp_path / "cut", monkeypatch)
    assert rest.resumed_from == 2
    assert all(torch.equal(again.state_dict()[name], value) for name, value in encoder.state_dict().items())


@pytest.mark.parametrize(("method", "items"), [("dse", "pairs"), ("dialaug", "responses")])
def test_no_batch_holds_an_item_twice_however_few_there_are(tiny_folder, tmp_path, method, items):
    few = replace(SETTINGS[method], **{method: replace(getattr(SETTINGS[method], method), epochs=3, batch_size=4)})
    encoder, found = planned(tiny_folder, method, settings=few, dialogues=corpus(1))
    assert found.train.batch_size == 3
    seen, loss = [], found.data.loss

    def watch(encoder, settings, batch, extra):
        seen.append(sorted(tuple(row) for row in batch.ids[1::2].tolist()))
        return loss(encoder, settings, batch, extra)

    found.data.loss = watch
    result = run(encoder, found, tmp_path / "c")
    # A dialogue of four turns has three pairs, and three turns that answer others.
    assert (result.steps, result.items, result.items_are) == (3, 3, items)
    assert [len(set(rows)) for rows in seen] == [3, 3, 3]


@pytest.mark.parametrize("method", SETTINGS)
def test_every_method_freezes_as_its_own_block_says(tiny_folder, method):
    half = {method: replace(getattr(SETTINGS[method], method), frozen_share=0.25)}
    other = replace(SETTINGS[method], train=replace(SETTINGS[method].train, frozen_share=0.9), **half)
    assert planned(tiny_folder, method, settings=other)[1].train.frozen_share == 0.25


@pytest.mark.parametrize("method", SETTINGS)
def test_a_training_that_diverges_names_the_settings_of_its_own_method(tiny_folder, tmp_path, method, monkeypatch):
    encoder, found = planned(tiny_folder, method)
    monkeypatch.setattr(found.data, "loss", lambda encoder, *_: next(encoder.parameters()).sum() * float("nan"))
    with pytest.raises(Dial2vecError, match=rf"Lower {method}\.learning_rate or raise {method}\.temperature"):
        run(encoder, found, tmp_path / "c")


def test_a_monologue_does_not_train(tiny_folder):
    alone = make_dialogue("alone", "a: w1", "a: w2", "a: w3", "a: w4")
    for method, count in (("dse", 24), ("dialoguecse", 32), ("dialaug", 24)):
        data = planned(tiny_folder, method, dialogues=[alone, *corpus()])[1].data
        assert len(data.answers if method == "dialaug" else data.rows) == count


def test_too_little_to_learn_from_is_an_error_that_names_the_setting(tiny_folder):
    short = [make_dialogue(f"d{i}", "a: w1", "b: w2") for i in range(3)]
    options = replace(SETTINGS["dse"], dse=replace(SETTINGS["dse"].dse, min_words=9))
    with pytest.raises(ArtifactError, match=r"3 dialogues .+ have 0 pairs .+ at least 9 words.+Lower dse\.min_words"):
        planned(tiny_folder, "dse", settings=options, dialogues=short)
    with pytest.raises(ArtifactError, match=r"0 of the 3 dialogues .+ have 4 turns .+Lower dialoguecse\.min_turns"):
        planned(tiny_folder, "dialoguecse", dialogues=short)
    options = replace(SETTINGS["dialaug"], dialaug=replace(SETTINGS["dialaug"].dialaug, answering="first"))
    with pytest.raises(ArtifactError, match=r"3 dialogues .+ have 0 turns that answer.+Set dialaug\.answering to any"):
        planned(tiny_folder, "dialaug", settings=options, dialogues=short)


@pytest.mark.parametrize("method", SETTINGS)
def test_the_same_seed_draws_the_same_and_another_something_else(tiny_folder, method):
    one, same, other = (planned(tiny_folder, method, seed=seed)[1].data for seed in (1, 1, 2))
    assert np.array_equal(one.order, same.order)
    assert not np.array_equal(one.order, other.order)
    weights = [next(data.auxiliary.parameters()) for data in (one, same, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
