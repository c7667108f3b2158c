"""What `encode` takes, and the sentence for what it cannot take."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dial2vec import Dialogue, DialogueEncoder
from dial2vec.encoder.conversations import as_dialogues
from dial2vec.errors import CorpusError

CHAT = [{"role": "user", "content": "w1 w2"}, {"role": "assistant", "content": "w3"}]


class PolarsTable:
    """What a DataFrame of polars has of pandas."""

    def __init__(self, table):
        self.columns, self.to_pandas = list(table.columns), lambda: table

    def __len__(self):
        return 1

    def __getitem__(self, name):
        return self.to_pandas()[name]


@pytest.fixture(scope="module")
def encoder(tiny_folder):
    return DialogueEncoder.from_pretrained(tiny_folder)


def test_messages_have_the_vector_of_their_dialogue(encoder):
    expected = encoder.encode(Dialogue.from_messages(CHAT))
    assert encoder.encode(CHAT).shape == (16,)
    np.testing.assert_allclose(encoder.encode(CHAT), expected, atol=1e-6)
    np.testing.assert_allclose(encoder.encode([CHAT, CHAT[:1]])[0], expected, atol=1e-6)
    assert encoder.encode(CHAT, output="turns").shape == (2, 16)


def test_a_table_of_turns_gives_a_vector_per_dialogue_in_the_order_of_their_first_rows(encoder):
    rows = [("b", "user", "w1 w2"), ("a", "user", "w4"), ("b", "assistant", "w3"), ("a", "assistant", None)]
    for names in (("dialogue_id", "speaker", "text"), ("conversation_id", "role", "content")):
        table = pd.DataFrame(rows, columns=names).assign(other=1)
        for given in (table, pa.Table.from_pandas(table), pa.RecordBatch.from_pandas(table), PolarsTable(table)):
            vectors = encoder.encode(given)
            assert vectors.shape == (2, 16)
            np.testing.assert_allclose(vectors[0], encoder.encode(CHAT), atol=1e-6)
    assert [dialogue.dialogue_id for dialogue in as_dialogues(table)[0]] == ["b", "a"]


def test_numbers_as_ids_and_missing_values_of_pandas_are_understood():
    table = pd.DataFrame({"dialogue_id": [7, 7], "speaker": ["a", "b"], "text": pd.array(["w1", pd.NA], "string")})
    [dialogue], single = as_dialogues(table)
    assert (dialogue.dialogue_id, len(dialogue.turns), single) == ("7", 1, False)


def test_a_column_of_conversations_has_the_vectors_of_its_cells(encoder):
    column = pd.Series([CHAT, CHAT[:1]], index=["x", "y"])
    for given in (column, pa.array(column), pa.chunked_array([column])):
        np.testing.assert_allclose(encoder.encode(given), encoder.encode([CHAT, CHAT[:1]]), atol=1e-6)
    dialogues = [Dialogue.from_messages(CHAT), Dialogue.from_messages(CHAT[:1])]
    np.testing.assert_allclose(encoder.encode(pd.Series(dialogues)), encoder.encode(dialogues), atol=1e-6)


@pytest.mark.parametrize("empty", [[], ()])
def test_nothing_gives_no_vector(encoder, empty):
    assert encoder.encode(empty).shape == (0, 16)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("calls.csv", r"found a text to encode; .*dial2vec.read"),
        (["w1", "w2"], "found a list that holds a text"),
        (CHAT[0], r"found a dict to encode"),
        (iter([CHAT]), "found a list_iterator"),
        (3, "found an int to encode"),
        (None, "found None to encode"),
        (pd.Series(["w1", "w2"], index=["x", "y"]), "found a list that holds a text"),
        (np.array(["w1"]), "found a list that holds a text"),
        (pa.array(["w1"]), "found a list that holds a text"),
        (pa.table({"id": ["a"]}), "found a table with the columns id; expected also"),
        (pa.schema({"id": pa.string()}), "found a list that holds a Field to encode"),
        (bytearray(b"w1"), "found a list that holds an int to encode"),
        ([Dialogue.from_messages(CHAT), CHAT], "holds a Dialogue and a list"),
        ([{"role": "user", "content": 3}], r"message 1 of conversation '0' has as content a number \(3\); expected"),
        ([CHAT, [{"speaker": "user", "text": "w1"}]], "message 1 of conversation '1' .*expected a dict"),
        ([CHAT, []], "conversation '1' cannot be used: it has no turns"),
        (pd.DataFrame({"dialogue_id": ["a"], "text": ["w1"]}), "dialogue_id, text; expected also speaker or role"),
        (pd.DataFrame({"dialogue_id": ["a"], "speaker": [None], "text": ["w1"]}), "dialogue 'a' of the table"),
        (pd.DataFrame({"dialogue_id": [None], "speaker": ["a"], "text": ["w1"]}), "'dialogue_id' must be"),
        (pd.DataFrame({"dialogue_id": ["a"], "speaker": ["a"], "text": [0]}), "must be a string, found a number"),
        (pd.Series(["w1", "w2"], index=["x", "y"]), "a list that holds a text to encode"),
        (np.array(["w1"]), "a list that holds a text to encode"),
    ],
)  # fmt: skip
def test_what_cannot_be_encoded_is_said_in_one_sentence(encoder, given, message):
    with pytest.raises(CorpusError, match=message):
        encoder.encode(given)
