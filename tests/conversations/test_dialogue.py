from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conversations.dialogue import (
    MAX_KEY,
    MAX_VALUE,
    Dialogue,
    Quarantined,
    Turn,
    dialogue_from_record,
    read_dialogues,
    write_dialogues,
    write_quarantine,
)
from dial2vec.errors import CorpusError, Dial2vecError

GOOD = {"dialogue_id": "d1", "turns": [{"speaker": "a", "text": "hello"}]}
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda s: s.strip()).map(str.strip)
TURNS = st.lists(st.builds(Turn, TEXT, TEXT), min_size=1, max_size=4).map(tuple)
LABELS = st.sets(TEXT, max_size=3).map(lambda found: tuple(sorted(found)))
KEYS = ["dialogue_id", "turns", "labels", "speaker", "text", "metadata"]
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
METADATA = st.dictionaries(TEXT.filter(lambda key: len(key) <= MAX_KEY), TEXT | NUMBERS | st.booleans(), max_size=4)
SPLITS, DATES = st.sampled_from([None, "train", "dev", "test"]), st.sampled_from([None, "2026-03-04"])
DIALOGUES = st.lists(
    st.builds(Dialogue, TEXT, TURNS, LABELS, SPLITS, st.none(), DATES, METADATA),
    max_size=5,
    unique_by=lambda d: d.dialogue_id,
)


def test_a_notebook_completes_the_public_names():
    # In a new process: here, other tests have imported most of them.
    command = "import dial2vec; print(set(dial2vec.__all__) - set(dir(dial2vec)))"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@settings(max_examples=40, deadline=None)
@given(DIALOGUES.filter(bool), st.sampled_from(["d.jsonl", "d.jsonl.gz"]))
def test_what_is_written_is_read_back(tmp_path_factory, dialogues, name):
    path = tmp_path_factory.mktemp("d") / name
    assert write_dialogues(path, dialogues) == len(dialogues)
    back = list(read_dialogues(path))
    assert back == dialogues
    # 1, 1.0 and True are equal, but not the same.
    assert repr(back) == repr(dialogues)
    assert {hash(dialogue) for dialogue in back} == {hash(dialogue) for dialogue in dialogues}


@settings(max_examples=200, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.sampled_from(KEYS), x),
        max_leaves=8,
    )
)
def test_any_json_value_is_a_dialogue_or_a_clear_reason(record):
    try:
        found = dialogue_from_record(record)
    except ValueError as error:
        assert str(error)  # noqa: PT017
    else:
        assert found.turns


