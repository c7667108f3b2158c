"""DialAug: contexts with their responses, damage, the loss, and the plan."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from conftest import make_dialogue
from dial2vec.encoder.pooling import pool
from dial2vec.training.auxiliary import TwoLayers
from dial2vec.training.methods.dialaug import contexts_with_answers, dialaug_loss, nt_xent
from dial2vec.training.plan import prepare
from training.methods.tiny_runs import LINES, NUMBERED, SETTINGS, TRAIN, flat_batch, planned


def nt_xent_by_definition(views, temperature):
    """Chen et al. 2020, equation 1, over more than two views: one pair and one exponential at a time."""
    n_views, n_examples, _ = views.shape
    units = views / views.norm(dim=2, keepdim=True)
    terms = []
    for b in range(n_examples):
        for v in range(n_views):
            foreign = sum(
                torch.exp(units[v, b] @ units[w, other] / temperature)
                for w in range(n_views)
                for other in range(n_examples)
                if other != b
            )
            for w in range(n_views):
                if w != v:
                    positive = torch.exp(units[v, b] @ units[w, b] / temperature)
                    terms.append(-torch.log(positive / (positive + foreign)))
    return sum(terms) / len(terms)


def loss_by_definition(contexts, augmented, responses, *, project, contrast, temperature):
    terms = []
    for queries in (contexts, augmented):
        for i, query in enumerate(queries):
            scores = torch.stack([query @ response for response in responses])
            terms.append(-scores.log_softmax(0)[i])
    views = torch.stack([project(vectors) for vectors in (contexts, augmented, responses)])
    return sum(terms) / len(terms) + contrast * nt_xent_by_definition(views, temperature)


def three(b=4, d=5, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(b, d, generator=generator, dtype=torch.float64) for _ in range(3)]


@pytest.mark.parametrize("contrast", [0.0, 0.5, 2.0])
def test_it_equals_the_formula_in_double_precision(contrast):
    project, views = TwoLayers(5, 5).double(), three()
    found = dialaug_loss(*views, project=project, contrast=contrast, temperature=0.2)
    expected = loss_by_definition(*views, project=project, contrast=contrast, temperature=0.2)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("n_views", [2, 3])
def test_nt_xent_equals_its_definition(n_views):
    views = torch.stack(three()[:n_views])
    torch.testing.assert_close(nt_xent(views, temperature=0.1), nt_xent_by_definition(views, 0.1), rtol=1e-10, atol=0)


def test_two_exchanges_at_right_angles_give_the_loss_by_hand():
    same = torch.eye(2, dtype=torch.float64)
    # Selection: e against 1. Contrast at τ = 1: e against three foreign views at cosine 0.
    expected = math.log(1 + math.exp(-1)) + 0.5 * math.log(1 + 3 * math.exp(-1))
    found = dialaug_loss(same, same, same, project=torch.nn.Identity(), temperature=1.0)
    assert found.item() == pytest.approx(expected)


def test_its_gradient_is_that_of_the_formula():
    project = TwoLayers(5, 5).double()
    views = [vectors.requires_grad_() for vectors in three(3)]
    assert torch.autograd.gradcheck(lambda *v: dialaug_loss(*v, project=project, temperature=0.3), views)


def test_it_is_finite_in_bf16_and_counts_in_fp32():
    views = [vectors.bfloat16().requires_grad_() for vectors in three()]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = dialaug_loss(*views, project=TwoLayers(5, 5))
    loss.backward()
    assert loss.dtype == torch.float32
    assert all(torch.isfinite(one.grad).all() for one in views)


def test_answers_are_the_turns_of_the_answering_role_after_the_first():
    assert contexts_with_answers(NUMBERED).tolist() == [[0, 1], [0, 2], [0, 3], [0, 4], [1, 1]]
    assert contexts_with_answers(NUMBERED, answering=0).tolist() == [[0, 2], [0, 4]]
    assert contexts_with_answers(NUMBERED, answering=1).tolist() == [[0, 1], [0, 3], [1, 1]]


def test_a_context_is_the_last_turns_that_fit_and_every_turn_is_closed(tiny_folder):
    long = make_dialogue("d", *(f"{'ab'[t % 2]}: w{t} w{t} w{t}" for t in range(6)))
    options = replace(SETTINGS["dialaug"], dialaug=replace(SETTINGS["dialaug"].dialaug, max_length=10))
    encoder, found = planned(tiny_folder, "dialaug", settings=options, dialogues=[long])
    read = {}
    for item in range(len(found.data)):
        texts = [" ".join(encoder.tokens.tokenizer.convert_ids_to_tokens(one.ids)) for one in found.data[item]]
        read[found.data.answers[found.data.order[item, 1], 1]] = texts
    assert read[1] == ["[CLS] w0 w0 w0 [SEP]", "[CLS] w1 w1 w1 [SEP]"]
    # Two turns are 1 + 2 x 4 tokens, a third would be 13.
    assert read[5] == ["[CLS] w3 w3 w3 [SEP] w4 w4 w4 [SEP]", "[CLS] w5 w5 w5 [SEP]"]
    assert found.data.count_cut() == 0


def test_without_a_limit_95_of_100_contexts_fit(tiny_folder):
    # Contexts of n turns are 1 + 2 n tokens, n from 1 to 20: the percentile is between the last two, and all may fit.
    long = make_dialogue("d", *(f"{'ab'[t % 2]}: w{t}" for t in range(21)))
    # Of even numbers all train in whole batches.
    unlimited = replace(SETTINGS["dialaug"].dialaug, max_responses=None, batch_size=2)
    options = replace(SETTINGS["dialaug"], dialaug=unlimited)
    _, found = planned(tiny_folder, "dialaug", settings=options, dialogues=[long])
    lengths = sorted(len(found.data[item][0].ids) for item in range(len(found.data)))
    assert found.data.longest == np.percentile([1 + 2 * n for n in range(1, 21)], 95, method="higher") == 41
    assert lengths == [1 + 2 * n for n in range(1, 21)]
    # Two of 102 are longer, and are read without their first turns.
    many = [make_dialogue(f"e{i}", "a: w1", "b: w2") for i in range(99)]
    _, found = planned(tiny_folder, "dialaug", settings=options, dialogues=[*many, make_dialogue("x", *LINES)])
    assert found.data.longest == 3
    assert max(len(sequence.ids) for item in range(len(found.data)) for sequence in found.data[item]) == 3


def test_without_a_limit_the_encoders_own_holds_and_responses_are_not_cut_by_short_contexts(tiny_folder):
    dialogues = [make_dialogue(f"d{i}", "a: w1", f"b: {'w2 ' * 9}", "a: w3") for i in range(4)]
    options = replace(SETTINGS["dialaug"], dialaug=replace(SETTINGS["dialaug"].dialaug, answering="second"))
    _, found = planned(tiny_folder, "dialaug", settings=options, dialogues=dialogues)
    assert (found.data.longest, found.data.count_cut()) == (11, 0)
    endless = [make_dialogue("d", *(f"{'ab'[t % 2]}: {'w2 ' * 30}" for t in range(9)))]
    assert planned(tiny_folder, "dialaug", dialogues=endless)[1].data.longest == 64


def deleting(token):
    return replace(
        SETTINGS["dialaug"], dialaug=replace(SETTINGS["dialaug"].dialaug, augmentation="deletion", deleted=token)
    )


def test_a_token_for_deleted_words_is_added_where_there_is_none_and_damages_contexts(tiny_folder):
    encoder, found = planned(tiny_folder, "dialaug", settings=deleting("[DEL]"))
    assert len(encoder.tokens.tokenizer) == len(encoder.backbone.get_input_embeddings().weight) == 45
    prepare(encoder, found)
    table = encoder.backbone.get_input_embeddings().weight
    assert (found.added, table.shape, found.data.vocabulary.deleted) == ("[DEL]", (46, 16), 45)
    torch.testing.assert_close(table[45], table[:45].mean(0))
    assert found.data.loss(encoder.eval(), TRAIN, flat_batch(found.data, [0, 1, 2]), {}).isfinite()
    encoder, found = planned(tiny_folder, "dialaug", settings=deleting("w7"))
    assert (found.added, len(encoder.tokens.tokenizer), found.data.vocabulary.deleted) == (None, 45, 12)


def test_other_damage_adds_no_token(tiny_folder):
    encoder, found = planned(tiny_folder, "dialaug")
    assert (found.added, len(encoder.tokens.tokenizer)) == (None, 45)


def test_a_context_is_damaged_anew_at_each_step_and_the_generator_decides_how(tiny_folder):
    encoder, found = planned(tiny_folder, "dialaug")
    batch = flat_batch(found.data, [0, 1, 2, 3])
    losses = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        losses.append(found.data.loss(encoder.eval(), TRAIN, batch, {}).item())
    assert losses[0] == losses[1] != losses[2]


def test_without_damage_the_loss_is_that_of_the_plain_bi_encoder(tiny_folder):
    options = replace(SETTINGS["dialaug"], dialaug=replace(SETTINGS["dialaug"].dialaug, augmentation="none"))
    encoder, found = planned(tiny_folder, "dialaug", settings=options)
    batch = flat_batch(found.data, [0, 1, 2, 3])
    states = encoder.eval().sequence_states(batch).detach()
    contexts, answers = pool(states, batch.roles, batch.turns, how="mean").unflatten(0, (4, 2)).unbind(1)
    expected = torch.nn.functional.cross_entropy(contexts @ answers.T, torch.arange(4))
    torch.testing.assert_close(found.data.loss(encoder, TRAIN, batch, {}), expected)


def test_a_single_utterance_answers_nothing():
    assert contexts_with_answers([make_dialogue("x", "a: hi")]).shape == (0, 2)
