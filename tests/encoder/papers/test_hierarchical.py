"""HSSA and BiDeN against literal versions of them, in double precision, a token at a time."""

from __future__ import annotations

import math

import pytest
import torch
from safetensors.torch import save_file
from torch.nn import functional

from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.papers.hierarchical import (
    HIERARCHIES,
    Hierarchy,
    load_hierarchy,
    name_of,
    new_hierarchy,
    reading_order,
    save_hierarchy,
)
from dial2vec.encoder.pooling import pool
from dial2vec.encoder.tokens import MAX_TURNS
from dial2vec.errors import ModelError
from tests.conftest import make_dialogue

WIDTH, HEADS = 8, 2
# Turns of each dialogue's tokens: ragged, a single turn, a single token, turns of one token, nothing at all.
DIALOGUES = {
    "up": [[0, 0, 0, 1, 2, 2], [0, 0], [0], [0, 1, 2, 3, 4, 4, 4], []],
    "down": [[3, 3, 3, 2, 1, 1], [1, 1], [1], [5, 4, 3, 2, 1, 1, 1], []],
}
names = pytest.mark.parametrize("name", list(HIERARCHIES))


def batch(direction: str = "up", padding: int = 2) -> tuple[torch.Tensor, torch.Tensor]:
    """Turns and attention, padded beyond the longest dialogue; a padded place has turn 0, as in a `Batch`."""
    dialogues = DIALOGUES[direction]
    longest = max(map(len, dialogues)) + padding
    turns = torch.tensor([turns + [0] * (longest - len(turns)) for turns in dialogues])
    attention = torch.tensor([[1] * len(turns) + [0] * (longest - len(turns)) for turns in dialogues])
    return turns, attention


def trained(name: str, seed: int = 0) -> Hierarchy:
    """No weight is zero, as after training; double precision, no dropout."""
    hierarchy = new_hierarchy(name, WIDTH, heads=HEADS).double().eval()
    generator = torch.Generator().manual_seed(seed)
    for weight in hierarchy.parameters():
        weight.data = 0.5 * torch.randn(weight.shape, generator=generator, dtype=torch.float64)
    return hierarchy


