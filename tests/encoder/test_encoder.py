from __future__ import annotations

import logging

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conversations.dialogue import Dialogue, Turn
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.head import Head
from dial2vec.errors import CorpusError, Dial2vecError, ModelError, SettingsError


@pytest.fixture(scope="module")
def encoder(tiny_folder):
    return DialogueEncoder.from_pretrained(tiny_folder)


def some_dialogues():
    return [
        Dialogue(
            f"d{i}",
            tuple(
                Turn("ab"[t % 2], " ".join(f"w{(i * 7 + t * 3 + k) % 40}" for k in range(1 + (i + t) % 4)))
                for t in range(2 + i)
            ),
        )
        for i in range(6)
    ]


def test_an_encoder_that_was_never_saved_reads_text_unless_told_otherwise(tiny_folder, tmp_path):
    assert DialogueEncoder.from_pretrained(tiny_folder).tokens.input == "text"
    told = DialogueEncoder.from_pretrained(tiny_folder, input="separators", last_turns=3)
    told.save_pretrained(tmp_path / "m")
    again = DialogueEncoder.from_pretrained(tmp_path / "m")
    assert (again.tokens.input, again.tokens.style) == ("separators", told.tokens.style)
    assert DialogueEncoder.from_pretrained(tmp_path / "m", input="text").tokens.input == "text"


def test_encode_gives_float32_rows_in_input_order(encoder):
    dialogues = some_dialogues()
    vectors = encoder.encode(dialogues, batch_size=2)
    assert vectors.shape == (6, 16)
    assert vectors.dtype == np.float32
    for row, one in zip(vectors, dialogues, strict=True):
        np.testing.assert_allclose(row, encoder.encode(one), atol=1e-5)


def test_one_dialogue_gives_one_vector_and_none_gives_an_empty_matrix(encoder):
    assert encoder.encode(some_dialogues()[0]).shape == (16,)
    assert encoder.encode([]).shape == (0, 16)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batch_size=st.integers(1, 7), order=st.permutations(range(6)))
def test_batch_size_and_order_do_not_change_the_vectors(encoder, batch_size, order):
    dialogues = some_dialogues()
    expected = encoder.encode(dialogues)[list(order)]
    found = encoder.encode([dialogues[i] for i in order], batch_size=batch_size)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_renaming_the_speakers_changes_no_vector(encoder):
    named = [
        Dialogue(d.dialogue_id, tuple(Turn({"a": "Zoe", "b": "Adam"}[t.speaker], t.text) for t in d.turns))
        for d in some_dialogues()
    ]
    np.testing.assert_array_equal(encoder.encode(named), encoder.encode(some_dialogues()))


def test_swapping_who_says_what_changes_the_vector(encoder):
    one = Dialogue("d", (Turn("a", "w1 w2 w3"), Turn("b", "w4"), Turn("a", "w5")))
    other = Dialogue("d", (Turn("a", "w1 w2 w3"), Turn("b", "w4"), Turn("b", "w5")))
    assert not np.allclose(encoder.encode(one), encoder.encode(other))


def test_speakers_vectors_sum_to_the_dialogue(encoder):
    three = Dialogue("d", (Turn("a", "w1"), Turn("b", "w4 w5"), Turn("c", "w5"), Turn("a", "w9")))
    speakers = encoder.encode(three, output="speakers")
    assert speakers.shape == (3, 16)
    np.testing.assert_allclose(speakers.sum(0), encoder.encode(three), atol=1e-5)


