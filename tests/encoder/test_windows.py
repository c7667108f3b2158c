"""Dialogues of any length: windows over their turns, and what of them is pooled and how."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conversations.dialogue import Dialogue, Turn
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.windows import windows_of
from dial2vec.errors import CorpusError, Dial2vecError
from tests.conftest import make_dialogue
from tests.tiny_models import build

POOLINGS = {"role": "text", "mean": "separators", "turns": "turns", "cls": "text", "separators": "closed"}


@pytest.fixture(scope="module")
def encoders(tiny_folder):
    """An encoder for each pooling, whose inputs differ."""
    return {
        pooling: DialogueEncoder.from_pretrained(tiny_folder, pooling=pooling, input=input)
        for pooling, input in POOLINGS.items()
    }


@st.composite
def dialogues(draw, longest=90):
    lengths = draw(st.lists(st.integers(1, longest), min_size=1, max_size=12))
    speakers = draw(st.lists(st.sampled_from("abc"), min_size=len(lengths), max_size=len(lengths)))
    words = [" ".join(f"w{(place * 7 + n) % 40}" for n in range(size)) for place, size in enumerate(lengths)]
    return Dialogue("d", tuple(map(Turn, speakers, words)))


def many_examples(test):
    quiet = [HealthCheck.function_scoped_fixture]
    return settings(max_examples=25, deadline=None, suppress_health_check=quiet)(test)


@pytest.mark.parametrize("pooling", POOLINGS)
@many_examples
@given(dialogue=dialogues())
def test_every_word_is_read_once_in_order_in_windows_that_fit(encoders, pooling, dialogue):
    tokens = encoders[pooling].tokens
    [windows] = windows_of(tokens, [dialogue])
    special = [tokens.tokenizer.cls_token_id, tokens.tokenizer.sep_token_id]
    read = np.concatenate([sequence.ids for sequence in windows.sequences])
    turns = np.concatenate(windows.turns)
    word = ~np.isin(read, special)
    expected = tokens.turns_of([dialogue])
    assert read[word].tolist() == np.concatenate(expected[0]).tolist()
    assert turns[word].tolist() == np.repeat(range(len(expected[0])), list(map(len, expected[0]))).tolist()
    assert windows.cut == 0
    if not tokens.style.apart:
        assert max(len(sequence.ids) for sequence in windows.sequences) <= 64
    for sequence, numbers in zip(windows.sequences, windows.turns, strict=True):
        assert sequence.roles.tolist() == [dialogue.roles[number] for number in numbers]


@many_examples
@given(dialogue=dialogues(longest=8))
def test_a_dialogue_that_fits_is_one_window_and_is_read_as_it_always_was(encoders, dialogue):
    for encoder in encoders.values():
        [whole] = encoder.tokens.dialogues([dialogue])
        [windows] = windows_of(encoder.tokens, [dialogue])
        if whole.cut == 0:
            [read] = windows.sequences
            assert not windows.long
            assert [read.ids.tolist(), read.turns.tolist()] == [whole.ids.tolist(), whole.turns.tolist()]
            np.testing.assert_array_equal(encoder.encode([dialogue]), encoder.encode_tokens([whole]))


def test_windows_meet_between_turns_and_a_turn_longer_than_one_is_split_evenly(encoders):
    tokens = encoders["role"].tokens
    borders = [windows_of(tokens, [make_dialogue("d", *["a: " + "w1 " * 25] * 5)])[0]]
    assert [sorted(set(turns)) for turns in borders[0].turns] == [[0, 1], [2, 3], [4]]
    [split] = windows_of(tokens, [make_dialogue("d", "a: w2", "b: " + "w1 " * 130, "a: w3")])
    assert [(len(turns), *sorted(set(turns))) for turns in split.turns] == [(46, 0, 1), (44, 1), (45, 1, 2)]


@pytest.mark.parametrize("pooling", POOLINGS)
@many_examples
@given(dialogue=dialogues(longest=8))
def test_in_one_window_the_weighted_sum_is_what_pooling_gives(encoders, pooling, dialogue):
    encoder = encoders[pooling]
    [read] = encoder.read_turns(windows_of(encoder.tokens, [dialogue]))
    [whole] = encoder.tokens.dialogues([dialogue])
    if whole.cut == 0:
        np.testing.assert_allclose(read.of_dialogue(), encoder.encode_tokens([whole])[0], atol=1e-5)


def token_vectors(encoder, windows):
    """Vectors of the tokens of all windows, each read alone."""
    found = []
    with torch.inference_mode():
        for sequence in windows.sequences:
            found.append(encoder.hidden_states(encoder.tokens.pad([sequence]))[0].numpy())
    return np.concatenate(found)


@many_examples
@given(dialogue=dialogues())
def test_over_windows_each_pooling_means_what_it_means_over_one(encoders, dialogue):
    for pooling, encoder in encoders.items():
        [windows] = windows_of(encoder.tokens, [dialogue])
        vectors, turns = token_vectors(encoder, windows), np.concatenate(windows.turns)
        roles = np.array(dialogue.roles)[turns]
        ids = np.concatenate([sequence.ids for sequence in windows.sequences])
        each = np.cumsum([0, *(len(sequence.ids) for sequence in windows.sequences)])
        spans = [slice(*ends) for ends in pairwise(each)]
        expected = {
            "role": lambda v, r=roles: sum(v[r == role].mean(0) for role in set(r)),
            "mean": lambda v: v.mean(0),
            "turns": lambda v, t=turns: np.mean([v[t == turn].mean(0) for turn in set(t)], axis=0),
            "cls": lambda v, s=spans: np.mean([v[span][0] for span in s], axis=0),
            "separators": lambda v, s=spans, i=ids: np.mean([v[span][i[span] == 3].mean(0) for span in s], axis=0),
        }[pooling]
        np.testing.assert_allclose(encoder.encode(dialogue), expected(vectors), atol=1e-5)


@many_examples
@given(dialogue=dialogues(), batch_size=st.integers(1, 5))
def test_turns_and_speakers_come_from_the_same_reading_and_sum_as_promised(encoders, dialogue, batch_size):
    short = make_dialogue("short", "a: w1 w2", "b: w3")
    vector = {name: encoder.encode(dialogue) for name, encoder in encoders.items()}
    for name, encoder in encoders.items():
        turns, of_short = encoder.encode([dialogue, short], output="turns", batch_size=batch_size)
        assert (turns.shape, turns.dtype) == ((len(dialogue.turns), 16), np.float32)
        np.testing.assert_allclose(of_short, encoder.encode(short, output="turns"), atol=1e-5)
        speakers = encoder.encode(dialogue, output="speakers")
        assert speakers.shape == (dialogue.n_speakers, 16)
        [windows] = windows_of(encoder.tokens, [dialogue])
        tokens = np.bincount(np.concatenate(windows.turns))
        said_by_first = np.array(dialogue.roles) == 0
        first = np.average(turns[said_by_first], axis=0, weights=tokens[said_by_first])
        np.testing.assert_allclose(speakers[0], first, atol=1e-5)
        if name == "role":
            np.testing.assert_allclose(speakers.sum(0), vector[name], atol=1e-5)
        if name == "turns":
            np.testing.assert_allclose(turns.mean(0), vector[name], atol=1e-5)
        if name == "mean":
            np.testing.assert_allclose(np.average(turns, axis=0, weights=tokens), vector[name], atol=1e-5)


def test_long_and_short_dialogues_keep_their_places_and_batches_do_not_matter(encoders):
    talks = [make_dialogue(f"d{n}", *[f"{'ab'[t % 2]}: " + "w5 w6 " * n for t in range(3 * n)]) for n in (5, 1, 9, 2)]
    for encoder in encoders.values():
        together = encoder.encode(talks, batch_size=3)
        np.testing.assert_allclose(together, [encoder.encode(talk) for talk in talks], atol=1e-5)


@pytest.mark.parametrize("name", ["plato", "tod-bert", "t5", "blender"])
def test_the_papers_encoders_read_the_whole_of_a_long_dialogue_or_their_last_turns(tmp_path, name):
    encoder = DialogueEncoder.from_pretrained(build(name, tmp_path / name), input=name.replace("-", "_"))
    talk = make_dialogue("d", *[f"{'ab'[t % 2]}: w{t % 10} w2 w3" for t in range(60)])
    [windows] = windows_of(encoder.tokens, [talk])
    assert (len(windows.sequences) == 1) == (name == "plato")
    read = np.unique(np.concatenate(windows.turns))
    assert read.tolist() == list(range(60)) if name != "plato" else list(range(45, 60))
    [turns] = encoder.read_turns([windows])
    assert np.isfinite(turns.of_dialogue()).all()


def test_turns_counted_down_are_named_by_their_place_in_the_dialogue(tmp_path):
    encoder = DialogueEncoder.from_pretrained(build("plato", tmp_path / "plato"), input="plato_turns")
    [windows] = windows_of(encoder.tokens, [make_dialogue("d", "a: w1", "b: " + "w2 " * 15, "a: w3 w4")])
    assert [turns.tolist() for turns in windows.turns] == [[0, 0, *[1] * 9], [*[1] * 8, 2, 2, 2]]


def test_wrong_requests_are_refused(encoders):
    talk = make_dialogue("d", "a: w1")
    with pytest.raises(Dial2vecError, match=r"output is 'turn'.*Did you mean 'turns'\?"):
        encoders["role"].encode(talk, output="turn")
    with pytest.raises(Dial2vecError, match="batch_size is 0"):
        encoders["role"].encode(talk, output="turns", batch_size=0)
    with pytest.raises(CorpusError, match="'empty' has no turns"):
        encoders["role"].encode([Dialogue("empty", ())], output="speakers")
    [windows] = windows_of(encoders["role"].tokens, [talk])
    with pytest.raises(Dial2vecError, match="Give `separator`"):
        windows.weights("separators", separator=None)
