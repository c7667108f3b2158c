"""Words to guess: the head on the encoder's own weights, the masks, and resuming after a kill."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertForMaskedLM

from dial2vec.config import DialogueCse, Settings, Train
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import ModelError
from dial2vec.training.methods import masked
from dial2vec.training.methods.masked import masked_head
from dial2vec.training.plan import Given
from tests.tiny_models import build
from tests.training.methods.tiny_runs import corpus, flat_batch, run, train_with_a_kill

SETTINGS = Settings(
    train=Train(frozen_share=0.5, log_steps=1, checkpoint_steps=1, precision="fp32", warmup_share=0.0),
    dialoguecse=DialogueCse(mlm_epochs=1.0),
)


@pytest.fixture
def quick(monkeypatch):
    """Batches of 8 and a rate at which a tiny encoder learns."""
    monkeypatch.setattr(masked, "BATCH", 8)
    monkeypatch.setattr(masked, "LEARNING_RATE", 1e-2)


def planned(folder, *, seed=1, **options):
    encoder = DialogueEncoder.from_pretrained(folder)
    settings = replace(SETTINGS, dialoguecse=replace(SETTINGS.dialoguecse, **options))
    return encoder, masked.plan(Given(encoder, corpus(), None, replace(settings, seed=seed), None))


def test_only_the_heads_own_weights_train_beside_and_its_decoder_is_the_encoders_table(tiny_folder):
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    head = masked_head(encoder, seed=1)
    # Dense layer and bias, norm and its bias, bias of the decoder.
    assert sorted(tuple(one.shape) for one in head.parameters()) == [(16,), (16,), (16,), (16, 16), (45,)]
    assert not {id(one) for one in head.parameters()} & {id(one) for one in encoder.parameters()}
    ids, attention = torch.tensor([[2, 7, 9, 3]]), torch.ones(1, 4, dtype=torch.long)
    before = head(ids, attention)
    with torch.no_grad():
        encoder.backbone.get_input_embeddings().weight[20] = 0
        for one in head.parameters():
            if one.shape == (45,):
                one.copy_(torch.arange(45.0))
    logits = head(ids, attention)
    torch.testing.assert_close(logits[..., 20], torch.full((1, 4), 20.0))
    torch.testing.assert_close(logits[..., 21] - 21, before[..., 21])


def test_a_head_in_the_encoders_folder_is_taken_with_the_encoders_present_weights(tiny_folder, tmp_path):
    DialogueEncoder.from_pretrained(tiny_folder).save_pretrained(tmp_path / "model")
    whole = BertForMaskedLM(BertConfig.from_pretrained(tiny_folder)).eval()
    whole.save_pretrained(tmp_path / "model")
    (tmp_path / "model" / "checksums.json").unlink()
    encoder = DialogueEncoder.from_pretrained(tmp_path / "model")
    ids, attention = torch.tensor([[2, 7, 9, 3]]), torch.ones(1, 4, dtype=torch.long)
    expected = whole(input_ids=ids, attention_mask=attention).logits
    torch.testing.assert_close(masked_head(encoder, seed=1)(ids, attention), expected)
    with torch.no_grad():
        encoder.backbone.encoder.layer[3].output.dense.weight.zero_()
        whole.bert.encoder.layer[3].output.dense.weight.zero_()
    moved = whole(input_ids=ids, attention_mask=attention).logits
    torch.testing.assert_close(masked_head(encoder, seed=2)(ids, attention), moved)
    assert not torch.allclose(moved, expected)


def test_a_new_head_hangs_on_the_seed_alone(tiny_folder):
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    draws = torch.random.get_rng_state()
    one, same, other = (torch.cat([w.flatten() for w in masked_head(encoder, seed=s).parameters()]) for s in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
    assert torch.equal(draws, torch.random.get_rng_state())


@pytest.mark.parametrize("name", ["t5", "blender", "plato"])
def test_an_encoder_without_a_masked_language_model_is_one_sentence(name, tmp_path):
    encoder = DialogueEncoder.from_pretrained(build(name, tmp_path / name))
    with pytest.raises(ModelError, match=r"which has no masked language model\. Set dialoguecse\.mlm_epochs to 0"):
        masked_head(encoder, seed=1)


def test_a_tokenizer_without_a_mask_is_one_sentence(tiny_folder):
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    encoder.tokens.tokenizer.mask_token = None
    with pytest.raises(ModelError, match=r"has no mask, .+ Set dialoguecse\.mlm_epochs to 0"):
        masked_head(encoder, seed=1)


def test_roberta_gets_a_head_too(tmp_path):
    encoder = DialogueEncoder.from_pretrained(build("roberta", tmp_path / "roberta"))
    assert masked_head(encoder, seed=1)(torch.tensor([[0, 5, 8, 2]]), torch.ones(1, 4).long()).shape == (1, 4, 17)


def test_a_guess_among_45_equally_likely_tokens_costs_log_45_and_no_guess_nothing(tiny_folder):
    encoder, found = planned(tiny_folder)
    torch.nn.init.zeros_(encoder.backbone.get_input_embeddings().weight)
    batch = flat_batch(found.data, range(8))
    torch.manual_seed(0)
    loss = found.data.loss(encoder.eval(), SETTINGS.train, batch, {})
    assert loss.item() == pytest.approx(math.log(45), rel=1e-5)
    found.data.masks.mlm_probability = 0.0
    none = found.data.loss(encoder, SETTINGS.train, batch, {})
    none.backward()
    assert none.item() == 0
    assert all(one.grad is None or one.grad.isfinite().all() for one in encoder.parameters())


def test_masks_hide_words_only_and_no_more_than_they_should(tiny_folder, monkeypatch):
    encoder, found = planned(tiny_folder)
    batch = flat_batch(found.data, range(32))
    seen = {}

    def watch(ids, attention):
        seen["ids"] = ids
        return torch.zeros(*ids.shape, 45, requires_grad=True)

    monkeypatch.setattr(found.data.auxiliary, "forward", watch)
    torch.manual_seed(0)
    n_changed = n_words = 0
    for _ in range(50):
        found.data.loss(encoder, SETTINGS.train, batch, {})
        changed, words = seen["ids"] != batch.ids, (batch.ids > 4) & (batch.attention > 0)
        assert not (changed & ~words).any()
        n_changed, n_words = n_changed + int(changed.sum()), n_words + int(words.sum())
    # 4800 words; 0.15 are drawn, and of these 9 of 10 change: the standard deviation of the share is 0.005.
    assert n_changed / n_words == pytest.approx(0.15 * 0.9, abs=0.02)
    assert (batch.ids == flat_batch(found.data, range(32)).ids).all()


@pytest.mark.parametrize(("epochs", "most", "expected"), [(0.5, None, 16), (1.5, None, 48), (0.5, 10, 5), (0.01, 5, 1)])
def test_of_an_epoch_that_is_not_whole_a_random_part_is_read(tiny_folder, epochs, most, expected):
    order = planned(tiny_folder, mlm_epochs=epochs, mlm_max_utterances=most)[1].data.order[:, 1]
    assert len(order) == expected
    assert len(np.unique(order)) == min(expected, most or 32)
    again, other = (planned(tiny_folder, mlm_epochs=epochs, mlm_max_utterances=most, seed=s)[1].data for s in (1, 2))
    assert np.array_equal(again.order[:, 1], order)
    assert not np.array_equal(other.order[:, 1], order)


def test_an_utterance_has_at_most_ten_masks_and_the_others_are_as_they_were():
    torch.manual_seed(0)
    tokens = torch.arange(5, 5 + 3 * 40).view(3, 40)
    goals = tokens.masked_fill(torch.arange(40) >= torch.tensor([[40], [10], [3]]), -100)
    ids = torch.where(goals == -100, tokens, torch.full_like(tokens, 4))
    found, left = masked.at_most(10, ids, goals)
    assert (left != -100).sum(1).tolist() == [10, 10, 3]
    assert (found[left != -100] == 4).all()
    assert (found[left == -100] == tokens[left == -100]).all()
    assert torch.equal(left[1:], goals[1:])
    again = masked.at_most(10, ids, goals)[1]
    assert not torch.equal(again[0], left[0])


def test_within_the_limit_nothing_is_drawn_and_nothing_changes():
    draws = torch.random.get_rng_state()
    ids, goals = torch.tensor([[4, 4, 7]]), torch.tensor([[5, 6, -100]])
    assert masked.at_most(2, ids, goals) == (ids, goals)
    assert torch.equal(draws, torch.random.get_rng_state())


def test_the_loss_is_the_mean_over_the_masks_that_are_left_in_double_precision(tiny_folder, monkeypatch):
    encoder, found = planned(tiny_folder, mlm_max_masks=2)
    found.data.masks.mlm_probability = 0.9
    logits = torch.randn(8, 5, 45, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    monkeypatch.setattr(found.data.auxiliary, "forward", lambda ids, attention: logits[:, : ids.shape[1]])
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)
    drawn = []
    monkeypatch.setattr(masked, "at_most", lambda *given, own=masked.at_most: drawn.append(own(*given)) or drawn[0])
    loss = found.data.loss(encoder, SETTINGS.train, batch := flat_batch(found.data, range(8)), {})
    terms = []
    for row, labels in enumerate(drawn[0][1].tolist()):
        places = [place for place, label in enumerate(labels) if label != -100]
        assert len(places) <= 2
        for place in places:
            assert labels[place] == batch.ids[row, place]
            terms.append(logits[row, place].exp().sum().log() - logits[row, place, labels[place]])
    assert len(terms) > 8
    torch.testing.assert_close(loss, sum(terms) / len(terms), rtol=1e-10, atol=1e-12)


def test_guessing_gets_better_and_every_layer_trains(tiny_folder, tmp_path, quick):
    start = DialogueEncoder.from_pretrained(tiny_folder)
    encoder, found = planned(tiny_folder, mlm_epochs=12.0)
    losses = [entry["loss"] for entry in run(encoder, found, tmp_path / "c").history]
    assert np.mean(losses[-6:]) < np.mean(losses[:6]) - 0.1
    before = dict(start.backbone.named_parameters())
    moved = {name for name, weights in encoder.backbone.named_parameters() if not torch.equal(weights, before[name])}
    assert {"embeddings.word_embeddings.weight", "encoder.layer.0.output.dense.weight"} <= moved
    assert not any("pooler" in name for name in moved)


def test_many_steps_leave_few_checkpoints(tiny_folder, quick, monkeypatch):
    monkeypatch.setattr(masked, "MOST_CHECKPOINTS", 2)
    _, found = planned(tiny_folder, mlm_epochs=5.0)
    # 5 x 32 utterances in batches of 8 are 20 steps.
    assert found.train.checkpoint_steps == 10


def test_a_run_that_was_killed_goes_on_to_the_same_weights(tiny_folder, tmp_path, quick, monkeypatch):
    encoder, found = planned(tiny_folder)
    run(encoder, found, tmp_path / "whole")
    again, rest = train_with_a_kill(lambda: planned(tiny_folder), tmp_path / "cut", monkeypatch)
    assert rest.resumed_from == 3
    assert all(torch.equal(again.state_dict()[name], value) for name, value in encoder.state_dict().items())
