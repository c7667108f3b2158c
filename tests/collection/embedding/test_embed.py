from __future__ import annotations

import functools
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations.dialogue import read_dialogues
from dial2vec.collection.embedding import embed as embedding
from dial2vec.collection.embedding.embed import embed_file, here
from dial2vec.collection.embedding.parts import Part, _ids_that_repeat, embed_part
from dial2vec.collection.embedding.shards import Shard, ShardReader, shards_of
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import BusyError, CorpusError, ModelError


@pytest.fixture(scope="module")
def encoder(tiny_folder):
    return DialogueEncoder.from_pretrained(tiny_folder)


def transcripts(tmp_path, n=7, extra=()):
    path = tmp_path / "calls.jsonl"
    turns = [[{"speaker": "ab"[t % 2], "text": f"w{(i + t) % 40} w{t}"} for t in range(2 + i)] for i in range(n)]
    lines = [json.dumps({"dialogue_id": f"d{i}", "turns": turns[i]}) for i in range(n)]
    path.write_text("\n".join([*lines, *extra]))
    return path


@pytest.fixture
def small_shards(monkeypatch):
    monkeypatch.setattr(embedding, "shards_of", functools.partial(shards_of, size=3))


def test_vectors_are_those_of_encode_in_input_order_over_several_shards(encoder, tmp_path, small_shards):
    path = transcripts(tmp_path)
    done = embed_file(path, tmp_path / "v.parquet", encoder=encoder, progress=False)
    table = pq.read_table(tmp_path / "v.parquet")
    assert table.column_names == ["dialogue_id", "embedding"]
    assert table["dialogue_id"].to_pylist() == [f"d{i}" for i in range(7)]
    vectors = np.array(table["embedding"].to_pylist(), dtype=np.float32)
    np.testing.assert_allclose(vectors, encoder.encode(list(read_dialogues(path))), atol=1e-5)
    assert (done.dialogues, done.dimension, done.long, done.quarantine, done.quarantine_file) == (7, 16, 0, 0, None)


def test_vectors_that_are_not_finite_are_refused_with_dialogue_and_model(tiny_folder, tmp_path):
    damaged = DialogueEncoder.from_pretrained(tiny_folder)
    next(iter(damaged.network.parameters())).data.fill_(float("nan"))
    reason = r"bert gives NaN or infinity for 7 of 7 dialogues, such as 'd0' of .*calls\.jsonl; .* take another model"
    with pytest.raises(ModelError, match=reason):
        embed_file(transcripts(tmp_path), tmp_path / "v.parquet", encoder=damaged, progress=False)
    assert not (tmp_path / "v.parquet").exists()


