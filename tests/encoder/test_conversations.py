"""What `encode` takes, and the sentence for what it cannot take."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import datasets
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sentence_transformers.util import cos_sim

from dial2vec import Dialogue, DialogueEncoder, load_encoder
from dial2vec.encoder.conversations import as_dialogues
from dial2vec.errors import CorpusError
from tests.students import without

CHAT = [{"role": "user", "content": "w1 w2"}, {"role": "assistant", "content": "w3"}]


@pytest.fixture(scope="module")
def encoder(tiny_folder):
    return DialogueEncoder.from_pretrained(tiny_folder)


def test_messages_have_the_vector_of_their_dialogue(encoder):
    expected = encoder.encode(Dialogue.from_messages(CHAT))
    assert encoder.encode(CHAT).shape == (16,)
    np.testing.assert_allclose(encoder.encode(CHAT), expected, atol=1e-6)
    np.testing.assert_allclose(encoder.encode([CHAT, CHAT[:1]])[0], expected, atol=1e-6)
    assert encoder.encode(CHAT, output="turns").shape == (2, 16)


def tables_of(columns: dict) -> list:
    """The same table in every library."""
    table = pa.table(columns)
    return [
        *(pd.DataFrame(columns), pl.DataFrame(columns), table, datasets.Dataset(table)),
        *([table.to_batches()[0], duckdb.from_arrow(table)] if len(table) else []),
    ]


def test_a_table_of_turns_gives_the_same_dialogues_whichever_library_holds_it():
    rows = {
        "dialogue_id": ["b", "a", "b", "a"],
        "speaker": ["user", "user", "assistant", "assistant"],
        "text": ["w1 w2", "w4", "w3", None],
        "other": [1, 2, 3, 4],
    }
    expected = [Dialogue.from_messages(CHAT, dialogue_id="b"), Dialogue.from_messages([CHAT[0] | {"content": "w4"}])]
    expected[1] = replace(expected[1], dialogue_id="a")
    others = {"dialogue_id": "conversation_id", "speaker": "role", "text": "content"}
    for columns in (rows, {others.get(name, name): values for name, values in rows.items()}):
        for given in tables_of(columns):
            assert as_dialogues(given) == (expected, False), type(given)


def test_a_table_with_a_column_of_messages_has_a_dialogue_in_each_row():
    for ids in ({}, {"conversation_id": [7, 8]}):
        for given in tables_of({"messages": [CHAT, CHAT[:1]], **ids}):
            names = [str(name) for name in ids.get("conversation_id", (0, 1))]
            expected = [
                Dialogue.from_messages(chat, dialogue_id=name)
                for chat, name in zip((CHAT, CHAT[:1]), names, strict=True)
            ]
            assert as_dialogues(given) == (expected, False), type(given)


def test_polars_and_arrow_are_read_where_pandas_is_missing():
    script = f"""{without("pandas")}
import polars as pl
from dial2vec.encoder.conversations import as_dialogues
table = pl.DataFrame(dict(dialogue_id=["a"], speaker=["b"], text=["c"]))
print(len(as_dialogues(table)[0]), len(as_dialogues(table.to_arrow())[0]))"""
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "1 1\n"


def test_a_text_is_a_dialogue_of_one_turn(encoder):
    for given in (["w1 w2", "w3"], ("w1 w2", "w3"), np.array(["w1 w2", "w3"]), pl.Series(["w1 w2", "w3"])):
        np.testing.assert_allclose(encoder.encode(given), encoder.encode([CHAT[:1], CHAT[1:]]), atol=1e-6)


def test_options_have_the_names_of_sentence_transformers(encoder, student_folder):
    for reader in (encoder, load_encoder(student_folder)):
        texts = ["w1 w2", "w3", "w4 w1"]
        vectors = 3 * reader.encode(texts)
        units = reader.encode(texts, normalize_embeddings=True, show_progress_bar=True, batch_size=2)
        np.testing.assert_allclose(np.linalg.norm(units, axis=1), 1, atol=1e-6)
        np.testing.assert_allclose(reader.similarity(vectors, units[:2]), cos_sim(vectors, units[:2]), atol=1e-6)
        own = reader.encode([CHAT], output="turns", normalize_embeddings=True)[0]
        np.testing.assert_allclose(np.linalg.norm(own, axis=1), 1, atol=1e-6)


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
        (["w1", CHAT], "holds a list and a text"),
        (pl.LazyFrame({"text": ["w1"]}), r"found a LazyFrame to encode; .*collect"),
        (["w1", " "], "conversation '1' cannot be used: every turn is blank"),
        (CHAT[0], r"found a dict to encode"),
        (iter([CHAT]), "found a list_iterator"),
        (3, "found an int to encode"),
        (None, "found None to encode"),
        (pa.table({"id": ["a"]}), "found a table with the columns id; expected also"),
        (pa.schema({"id": pa.string()}), "found a list that holds a Field to encode"),
        (bytearray(b"w1"), "found a list that holds an int to encode"),
        ([Dialogue.from_messages(CHAT), CHAT], "holds a Dialogue and a list"),
        ([{"role": "user", "content": 3}], r"message 1 of conversation '0' has as content a number \(3\); expected"),
        ([CHAT, [{"speaker": "user", "text": "w1"}]], "message 1 of conversation '1' .*expected a dict"),
        ([CHAT, []], "conversation '1' cannot be used: it has no turns"),
        (pd.DataFrame({"dialogue_id": ["a"], "text": ["w1"]}), "dialogue_id, text; expected also speaker or role"),
        (pd.DataFrame({"dialogue_id": ["a"], "speaker": [None], "text": ["w1"]}), "dialogue 'a' cannot be used"),
        (pd.DataFrame({"dialogue_id": [None], "speaker": ["a"], "text": ["w1"]}), "'dialogue_id' must be"),
        (pd.DataFrame({"dialogue_id": ["a"], "speaker": ["a"], "text": [0]}), "must be a string, found a number"),
    ],
)  # fmt: skip
def test_what_cannot_be_encoded_is_said_in_one_sentence(encoder, given, message):
    with pytest.raises(CorpusError, match=message):
        encoder.encode(given)
