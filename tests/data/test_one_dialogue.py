from __future__ import annotations

import gzip
import json

import pytest

from conversations.dialogue import write_dialogues
from dial2vec.data.one_dialogue import find_dialogue
from dial2vec.errors import CorpusError


def test_a_file_of_several_dialogues_asks_which(tmp_path, dialogue):
    path = tmp_path / "q.jsonl"
    write_dialogues(path, [dialogue("x", "a: w1"), dialogue("y", "a: w2")])
    with pytest.raises(CorpusError, match=r"holds 2 dialogues; expected one\. Say which: q:x \(it has x, y\)"):
        find_dialogue(path, None, way="q:{}")
    with pytest.raises(CorpusError, match=r"no dialogue 'xx', only x, y\..* Name one of these: --id x"):
        find_dialogue(path, "xx", way="--id {}")
    assert find_dialogue(path, "y", way="{}").turns[0].text == "w2"


def test_a_packed_file_and_one_with_a_byte_order_mark_are_read(tmp_path, dialogue):
    record = json.dumps(dialogue("x", "a: w1").to_record(), indent=1)
    (tmp_path / "q.json").write_text(record, encoding="utf-8-sig")
    assert find_dialogue(tmp_path / "q.json", None, way="{}").dialogue_id == "x"
    (tmp_path / "q.jsonl.gz").write_bytes(gzip.compress(json.dumps(json.loads(record)).encode()))
    assert find_dialogue(tmp_path / "q.jsonl.gz", "x", way="{}").dialogue_id == "x"