def test_metadata_become_typed_columns_over_all_shards(encoder, tmp_path, small_shards):
    path = transcripts(tmp_path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    facts = [{"csat": 4, "channel": "chat"}, {"csat": 2.5, "vip": True}, {}, {"channel": "chat", "at": "2026-03-04"}]
    facts += [{"vip": False}, {}, {}]
    path.write_text("\n".join(json.dumps(line | {"metadata": fact}) for line, fact in zip(lines, facts, strict=True)))
    for output in (tmp_path / "v.parquet", tmp_path / "v"):
        embed_file(path, output, encoder=encoder, progress=False)
        table = pq.read_table(output)
        columns = {"channel": pa.string(), "csat": pa.float64(), "vip": pa.bool_(), "at": pa.timestamp("us", tz="UTC")}
        assert table.column_names == ["dialogue_id", "embedding", *(f"metadata.{key}" for key in columns)]
        assert {key: table[f"metadata.{key}"].type for key in columns} == columns
        assert table["metadata.csat"].to_pylist() == [4, 2.5, *[None] * 5]
        assert table["metadata.channel"].to_pylist() == ["chat", None, None, "chat", None, None, None]


def test_dialogues_over_the_limit_are_counted(encoder, tmp_path):
    long = {"dialogue_id": "long", "turns": [{"speaker": "a", "text": "w1 " * 100}]}
    path = transcripts(tmp_path, extra=[json.dumps(long)])
    done = embed_file(path, tmp_path / "v.parquet", encoder=encoder, progress=False)
    assert (done.long, done.max_length) == (1, 64)


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
    assert not list(tmp_path.glob("*.parts"))


def test_a_run_that_was_killed_goes_on_where_it_was(encoder, tmp_path, small_shards):
    path, output = transcripts(tmp_path, extra=["{broken"]), tmp_path / "v.parquet"

    def killed(parts, *arguments):
        here(parts[:2], *arguments)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        embed_file(path, output, encoder=encoder, progress=False, workers=killed)
    assert not output.exists()
    left = []

    def counted(parts, *arguments):
        left.extend(part.shard.number for part in parts)
        here(parts, *arguments)

    done = embed_file(path, output, encoder=encoder, progress=False, workers=counted)
    assert left == [2]
    assert (done.dialogues, done.quarantine) == (7, 1)
    vectors = np.array(pq.read_table(output)["embedding"].to_pylist(), dtype=np.float32)
    np.testing.assert_allclose(vectors, encoder.encode(list(read_dialogues(path, quarantine=[]))), atol=1e-5)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["calls.jsonl", "v.parquet", "v.parquet.quarantine.jsonl"]


def test_other_dialogues_or_another_encoder_begin_anew(encoder, tiny_folder, tmp_path, small_shards):
    output, begun = tmp_path / "v.parquet", []

    def killed(parts, *arguments):
        begun.append(len(parts))
        here(parts[:1], *arguments)
        raise KeyboardInterrupt

    def run(path, encoder):
        with pytest.raises(KeyboardInterrupt):
            embed_file(path, output, encoder=encoder, progress=False, workers=killed)

    run(transcripts(tmp_path), encoder)
    run(transcripts(tmp_path), encoder)
    run(transcripts(tmp_path, n=9), encoder)
    run(transcripts(tmp_path, n=9), DialogueEncoder.from_pretrained(tiny_folder, pooling="mean"))
    assert begun == [3, 2, 3, 3]


def test_an_id_that_came_before_in_another_shard_is_set_aside_with_its_line(encoder, tmp_path, small_shards):
    again = json.dumps({"dialogue_id": "d1", "turns": [{"speaker": "a", "text": "w9"}]})
    path = transcripts(tmp_path, extra=[again])
    done = embed_file(path, tmp_path / "v.parquet", encoder=encoder, progress=False)
    assert (done.dialogues, done.quarantine) == (7, 1)
    assert pq.read_table(tmp_path / "v.parquet")["dialogue_id"].to_pylist() == [f"d{i}" for i in range(7)]
    listed = json.loads(done.quarantine_file.read_text())
    assert (listed["line"], listed["reason"]) == (8, "the id 'd1' came before in this corpus")


def test_a_folder_gets_a_file_per_shard_with_the_same_vectors(encoder, tmp_path, small_shards):
    path = transcripts(tmp_path)
    embed_file(path, tmp_path / "v.parquet", encoder=encoder, progress=False)
    embed_file(path, tmp_path / "vectors", encoder=encoder, progress=False)
    assert len(list((tmp_path / "vectors").iterdir())) == 3
    assert pq.read_table(tmp_path / "vectors").equals(pq.read_table(tmp_path / "v.parquet"))


def test_a_worker_that_outlived_its_command_writes_where_nobody_looks(encoder, tiny_folder, tmp_path, small_shards):
    path, output, late = transcripts(tmp_path), tmp_path / "v.parquet", []

    def killed(parts, *arguments):
        late.append((parts[:1], *arguments[:2]))
        raise KeyboardInterrupt

    other = DialogueEncoder.from_pretrained(tiny_folder, pooling="mean")
    with pytest.raises(KeyboardInterrupt):
        embed_file(path, output, encoder=other, progress=False, workers=killed)

    def meanwhile(parts, *arguments):
        here(*late[0], lambda _: None)
        here([part for part in parts if not part.is_finished], *arguments)

    embed_file(path, output, encoder=encoder, progress=False, workers=meanwhile)
    vectors = np.array(pq.read_table(output)["embedding"].to_pylist(), dtype=np.float32)
    np.testing.assert_allclose(vectors, encoder.encode(list(read_dialogues(path))), atol=1e-5)


def test_a_second_run_to_the_same_output_is_refused_with_a_sentence(encoder, tmp_path):
    path, output, refused = transcripts(tmp_path), tmp_path / "v.parquet", []

    def twice(parts, *arguments):
        with pytest.raises(
            BusyError, match=r"another process keeps its finished parts in .*v\.parquet\.parts\. Wait until it ends"
        ) as error:
            embed_file(path, output, encoder=encoder, progress=False)
        refused.append(error)
        here(parts, *arguments)

    assert embed_file(path, output, encoder=encoder, progress=False, workers=twice).dialogues == 7
    assert len(refused) == 1


def test_an_output_beside_its_transcripts_does_not_become_one_of_them(encoder, tmp_path):
    folder = tmp_path / "calls"
    folder.mkdir()
    transcripts(folder, extra=["{broken"])
    found = [embed_file(folder, folder / "v.parquet", encoder=encoder, progress=False) for _ in range(2)]
    assert [(done.dialogues, done.quarantine) for done in found] == [(7, 1)] * 2


@given(st.lists(st.integers(0, 9), max_size=30), st.integers(1, 5))
def test_ids_that_repeat_are_found_among_all_parts(ids, size):
    with TemporaryDirectory() as folder:
        parts = []
        for number in range(0, len(ids), size):
            part = Part(Shard(number, Path("calls.jsonl"), 0, 1, size, b""), Path(folder))
            pq.write_table(pa.table({"dialogue_id": [str(one) for one in ids[number : number + size]]}), part.vectors)
            parts.append(part)
        names = [str(one) for one in ids]
        twice = sorted({one for one in names if names.count(one) > 1})
        assert sorted(_ids_that_repeat(parts).to_pylist()) == twice


def test_the_bar_moves_with_every_batch_of_a_part(tmp_path, encoder):
    [shard], _ = shards_of(transcripts(tmp_path, extra=["no dialogue", ""]))
    steps = []
    with ShardReader() as reader:
        lines = embed_part(Part(shard, tmp_path), encoder, reader, batch_size=2, done=steps.append)
    assert steps == [2, 2, 2, 1, 1]
    assert lines == 8
