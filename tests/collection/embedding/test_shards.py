from __future__ import annotations

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations.dialogue import Quarantined, read_dialogues
from dial2vec.collection.embedding.shards import ShardReader, files_of, look_at, passed_over, shards_of
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
    (tmp_path / "mac.jsonl").write_bytes(line("a").encode() + b"\r" + line("b").encode() + b"\r")
    with pytest.raises(CorpusError, match="from line 1 on, lines end with carriage returns alone"):
        shards_of(tmp_path / "mac.jsonl")
    (tmp_path / "unpacked.jsonl.gz").write_text(line("a"))
    with pytest.raises(CorpusError, match=r"unpacked.jsonl.gz is not a whole gzip file"):
        look_at(tmp_path)


def test_a_line_that_is_not_utf8_is_set_aside_with_its_number(tmp_path):
    path = tmp_path / "latin.jsonl"
    latin = line("b", "cafe").encode().replace(b"cafe", b"caf\xe9")
    path.write_bytes(line("a").encode() + b"\n" + latin + b"\n")
    found, aside = read_all(path, 2)
    assert [one.dialogue_id for one in found] == ["a"]
    assert [(one.origin.line, one.reason[:26]) for one in aside] == [(2, "it is not UTF-8 (byte 61: ")]


@pytest.mark.parametrize("change", [lambda text: text[: len(text) // 2], lambda text: f"{line('new')}\n{text}"])
def test_a_file_that_changes_after_it_was_cut_is_said_and_nothing_of_it_lost_silently(tmp_path, change):
    path = tmp_path / "calls.jsonl"
    path.write_text("".join(f"{line(name)}\n" for name in "abcd"))
    shards, _ = shards_of(path, size=2)
    path.write_text(change(path.read_text()))
    with ShardReader() as reader, pytest.raises(CorpusError, match="lines 3 to 4 are different now"):
        reader.read(shards[1], quarantine=[])


def test_files_are_known_by_their_names_in_any_case_and_behind_links(tmp_path):
    source, elsewhere = tmp_path / "calls", tmp_path / "elsewhere"
    for folder in (source, elsewhere, source / "old.parts", source / ".hidden", source / "a.jsonl"):
        folder.mkdir()
        (folder / "B.JSONL").write_text(f"{line('b')}\n")
    for name in ("._a.jsonl", "v.parquet.quarantine.jsonl", "more.ndjson", "notes.txt"):
        (source / name).write_text("x")
    (source / "linked").symlink_to(elsewhere)
    (source / "linked" / "back").symlink_to(source)
    assert files_of(source) == [source / "B.JSONL", source / "a.jsonl" / "B.JSONL", source / "linked" / "B.JSONL"]
    assert [path.name for path in passed_over(source)] == ["more.ndjson", "notes.txt"]
    assert passed_over(source / "B.JSONL") == []
