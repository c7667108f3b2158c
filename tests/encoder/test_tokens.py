from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.names import SHORT_NAMES
from dial2vec.encoder.tokens import Batch, DialogueTokenizer
from tests.tiny_models import build


@pytest.fixture
def tokens(tiny_folder):
    return DialogueTokenizer(AutoTokenizer.from_pretrained(tiny_folder), max_length=64, input="separators")


def test_input_is_cls_then_turns_with_separators_that_belong_to_the_turn_before(tokens, dialogue):
    [sequence] = tokens.dialogues([dialogue("d", "a: w0 w1", "b: w2", "a: w3")])
    names = tokens.tokenizer.convert_ids_to_tokens(sequence.ids)
    assert names == ["[CLS]", "w0", "w1", "[SEP]", "w2", "[SEP]", "w3"]
    assert sequence.turns.tolist() == [0, 0, 0, 0, 1, 1, 2]
    assert sequence.roles.tolist() == [0, 0, 0, 0, 1, 1, 0]
    assert sequence.cut == 0


def test_without_separators_the_turns_are_running_text_and_keep_their_turn_and_role(tiny_folder, dialogue):
    tokens = DialogueTokenizer(AutoTokenizer.from_pretrained(tiny_folder), max_length=64)
    [sequence] = tokens.dialogues([dialogue("d", "a: w0 w1", "b: w2", "a: w3")])
    assert tokens.tokenizer.convert_ids_to_tokens(sequence.ids) == ["[CLS]", "w0", "w1", "w2", "w3"]
    assert (sequence.turns.tolist(), sequence.roles.tolist()) == ([0, 0, 0, 1, 2], [0, 0, 0, 1, 0])
    with_separators = DialogueTokenizer(tokens.tokenizer, max_length=64, input="separators")
    assert (tokens.n_special(3), with_separators.n_special(3)) == (1, 3)


def test_input_eou_parts_the_turns_of_bert_by_the_end_of_an_utterance_as_the_papers_footnote_says(tmp_path, dialogue):
    encoder = DialogueEncoder.from_pretrained(build("bert", tmp_path / "bert"), input="eou", pooling="separators")
    [sequence] = encoder.tokens.dialogues([dialogue("d", "a: w0 w1", "b: w2", "a: w3")])
    names = encoder.tokens.tokenizer.convert_ids_to_tokens(sequence.ids)
    assert names == ["[CLS]", "w0", "w1", "[unused1]", "w2", "[unused1]", "w3"]
    assert (sequence.turns.tolist(), sequence.cut) == ([0, 0, 0, 0, 1, 1, 2], 0)
    assert encoder.tokens.separator == sequence.ids[3]
    assert encoder.tokens.n_special(3) == 3


@pytest.mark.parametrize(
    ("name", "separator"),
    [("bert", "[SEP]"), ("roberta", "</s>"), ("t5", "</s>"), ("tod-bert", "[SEP]"), ("plato", "[unused1]")],
)
def test_the_separator_is_the_token_behind_a_turn(tmp_path, name, separator):
    tokens = DialogueEncoder.from_pretrained(build(name, tmp_path / name), input=SHORT_NAMES[name].input).tokens
    assert tokens.tokenizer.convert_ids_to_tokens(tokens.separator) == separator


def test_roles_are_numbered_by_first_appearance(tokens, dialogue):
    [sequence] = tokens.dialogues([dialogue("d", "zoe: w0", "adam: w1", "eve: w2", "adam: w3")])
    assert sequence.roles.tolist() == [0, 0, 0, 1, 1, 2, 2, 1]


def test_what_does_not_fit_is_cut_at_the_end_and_counted(tiny_folder, dialogue):
    short = DialogueTokenizer(AutoTokenizer.from_pretrained(tiny_folder), max_length=4, input="separators")
    [sequence] = short.dialogues([dialogue("d", "a: w0 w1", "b: w2", "a: w3")])
    assert (len(sequence.ids), len(sequence.turns), len(sequence.roles), sequence.cut) == (4, 4, 4, 3)


