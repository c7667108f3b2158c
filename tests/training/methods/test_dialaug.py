"""DialAug: contexts with their responses, damage, the loss, and the plan."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.pooling import pool
from dial2vec.encoder.reading import Reading
from dial2vec.training.auxiliary import TwoLayers
from dial2vec.training.methods.dialaug import contexts_with_answers, dialaug_loss, nt_xent
from dial2vec.training.plan import prepare
from tests.conftest import make_dialogue
from tests.training.methods.tiny_runs import LINES, NUMBERED, SETTINGS, TRAIN, flat_batch, planned


def nt_xent_by_definition(views, temperature, positive_in_sum=True):
    """Chen et al. 2020, equation 1, over more than two views: one pair and one exponential at a time.

    Without the positive in the sum: Poddar et al. 2022, equation 4.
    """
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
                    terms.append(-torch.log(positive / (positive * positive_in_sum + foreign)))
    return sum(terms) / len(terms)


def loss_by_definition(
    contexts,
    augmented,
    responses,
    *,
    project,
    contrast,
    temperature,
    positive_in_sum=True,
    score=torch.dot,
    by_code=None,
):
    terms = []
    for queries in by_code or (contexts, augmented):
        for i, query in enumerate(queries):
            scores = torch.stack([score(query, response) for response in responses])
            terms.append(-scores.log_softmax(0)[i])
    views = torch.stack([project(vectors) for vectors in (contexts, augmented, responses)])
    return sum(terms) / len(terms) + contrast * nt_xent_by_definition(views, temperature, positive_in_sum)


def poly_score(by_code, response):
    """Humeau et al. 2020: the response attends to the code vectors of a context, and is multiplied with the mixture."""
    weights = torch.stack([torch.exp(response @ vector) for vector in by_code])
    mixture = sum(weight * vector for weight, vector in zip(weights / weights.sum(), by_code, strict=True))
    return mixture @ response


def three(b=4, d=5, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(b, d, generator=generator, dtype=torch.float64) for _ in range(3)]


@pytest.mark.parametrize("contrast", [0.0, 0.5, 2.0])
def test_it_equals_the_formula_in_double_precision(contrast):
    project, views = TwoLayers(5, 5).double(), three()
    found = dialaug_loss(*views, project=project, contrast=contrast, temperature=0.2)
    expected = loss_by_definition(*views, project=project, contrast=contrast, temperature=0.2)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("positive_in_sum", [True, False])
@pytest.mark.parametrize("n_views", [2, 3])
def test_nt_xent_equals_its_definition_and_equation_4_as_it_is_printed(n_views, positive_in_sum):
    views = torch.stack(three()[:n_views])
    found = nt_xent(views, temperature=0.1, positive_in_sum=positive_in_sum)
    torch.testing.assert_close(found, nt_xent_by_definition(views, 0.1, positive_in_sum), rtol=1e-10, atol=0)


def test_equation_4_as_it_is_printed_goes_below_zero_where_nt_xent_does_not():
    views = torch.eye(2, dtype=torch.float64).repeat(3, 1, 1)
    # One positive of cosine 1 against three foreign views of cosine 0.
    assert nt_xent(views, temperature=1.0, positive_in_sum=False).item() == pytest.approx(math.log(3) - 1)
    assert nt_xent(views, temperature=0.1, positive_in_sum=False).item() < 0 < nt_xent(views, temperature=0.1).item()


@pytest.mark.parametrize("contrast", [0.0, 0.5])
def test_the_poly_encoders_loss_equals_the_formula_in_double_precision(contrast):
    project, views = TwoLayers(5, 5).double(), three()
    by_code = tuple(torch.stack(three(seed=seed), dim=1) for seed in (1, 2))
    options = {"project": project, "contrast": contrast, "temperature": 0.2, "by_code": by_code}
    expected = loss_by_definition(*views, score=poly_score, **options)
    torch.testing.assert_close(dialaug_loss(*views, **options), expected, rtol=1e-10, atol=1e-12)


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
    assert (found.data.longest, found.data.longest_response, found.data.count_cut()) == (3, 11, 0)
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
    assert (found.added, table.shape, found.data.vocabulary.deleted) == (("[DEL]",), (46, 16), 45)
    torch.testing.assert_close(table[45], table[:45].mean(0))
    assert found.data.loss(encoder.eval(), TRAIN, flat_batch(found.data, [0, 1, 2]), {}).isfinite()
    encoder, found = planned(tiny_folder, "dialaug", settings=deleting("w7"))
    assert (found.added, len(encoder.tokens.tokenizer), found.data.vocabulary.deleted) == ((), 45, 12)


def test_other_damage_adds_no_token(tiny_folder):
    encoder, found = planned(tiny_folder, "dialaug")
    assert (found.added, len(encoder.tokens.tokenizer)) == ((), 45)


def with_options(**options):
    return replace(SETTINGS["dialaug"], dialaug=replace(SETTINGS["dialaug"].dialaug, **options))


def test_a_turn_can_end_with_a_token_of_its_own_which_the_saved_model_reads_as_well(tiny_folder, tmp_path):
    long = make_dialogue("d", "a: w0 w1", "b: w2", "a: w3", "b: w4")
    settings = with_options(end_of_turn="eot", pooling="cls", augmentation="deletion", deleted="[DEL]")
    encoder, found = planned(tiny_folder, "dialaug", settings=settings, dialogues=[long])
    assert (found.added, found.reading) == (("[EOT]", "[DEL]"), Reading("eot", "cls"))
    assert len(encoder.tokens.tokenizer) == 45
    prepare(encoder, found)
    last = next(item for item in range(len(found.data)) if found.data.answers[found.data.order[item, 1], 1] == 3)
    context, response = (encoder.tokens.tokenizer.convert_ids_to_tokens(part.ids) for part in found.data[last])
    assert context == ["[CLS]", "w0", "w1", "[EOT]", "w2", "[EOT]", "w3", "[EOT]"]
    assert response == ["[CLS]", "w4", "[EOT]"]
    assert found.data.loss(encoder, TRAIN, flat_batch(found.data, [0, 1]), {}).isfinite()
    encoder.save_pretrained(tmp_path / "saved")
    again = DialogueEncoder.from_pretrained(tmp_path / "saved")
    [read] = again.tokens.contexts([["w0 w1", "w2", "w3"]])
    assert again.tokens.tokenizer.convert_ids_to_tokens(read.ids) == context
    np.testing.assert_allclose(again.encode([long]), encoder.encode([long]), atol=1e-6)


def test_contexts_and_responses_have_limits_of_their_own(tiny_folder):
    # Contexts are long and responses short; of 100 responses one is longer.
    dialogues = [make_dialogue(f"d{i}", f"a: {'w1 ' * 20}", "b: w2 w3") for i in range(99)]
    dialogues.append(make_dialogue("x", "a: w1", f"b: {'w2 ' * 9}"))
    settings = with_options(answering="second", max_responses=None, batch_size=2)
    _, found = planned(tiny_folder, "dialaug", settings=settings, dialogues=dialogues)
    assert (found.data.longest, found.data.longest_response) == (22, 4)
    lengths = [tuple(len(part.ids) for part in found.data[item]) for item in range(len(found.data))]
    assert set(lengths) == {(22, 4), (3, 4)}
    assert found.data.count_cut() == 1
    settings = with_options(max_length=8, max_response_length=5, answering="second", max_responses=None, batch_size=2)
    _, found = planned(tiny_folder, "dialaug", settings=settings, dialogues=dialogues)
    assert (found.data.longest, found.data.longest_response) == (8, 5)


@pytest.mark.parametrize("augmentation", ["none", "conmix"])
def test_a_poly_encoder_trains_its_codes_and_scores_by_them(tiny_folder, augmentation):
    settings = with_options(scoring="poly", codes=3, augmentation=augmentation, contrast=0.0)
    encoder, found = planned(tiny_folder, "dialaug", settings=settings)
    prepare(encoder, found)
    assert encoder.network.codes.shape == (3, 16)
    batch = flat_batch(found.data, [0, 1, 2, 3])
    loss = found.data.loss(encoder.eval(), TRAIN, batch, {})
    loss.backward()
    assert encoder.network.codes.grad.abs().sum() > 0
    if augmentation == "none":
        states = encoder.sequence_states(batch).detach()
        answers = pool(states, batch.roles, batch.turns, how="mean")[1::2]
        contexts, present = states[::2], batch.attention[::2].bool()
        by_code = [
            torch.stack([(own @ code).softmax(0) @ own for code in encoder.network.codes.detach()])
            for own in (context[there] for context, there in zip(contexts, present, strict=True))
        ]
        expected = sum(
            -torch.stack([poly_score(own, answer) for answer in answers]).log_softmax(0)[i]
            for i, own in enumerate(by_code)
        )
        torch.testing.assert_close(loss.detach(), expected / 4, rtol=1e-4, atol=1e-5)


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