def lines_of(tmp_path, *lines):
    path = tmp_path / "calls.jsonl"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"dialogue_id": "d2", ', "not valid JSON"),
        ('{"dialogue_id": "bad", "turns": [', r"not valid JSON \(Expecting value at column 34\)"),
        ([], "expected an object with 'dialogue_id' and 'turns', found a list"),
        ({"turns": []}, "the key 'dialogue_id' is missing; found 'turns'"),
        ({"dialogue_id": "x"}, "the key 'turns' is missing"),
        ({"dialogue_id": 7.5, "turns": []}, r"'dialogue_id' must be a non-empty string, found a number \(7\.5\)"),
        ({"dialogue_id": "x", "turns": [{"speaker": "a", "text": "\ud83d"}]}, "holds half of a character"),
        ({**GOOD, "dialogue_id": "x", "labels": ["\ud83d"]}, "'labels' must be a list of strings"),
        ('{"dialogue_id": ' + "9" * 5000 + "}", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ({"dialogue_id": "x", "turns": {}}, "'turns' must be a list, found an object with no keys"),
        ({"dialogue_id": "x", "turns": []}, "it has no turns"),
        ({"dialogue_id": "x", "turns": [{"speaker": "a", "text": "  "}]}, "every turn is blank"),
        ({"dialogue_id": "x", "turns": ["hi"]}, "turn 1 must be an object with 'speaker' and 'text', found the string"),
        (
            {"dialogue_id": "x", "turns": [{"speaker": "a", "text": None}]},
            "turn 1: 'text' must be a string, found null",
        ),
        ({"dialogue_id": "x", "turns": [{"speaker": " ", "text": "hi"}]}, "turn 1: 'speaker' is blank"),
        ({**GOOD, "dialogue_id": "x", "labels": "food"}, "'labels' must be a list of strings"),
        ({**GOOD, "dialogue_id": "x", "split": "valid"}, "'split' must be train, dev or test"),
        ({**GOOD, "dialogue_id": "x", "metadata": "phone"}, "'metadata' must be an object, found the string 'phone'"),
        (
            {**GOOD, "dialogue_id": "x", "metadata": {"channel": "phone", "tags": ["a"]}},
            "metadata 'tags' must be a text, a number of 64 bits, true or false, found a list",
        ),
        ({**GOOD, "dialogue_id": "x", "metadata": {"customer": {"id": 3}}}, "'customer' .*, found an object with 'id'"),
        ({**GOOD, "dialogue_id": "x", "metadata": {"number": 2**63}}, "metadata 'number' must be .* 64 bits"),
        (
            '{"dialogue_id": "x", "turns": [{"speaker": "a", "text": "b"}], "metadata": {"k": 1e999}}',
            "metadata 'k' must",
        ),
        ({**GOOD, "dialogue_id": "x", "metadata": {"emoji": "\ud83d"}}, "metadata 'emoji' must be a text"),
        ({**GOOD, "dialogue_id": "x", "metadata": {" ": 1}}, "a key of 'metadata' must have 1 to 100 characters"),
        (
            {**GOOD, "dialogue_id": "x", "metadata": dict.fromkeys(map(str, range(101)), 1)},
            "'metadata' must have at most 100 keys, found 101",
        ),
        (GOOD, "the id 'd1' came before in this file"),
    ],
)
def test_a_bad_line_is_quarantine_with_its_reason_and_the_rest_is_read(tmp_path, line, reason):
    path = lines_of(tmp_path, GOOD, line, {**GOOD, "dialogue_id": "last"})
    quarantine: list[Quarantined] = []
    assert [d.dialogue_id for d in read_dialogues(path, quarantine=quarantine)] == ["d1", "last"]
    assert len(quarantine) == 1
    assert str(quarantine[0]).startswith(f"{path}:2: ")
    with pytest.raises(CorpusError, match=reason) as error:
        list(read_dialogues(path))
    assert str(error.value).startswith(f"{path}:2: ")


def test_metadata_without_a_value_is_left_out_and_a_long_text_is_cut():
    line = '{"a": null, "b": NaN, "c": "  ", "d": " x ", "long": "' + "w" * 3000 + '", "no": false, "zero": 0}'
    read = dialogue_from_record(GOOD | {"metadata": json.loads(line)})
    assert read.metadata == {"d": "x", "long": "w" * MAX_VALUE, "no": False, "zero": 0}
    assert dialogue_from_record(read.to_record()) == read


def test_metadata_is_written_only_if_there_is_any():
    plain = dialogue_from_record(GOOD)
    assert "metadata" not in plain.to_record()
    assert dialogue_from_record(GOOD | {"metadata": {}}) == dialogue_from_record(GOOD | {"metadata": None}) == plain
    assert replace(plain, metadata={"csat": 4}) != plain


def test_metadata_can_be_hashed_copied_and_pickled_but_not_changed():
    given = {"channel": "phone", "csat": 4}
    dialogue = Dialogue("d", (Turn("a", "hi"), Turn("a", "there")), metadata=given)
    given["csat"] = 5
    assert dialogue.metadata == {"channel": "phone", "csat": 4}
    assert len({dialogue, copy.deepcopy(dialogue), pickle.loads(pickle.dumps(dialogue))}) == 1
    assert dialogue.merged().metadata == dialogue.side(0).metadata == dialogue.metadata
    with pytest.raises(TypeError):
        dialogue.metadata["csat"] = 1
    with pytest.raises(FrozenInstanceError):
        dialogue.metadata = {}


def test_a_number_is_accepted_as_an_id():
    assert dialogue_from_record({**GOOD, "dialogue_id": 17}).dialogue_id == "17"


def test_quarantine_records_carry_their_id_where_there_is_one(tmp_path):
    path = lines_of(tmp_path, GOOD, GOOD, {"dialogue_id": "\ud83d", "turns": []}, "{")
    quarantine: list[Quarantined] = []
    list(read_dialogues(path, quarantine=quarantine))
    assert [record.dialogue_id for record in quarantine] == ["d1", "?", ""]
    write_quarantine(tmp_path / "q.jsonl", [replace(one, origin=one.origin.below(tmp_path)) for one in quarantine])
    rows = [json.loads(line) for line in (tmp_path / "q.jsonl").read_text().splitlines()]
    assert rows[0] == {
        "source": path.name,
        "line": 2,
        "dialogue_id": "d1",
        "reason": "the id 'd1' came before in this file",
    }