def a_head(*, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return Head(torch.randn(16, generator=generator) / 16, torch.randn(16, 16, generator=generator))


def with_head(tiny_folder):
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    encoder.head = a_head()
    return encoder


def test_with_a_head_vectors_are_the_pooled_ones_mapped_by_it(encoder, tiny_folder):
    pooled = torch.from_numpy(encoder.encode(some_dialogues()))
    vectors = with_head(tiny_folder).encode(some_dialogues())
    np.testing.assert_allclose(vectors, a_head()(pooled), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_speakers_are_mapped_by_the_head_one_by_one(encoder, tiny_folder):
    dialogue = some_dialogues()[3]
    speakers = with_head(tiny_folder).encode(dialogue, output="speakers")
    np.testing.assert_allclose(
        speakers, a_head()(torch.from_numpy(encoder.encode(dialogue, output="speakers"))), atol=1e-5
    )


def test_a_speaker_whose_words_have_no_tokens_has_a_zero_vector_with_a_head_too(tiny_folder):
    silent = Dialogue("d", (Turn("a", "w1 w3"), Turn("b", "")))
    speakers = with_head(tiny_folder).encode(silent, output="speakers")
    assert np.linalg.norm(speakers, axis=1).tolist() == pytest.approx([1, 0], abs=1e-5)


def test_a_saved_head_is_loaded_with_the_encoder_and_a_removed_one_is_gone(tiny_folder, tmp_path):
    headed = with_head(tiny_folder)
    headed.save_pretrained(tmp_path / "saved")
    again = DialogueEncoder.from_pretrained(tmp_path / "saved")
    np.testing.assert_array_equal(again.encode(some_dialogues()), headed.encode(some_dialogues()))
    again.head = None
    again.save_pretrained(tmp_path / "saved")
    assert DialogueEncoder.from_pretrained(tmp_path / "saved").head is None
    assert not (tmp_path / "saved" / "dialogue_head.safetensors").exists()


def test_a_saved_encoder_whose_head_is_lost_is_not_loaded_without_it(tiny_folder, tmp_path):
    with_head(tiny_folder).save_pretrained(tmp_path / "saved")
    # As of a version that wrote no checksums.
    (tmp_path / "saved" / "checksums.json").unlink()
    (tmp_path / "saved" / "dialogue_head.safetensors").unlink()
    with pytest.raises(ModelError, match="is not a whole head"):
        DialogueEncoder.from_pretrained(tmp_path / "saved")


def test_sides_are_encoded_as_if_the_other_had_said_nothing(encoder):
    three = Dialogue("d", (Turn("a", "w1"), Turn("b", "w4 w5"), Turn("c", "w5"), Turn("a", "w9")))
    first = Dialogue("d", (Turn("a", "w1"), Turn("a", "w9")))
    others = Dialogue("d", (Turn("b", "w4 w5"), Turn("c", "w5")))
    sides = encoder.encode_sides([three, *some_dialogues()], batch_size=2)
    assert sides.shape == (7, 2, 16)
    assert sides.dtype == np.float32
    np.testing.assert_allclose(sides[0], encoder.encode([first, others]), atol=1e-5)


@pytest.mark.parametrize("headed", [False, True])
def test_a_side_that_says_nothing_gives_zeros(tiny_folder, headed):
    encoder = with_head(tiny_folder) if headed else DialogueEncoder.from_pretrained(tiny_folder)
    alone = Dialogue("d", (Turn("a", "w1"), Turn("a", "w2")))
    sides = encoder.encode_sides([alone])
    np.testing.assert_allclose(sides[0, 0], encoder.encode(alone), atol=1e-5)
    assert not sides[0, 1].any()
    assert encoder.encode_sides([]).shape == (0, 2, 16)


def test_bf16_without_instructions_for_it_is_a_sentence_about_the_setting(encoder, monkeypatch):
    monkeypatch.setattr("dial2vec.encoder.network.has_bf16", lambda device: False)
    with pytest.raises(SettingsError, match=r"precision is bf16, but this machine's cpu has no.*Set it to auto"):
        encoder.autocast("bf16")


@pytest.mark.parametrize(
    ("precision", "has_bf16", "computed"),
    [("auto", True, True), ("auto", False, False), ("fp32", True, False), ("fp32", False, False), ("bf16", True, True)],
)
def test_auto_is_bf16_only_where_there_are_instructions_for_it(encoder, monkeypatch, precision, has_bf16, computed):
    monkeypatch.setattr("dial2vec.encoder.network.has_bf16", lambda device: has_bf16)
    with encoder.autocast(precision):
        assert torch.is_autocast_enabled("cpu") == computed


def test_vectors_are_float32_in_every_precision(encoder, monkeypatch):
    monkeypatch.setattr("dial2vec.encoder.network.has_bf16", lambda device: True)
    with encoder.autocast("bf16"):
        vectors = encoder.encode(some_dialogues())
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, encoder.encode(some_dialogues()), atol=0.1)


def test_zero_tables_leave_the_start_unchanged_and_are_saved(tiny_folder, tmp_path):
    plain = DialogueEncoder.from_pretrained(tiny_folder)
    tabled = DialogueEncoder.from_pretrained(tiny_folder, turn_embeddings=True, role_embeddings=True)
    np.testing.assert_allclose(tabled.encode(some_dialogues()), plain.encode(some_dialogues()), atol=1e-6)
    torch.nn.init.normal_(tabled.network.role_table.weight, generator=torch.Generator().manual_seed(0))
    tabled.save_pretrained(tmp_path / "saved")
    again = DialogueEncoder.from_pretrained(tmp_path / "saved")
    np.testing.assert_array_equal(again.encode(some_dialogues()), tabled.encode(some_dialogues()))
    assert not np.allclose(again.encode(some_dialogues()), plain.encode(some_dialogues()))


def test_saved_encoder_keeps_its_settings_and_vectors(tiny_folder, tmp_path):
    first = DialogueEncoder.from_pretrained(tiny_folder, pooling="mean", max_length=32)
    first.save_pretrained(tmp_path / "saved")
    again = DialogueEncoder.from_pretrained(tmp_path / "saved")
    assert (again.pooling, again.max_length, again.name) == ("mean", 32, tiny_folder)
    np.testing.assert_array_equal(again.encode(some_dialogues()), first.encode(some_dialogues()))


def test_saving_into_a_folder_of_other_files_is_refused(encoder, tmp_path):
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(ModelError, match="holds other files"):
        encoder.save_pretrained(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_wrong_options_are_refused_by_name(encoder, tiny_folder):
    with pytest.raises(ModelError, match=r"Did you mean 'role'\?"):
        DialogueEncoder.from_pretrained(tiny_folder, pooling="rolle")
    with pytest.raises(ModelError, match="max_length is 0"):
        DialogueEncoder.from_pretrained(tiny_folder, max_length=0)
    with pytest.raises(Dial2vecError, match="batch_size is 0"):
        encoder.encode(some_dialogues(), batch_size=0)
    with pytest.raises(CorpusError, match="dialogue 'empty' has no turns"):
        encoder.encode([Dialogue("empty", ())])


def test_saving_over_an_old_model_replaces_all_of_it(encoder, tmp_path):
    encoder.save_pretrained(tmp_path / "saved")
    (tmp_path / "saved" / "stale").touch()
    encoder.save_pretrained(tmp_path / "saved")
    assert not (tmp_path / "saved" / "stale").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]


@pytest.mark.parametrize(("share", "frozen"), [(0.0, 0), (0.5, 2), (0.25, 1), (1.0, 4)])
def test_freezing_goes_by_share_of_the_layers(tiny_folder, share, frozen):
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    assert encoder.network.freeze_bottom(share) == frozen
    trainable = [any(p.requires_grad for p in layer.parameters()) for layer in encoder.backbone.encoder.layer]
    assert trainable == [False] * frozen + [True] * (4 - frozen)
    assert encoder.backbone.embeddings.word_embeddings.weight.requires_grad == (share == 0)


def test_an_encoder_without_a_list_of_layers_trains_whole_or_says_what_to_set(tiny_folder):
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    encoder.backbone.encoder = torch.nn.Identity()
    assert encoder.network.freeze_bottom(0.0) == 0
    with pytest.raises(Dial2vecError, match=r"no list of layers.*Set frozen_share to 0"):
        encoder.network.freeze_bottom(0.5)


def test_frozen_layers_have_no_dropout_while_training(tiny_folder):
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    encoder.network.freeze_bottom(0.5)
    encoder.train()
    assert [layer.training for layer in encoder.backbone.encoder.layer] == [False, False, True, True]


def test_encoding_leaves_a_training_encoder_in_training(tiny_folder):
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    encoder.train()
    encoder.encode(some_dialogues())
    assert encoder.training


def test_long_dialogues_are_counted_and_nothing_of_them_is_cut(encoder, caplog):
    long = Dialogue("long", tuple(Turn("ab"[t % 2], "w1 w2 w3 w4") for t in range(20)))
    ends_otherwise = Dialogue("other", (*long.turns[:-1], Turn("b", "w9 w8 w7 w6")))
    assert encoder.count_long([long, *some_dialogues()]) == 1
    with caplog.at_level(logging.WARNING):
        one, other, *_ = encoder.encode([long, ends_otherwise, *some_dialogues()])
    assert not caplog.text
    assert not np.allclose(one, other, atol=1e-3)


def test_an_input_of_the_last_turns_says_how_many_dialogues_were_cut(tiny_folder, caplog):
    encoder = DialogueEncoder.from_pretrained(tiny_folder, last_turns=18)
    long = Dialogue("long", tuple(Turn("ab"[t % 2], "w1 w2 w3 w4") for t in range(20)))
    encoder.encode([long, *some_dialogues()])
    assert not encoder.reads_whole
    assert "1 dialogues are longer than 64 tokens and were cut" in caplog.text


def test_a_corpus_is_tokenised_block_by_block(encoder, monkeypatch):
    long = Dialogue("long", tuple(Turn("ab"[t % 2], "w1 w2 w3 w4") for t in range(20)))
    dialogues = [*some_dialogues(), long]
    expected = encoder.encode(dialogues)
    sizes, real = [], type(encoder.tokens).turns_of
    monkeypatch.setattr(
        type(encoder.tokens), "turns_of", lambda self, some: sizes.append(len(some)) or real(self, some)
    )
    monkeypatch.setattr("dial2vec.encoder.encoder.BLOCK", 3)
    np.testing.assert_allclose(encoder.encode(dialogues), expected, atol=1e-6)
    assert sizes == [3, 3, 1]
    assert encoder.encode([]).shape == (0, encoder.dimension)


@pytest.mark.parametrize("name", ["./nowhere", "/nowhere/at/all"])
def test_model_path_that_does_not_exist_is_named(name):
    with pytest.raises(ModelError, match="is not a folder with a model"):
        DialogueEncoder.from_pretrained(name)


def test_folder_without_a_model_says_what_is_missing(tmp_path):
    with pytest.raises(ModelError, match=r"config\.json is missing"):
        DialogueEncoder.from_pretrained(tmp_path)


def test_damaged_weights_give_one_sentence(encoder, tmp_path):
    encoder.save_pretrained(tmp_path / "saved")
    weights = tmp_path / "saved" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(ModelError, match="is damaged: it has 1000 bytes"):
        DialogueEncoder.from_pretrained(tmp_path / "saved")
    # As of a version that wrote no checksums.
    (tmp_path / "saved" / "checksums.json").unlink()
    with pytest.raises(ModelError, match="cannot be loaded as an encoder"):
        DialogueEncoder.from_pretrained(tmp_path / "saved")


def test_half_written_settings_give_one_sentence(encoder, tmp_path):
    encoder.save_pretrained(tmp_path / "saved")
    (tmp_path / "saved" / "dialogue_encoder.json").write_text('{"pool')
    (tmp_path / "saved" / "checksums.json").unlink()
    with pytest.raises(ModelError, match="not whole JSON"):
        DialogueEncoder.from_pretrained(tmp_path / "saved")
