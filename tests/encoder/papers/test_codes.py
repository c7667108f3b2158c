"""Codes of a Poly-encoder: their vectors and scores against plain formulas, and how they are saved."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.papers.codes import code_vectors, codes_of, give_codes, new_codes, poly_scores
from dial2vec.errors import ModelError
from tests.encoder.test_network import DIALOGUES

CODES = "dialogue_codes.safetensors"


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_each_code_reads_the_tokens_of_its_context_and_no_padding():
    hidden, codes = random(3, 6, 5), random(4, 5, seed=1)
    roles = torch.tensor([[0, 0, 1, 1, 0, 1], [0, 1, 1, -1, -1, -1], [0, -1, -1, -1, -1, -1]])
    found = code_vectors(hidden, roles, codes)
    for b in range(3):
        tokens = [hidden[b, n] for n in range(6) if roles[b, n] >= 0]
        for m, code in enumerate(codes):
            weights = [torch.exp(code @ token) for token in tokens]
            expected = sum(weight * token for weight, token in zip(weights, tokens, strict=True)) / sum(weights)
            torch.testing.assert_close(found[b, m], expected, rtol=1e-12, atol=1e-12)


def test_a_response_weighs_the_vectors_of_the_codes_by_itself():
    contexts, responses = random(3, 4, 5), random(2, 5, seed=1)
    found = poly_scores(contexts, responses)
    for q, by_code in enumerate(contexts):
        for r, response in enumerate(responses):
            weights = [torch.exp(response @ vector) for vector in by_code]
            mixture = sum(weight * vector for weight, vector in zip(weights, by_code, strict=True)) / sum(weights)
            torch.testing.assert_close(found[q, r], mixture @ response, rtol=1e-12, atol=1e-12)


def test_with_one_code_it_is_the_dot_product():
    contexts, responses = random(3, 1, 5), random(2, 5, seed=1)
    torch.testing.assert_close(poly_scores(contexts, responses), contexts[:, 0] @ responses.T)


def test_gradients_are_those_of_the_formulas():
    hidden, codes, responses = random(2, 3, 4), random(2, 4, seed=1), random(2, 4, seed=2)
    roles = torch.tensor([[0, 1, 0], [0, -1, -1]])
    given = [part.requires_grad_() for part in (hidden, codes, responses)]
    assert torch.autograd.gradcheck(lambda h, c, r: poly_scores(code_vectors(h, roles, c), r), given)


def test_new_codes_depend_on_the_seed_only_and_differ():
    codes = new_codes(3, 8, seed=1)
    assert torch.equal(codes, new_codes(3, 8, seed=1))
    assert not torch.equal(codes, new_codes(3, 8, seed=2))
    assert len({tuple(code.tolist()) for code in codes}) == 3


@pytest.fixture
def saved(tiny_folder, tmp_path):
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    give_codes(encoder.network, new_codes(3, 16, seed=1))
    encoder.save_pretrained(tmp_path / "saved")
    return encoder, tmp_path / "saved"


def test_codes_are_saved_with_the_encoder_and_change_no_dialogue(saved, tiny_folder):
    encoder, folder = saved
    again = DialogueEncoder.from_pretrained(folder)
    assert torch.equal(again.network.codes, encoder.network.codes)
    plain = DialogueEncoder.from_pretrained(tiny_folder)
    np.testing.assert_array_equal(again.encode(DIALOGUES), plain.encode(DIALOGUES))
    assert plain.network.codes is None


@pytest.mark.parametrize(("damage", "said"), [("gone", "does not hold the codes"), ("other", r"shape \[2, 16\]")])
def test_codes_that_are_missing_or_of_another_number_are_refused(saved, damage, said):
    from safetensors.torch import save_file

    # As of a version that wrote no checksums.
    (saved[1] / "checksums.json").unlink(missing_ok=True)
    (saved[1] / CODES).unlink()
    if damage == "other":
        save_file({"codes": torch.zeros(2, 16)}, saved[1] / CODES)
    with pytest.raises(ModelError, match=said):
        DialogueEncoder.from_pretrained(saved[1])


def test_an_encoder_without_codes_is_no_poly_encoder(tiny_folder):
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    with pytest.raises(ModelError, match="x has no codes, which the similarity poly needs"):
        codes_of(encoder.network, name="x")