def test_consecutive_turns_of_one_speaker_are_merged():
    turns = (Turn("a", "Hi."), Turn("a", "Well?"), Turn("b", "Yes."), Turn("a", "Ok."))
    assert Dialogue("d", turns).merged() == Dialogue("d", (Turn("a", "Hi. Well?"), Turn("b", "Yes."), Turn("a", "Ok.")))


def test_a_split_may_be_empty_where_that_is_said(tmp_path):
    (tmp_path / "dev.jsonl").touch()
    assert list(read_dialogues(tmp_path / "dev.jsonl", may_be_empty=True)) == []


def test_blank_turns_are_dropped_and_texts_stripped():
    record = {"dialogue_id": "x", "turns": [{"speaker": "a ", "text": " hi "}, {"speaker": "b", "text": " "}]}
    assert dialogue_from_record(record).turns == (Turn("a", "hi"),)


def test_byte_order_mark_and_blank_lines_are_accepted(tmp_path):
    path = tmp_path / "d.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(GOOD).encode() + b"\n\n")
    assert len(list(read_dialogues(path))) == 1


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("d.jsonl", b"", "is empty"),
        ("d.jsonl", b"\xff\xfe{}", "is not UTF-8"),
        ("d.jsonl.gz", b"plain text", "not a whole gzip file"),
        ("d.jsonl.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xff\xff", "not a whole gzip file"),
    ],
)
def test_unreadable_files_give_one_sentence(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(CorpusError, match=message):
        list(read_dialogues(path))


def test_missing_file_and_folder_are_named(tmp_path):
    with pytest.raises(CorpusError, match="does not exist"):
        list(read_dialogues(tmp_path / "none.jsonl"))
    with pytest.raises(CorpusError, match=r"is a folder; expected a JSON Lines file of dialogues\. Name one"):
        list(read_dialogues(tmp_path))


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "d.jsonl"
    write_dialogues(path, [dialogue_from_record(GOOD)])

    def broken():
        yield dialogue_from_record({**GOOD, "dialogue_id": "new"})
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError):
        write_dialogues(path, broken())
    assert [d.dialogue_id for d in read_dialogues(path)] == ["d1"]
    assert list(tmp_path.iterdir()) == [path]


def test_writing_where_a_file_stands_in_the_way_is_one_sentence(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(Dial2vecError, match="cannot write"):
        write_dialogues(tmp_path / "file" / "d.jsonl", [])


def test_the_first_side_is_the_first_speakers_and_the_second_everybody_elses():
    turns = (Turn("b", "one"), Turn("a", "two"), Turn("c", "three"), Turn("b", "four"))
    dialogue = Dialogue("d", turns, ("food",), "dev")
    assert dialogue.side(0) == Dialogue("d", (turns[0], turns[3]), ("food",), "dev")
    assert dialogue.side(1) == Dialogue("d", (turns[1], turns[2]), ("food",), "dev")
    assert Dialogue("d", turns[:1]).side(1).turns == ()


def test_label_and_roles():
    dialogue = Dialogue("d", (Turn("b", "x"), Turn("a", "y"), Turn("b", "z")), ("food",))
    assert dialogue.roles == (0, 1, 0)
    assert dialogue.n_speakers == 2
    assert dialogue.label == "food"
    assert Dialogue("d", dialogue.turns, ("food", "hotel")).label is None


def test_chat_messages_are_turns_and_those_without_text_are_left_out():
    parts = [{"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {}}, {"type": "text", "text": "here"}]
    messages = [
        {"role": "user", "content": parts},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "assistant", "content": " It is a cat. "},
        {"role": "assistant", "tool_calls": []},
    ]
    dialogue = Dialogue.from_messages(messages, dialogue_id="chat-1")
    assert dialogue == Dialogue("chat-1", (Turn("user", "Look\nhere"), Turn("assistant", "It is a cat.")))


def test_messages_without_any_text_are_no_dialogue():
    with pytest.raises(CorpusError, match="conversation 'c' cannot be used: every turn is blank"):
        Dialogue.from_messages([{"role": "user", "content": None}], dialogue_id="c")
