"""DSE: pairs, their loss, and its plan."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from conftest import make_dialogue
from dial2vec.config import Dse, Settings, Train
from dial2vec.encoder import DialogueEncoder
from dial2vec.training.auxiliary import TwoLayers
from dial2vec.training.methods.dse import WIDTH, consecutive_pairs, dse_loss
from training.methods.tiny_runs import NUMBERED, SETTINGS, TRAIN, corpus, flat_batch, planned, run


def loss_by_definition(first, second, temperature):
    """Zhou et al. 2022 with the weights of the authors' code, one view and one exponential at a time."""
    views = [vector / vector.norm() for vector in [*first, *second]]
    pairs, terms = len(first), []
    for i, anchor in enumerate(views):
        partner = (i + pairs) % (2 * pairs)
        others = [torch.exp(anchor @ views[j] / temperature) for j in range(2 * pairs) if j not in (i, partner)]
        mean = sum(others) / len(others)
        negatives = sum(other / mean * other for other in others)
        positive = torch.exp(anchor @ views[partner] / temperature)
        terms.append(-torch.log(positive / (positive + negatives)))
    return sum(terms) / len(terms)


def pairs_of(m, d=5, *, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(m, d, generator=generator, dtype=dtype) for _ in range(2)]


def test_two_pairs_at_right_angles_give_the_loss_by_hand():
    first = torch.eye(2, dtype=torch.float64)
    # Each view has its partner at cosine 1 and the two others at 0, whose weights are 1: e / (e + 2).
    assert dse_loss(first, first, temperature=1.0).item() == pytest.approx(-math.log(math.e / (math.e + 2)))


@pytest.mark.parametrize("temperature", [0.05, 0.5, 2.0])
@pytest.mark.parametrize("m", [2, 3, 7])
def test_it_equals_the_formula_in_double_precision(m, temperature):
    first, second = pairs_of(m)
    expected = loss_by_definition(first, second, temperature)
    torch.testing.assert_close(dse_loss(first, second, temperature=temperature), expected, rtol=1e-10, atol=1e-12)


def test_its_gradient_is_that_of_the_formula():
    first, second = (vectors.requires_grad_() for vectors in pairs_of(3))
    assert torch.autograd.gradcheck(lambda a, b: dse_loss(a, b, temperature=0.3), (first, second))


def test_either_of_a_pair_may_come_first_and_pairs_in_any_order():
    first, second = pairs_of(5)
    loss = dse_loss(first, second)
    torch.testing.assert_close(dse_loss(second, first), loss)
    order = torch.tensor([3, 1, 4, 0, 2])
    torch.testing.assert_close(dse_loss(first[order], second[order]), loss)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_a_low_temperature_is_finite_in_every_precision(dtype):
    vectors = torch.ones(4, 8, dtype=dtype, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = dse_loss(vectors, vectors, temperature=0.001)
    loss.backward()
    assert loss.dtype == torch.float32
    # All alike: the positive is one of 2m - 1 equal terms.
    assert loss.item() == pytest.approx(math.log(7), rel=1e-5)
    assert torch.isfinite(vectors.grad).all()


def test_one_pair_alone_is_refused():
    with pytest.raises(ValueError, match=r"pairs of shape \[1, 5\] and \[1, 5\]; expected two or more"):
        dse_loss(*pairs_of(1))


def test_the_head_has_no_bias_and_128_dimensions():
    head = TwoLayers(16, WIDTH, bias=False)
    assert head(torch.zeros(2, 3, 16)).shape == (2, 3, 128)
    assert not head(torch.zeros(1, 16)).any()


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        ("1-1", [[0, -1, -1, 1], [1, -1, -1, 3], [3, -1, -1, 4], [5, -1, -1, 6]]),
        ("2-1", [[0, 1, -1, 3], [1, 3, -1, 4]]),
        ("3-1", [[0, 1, 3, 4]]),
        ("dropout", [[number, -1, -1, number] for number in (0, 1, 3, 4, 5, 6)]),
    ],
)
def test_what_is_said_next_is_the_positive_and_short_utterances_are_passed_over(variant, expected):
    assert consecutive_pairs(NUMBERED, variant=variant).tolist() == expected


def test_123_has_the_pairs_of_all_three():
    together = {tuple(row) for row in consecutive_pairs(NUMBERED, variant="123-1").tolist()}
    apart = [consecutive_pairs(NUMBERED, variant=variant).tolist() for variant in ("1-1", "2-1", "3-1")]
    assert together == {tuple(row) for rows in apart for row in rows}


def test_a_query_and_what_was_said_next_are_read_alone(tiny_folder):
    options = replace(SETTINGS["dse"], dse=replace(SETTINGS["dse"].dse, pairs="2-1", batch_size=2))
    encoder, found = planned(tiny_folder, "dse", settings=options, dialogues=corpus(2))
    words = [encoder.tokens.tokenizer.convert_ids_to_tokens(sequence.ids) for sequence in found.data[0]]
    row = found.data.rows[found.data.order[0, 1]]
    texts = [turn.text for dialogue in corpus(2) for turn in dialogue.turns]
    assert words[0] == f"[CLS] {texts[row[0]]} [SEP] {texts[row[1]]} [SEP]".split()
    assert words[1] == f"[CLS] {texts[row[3]]} [SEP]".split()
    assert row[2] == -1


def test_the_dse_loss_of_a_batch_is_that_of_its_utterances_behind_the_head(tiny_folder):
    encoder, found = planned(tiny_folder, "dse")
    data, items = found.data, [0, 1, 2, 3]
    texts = [turn.text for dialogue in corpus() for turn in dialogue.turns]
    rows = data.rows[data.order[items, 1]]
    said = [torch.from_numpy(encoder.encode_utterances([texts[n] for n in rows[:, column]])) for column in (0, 3)]
    expected = dse_loss(*(data.auxiliary(vectors) for vectors in said), temperature=0.05)
    loss = data.loss(encoder.eval(), TRAIN, flat_batch(data, items), {})
    torch.testing.assert_close(loss, expected, rtol=1e-4, atol=1e-5)


def test_what_an_epoch_has_beyond_its_last_whole_batch_is_not_counted_as_trained(tiny_folder, tmp_path):
    options = replace(SETTINGS["dse"], dse=replace(SETTINGS["dse"].dse, batch_size=5))
    encoder, found = planned(tiny_folder, "dse", settings=options)
    result = run(encoder, found, tmp_path / "c")
    # 8 x 3 pairs.
    assert (result.steps, result.items) == (4, 20)


def test_dse_trains_every_layer_at_a_constant_rate_from_the_first_step_on(tiny_folder, tmp_path):
    defaults = Settings(train=replace(Train(log_steps=1, precision="fp32"), method="dse"), dse=Dse(batch_size=6))
    options = replace(defaults, dse=replace(defaults.dse, min_words=1, learning_rate=3e-3))
    start = DialogueEncoder.from_pretrained(tiny_folder)
    encoder, found = planned(tiny_folder, "dse", settings=options)
    result = run(encoder, found, tmp_path / "c")
    assert {entry["learning_rate"] for entry in result.history} == {3e-3}
    after = encoder.network.state_dict()
    moved = [name for name, value in start.network.state_dict().items() if not torch.equal(after[name], value)]
    assert {"backbone.embeddings.word_embeddings.weight", "backbone.encoder.layer.0.output.dense.weight"} <= set(moved)


def test_a_single_utterance_makes_no_pair():
    assert consecutive_pairs([make_dialogue("x", "a: hi")], variant="1-1").shape == (0, 4)
