from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file

from dial2vec.encoder.head import Head
from dial2vec.errors import ModelError


@pytest.fixture
def head():
    generator = torch.Generator().manual_seed(0)
    return Head(torch.randn(4, generator=generator) / 4, torch.randn(4, 4, generator=generator))


def unit(vector):
    return vector / np.linalg.norm(vector)


def test_it_normalises_centres_normalises_maps_and_normalises():
    head = Head(torch.tensor([0.6, 0.0]), torch.tensor([[0.0, 2.0], [1.0, 0.0]]))
    # (3, 4) / 5 = (0.6, 0.8); minus the mean (0, 0.8), of length 1 (0, 1); times W (1, 0).
    torch.testing.assert_close(head(torch.tensor([3.0, 4.0])), torch.tensor([1.0, 0.0]))


def test_it_maps_every_row_by_the_formula_whatever_the_shape_in_front(head):
    vectors = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(1))
    mean, weight = head.mean.numpy(), head.weight.numpy()
    expected = [[unit(unit(unit(row) - mean) @ weight) for row in rows] for rows in vectors.numpy()]
    np.testing.assert_allclose(head(vectors), expected, atol=1e-6)


@settings(max_examples=30, deadline=None)
@given(st.floats(1e-3, 1e3), st.integers(0, 9))
def test_it_is_blind_to_length_and_gives_unit_vectors(scale, seed):
    generator = torch.Generator().manual_seed(seed)
    head = Head(torch.randn(4, generator=generator) / 4, torch.randn(4, 4, generator=generator))
    vectors = torch.randn(5, 4, generator=generator)
    torch.testing.assert_close(head(vectors * scale), head(vectors), atol=1e-5, rtol=0)
    torch.testing.assert_close(head(vectors).norm(dim=1), torch.ones(5))


def test_a_zero_vector_gives_a_number(head):
    assert torch.isfinite(head(torch.zeros(1, 4))).all()


def test_autocast_to_bf16_does_not_change_it(head):
    vectors = torch.randn(5, 4, generator=torch.Generator().manual_seed(1))
    with torch.autocast("cpu", torch.bfloat16):
        found = head(vectors)
    assert found.dtype == torch.float32
    assert torch.equal(found, head(vectors))
    assert head(vectors.bfloat16()).dtype == torch.float32


def test_it_passes_gradients_on_and_has_no_parameters_of_its_own(head):
    vectors = torch.randn(5, 4, requires_grad=True)
    head(vectors).sum().backward()
    assert vectors.grad.abs().sum() > 0
    assert list(head.parameters()) == []


def test_what_is_saved_is_loaded(head, tmp_path):
    head.save(tmp_path / "head.safetensors")
    again = Head.load(tmp_path / "head.safetensors", 4)
    assert torch.equal(again.mean, head.mean)
    assert torch.equal(again.weight, head.weight)


@pytest.mark.parametrize("damage", ["missing", "cut", "empty", "no weight"])
def test_a_missing_or_damaged_file_is_one_sentence(head, tmp_path, damage):
    path = tmp_path / "head.safetensors"
    if damage != "missing":
        head.save(path)
    if damage in ("cut", "empty"):
        path.write_bytes(path.read_bytes()[: 60 if damage == "cut" else 0])
    if damage == "no weight":
        save_file({"mean": head.mean}, path)
    with pytest.raises(ModelError, match=r"is not a whole head.*Save the encoder again") as error:
        Head.load(path, 4)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("mean", "weight"), [((5,), (5, 5)), ((4,), (4, 5)), ((5,), (4, 4)), ((), (4, 4))])
def test_a_head_of_another_encoder_is_refused_with_its_shapes(tmp_path, mean, weight):
    path = tmp_path / "head.safetensors"
    save_file({"mean": torch.zeros(mean), "weight": torch.zeros(weight)}, path)
    with pytest.raises(ModelError) as error:
        Head.load(path, 4)
    assert f"a mean of shape {list(mean)} and a weight of shape {list(weight)}" in str(error.value)
    assert "the encoder's vectors have length 4" in str(error.value)
