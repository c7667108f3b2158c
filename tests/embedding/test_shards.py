from __future__ import annotations

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dial2vec.dialogue import Quarantined, read_dialogues
from dial2vec.embedding.shards import ShardReader, files_of, shards_of
from dial2vec.errors import CorpusError


def line(name, text="hello"):
    return json.dumps({"dialogue_id": name, "turns": [{"speaker": "a", "text": text}, {"speaker": "b", "text": "hi"}]})


def read_all(source, size):
    aside: list[Quarantined] = []
    with ShardReader() as reader:
        found = [one for shard in shards_of(source, size=size)[0] for one in reader.read(shard, quarantine=aside)]
    return found, aside


@pytest.mark.parametrize("name", ["calls.jsonl", "calls.jsonl.gz"])
@given(texts=st.lists(st.text("aé€😀 \u2028", min_size=1, max_size=9), min_size=1, max_size=9), size=st.integers(1, 10))
def test_shards_of_any_size_give_the_dialogues_of_the_file_with_their_lines(tmp_path_factory, name, texts, size):
    path = tmp_path_factory.mktemp("corpus") / name
    lines = [line(f"d{number}", f"x{text}") + "\n" * (1 + number % 2) for number, text in enumerate(texts)]
    content = ("\ufeff" + "".join(lines)).encode()
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    found, aside = read_all(path, size)
    whole = list(read_dialogues(path))
    assert found == whole
    assert [one.origin for one in found] == [one.origin for one in whole]
    assert not aside


def test_a_bad_line_is_set_aside_with_its_number_in_the_file(tmp_path):
    path = tmp_path / "calls.jsonl"
    path.write_text("\n".join([line("a"), line("b"), "{broken", line("c")]))
    found, aside = read_all(path, 2)
    assert [one.dialogue_id for one in found] == ["a", "b", "c"]
    assert [(one.origin.line, one.reason[:14]) for one in aside] == [(3, "not valid JSON")]


def test_a_folder_is_all_its_files_by_name_and_no_shard_holds_lines_of_two(tmp_path):
    (tmp_path / "may").mkdir()
    (tmp_path / "may" / "b.jsonl").write_text(f"{line('c')}\n{line('d')}\n")
    (tmp_path / "a.jsonl").write_text(f"{line('b')}\n")
    (tmp_path / "notes.txt").write_text("no dialogues")
    assert files_of(tmp_path) == [tmp_path / "a.jsonl", tmp_path / "may" / "b.jsonl"]
    shards, _ = shards_of(tmp_path, size=2)
    assert [(shard.number, shard.path.name, shard.byte, shard.line, shard.lines) for shard in shards] == [
        (0, "a.jsonl", 0, 1, 1),
        (1, "b.jsonl", 0, 1, 2),
    ]


def test_the_hash_knows_where_a_file_ends(tmp_path):
    for folder, first in (("one", 1), ("other", 2)):
        (tmp_path / folder).mkdir()
        lines = [f"{line(name)}\n" for name in "abc"]
        (tmp_path / folder / "1.jsonl").write_text("".join(lines[:first]))
        (tmp_path / folder / "2.jsonl").write_text("".join(lines[first:]))
    assert shards_of(tmp_path / "one")[1] != shards_of(tmp_path / "other")[1]
    assert shards_of(tmp_path / "one")[1] == shards_of(tmp_path / "one", size=1)[1]


def test_what_cannot_be_read_is_said_in_a_sentence(tmp_path):
    with pytest.raises(CorpusError, match=r"holds no \.jsonl"):
        shards_of(tmp_path)
    with pytest.raises(CorpusError, match="does not exist"):
        shards_of(tmp_path / "none.jsonl")
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(CorpusError, match="is empty"):
        shards_of(tmp_path / "empty.jsonl")
    (tmp_path / "torn.jsonl.gz").write_bytes(gzip.compress(line("a").encode())[:-9])
    with pytest.raises(CorpusError, match="not a whole gzip file"):
        shards_of(tmp_path / "torn.jsonl.gz")
    (tmp_path / "latin.jsonl").write_bytes(line("a").encode() + b"\xe9\n")
    with pytest.raises(CorpusError, match="is not UTF-8"):
        read_all(tmp_path / "latin.jsonl", 1)
