"""DialogueCSE and its Siamese baselines: responses in context, their losses, and the plan."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dial2vec.training.auxiliary import TwoLayers
from dial2vec.training.methods.dialoguecse import (
    dialoguecse_loss,
    foreign_utterances,
    refined_by_context,
    responses_in_context,
    responses_with_neighbour,
    siamese_loss,
)
from tests.conftest import make_dialogue
from tests.training.methods.tiny_runs import NUMBERED, SETTINGS, TRAIN, corpus, flat_batch, planned, run


def loss_by_definition(contexts, context_mask, responses, response_mask, *, temperature, attention=None):
    """Liu et al. 2021 without padding: whole matrices of tokens against tokens, one of them at a time."""
    total = 0.0
    for b in range(len(responses)):
        logits = []
        for s in range(responses.shape[1]):
            response = responses[b, s][response_mask[b, s].bool()]
            seen = []
            for c in range(contexts.shape[1]):
                turn = contexts[b, c][context_mask[b, c].bool()]
                if len(turn):
                    matching = turn @ response.T / math.sqrt(response.shape[1])
                    seen.append(matching @ response)
            refined = torch.stack([rows.mean(0) for rows in seen])
            weights = torch.full((len(seen),), 1 / len(seen), dtype=refined.dtype)
            if attention is not None:
                weights = torch.softmax(torch.stack([attention(rows).mean() for rows in seen]), 0)
            guided = (weights[:, None] * refined).sum(0)
            own = response.mean(0)
            logits.append(own @ guided / (own.norm() * guided.norm()) / temperature)
        total = total - torch.stack(logits).log_softmax(0)[0]
    return total / len(responses)


def random_batch(*, b=3, c=3, s=4, k=5, n=6, d=4, seed=0):
    """Token vectors with garbage in the padding; the second context turn of the first row is missing."""
    generator = torch.Generator().manual_seed(seed)

    def some(turns, width):
        lengths = torch.randint(1, width + 1, (b, turns), generator=generator)
        mask = (torch.arange(width) < lengths[..., None]).long()
        return torch.randn(b, turns, width, d, generator=generator, dtype=torch.float64), mask

    contexts, context_mask = some(c, k)
    context_mask[0, 1] = 0
    return contexts, context_mask, *some(s, n)


@pytest.mark.parametrize("temperature", [0.05, 0.1, 0.5])
@pytest.mark.parametrize("aggregation", ["mean", "attention"])
def test_it_equals_the_definition_with_padding_in_double_precision(temperature, aggregation):
    attention = TwoLayers(4, 1).double() if aggregation == "attention" else None
    batch = random_batch()
    found = dialoguecse_loss(*batch, temperature=temperature, attention=attention)
    expected = loss_by_definition(*batch, temperature=temperature, attention=attention)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-12)


def test_one_true_and_one_foreign_response_give_the_loss_by_hand():
    # The context looks along the first axis: of the true response it keeps all, of the foreign one half.
    contexts = torch.tensor([[[[1.0, 0.0]]]])
    responses = torch.tensor([[[[1.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]]])
    ones = torch.ones(1, 2, 2)
    loss = dialoguecse_loss(contexts, torch.ones(1, 1, 1), responses, ones, temperature=1.0)
    assert loss.item() == pytest.approx(math.log(1 + math.exp(math.sqrt(0.5) - 1)), rel=1e-5)


@pytest.mark.parametrize("aggregation", ["mean", "attention"])
def test_its_gradient_is_that_of_the_definition(aggregation):
    attention = TwoLayers(4, 1).double() if aggregation == "attention" else None
    contexts, context_mask, responses, response_mask = random_batch(b=2, c=2, s=2, k=2, n=2)

    def loss(contexts, responses):
        return dialoguecse_loss(contexts, context_mask, responses, response_mask, attention=attention)

    assert torch.autograd.gradcheck(loss, (contexts.requires_grad_(), responses.requires_grad_()))


def test_padding_enters_neither_utterance_nor_pool():
    contexts, context_mask, responses, response_mask = random_batch()
    own, refined = refined_by_context(contexts, context_mask, responses, response_mask)
    contexts[~context_mask.bool()] = 1e3
    responses[~response_mask.bool()] = -1e3
    again = refined_by_context(contexts, context_mask, responses, response_mask)
    torch.testing.assert_close((own, refined), again)
    assert not refined[0, :, 1].any()


def test_it_is_finite_in_bf16_and_counts_in_fp32():
    contexts, context_mask, responses, response_mask = random_batch()
    half = [contexts.bfloat16().requires_grad_(), responses.bfloat16().requires_grad_()]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = dialoguecse_loss(half[0], context_mask, half[1], response_mask, attention=TwoLayers(4, 1))
    loss.backward()
    assert loss.dtype == torch.float32
    assert all(torch.isfinite(one.grad).all() for one in half)


def siamese_by_definition(contexts, context_mask, responses, response_mask, *, judge):
    """Without padding: a logit for each response beside the context, by the layers' own weights, one at a time."""
    total = 0.0
    for b in range(len(responses)):
        context = contexts[b, 0][context_mask[b, 0].bool()].mean(0)
        logits = []
        for s in range(responses.shape[1]):
            both = torch.cat([context, responses[b, s][response_mask[b, s].bool()].mean(0)])
            hidden = (judge.hidden.weight @ both + judge.hidden.bias).clamp(min=0)
            logits.append((judge.out.weight @ hidden + judge.out.bias)[0])
        total = total - torch.stack(logits).log_softmax(0)[0]
    return total / len(responses)


