"""DSE: pairs, their loss, and its plan."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
import torch

from dial2vec.config import Dse, Settings, Train
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import CorpusError, MissingDataError
from dial2vec.training.auxiliary import TwoLayers
from dial2vec.training.methods.dse import WIDTH, consecutive_pairs, dse_loss, entailed_pairs, unique_utterances
from tests.conftest import make_dialogue
from tests.training.methods.tiny_runs import LONG, NUMBERED, SETTINGS, TRAIN, corpus, flat_batch, planned, run


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


def printed_by_definition(first, second, temperature):
    """Zhou et al. 2022, equations 1 and 2 as they are printed, one view and one exponential at a time."""
    views = [vector / vector.norm() for vector in [*first, *second]]
    pairs, terms = len(first), []
    for i, anchor in enumerate(views):
        partner = (i + pairs) % (2 * pairs)
        similar = [anchor @ view / temperature for view in views]
        others = [torch.exp(similar[k]) for k in range(2 * pairs) if k not in (i, partner)]
        mean = sum(others) / (2 * pairs - 2)
        below = sum(torch.exp(torch.exp(similar[j]) / mean * similar[j]) for j in range(2 * pairs) if j != i)
        terms.append(-torch.log(torch.exp(similar[partner]) / below))
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


@pytest.mark.parametrize("temperature", [0.5, 2.0])
@pytest.mark.parametrize("m", [2, 3, 7])
def test_with_the_weights_of_the_paper_it_equals_the_printed_formula_in_double_precision(m, temperature):
    first, second = pairs_of(m)
    expected = printed_by_definition(first, second, temperature)
    found = dse_loss(first, second, temperature=temperature, weights="paper")
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-12)
    assert not torch.allclose(found, dse_loss(first, second, temperature=temperature))


@pytest.mark.parametrize("weights", ["code", "paper"])
def test_its_gradient_is_that_of_the_formula(weights):
    first, second = (vectors.requires_grad_() for vectors in pairs_of(3))
    assert torch.autograd.gradcheck(lambda a, b: dse_loss(a, b, temperature=0.5, weights=weights), (first, second))


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


# Utterances 0 to 4, all long; then 5 to 9, of which 7 is short.
ROWS = [
    make_dialogue("x", *(f"{'ab'[t % 2]}: {LONG}" for t in range(5))),
    make_dialogue("y", f"a: {LONG}", f"b: {LONG}", "a: too short", f"b: {LONG}", f"a: {LONG}"),
]


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        ("1-1", [[t, -1, -1, t + 1] for t in (0, 1, 2, 3, 5, 8)]),
        ("2-1", [[t, t + 1, -1, t + 2] for t in (0, 1, 2)]),
        ("3-1", [[t, t + 1, t + 2, t + 3] for t in (0, 1)]),
    ],
)
def test_what_is_said_next_is_the_positive_and_no_pair_reaches_across_a_dropped_utterance(variant, expected):
    assert consecutive_pairs(ROWS, variant=variant).tolist() == expected


def test_the_two_around_a_short_utterance_are_no_pair():
    assert consecutive_pairs(NUMBERED, variant="1-1").tolist() == [[0, -1, -1, 1], [3, -1, -1, 4], [5, -1, -1, 6]]


def test_characters_of_scripts_without_blanks_are_words():
    talk = [make_dialogue("d", "a: 我的卡丢了", "b: 什么时候丢的", "a: 昨天")]
    assert consecutive_pairs(talk, variant="1-1").tolist() == [[0, -1, -1, 1]]


def test_123_has_the_pairs_of_all_three():
    together = {tuple(row) for row in consecutive_pairs(ROWS, variant="123-1").tolist()}
    apart = [consecutive_pairs(ROWS, variant=variant).tolist() for variant in ("1-1", "2-1", "3-1")]
    assert together == {tuple(row) for rows in apart for row in rows}


def changed(**options):
    return replace(SETTINGS["dse"], dse=replace(SETTINGS["dse"].dse, **options))


def test_no_pair_is_of_one_speaker_with_itself(tiny_folder):
    talk = [make_dialogue(f"d{i}", f"a: w{i}", f"a: w{i + 9}", "b: w2", "a: w3") for i in range(3)]
    encoder, found = planned(tiny_folder, "dse", settings=changed(batch_size=2), dialogues=talk)
    words = {tuple(encoder.tokens.tokenizer.convert_ids_to_tokens(one.ids)) for item in found.data for one in item[:1]}
    assert words == {("[CLS]", f"w{i}", f"w{i + 9}", "[SEP]") for i in range(3)} | {("[CLS]", "w2", "[SEP]")}


def test_dropout_has_each_utterance_once_by_its_tokens_within_the_limit(tiny_folder):
    talk = [
        make_dialogue("x", "a: w1 w2", "b: w1  w2", "a: w1 w3"),
        make_dialogue("y", "a: w1 w2", "b: w4", "a: w1 w3"),
    ]
    tokens = DialogueEncoder.from_pretrained(tiny_folder).tokens
    found = unique_utterances(talk, tokens.for_utterances(), min_words=2)
    assert found.tolist() == [[0, -1, -1, 0], [2, -1, -1, 2]]
    cut = unique_utterances(talk, tokens.for_utterances(max_length=3), min_words=1)
    assert cut.tolist() == [[0, -1, -1, 0], [4, -1, -1, 4]]


def test_no_batch_of_dropout_holds_an_utterance_twice(tiny_folder):
    talk = [make_dialogue(f"d{i}", "a: w1 w2", f"b: w{3 + i % 5} w9", "a: w4 w5", "b: w6") for i in range(20)]
    found = planned(tiny_folder, "dse", settings=changed(pairs="dropout", epochs=3), dialogues=talk)[1]
    size = found.train.batch_size
    texts = [tuple(item[0].ids.tolist()) for item in found.data]
    assert len(texts) == 3 * 6
    assert all(len(set(texts[step : step + size])) == size for step in range(0, len(texts), size))
    assert all((one.ids == other.ids).all() for one, other in found.data)


def test_of_several_epochs_each_ends_with_a_checkpoint(tiny_folder, tmp_path):
    encoder, found = planned(tiny_folder, "dse", settings=changed(epochs=3, batch_size=5))
    assert run(encoder, found, tmp_path / "c").steps == 12
    assert sorted(path.stem for path in (tmp_path / "c").glob("weights-*")) == ["weights-12", "weights-4", "weights-8"]


RECORDS = [
    {"sentence1": "w1 w2", "sentence2": "w3", "label": "positive", "dtype": "matchingtriple_up"},
    {"sentence1": "w1 w2", "sentence2": "w4", "label": "negative"},
    {"sentence1": "w5", "sentence2": "w6 w7", "label": "positive"},
    {"sentence1": "w1 w2", "sentence2": "w3", "label": "positive"},
    {"sentence1": "w5", "sentence2": "w8", "label": "neutral"},
]


@pytest.mark.parametrize("lines", [False, True])
def test_entailed_pairs_of_a_file_train_instead_of_the_dialogues(tiny_folder, tmp_path, lines):
    path = tmp_path / "dialogue_nli_train.jsonl"
    path.write_text("\n".join(map(json.dumps, RECORDS)) if lines else json.dumps(RECORDS))
    encoder, found = planned(tiny_folder, "dse", settings=changed(pairs="dianli", pairs_file=str(path), min_words=4))
    words = [[" ".join(encoder.tokens.tokenizer.convert_ids_to_tokens(one.ids)) for one in item] for item in found.data]
    assert sorted(words) == [["[CLS] w1 w2 [SEP]", "[CLS] w3 [SEP]"], ["[CLS] w5 [SEP]", "[CLS] w6 w7 [SEP]"]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, r"pairs\.jsonl, which is not a file, but dse\.pairs is dianli; expected the training file"),
        ('{"sentence1": "a"}', r"pair 1 is an object with 'sentence1'; expected sentence1, sentence2 and label"),
        ("[1]", r"pair 1 is a number"),
        ("not json", r"is not JSON .+; expected labelled pairs"),
        (
            '{"sentence1": "a", "sentence2": "b", "label": "neutral"}',
            r"no record whose label is positive or entailment",
        ),
    ],
)
def test_a_file_of_another_form_is_one_sentence(tmp_path, content, message):
    path = tmp_path / "pairs.jsonl"
    if content is not None:
        path.write_text(content)
    with pytest.raises(CorpusError, match=message):
        entailed_pairs(str(path))


def test_without_a_file_of_pairs_the_setting_is_named():
    with pytest.raises(MissingDataError, match=r"dse\.pairs_file is not set, but dse\.pairs is dianli"):
        entailed_pairs(None)


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
