from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from dial2vec import embedding
from dial2vec.dialogue import read_dialogues
from dial2vec.embedding import embed_file
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import CorpusError


@pytest.fixture(scope="module")
def encoder(tiny_folder):
    return DialogueEncoder.from_pretrained(tiny_folder)


def transcripts(tmp_path, n=7, extra=()):
    path = tmp_path / "calls.jsonl"
    turns = [[{"speaker": "ab"[t % 2], "text": f"w{(i + t) % 40} w{t}"} for t in range(2 + i)] for i in range(n)]
    lines = [json.dumps({"dialogue_id": f"d{i}", "turns": turns[i]}) for i in range(n)]
    path.write_text("\n".join([*lines, *extra]))
    return path


def test_vectors_are_those_of_encode_in_input_order_over_several_blocks(encoder, tmp_path, monkeypatch):
    monkeypatch.setattr(embedding, "BLOCK", 3)
    path = transcripts(tmp_path)
    done = embed_file(path, tmp_path / "v.parquet", encoder=encoder, progress=False)
    table = pq.read_table(tmp_path / "v.parquet")
    assert table.column_names == ["dialogue_id", "embedding"]
    assert table["dialogue_id"].to_pylist() == [f"d{i}" for i in range(7)]
    vectors = np.array(table["embedding"].to_pylist(), dtype=np.float32)
    np.testing.assert_allclose(vectors, encoder.encode(list(read_dialogues(path))), atol=1e-5)
    assert (done.dialogues, done.dimension, done.cut, done.quarantine, done.quarantine_file) == (7, 16, 0, 0, None)


def test_dialogues_over_the_limit_are_counted(encoder, tmp_path):
    long = {"dialogue_id": "long", "turns": [{"speaker": "a", "text": "w1 " * 100}]}
    path = transcripts(tmp_path, extra=[json.dumps(long)])
    done = embed_file(path, tmp_path / "v.parquet", encoder=encoder, progress=False)
    assert (done.cut, done.max_length) == (1, 64)


def test_bad_records_are_listed_beside_the_vectors_and_the_rest_is_embedded(encoder, tmp_path):
    path = transcripts(tmp_path, extra=["{broken", json.dumps({"dialogue_id": "d9", "turns": []})])
    done = embed_file(path, tmp_path / "v.parquet", encoder=encoder, progress=False)
    assert (done.dialogues, done.quarantine) == (7, 2)
    listed = list(map(json.loads, done.quarantine_file.open()))
    assert [record["line"] for record in listed] == [8, 9]
    assert listed[1]["reason"] == "it has no turns"


def test_nothing_usable_is_an_error_and_leaves_no_file(encoder, tmp_path):
    path = transcripts(tmp_path, n=0, extra=["{broken"])
    with pytest.raises(CorpusError, match=r"nothing in .* can be used"):
        embed_file(path, tmp_path / "v.parquet", encoder=encoder, progress=False)
    assert not (tmp_path / "v.parquet").exists()
