from __future__ import annotations

import numpy as np
import pytest

from conversations.dialogue import Dialogue, Turn
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.papers.codes import code_vectors, give_codes, new_codes
from dial2vec.errors import ModelError
from dial2vec_papers.tasks.encoding import (
    Reader,
    encode_distinct,
    reader_of_baseline,
    reader_of_encoder,
    remembering,
    texts_and_roles,
)
from dial2vec_papers.tasks.response_selection import draw_queries
from tests.papers.tasks.fakes import context
from tests.tiny_models import build


def test_no_text_and_no_context_is_encoded_twice_and_every_row_is_its_own():
    asked = []

    def encode(texts):
        asked.extend(texts)
        said = [text if isinstance(text, str) else "".join(turn.text for turn in text) for text in texts]
        return np.array([[len(text), one.count("a")] for text, one in zip(texts, said, strict=True)], dtype=np.float32)

    remembered = remembering(Reader(encode, encode, "dot"))
    assert remembered.utterances(["ab", "b", "ab"]).tolist() == [[2, 1], [1, 0], [2, 1]]
    assert remembered.utterances(["aaa", "ab"]).tolist() == [[3, 3], [2, 1]]
    assert asked == ["ab", "b", "aaa"]
    assert encode_distinct(remembered.utterances, ["b", "aaa", "b"]).vectors.tolist() == [[3, 3], [1, 0]]
    assert asked == ["ab", "b", "aaa"]
    for _ in range(2):
        found = encode_distinct(remembered.contexts, [context("b", "a"), context("ab")])
        assert found.vectors.tolist() == [[1, 1], [2, 1]]
    assert asked[3:] == [context("ab"), context("b", "a")]
    assert remembered.similarity == "dot"


def test_a_context_that_fits_has_the_ids_of_its_turns_joined_by_the_separator(tiny_folder):
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    ids = encoder.tokens.tokenizer("[CLS] w1 w2 [SEP] w3 [SEP] w4 [SEP]", add_special_tokens=False)["input_ids"]
    [read] = encoder.tokens.contexts([("w1 w2", "w3", "w4")])
    assert (read.ids.tolist(), read.cut) == (ids, 0)
    reader = reader_of_encoder(encoder)
    joined = encoder.encode_utterances(["w1 w2 [SEP] w3 [SEP] w4"])
    np.testing.assert_allclose(reader.contexts([context("w1 w2", "w3", "w4")]), joined, atol=1e-5)
    np.testing.assert_allclose(reader.contexts([context("w5 w6")]), reader.utterances(["w5 w6"]), atol=1e-5)


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("roberta", "<s> w 1 </s> </s> w 2 </s>"),
        ("t5", "▁w1 </s> ▁w2 </s>"),
        ("blender", "<s> w 1 </s> w 2 </s>"),
        ("bert", "[CLS] w1 [SEP] w2 [SEP]"),
    ],
)
def test_turns_are_parted_as_the_encoder_was_trained_to_read_contexts(tmp_path, name, read):
    encoder = DialogueEncoder.from_pretrained(build(name, tmp_path / name))
    [sequence] = encoder.tokens.contexts([("w1", "w2")])
    words = " ".join(encoder.tokens.tokenizer.convert_ids_to_tokens(sequence.ids))
    assert words.replace("Ġ ", "") == read
    trained = encoder.tokens.for_utterances(max_length=encoder.max_length)
    said = trained.utterances(["w1", "w2"])
    assert trained.assemble([said[0], said[1]], [0, 0]).ids.tolist() == sequence.ids.tolist()
    assert np.isfinite(encoder.encode_contexts([("w1", "w2"), ("w1 " * 90, "w2")])).all()


def test_of_a_long_context_the_last_turns_are_read_and_what_was_left_out_is_counted(tiny_folder):
    encoder = DialogueEncoder.from_pretrained(tiny_folder, max_length=12)
    texts = ("w1 " * 6, "w2 w3 w4", "w5 w6", "w7")
    [read] = encoder.tokens.contexts([texts], [(0, 1, 0, 2)])
    words = encoder.tokens.tokenizer.convert_ids_to_tokens(read.ids)
    assert words == ["[CLS]", "w2", "w3", "w4", "[SEP]", "w5", "w6", "[SEP]", "w7", "[SEP]"]
    assert read.cut == 6
    assert read.roles.tolist() == [1] * 5 + [0] * 3 + [2] * 2
    reader, long = reader_of_encoder(encoder), context(*texts)
    np.testing.assert_allclose(reader.contexts([long]), reader.contexts([long[1:]]), atol=1e-6)
    assert reader.count_cut([long, long[1:], context("w1 " * 20)]) == 2


def test_a_poly_encoder_reads_a_context_by_its_codes_and_an_encoder_without_codes_is_refused(tiny_folder):
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    with pytest.raises(ModelError, match="has no codes"):
        reader_of_encoder(encoder, similarity="poly")
    give_codes(encoder.network, new_codes(3, 16, seed=1))
    reader = reader_of_encoder(encoder, similarity="poly")
    contexts = [context("w1 w2", "w3"), context("w4")]
    batch = encoder.tokens.pad(encoder.tokens.contexts(*texts_and_roles(contexts)))
    expected = code_vectors(encoder.sequence_states(batch), batch.roles, encoder.network.codes)
    np.testing.assert_allclose(reader.answered(contexts), expected.detach().flatten(1), atol=1e-6)
    np.testing.assert_allclose(reader.contexts(contexts), reader_of_encoder(encoder).contexts(contexts), atol=1e-6)
    assert reader.utterances(["w1"]).shape == (1, 16)


def test_a_baseline_reads_a_context_as_a_dialogue_of_its_turns_and_an_utterance_as_one_of_one():
    read = []

    def encode(dialogues):
        read.extend(dialogues)
        return np.zeros((len(dialogues), 2), dtype=np.float32)

    reader = reader_of_baseline(encode, similarity="dot")
    reader.contexts([context("a", "b", "c", first=1)])
    reader.utterances(["d"])
    assert [(one.roles, [turn.text for turn in one.turns]) for one in read] == [
        ((0, 1, 0), ["a", "b", "c"]),
        ((0,), ["d"]),
    ]
    assert (reader.similarity, reader.count_cut) == ("dot", None)


def test_contexts_and_answers_keep_their_speakers(tmp_path):
    encoder = DialogueEncoder.from_pretrained(build("tod-bert", tmp_path / "tod"), input="tod_bert")
    queries = draw_queries(
        [Dialogue(name, (Turn("a", "w1"), Turn("b", "w2"), Turn("a", "w3"), Turn("b", f"w{name}"))) for name in "45"],
        negatives=1,
        seed=0,
        data="toy",
    )
    read = encoder.tokens.contexts(*texts_and_roles([*queries.contexts[1:2], *queries.answers[:1]]))
    words = [" ".join(encoder.tokens.tokenizer.convert_ids_to_tokens(sequence.ids)) for sequence in read]
    assert words == ["[CLS] [sys] w1 [usr] w2 [sys] w3 [SEP]", "[CLS] [usr] w2 [SEP]"]
    reader = reader_of_encoder(encoder)
    first, second = reader.contexts([context("w1", "w2"), context("w1", "w2", first=1)])
    assert np.abs(first - second).max() > 1e-3
