"""Every encoder of the paper by its short name, tiny and randomly initialised: its tokens, and its way through."""

from __future__ import annotations

import logging
import shutil
import typing
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from conversations.dialogue import Dialogue, Turn
from dial2vec.config import EncoderSettings, Train
from dial2vec.encoder import DialogueEncoder, backbone, names
from dial2vec.encoder.inputs import STYLES, input_style
from dial2vec.errors import ModelError
from dial2vec.training.candidates import apply_candidate, read_candidates, write_candidates
from dial2vec.training.data import training_order
from dial2vec.training.loop import train
from dial2vec.training.methods.dial2vec import SelfGuidedSet, self_and_cross
from dial2vec.training.negatives import draw_samples
from tests.conftest import make_dialogue
from tests.tiny_models import build
from tests.training.methods.test_dial2vec import matched_by_definition

NAMES = tuple(names.SHORT_NAMES)
THREE = make_dialogue("d", "a: w0 w1", "b: w2", "a: w3")
# Tokens, turns, roles and, where they are given, positions of that dialogue.
EXPECTED = {
    "bert": ("[CLS] w0 w1 [SEP] w2 [SEP] w3", "0 0 0 0 1 1 2", "0 0 0 0 1 1 0"),
    "simcse": ("[CLS] w0 w1 [SEP] w2 [SEP] w3", "0 0 0 0 1 1 2", "0 0 0 0 1 1 0"),
    "roberta": (
        "<s> w 0 Ġ w 1 </s> </s> w 2 </s> </s> w 3",
        "0 0 0 0 0 0 0 0 1 1 1 1 2 2",
        "0 0 0 0 0 0 0 0 1 1 1 1 0 0",
    ),
    "t5": ("▁w0 ▁w1 </s> ▁w2 </s> ▁w3 </s>", "0 0 0 1 1 2 2", "0 0 0 1 1 0 0"),
    "tod-bert": (
        "[CLS] [sys] w0 w1 [usr] w2 [sys] w3 [SEP]",
        "0 0 0 0 1 1 2 2 2",
        "0 0 0 0 1 1 0 0 0",
    ),
    "blender": (
        "Ġ w 0 Ġ w 1 </s> Ġ w 2 </s> Ġ w 3 </s>",
        "0 0 0 0 0 0 0 1 1 1 1 2 2 2 2",
        "0 0 0 0 0 0 0 1 1 1 1 0 0 0 0",
    ),
    "plato": ("w0 w1 [unused1] w2 [unused1] w3 [unused1]", "3 3 3 2 2 1 1", "0 0 0 1 1 0 0", "0 1 2 0 1 0 1"),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return {name: build(name, tmp_path_factory.mktemp("tiny") / name) for name in NAMES}


@pytest.fixture(autouse=True)
def _short_names_are_the_tiny_ones(folders, monkeypatch):
    for name, known in names.SHORT_NAMES.items():
        monkeypatch.setitem(names.SHORT_NAMES, name, known._replace(source=folders[name]))


def some_dialogues():
    return [
        Dialogue(
            f"d{i}",
            tuple(
                Turn("abc"[(t * t + i) % 3], " ".join(f"w{(i * 7 + t * 3 + k) % 10}" for k in range(1 + (i + t) % 3)))
                for t in range(2 + i)
            ),
        )
        for i in range(5)
    ]


def numbers(text):
    return [int(number) for number in text.split()]


@pytest.mark.parametrize("name", NAMES)
def test_a_short_name_brings_the_papers_tokens_turns_and_roles(name):
    encoder = DialogueEncoder.start(EncoderSettings(name=name))
    [sequence] = encoder.tokens.dialogues([THREE])
    tokens, turns, roles = EXPECTED[name][:3]
    assert encoder.tokens.tokenizer.convert_ids_to_tokens(sequence.ids) == tokens.split()
    assert (sequence.turns.tolist(), sequence.roles.tolist()) == (numbers(turns), numbers(roles))
    assert sequence.cut == 0
    assert encoder.tokens.n_special(3) == len(sequence.ids) - sum(map(len, encoder.tokens.utterances(said(THREE))))


def said(dialogue):
    return [turn.text for turn in dialogue.turns]


@pytest.mark.parametrize("name", NAMES)
def test_vectors_are_finite_and_no_other_in_a_batch(name):
    encoder = DialogueEncoder.from_pretrained(name)
    dialogues = some_dialogues()
    vectors = encoder.encode(dialogues, batch_size=3)
    assert (vectors.shape, vectors.dtype) == ((5, 16), np.float32)
    assert np.isfinite(vectors).all()
    assert len(np.unique(vectors.round(4), axis=0)) == 5
    for row, one in zip(vectors, dialogues, strict=True):
        np.testing.assert_allclose(row, encoder.encode(one), atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_encoder_is_loaded_with_its_input_and_its_vectors(name, tmp_path):
    first = DialogueEncoder.from_pretrained(name, turn_embeddings=True)
    torch.nn.init.normal_(first.network.turn_table.weight, generator=torch.Generator().manual_seed(0))
    first.save_pretrained(tmp_path / "saved")
    again = DialogueEncoder.from_pretrained(tmp_path / "saved")
    assert (again.tokens.input, again.name) == (names.SHORT_NAMES[name].input, name)
    np.testing.assert_array_equal(again.encode(some_dialogues()), first.encode(some_dialogues()))
    again.save_pretrained(tmp_path / "saved")
    assert DialogueEncoder.start(EncoderSettings(name=str(tmp_path / "saved"))).tokens.style == first.tokens.style


@pytest.mark.parametrize("name", NAMES)
def test_zero_tables_leave_every_encoders_vectors_as_they_were(name):
    plain = DialogueEncoder.from_pretrained(name).encode(some_dialogues())
    tabled = DialogueEncoder.from_pretrained(name, turn_embeddings=True, role_embeddings=True)
    np.testing.assert_allclose(tabled.encode(some_dialogues()), plain, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_an_untrained_hierarchy_with_the_encoders_heads_leaves_its_vectors_as_they_were(name):
    plain = DialogueEncoder.from_pretrained(name).encode(some_dialogues())
    for hierarchy in ("hssa", "biden"):
        encoder = DialogueEncoder.from_pretrained(name, hierarchy=hierarchy)
        assert (encoder.network.hierarchy.width, encoder.network.hierarchy.heads) == (16, 2)
        np.testing.assert_array_equal(encoder.encode(some_dialogues()), plain)


@pytest.mark.parametrize(
    ("sizes", "heads"),
    [
        ({"hidden_size": 768, "num_attention_heads": 12}, 12),
        # An encoder whose heads are not a part of its width each.
        ({"hidden_size": 640, "num_attention_heads": 12}, 4),
        ({"hidden_size": 768}, 12),
        ({"hidden_size": 48, "num_attention_heads": None}, 1),
    ],
)
def test_a_hierarchy_has_as_many_heads_as_the_encoder_where_they_divide_its_width(sizes, heads):
    assert backbone.attention_heads(SimpleNamespace(config=SimpleNamespace(**sizes))) == heads


@pytest.mark.parametrize("name", NAMES)
def test_what_is_frozen_are_the_input_embeddings_and_the_bottom_layers(name):
    encoder = DialogueEncoder.from_pretrained(name)
    assert encoder.network.freeze_bottom(0.5) == 2
    moving = {weights for weights, value in encoder.backbone.named_parameters() if value.requires_grad}
    assert moving
    assert not any("embed" in weights for weights in moving)
    assert {number for weights in moving for number in weights.split(".") if number.isdigit()} >= {"2", "3"}
    stack = backbone.layers(encoder.backbone)
    trained = [any(value.requires_grad for value in layer.parameters()) for layer in stack]
    assert trained == [False, False, True, True]


@pytest.mark.parametrize("name", ["t5", "blender"])
def test_of_a_model_with_a_decoder_the_encoder_alone_is_loaded_with_its_own_weights(name, folders):
    from transformers import AutoModelForSeq2SeqLM

    whole = AutoModelForSeq2SeqLM.from_pretrained(folders[name]).get_encoder().eval()
    encoder = DialogueEncoder.from_pretrained(name)
    batch = encoder.tokens.pad(encoder.tokens.dialogues(some_dialogues()))
    expected = whole(input_ids=batch.ids, attention_mask=batch.attention).last_hidden_state
    found = encoder.hidden_states(batch)
    assert torch.equal(found, expected)
    assert not any("decoder" in weights for weights, _ in encoder.backbone.named_parameters())


@pytest.mark.parametrize("name", NAMES)
def test_each_trains_by_the_self_guided_task_and_its_checkpoint_is_whole(name, tmp_path):
    encoder = DialogueEncoder.from_pretrained(name)
    dialogues = some_dialogues()
    options = Train(method="dial2vec", epochs=2, batch_size=2, checkpoint_steps=2, gradient_accumulation=1)
    samples = draw_samples(dialogues, negatives=2, passes=1, keep_role="random", min_turns=2, seed=1)
    order = training_order(np.ones(len(samples.dialogues), np.int64), passes=1, settings=options, seed=1)
    data = SelfGuidedSet(dialogues, samples, encoder.tokens, order)
    before = {key: value.clone() for key, value in encoder.named_parameters()}
    result = train(encoder, data, settings=options, seed=1, checkpoints=tmp_path / "c", fingerprint="x")
    assert result.steps == len(order) // 2 + len(order) % 2
    assert all(np.isfinite(entry["loss"]) for entry in result.history)
    assert any(not torch.equal(before[key], value) for key, value in encoder.named_parameters())
    write_candidates(tmp_path / "candidates", checkpoints=tmp_path / "c")
    last = read_candidates(tmp_path / "candidates")[-1]
    again = apply_candidate(DialogueEncoder.from_pretrained(name), last, tmp_path / "candidates")
    assert last.step == result.steps
    assert all(torch.equal(again.state_dict()[key], value) for key, value in encoder.state_dict().items())


@pytest.mark.parametrize("name", NAMES)
def test_negatives_are_put_together_as_the_dialogue_itself_is(name):
    tokens = DialogueEncoder.from_pretrained(name, last_turns=3).tokens
    dialogues = some_dialogues()
    samples = draw_samples(dialogues, negatives=2, passes=1, keep_role="random", min_turns=2, seed=1)
    places = range(len(samples.dialogues))
    data = SelfGuidedSet(dialogues, samples, tokens, np.array([[0, place] for place in places]))
    texts = [turn.text for dialogue in dialogues for turn in dialogue.turns]
    for place in places:
        whole = dialogues[samples.dialogues[place]]
        columns = slice(samples.first_turn[place], samples.first_turn[place + 1])
        for sequence, row in zip(data[place][1:], samples.negatives[0, :, columns], strict=True):
            turns = tuple(Turn(turn.speaker, texts[number]) for turn, number in zip(whole.turns, row, strict=True))
            [expected] = tokens.dialogues([replace(whole, turns=turns)])
            # A third speaker whose first turn is not read keeps the role of the whole dialogue.
            for part in ("ids", "turns", "roles"):
                assert getattr(sequence, part).tolist() == getattr(expected, part).tolist()
        assert data[place][0].ids.tolist() == tokens.dialogues([whole])[0].ids.tolist()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("window", [None, 0, 1, 10])
def test_matching_over_every_input_equals_the_definition_in_double_precision(name, window):
    encoder = DialogueEncoder.from_pretrained(name)
    batch = encoder.tokens.pad(encoder.tokens.dialogues(some_dialogues()))
    hidden = torch.randn(*batch.ids.shape, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    own, cross, _ = self_and_cross(hidden, batch.turns, batch.roles, window=window)
    expected_own, expected_cross = matched_by_definition(hidden, batch.turns, batch.roles, window)
    torch.testing.assert_close(own, expected_own, atol=1e-10, rtol=1e-10)
    torch.testing.assert_close(cross, expected_cross, atol=1e-10, rtol=1e-10)


def test_positions_begin_anew_in_every_turn_and_are_nothing_in_padding():
    tokens = DialogueEncoder.from_pretrained("plato").tokens
    batch = tokens.pad(tokens.dialogues([make_dialogue("short", "a: w0"), THREE]))
    assert batch.turns.tolist() == [[1, 1, 0, 0, 0, 0, 0], [3, 3, 3, 2, 2, 1, 1]]
    assert batch.positions_in_turn().tolist() == [[0, 1, 0, 0, 0, 0, 0], [0, 1, 2, 0, 1, 0, 1]]
    assert batch.positions_in_turn()[1].tolist() == numbers(EXPECTED["plato"][3])


def test_plato_reads_the_last_fifteen_turns_and_each_keeps_its_own_role():
    lines = ["c: w9", "c: w9", *(f"{'ab'[t % 2]}: w{t % 10}" for t in range(15))]
    tokens = DialogueEncoder.from_pretrained("plato").tokens
    [sequence] = tokens.dialogues([make_dialogue("long", *lines)])
    assert sequence.ids[::2].tolist() == [tokens.tokenizer.convert_tokens_to_ids(f"w{t % 10}") for t in range(15)]
    assert sequence.turns[::2].tolist() == list(range(15, 0, -1))
    assert sequence.roles[::2].tolist() == [1 + t % 2 for t in range(15)]
    assert sequence.cut == 0


def test_any_encoder_can_be_limited_to_its_last_turns():
    encoder = DialogueEncoder.start(EncoderSettings(name="bert", last_turns=2))
    [sequence] = encoder.tokens.dialogues([THREE])
    assert encoder.tokens.tokenizer.convert_ids_to_tokens(sequence.ids) == ["[CLS]", "w2", "[SEP]", "w3"]
    # The start token has number and role of the first turn that is read.
    assert (sequence.turns.tolist(), sequence.roles.tolist()) == ([0, 0, 0, 1], [1, 1, 1, 0])


def test_a_turn_longer_than_platos_positions_is_cut_and_counted_and_a_long_dialogue_is_not():
    encoder = DialogueEncoder.from_pretrained("plato")
    long_turn, many = make_dialogue("l", "a: " + "w1 " * 12, "b: w2"), make_dialogue("m", *["a: w1 w2", "b: w3"] * 6)
    sequence, whole = encoder.tokens.dialogues([long_turn, many])
    assert sequence.turns.tolist() == [2] * 12 + [1] * 2
    assert sequence.ids[11] == encoder.tokens.tokenizer.convert_tokens_to_ids("[unused1]")
    assert (sequence.cut, len(whole.ids), whole.cut) == (1, 30, 0)
    assert encoder.tokens.cuts(np.array([[12, 1], [11, 1]])).tolist() == [True, False]
    assert np.isfinite(encoder.encode([long_turn, many])).all()


def test_what_is_cut_is_told_by_the_lengths_alone_as_by_the_tokens():
    for name in NAMES:
        tokens = DialogueEncoder.from_pretrained(name, max_length=12).tokens
        for dialogue in some_dialogues():
            words = tokens.utterances(said(dialogue)).lengths[None, :]
            assert tokens.cuts(words)[0] == (tokens.dialogues([dialogue])[0].cut > 0)


def test_positions_of_roberta_begin_behind_its_padding_index_in_every_turn_too():
    encoder = DialogueEncoder.from_pretrained("roberta")
    style = replace(encoder.tokens.style, restart_positions=True)
    batch = encoder.tokens.pad(encoder.tokens.dialogues([THREE]))
    found = backbone.extra_inputs(encoder.backbone, style, batch)["position_ids"]
    assert found.tolist() == [[2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5, 2, 3]]
    assert backbone.limits(encoder.backbone, encoder.tokens.tokenizer, style, name="x")[1] == 64


def test_bert_can_read_as_plato_does(folders):
    encoder = DialogueEncoder.from_pretrained(folders["bert"], input="plato")
    [sequence] = encoder.tokens.dialogues([THREE])
    assert encoder.tokens.tokenizer.convert_ids_to_tokens(sequence.ids) == EXPECTED["plato"][0].split()
    absolute = DialogueEncoder.from_pretrained(folders["bert"], input="text").encode(THREE)
    assert not np.allclose(encoder.encode(THREE), absolute)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "t5",
            {"input": "plato"},
            r"input plato restarts positions in every turn, but T5Stack takes no positions\. Set",
        ),
        ("bert", {"input": "tod_bert"}, r"has no token \[sys\], which input tod_bert"),
        ("plato", {"input": "text"}, "PlatoModel reads dialogues in its own way only"),
        ("plato", {"last_turns": 16}, r"last_turns is 16, but PlatoModel numbers 15 turns\. Set encoder\.last_turns"),
        ("bert", {"last_turns": 0}, "last_turns is 0; expected at least 1"),
        ("bert", {"input": "seperators"}, r"Did you mean 'separators'\?"),
    ],
)
def test_an_input_that_an_encoder_cannot_read_is_refused_in_a_sentence(name, options, message):
    with pytest.raises(ModelError, match=message):
        DialogueEncoder.from_pretrained(name, **options)


def test_a_folder_of_that_name_comes_before_the_short_name(folders, monkeypatch, tmp_path):
    shutil.copytree(folders["bert"], tmp_path / "t5")
    monkeypatch.chdir(tmp_path)
    encoder = DialogueEncoder.from_pretrained("t5")
    assert (type(encoder.backbone).__name__, encoder.tokens.input) == ("BertModel", "text")


def test_another_input_than_the_saved_one_reads_as_many_turns_as_it_says_itself(tmp_path):
    DialogueEncoder.from_pretrained("bert", last_turns=2).save_pretrained(tmp_path / "saved")
    assert DialogueEncoder.from_pretrained(tmp_path / "saved").tokens.last_turns == 2
    assert DialogueEncoder.from_pretrained(tmp_path / "saved", input="text").tokens.last_turns is None


def test_plato_without_a_folder_says_that_no_hub_holds_it(monkeypatch, tmp_path):
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match="PLATO's weights are on no hub"):
        DialogueEncoder.from_pretrained("plato")
    build("plato", tmp_path / "plato")
    assert DialogueEncoder.from_pretrained("plato").tokens.input == "plato"


def test_a_model_with_another_decoder_is_refused(tmp_path):
    from transformers import BartConfig

    BartConfig().save_pretrained(tmp_path / "bart")
    with pytest.raises(ModelError, match="is a bart with a decoder; expected t5 or blenderbot"):
        DialogueEncoder.from_pretrained(tmp_path / "bart")


def test_the_settings_offer_every_input():
    assert set(typing.get_args(typing.get_type_hints(EncoderSettings)["input"])) == {"auto", *STYLES}
    assert {known.input for known in names.SHORT_NAMES.values()} <= set(STYLES)
    assert input_style("plato", 4).last_turns == 4


def test_loading_says_nothing(caplog):
    with caplog.at_level(logging.WARNING):
        DialogueEncoder.from_pretrained("blender")
    assert caplog.text == ""