def test_the_first_tokens_keep_their_turns_and_roles_and_count_what_is_lost(tokens, dialogue):
    [sequence] = tokens.dialogues([dialogue("d", "a: w0 w1", "b: w2", "a: w3")])
    first = sequence.first(5)
    assert tokens.tokenizer.convert_ids_to_tokens(first.ids) == ["[CLS]", "w0", "w1", "[SEP]", "w2"]
    assert (first.turns.tolist(), first.roles.tolist(), first.cut) == ([0, 0, 0, 0, 1], [0, 0, 0, 0, 1], 2)
    assert first.first(3).cut == 4
    assert sequence.first(7) is sequence


def test_padding_has_no_attention_and_no_role(tokens, dialogue):
    batch = tokens.pad(tokens.dialogues([dialogue("d", "a: w0", "b: w1"), dialogue("e", "a: w0")]))
    assert batch.attention.tolist() == [[1, 1, 1, 1], [1, 1, 0, 0]]
    assert batch.roles.tolist() == [[0, 0, 0, 1], [0, 0, -1, -1]]
    assert batch.ids[1, 2:].tolist() == [tokens.tokenizer.pad_token_id] * 2


def test_utterances_are_kept_end_to_end(tokens):
    utterances = tokens.utterances(["w0 w1", "w2", ""])
    assert [len(utterances[i]) for i in range(3)] == [2, 1, 0]
    assert utterances.ids.dtype == np.int32
    assert utterances.lengths.tolist() == [2, 1, 0]


def test_an_utterance_without_known_words_still_gets_its_separator(tokens, dialogue):
    [sequence] = tokens.dialogues([dialogue("d", "a: \u200b", "b: w1")])
    assert sequence.turns.tolist()[-1] == 1


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.integers(1, 40))
def test_tight_parts_hold_every_row_once_with_all_its_tokens_and_no_longer_than_its_longest(lengths, most):
    width = 9
    there = torch.tensor([[int(place < length) for place in range(width)] for length in lengths])
    ids = torch.arange(1, 1 + there.numel()).view_as(there) * there
    batch = Batch(ids, there, ids + 1, ids + 2)
    parts = batch.tight_parts(most)
    assert sorted(row for rows, _ in parts for row in rows.tolist()) == list(range(len(lengths)))
    for rows, part in parts:
        longest = max(1, *(lengths[row] for row in rows.tolist()))
        assert part.ids.shape == (len(rows), longest)
        assert len(rows) == 1 or len(rows) * longest <= most
        for name in ("ids", "attention", "turns", "roles"):
            torch.testing.assert_close(getattr(part, name), getattr(batch, name)[rows, :longest])
    if len(parts) == 1:
        assert parts[0][0].tolist() == list(range(len(lengths))) or len(lengths) == 1
    tops = [max(1, *(lengths[row] for row in rows.tolist())) for rows, _ in parts]
    assert tops == sorted(tops, reverse=True)


def test_utterances_have_the_ids_that_the_tokenizer_gives_each_whatever_it_was_told_to_cut_or_pad(
    tiny_folder, monkeypatch
):
    monkeypatch.setattr("dial2vec.encoder.tokens.BLOCK", 3)
    tokenizer = AutoTokenizer.from_pretrained(tiny_folder)
    texts = ["w0 w1 w2 w3", "", "w4", "w5 unheard-of w6 " * 100]
    expected = [tokenizer.encode(text, add_special_tokens=False) for text in texts]
    tokenizer.backend_tokenizer.enable_truncation(2)
    tokenizer.backend_tokenizer.enable_padding(length=9)
    found = DialogueTokenizer(tokenizer, max_length=64).utterances(texts)
    assert [found[row].tolist() for row in range(len(texts))] == expected


def test_a_tokenizer_in_plain_python_gives_the_same_ids():
    class Plain:
        cls_token_id = bos_token_id = sep_token_id = eos_token_id = pad_token_id = None

        def encode(self, text, *, add_special_tokens):
            assert not add_special_tokens
            return [len(word) for word in text.split()]

    found = DialogueTokenizer(Plain(), max_length=64, input="text").utterances(["a bb", "", "ccc"])
    assert [found[row].tolist() for row in range(3)] == [[1, 2], [], [3]]