@pytest.mark.parametrize("seed", range(3))
def test_siamese_loss_equals_the_definition_with_padding_in_double_precision(seed):
    batch, judge = one_context(seed=seed), TwoLayers(8, 1).double()
    expected = siamese_by_definition(*batch, judge=judge)
    torch.testing.assert_close(siamese_loss(*batch, judge=judge), expected, rtol=1e-10, atol=1e-12)


def one_context(*, seed=0, **sizes):
    contexts, context_mask, responses, response_mask = random_batch(seed=seed, **{"c": 2} | sizes)
    return contexts[:, :1], context_mask[:, :1], responses, response_mask


def test_siamese_a_judge_that_wants_alike_first_numbers_gives_the_loss_by_hand():
    # relu(x + y), which is 2 + 1 for the true response and 2 + 0 for the foreign one.
    judge = TwoLayers(4, 1)
    with torch.no_grad():
        for layer in (judge.hidden, judge.out):
            layer.weight.zero_()
            layer.bias.zero_()
        judge.hidden.weight[0, [0, 2]] = 1
        judge.out.weight[0, 0] = 1
    contexts = torch.tensor([[[[2.0, 5.0]]]])
    responses = torch.tensor([[[[1.5, 1.0], [0.5, -1.0]], [[0.0, 1.0], [0.0, 5.0]]]])
    loss = siamese_loss(contexts, torch.ones(1, 1, 1), responses, torch.ones(1, 2, 2), judge=judge)
    assert loss.item() == pytest.approx(math.log(1 + math.exp(-1)), rel=1e-6)


def test_siamese_its_gradient_is_that_of_the_definition():
    contexts, context_mask, responses, response_mask = one_context(b=2, s=2, k=2, n=2)
    judge = TwoLayers(8, 1).double()

    def loss(contexts, responses):
        return siamese_loss(contexts, context_mask, responses, response_mask, judge=judge)

    assert torch.autograd.gradcheck(loss, (contexts.requires_grad_(), responses.requires_grad_()))


def test_padding_enters_no_pool():
    contexts, context_mask, responses, response_mask = one_context()
    judge = TwoLayers(8, 1).double()
    expected = siamese_loss(contexts, context_mask, responses, response_mask, judge=judge)
    contexts[~context_mask.bool()] = 1e3
    responses[~response_mask.bool()] = -1e3
    torch.testing.assert_close(siamese_loss(contexts, context_mask, responses, response_mask, judge=judge), expected)


def test_siamese_it_is_finite_in_bf16_and_counts_in_fp32():
    contexts, context_mask, responses, response_mask = one_context()
    half = [contexts.bfloat16().requires_grad_(), responses.bfloat16().requires_grad_()]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = siamese_loss(half[0], context_mask, half[1], response_mask, judge=TwoLayers(8, 1))
    loss.backward()
    assert loss.dtype == torch.float32
    assert all(torch.isfinite(one.grad).all() for one in half)


def test_the_context_is_the_nearest_turns_on_both_sides():
    rows = responses_in_context(NUMBERED, context_turns=3, min_turns=4)
    assert rows.tolist() == [[0, -1, 1, -1], [1, 0, 2, -1], [2, 1, 3, 0], [3, 2, 4, 1], [4, 3, -1, 2]]
    assert responses_in_context(NUMBERED, context_turns=1, min_turns=2)[-2:].tolist() == [[5, -1], [6, 5]]


def test_the_neighbour_is_the_turn_before_and_behind_the_first_where_there_is_none():
    found = responses_with_neighbour(NUMBERED, min_turns=2)
    assert found.tolist() == [[0, 1], [1, 0], [2, 1], [3, 2], [4, 3], [5, 6], [6, 5]]
    assert responses_with_neighbour([make_dialogue("x", "a: hi")]).shape == (0, 2)


@given(st.lists(st.integers(1, 5), min_size=2, max_size=6), st.integers(0, 99))
def test_foreign_utterances_are_of_any_other_dialogue_and_never_of_the_own(lengths, seed):
    first = np.concatenate([[0], np.cumsum(lengths)])
    owners = np.arange(len(lengths))
    drawn = foreign_utterances(first, owners, count=200, seed=[seed])
    for owner, row in zip(owners, drawn, strict=True):
        others = set(range(first[-1])) - set(range(first[owner], first[owner + 1]))
        assert set(row.tolist()) <= others
        # 200 draws of at most 24: one that never comes has a probability of 25 (1 - 1/24)^200 = 0.5 %.
        assert len(set(row.tolist())) >= 0.7 * len(others)
    assert (foreign_utterances(first, owners[:1], count=200, seed=[seed])[0] == drawn[0]).all()


