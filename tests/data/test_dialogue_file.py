import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conversations.dialogue import Dialogue, Turn, write_dialogues
from dial2vec.data.dialogue_file import DialogueFile
from dial2vec.errors import CorpusError

TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip), max_size=9)


def dialogues(texts):
    return [Dialogue(f"d{number}", (Turn("a", text.strip()), Turn("b", "yes"))) for number, text in enumerate(texts)]


@given(texts=TEXTS)
@settings(max_examples=40, deadline=None)
def test_it_is_the_sequence_of_the_files_dialogues(tmp_path_factory, texts):
    path, expected = tmp_path_factory.mktemp("file") / "train.jsonl", dialogues(texts)
    write_dialogues(path, expected)
    found = DialogueFile(path)
    assert len(found) == len(expected)
    assert list(found) == [found[place] for place in range(len(found))] == found[:] == expected
    assert found[1:7:2] == expected[1:7:2]
    if expected:
        assert found[-1] == expected[-1]
    with pytest.raises(IndexError):
        found[len(expected)]


def test_blank_lines_and_a_byte_order_mark_are_no_dialogues(tmp_path):
    path = tmp_path / "train.jsonl"
    write_dialogues(path, dialogues(["one", "two"]))
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"\xef\xbb\xbf" + first + b"\n  \n" + second.rstrip())
    assert DialogueFile(path)[:] == list(DialogueFile(path)) == dialogues(["one", "two"])


def test_it_goes_to_other_processes_and_reads_there(tmp_path):
    path = tmp_path / "train.jsonl"
    write_dialogues(path, dialogues(["one", "two"]))
    assert pickle.loads(pickle.dumps(DialogueFile(path)))[1] == dialogues(["one", "two"])[1]


def test_a_missing_file_and_a_line_that_is_no_dialogue_are_said(tmp_path):
    with pytest.raises(CorpusError, match=r"train\.jsonl does not exist"):
        DialogueFile(tmp_path / "train.jsonl")
    path = tmp_path / "dev.jsonl"
    write_dialogues(path, dialogues(["one", "two"]))
    found = DialogueFile(path)
    path.write_bytes(path.read_bytes().replace(b'"d1"', b'"d1,'))
    with pytest.raises(CorpusError, match=r"dev\.jsonl:2: not valid JSON"):
        found[1]