def states(turns: torch.Tensor, seed: int = 1) -> torch.Tensor:
    return torch.randn(*turns.shape, WIDTH, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def norm(layer, vector):
    centred = vector - vector.mean()
    return centred / (centred.square().mean() + layer.eps).sqrt() * layer.weight + layer.bias


def attend(attention, asking, seen):
    """One vector looks at others: head by head, the softmax written out; zeros where there is nothing to see."""
    if not seen:
        return torch.zeros(WIDTH, dtype=torch.float64)
    query, key, value = attention.qkv.weight.split(WIDTH)
    query_bias, key_bias, value_bias = attention.qkv.bias.split(WIDTH)
    size = WIDTH // HEADS
    heads = []
    for head in range(HEADS):
        part = slice(head * size, (head + 1) * size)
        asked = (query @ asking + query_bias)[part]
        weights = [math.exp(asked @ (key @ other + key_bias)[part] / math.sqrt(size)) for other in seen]
        values = [(value @ other + value_bias)[part] for other in seen]
        heads.append(sum(weight * said for weight, said in zip(weights, values, strict=True)) / sum(weights))
    return torch.cat(heads)


def slow_hssa(hierarchy, tokens, turns):
    spoken = list(dict.fromkeys(turns))
    normed = [norm(hierarchy.inner_norm, token) for token in tokens]
    inner = []
    for token, asking, turn in zip(tokens, normed, turns, strict=True):
        own = [other for other, other_turn in zip(normed, turns, strict=True) if other_turn == turn]
        inner.append(token + hierarchy.inner_out(attend(hierarchy.inner, asking, own)))
    summaries = []
    for place, turn in enumerate(spoken):
        own = [token for token, other_turn in zip(inner, turns, strict=True) if other_turn == turn]
        summaries.append(norm(hierarchy.inter_norm, sum(own) / len(own)) + hierarchy.place.weight[place])
    learnt = [hierarchy.inter_out(attend(hierarchy.inter, summary, summaries)) for summary in summaries]
    result = []
    for token, turn in zip(inner, turns, strict=True):
        updated = token + learnt[spoken.index(turn)]
        wide = hierarchy.ff_hidden(norm(hierarchy.ff_norm, updated))
        result.append(updated + hierarchy.ff_out(wide * (1 + torch.erf(wide / math.sqrt(2))) / 2))
    return result


def slow_biden(hierarchy, tokens, turns):
    spoken = list(dict.fromkeys(turns))
    places = [spoken.index(turn) for turn in turns]
    normed = [norm(hierarchy.norm, token) for token in tokens]
    result = []
    for token, asking, here in zip(tokens, normed, places, strict=True):
        seen = [
            [other for other, place in zip(normed, places, strict=True) if place == here],
            [other for other, place in zip(normed, places, strict=True) if place < here],
            [other for other, place in zip(normed, places, strict=True) if place > here],
        ]
        looks = (hierarchy.present, hierarchy.past, hierarchy.future)
        views = [attend(look, asking, others) for look, others in zip(looks, seen, strict=True)]
        logits = hierarchy.gate(torch.cat([asking, *views]))
        shares = [math.exp(logit) if others else 0.0 for logit, others in zip(logits, seen, strict=True)]
        mixed = sum(share * view for share, view in zip(shares, views, strict=True)) / sum(shares)
        result.append(token + hierarchy.out(mixed))
    return result


SLOW = {"hssa": slow_hssa, "biden": slow_biden}


@names
@pytest.mark.parametrize("direction", ["up", "down"])
@torch.no_grad()
def test_it_is_what_its_description_says_token_by_token(name, direction):
    hierarchy = trained(name)
    turns, attention = batch(direction)
    hidden = states(turns)
    found = hierarchy(hidden, turns, attention)
    for row, said in enumerate(DIALOGUES[direction]):
        expected = SLOW[name](hierarchy, list(hidden[row, : len(said)]), said)
        torch.testing.assert_close(found[row, : len(said)], torch.stack(expected) if said else hidden[row, :0])
    assert not torch.allclose(found[0, :6], hidden[0, :6])


@names
@pytest.mark.parametrize("training", [False, True])
def test_untrained_it_changes_nothing_not_even_with_dropout(name, training):
    turns, attention = batch()
    hidden = states(turns).float()
    untrained = new_hierarchy(name, WIDTH, heads=HEADS).train(training)
    torch.testing.assert_close(untrained(hidden, turns, attention), hidden, rtol=0, atol=0)


@names
def test_training_moves_every_weight_of_an_untrained_one(name):
    turns, attention = batch()
    hidden = states(turns).float()
    untrained = new_hierarchy(name, WIDTH, heads=HEADS).eval()
    optimiser = torch.optim.SGD(untrained.parameters(), lr=0.1)
    for _ in range(2):
        optimiser.zero_grad()
        (untrained(hidden, turns, attention) * torch.arange(WIDTH)).square().mean().backward()
        optimiser.step()
    # The first step moves what is zero at the start, the second what stands behind that.
    for label, weight in untrained.named_parameters():
        assert weight.grad.abs().max() > 0, label


@names
def test_a_dialogue_is_read_alike_whether_its_turns_count_up_or_down(name):
    up, attention = batch("up")
    down, _ = batch("down")
    hierarchy, hidden = trained(name), states(up)
    torch.testing.assert_close(hierarchy(hidden, up, attention), hierarchy(hidden, down, attention), rtol=0, atol=0)


@names
def test_padding_never_enters_and_is_returned_as_it_came(name):
    turns, attention = batch()
    hierarchy, hidden = trained(name), states(turns)
    spoiled = hidden.masked_fill((attention == 0)[..., None], math.nan)
    found = hierarchy(spoiled, turns, attention)
    expected = hierarchy(hidden, turns, attention)
    torch.testing.assert_close(found[attention > 0], expected[attention > 0], rtol=0, atol=0)
    assert found[attention == 0].isnan().all()
    torch.testing.assert_close(expected[attention == 0], hidden[attention == 0], rtol=0, atol=0)


@names
def test_the_neighbours_in_a_batch_and_padding_in_front_make_no_difference(name):
    turns, attention = batch()
    hierarchy, hidden = trained(name), states(turns)
    together = hierarchy(hidden, turns, attention)
    for row, said in enumerate(DIALOGUES["up"][:4]):
        n = len(said)
        alone = [part[row : row + 1, :n] for part in (hidden, turns, attention)]
        torch.testing.assert_close(hierarchy(*alone)[0], together[row, :n])
        shifted = [functional.pad(part, (0, 0, 3, 0) if part.ndim == 3 else (3, 0)) for part in alone]
        torch.testing.assert_close(hierarchy(*shifted)[0, 3:], together[row, :n])


@names
def test_no_attention_is_asked_for_the_softmax_over_nothing(name, monkeypatch):
    asked = []

    def plain(query, key, value, *, attn_mask, dropout_p):
        asked.append(attn_mask)
        scores = query @ key.transpose(2, 3) / math.sqrt(query.shape[3])
        return functional.dropout(scores.masked_fill(~attn_mask, -math.inf).softmax(3), dropout_p) @ value

    monkeypatch.setattr(functional, "scaled_dot_product_attention", plain)
    turns, attention = batch()
    hidden = states(turns).requires_grad_()
    trained(name)(hidden, turns, attention).square().sum().backward()
    assert asked
    assert all(mask.any(3).all() for mask in asked)
    assert hidden.grad.isfinite().all()


@names
def test_its_gradients_are_those_of_finite_differences(name):
    turns, attention = batch(padding=1)
    rows = slice(0, 2)
    hierarchy, hidden = trained(name), states(turns)[rows].requires_grad_()
    assert torch.autograd.gradcheck(lambda moved: hierarchy(moved, turns[rows], attention[rows]), hidden)


def moved_by(read, hidden, token):
    """Which places of the first dialogue the result at one token depends on."""
    (gradient,) = torch.autograd.grad(read(hidden)[0, token, 0], hidden)
    assert gradient.isfinite().all()
    assert not gradient[1:].any()
    return set(gradient[0].abs().sum(1).nonzero().flatten().tolist())


# Tokens 0-2 are the first turn, 3 is the second, 4 and 5 are the third.
@pytest.mark.parametrize(
    ("view", "first", "second", "third"),
    [
        ("present", {0, 1, 2}, {3}, {4, 5}),
        ("past", set(), {0, 1, 2}, {0, 1, 2, 3}),
        ("future", {3, 4, 5}, {4, 5}, set()),
    ],
)
@pytest.mark.parametrize("direction", ["up", "down"])
def test_nothing_flows_into_a_view_of_biden_from_the_other_two(direction, view, first, second, third):
    hierarchy = trained("biden")
    turns, attention = batch(direction)
    seen = {}
    getattr(hierarchy, view).register_forward_hook(lambda _module, _inputs, output: seen.update(view=output))

    def read(hidden):
        hierarchy(hidden, turns, attention)
        return seen["view"]

    hidden = states(turns).requires_grad_()
    for token, said in ((1, first), (3, second), (5, third)):
        if said:
            # The token that asks has a say in the weights, wherever it stands.
            assert moved_by(read, hidden, token) == said | {token}
        else:
            assert moved_by(read, hidden, token) == set()
            assert not seen["view"][0, token].any()


def test_where_the_gate_shuts_the_future_out_no_token_of_biden_depends_on_what_comes_later():
    hierarchy = trained("biden")
    turns, attention = batch()
    hierarchy.gate.weight.data.zero_()
    hierarchy.gate.bias.data = torch.tensor([0.0, 0.0, -1e4], dtype=torch.float64)
    hidden = states(turns).requires_grad_()
    found = [moved_by(lambda moved: hierarchy(moved, turns, attention), hidden, token) for token in (1, 3, 5)]
    assert found == [{0, 1, 2}, {0, 1, 2, 3}, {0, 1, 2, 3, 4, 5}]


def test_turns_meet_in_hssa_through_their_summaries_only():
    hierarchy = trained("hssa")
    turns, attention = batch()
    hidden = states(turns).requires_grad_()

    def read(moved):
        return hierarchy(moved, turns, attention)

    assert moved_by(read, hidden, 1) == {0, 1, 2, 3, 4, 5}
    hierarchy.inter_out.weight.data.zero_()
    assert [moved_by(read, hidden, token) for token in (1, 3, 5)] == [{0, 1, 2}, {3}, {4, 5}]


def test_hssa_knows_the_order_of_turns_by_its_places_alone():
    hierarchy = trained("hssa")
    turns = torch.tensor([[0, 0, 1, 1, 2, 2]])
    hidden, attention = states(turns), torch.ones_like(turns)
    swapped = [0, 1, 4, 5, 2, 3]
    assert not torch.allclose(
        hierarchy(hidden[:, swapped], turns, attention), hierarchy(hidden, turns, attention)[:, swapped]
    )
    hierarchy.place.weight.data.zero_()
    torch.testing.assert_close(
        hierarchy(hidden[:, swapped], turns, attention), hierarchy(hidden, turns, attention)[:, swapped]
    )


@names
def test_a_dialogue_may_have_more_turns_than_there_are_places(name):
    turns = torch.arange(MAX_TURNS + 3)[None]
    hidden = states(turns)
    assert trained(name)(hidden, turns, torch.ones_like(turns)).isfinite().all()


@names
@pytest.mark.parametrize("how", ["autocast", "autocast of bf16 states", "whole module"])
def test_in_bf16_everything_is_finite_and_near_the_fp32_result(name, how):
    turns, attention = batch()
    hierarchy = trained(name).float()
    for weight in hierarchy.parameters():
        weight.data *= 0.3
    hidden = states(turns).float()
    expected = hierarchy(hidden, turns, attention)
    given = (hidden if how == "autocast" else hidden.bfloat16()).requires_grad_()
    module = hierarchy.bfloat16() if how == "whole module" else hierarchy
    with torch.autocast("cpu", torch.bfloat16, enabled=how != "whole module"):
        found = module(given, turns, attention)
    found.float().square().sum().backward()
    assert found.dtype == given.dtype
    assert given.grad.isfinite().all()
    assert all(weight.grad.isfinite().all() for weight in module.parameters())
    torch.testing.assert_close(found.float(), expected, rtol=0.05, atol=0.05)


def test_reading_order_counts_turns_as_they_are_read():
    turns = torch.tensor([[0, 0, 1, 2, 0, 0], [3, 2, 2, 1, 0, 0], [0, 0, 7, 7, 5, 0], [0] * 6])
    attention = torch.tensor([[1] * 4 + [0] * 2, [1] * 4 + [0] * 2, [0, 1, 1, 1, 1, 1], [0] * 6])
    expected = [[0, 0, 1, 2, -1, -1], [0, 1, 1, 2, -1, -1], [-1, 0, 1, 1, 2, 3], [-1] * 6]
    assert reading_order(turns, attention).tolist() == expected


@names
@pytest.mark.parametrize("input", ["text", "turns", "closed"])
def test_every_pooling_takes_what_it_returns_for_a_batch_of_an_encoder(name, input, tiny_folder):
    encoder = DialogueEncoder.from_pretrained(tiny_folder, input=input)
    dialogues = [make_dialogue("x", "a: w1 w2 w3", "b: w4", "a: w5"), make_dialogue("y", "b: w7")]
    given = encoder.tokens.pad(encoder.tokens.dialogues(dialogues))
    hierarchy = new_hierarchy(name, encoder.dimension, heads=2).eval()
    with torch.no_grad():
        hidden = encoder.hidden_states(given)
        read = hierarchy(hidden, given.turns, given.attention)
        for how in ("role", "mean", "turns", "cls"):
            found, before = (pool(each, given.roles, given.turns, how=how) for each in (read, hidden))
            torch.testing.assert_close(found, before, rtol=0, atol=0)


@names
def test_it_is_loaded_as_it_was_saved(name, tmp_path):
    hierarchy, path = trained(name).float(), tmp_path / "folder" / "hierarchy.safetensors"
    save_hierarchy(hierarchy, path)
    again = load_hierarchy(path, WIDTH)
    turns, attention = batch()
    hidden = states(turns).float()
    torch.testing.assert_close(again(hidden, turns, attention), hierarchy(hidden, turns, attention), rtol=0, atol=0)
    assert (type(again), again.heads, again.dropout.p, again.training) == (HIERARCHIES[name], HEADS, 0.1, False)
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    save_hierarchy(trained(name, seed=5).float(), path)
    assert not torch.equal(load_hierarchy(path, WIDTH)(hidden, turns, attention), again(hidden, turns, attention))


def test_what_cannot_be_loaded_is_told_in_one_sentence(tmp_path):
    path = tmp_path / "hierarchy.safetensors"
    with pytest.raises(ModelError, match="not a whole hierarchy"):
        load_hierarchy(path, WIDTH)
    save_hierarchy(new_hierarchy("hssa", WIDTH, heads=HEADS), path)
    with pytest.raises(ModelError, match="length 8, but the encoder's have length 12"):
        load_hierarchy(path, 12)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ModelError, match="not a whole hierarchy"):
        load_hierarchy(path, WIDTH)
    about = {"hierarchy": "biden", "width": "8", "heads": "2", "dropout": "0.1"}
    for metadata in (None, about):
        save_file({"out.weight": torch.zeros(WIDTH, WIDTH)}, path, metadata=metadata)
        with pytest.raises(ModelError, match="not a whole hierarchy"):
            load_hierarchy(path, WIDTH)


def test_unknown_names_and_heads_that_do_not_divide_are_refused():
    with pytest.raises(ModelError, match=r"'bidn'.* Did you mean 'biden'\? Valid: hssa, biden"):
        new_hierarchy("bidn", WIDTH, heads=HEADS)
    for heads in (3, 0):
        with pytest.raises(ModelError, match=f"{heads} attention heads, but token vectors of length 8"):
            new_hierarchy("hssa", WIDTH, heads=heads)


@names
def test_an_untrained_one_is_the_same_every_time_and_disturbs_no_other_draw(name):
    torch.manual_seed(1)
    first = new_hierarchy(name, WIDTH, heads=HEADS)
    drawn = torch.rand(3)
    torch.manual_seed(1)
    assert torch.equal(torch.rand(3), drawn)
    again = new_hierarchy(name, WIDTH, heads=HEADS)
    assert all(map(torch.equal, first.parameters(), again.parameters()))
    assert name_of(first) == name


def test_no_hierarchy_is_called_none():
    assert name_of(None) == "none"