def test_a_long_dialogue_gives_no_more_foreign_utterances_than_a_short_one():
    # Uniform over utterances, 96 of 100 draws would be from the long dialogue.
    drawn = foreign_utterances(np.array([0, 4, 100, 104]), np.array([0]), count=2000, seed=[1])
    assert ((drawn >= 4) & (drawn < 100)).mean() == pytest.approx(0.5, abs=0.05)


def test_a_context_turn_that_the_dialogue_lacks_counts_for_nothing(tiny_folder):
    encoder, found = planned(tiny_folder, "dialoguecse")
    data = found.data
    first = next(item for item in range(len(data)) if data.rows[data.order[item, 1]][1] == -1)
    batch = flat_batch(data, [first])
    assert (batch.roles[0] == -1).all()
    hidden = encoder.eval().sequence_states(batch).detach()
    there = (batch.roles >= 0).long()[None]
    expected = data.loss(encoder, TRAIN, batch, {})
    hidden[0] = 1e4
    again = dialoguecse_loss(hidden[None, :3], there[:, :3], hidden[None, 3:], there[:, 3:], attention=data.auxiliary)
    torch.testing.assert_close(again, expected)


def test_the_true_response_comes_first_and_the_foreign_ones_are_of_other_dialogues(tiny_folder):
    rows = planned(tiny_folder, "dialoguecse")[1].data.rows
    assert rows.shape == (8 * 4, 1 + 3 + 2)
    assert (rows[:, 4:] // 4 != rows[:, :1] // 4).all()
    before = rows[:, 1] >= 0
    assert (rows[before, 1] + 1 == rows[before, 0]).all()


def guided(guidance, **options):
    options = {"guidance": guidance, "aggregation": "mean", "mlm_epochs": 0.0} | options
    changed = replace(SETTINGS["dialoguecse"].dialoguecse, **options)
    return replace(SETTINGS["dialoguecse"], dialoguecse=changed)


@pytest.mark.parametrize(("guidance", "turns"), [("siamese_single", 1), ("siamese_multi", 3)])
def test_a_siamese_context_is_one_sequence_in_the_order_of_the_dialogue(tiny_folder, guidance, turns):
    encoder, found = planned(tiny_folder, "dialoguecse", settings=guided(guidance))
    data, items = found.data, range(8)
    assert data.context_turns == turns
    texts = [turn.text for dialogue in corpus() for turn in dialogue.turns]
    contexts, responses = [], []
    for item in items:
        row = data.rows[data.order[item, 1]]
        contexts.append([texts[number] for number in sorted(row[1 : 1 + turns]) if number >= 0])
        responses.append([texts[number] for number in [row[0], *row[1 + turns :]]])
    assert max(len(context) for context in contexts) == turns
    context = torch.from_numpy(encoder.encode_contexts(contexts))
    said = torch.from_numpy(np.stack([encoder.encode_utterances(some) for some in responses]))
    ones = torch.ones(len(items), said.shape[1], 1)
    expected = siamese_loss(context[:, None, None], ones[:, :1], said[:, :, None], ones, judge=data.auxiliary)
    loss = data.loss(encoder.eval(), TRAIN, flat_batch(data, items), {})
    torch.testing.assert_close(loss, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("guidance", ["siamese_single", "siamese_multi"])
def test_a_siamese_baseline_trains_with_its_judge(tiny_folder, tmp_path, guidance):
    encoder, found = planned(tiny_folder, "dialoguecse", settings=guided(guidance, epochs=12))
    before = found.data.auxiliary.hidden.weight.clone()
    losses = [entry["loss"] for entry in run(encoder, found, tmp_path / "c").history]
    assert np.mean(losses[-4:]) < np.mean(losses[:4]) - 0.05
    assert not torch.equal(found.data.auxiliary.hidden.weight, before)


def test_the_single_turn_is_the_turn_before(tiny_folder):
    _, found = planned(tiny_folder, "dialoguecse", settings=guided("siamese_single"))
    response, neighbour = found.data.rows[:, :2].T
    assert (neighbour == np.where(response % 4, response - 1, response + 1)).all()


def test_without_guidance_only_masked_words_train_and_a_dialogue_is_read_by_utterances(tiny_folder, tmp_path):
    encoder, found = planned(tiny_folder, "dialoguecse", settings=guided("none", mlm_epochs=1.0))
    assert found.before is None
    assert found.reading == planned(tiny_folder, "dialoguecse")[1].reading
    assert run(encoder, found, tmp_path / "c").items_are == "utterances"


def test_a_response_without_any_turn_around_it_does_not_train(tiny_folder):
    rows = planned(tiny_folder, "dialoguecse", settings=guided("matching", context_turns=1))[1].data.rows
    assert len(rows) == 8 * 3
    assert (rows[:, 1] + 1 == rows[:, 0]).all()


def test_a_single_utterance_has_no_context():
    assert responses_in_context([make_dialogue("x", "a: hi")]).shape == (0, 4)
