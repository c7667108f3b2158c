"""Forms that many tools share, and rows whose parts are objects."""

from __future__ import annotations

import json

import pytest

from conversations.options import Options
from conversations.reading import read_export
from dial2vec.errors import CorpusError
from tests.conversations.exports import imported, turns_of


def lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


ROWS = [("a", "user", "Hi"), ("a", "assistant", "Yes?"), ("b", "user", "Bye"), ("b", "assistant", "So long")]
BOTH = {"a": ["user: Hi", "assistant: Yes?"], "b": ["user: Bye", "assistant: So long"]}


@pytest.mark.parametrize("name", ["conv_id", "dialog_ref", "Ticket Number"])
def test_rows_of_a_shared_form_are_parted_by_any_column_of_ids(tmp_path, name):
    rows = [{name: key, "role": role, "content": text} for key, role, text in ROWS]
    assert turns_of(imported(tmp_path, "m.jsonl", lines(*rows))) == BOTH


@pytest.mark.parametrize("name", ["conv_id", "call_sid", "ref", "key"])
def test_records_of_a_shared_form_are_called_by_any_column_of_ids(tmp_path, name):
    records = [
        {name: key, "messages": [{"role": role, "content": text} for at, role, text in ROWS if at == key]}
        for key in "ab"
    ]
    assert turns_of(imported(tmp_path, "m.jsonl", lines(*records))) == BOTH


def test_a_thought_before_an_answer_is_not_said(tmp_path):
    messages = [{"role": "user", "content": "2+3?"}, {"role": "assistant", "content": "<think>\nadd\n</think>\n\n5"}]
    record = lines({"id": "a", "messages": messages})
    assert turns_of(imported(tmp_path, "m.jsonl", record)) == {"a": ["user: 2+3?", "assistant: 5"]}
    kept = imported(tmp_path, "m.jsonl", record, keep=("thought",))
    assert turns_of(kept)["a"][1].startswith("assistant: <think>")


def test_rows_whose_conversation_is_an_object_are_parted_by_its_id(tmp_path):
    rows = [
        {"conversation": {"id": key, "subject": "Same"}, "message": {"from": {"name": who}, "body": text}}
        for key, who, text in ROWS
    ]
    assert turns_of(imported(tmp_path, "m.jsonl", lines(*rows))) == BOTH


def test_calls_whose_clocks_begin_again_in_each_file_are_not_mixed(tmp_path):
    for name in "ab":
        rows = [
            {"call_id": "1", "speaker": who, "text": f"{who} {name}", "offset": at} for at, who in ((0, "x"), (2, "y"))
        ]
        (tmp_path / f"{name}.jsonl").write_text(lines(*rows))
    result = read_export(tmp_path, Options()).result
    assert turns_of(result) == {"1": ["x: x a", "y: y a"]}
    assert [item.reason for item in result.quarantine] == ["the id came before in a.jsonl"]
    assert len(read_export(tmp_path, Options(parts=True)).result.dialogues[0].turns) == 4


def test_a_column_that_names_nobody_in_most_rows_is_refused(tmp_path):
    rows = [
        {"chat_id": "1", "actor": None, "text": "Any milk?"},
        {"chat_id": "1", "actor": None, "text": "Yes."},
        {"chat_id": "1", "actor": "Bot", "text": "Assigned to Ola"},
    ]
    with pytest.raises(CorpusError, match=r"names no speaker in 2 of 3 rows .* --speaker-of-blank NAME"):
        imported(tmp_path, "m.jsonl", lines(*rows))
    assert len(imported(tmp_path, "m.jsonl", lines(*rows), blank_speaker="someone").dialogues[0].turns) == 3


def test_notes_among_the_sides_are_left_out(tmp_path):
    sides = ("INBOUND", "NOTE", "OUTBOUND")
    rows = [{"ticket_id": 1, "type": side, "message": f"word {at}", "agent": None} for at, side in enumerate(sides)]
    result = imported(tmp_path, "m.json", json.dumps(rows))
    assert turns_of(result) == {"1": ["INBOUND: word 0", "OUTBOUND: word 2"]}
    assert result.left_out == {"note": 1}


def test_lists_in_cells_are_read_as_numpy_writes_them(tmp_path):
    cell = "[{'role': 'user', 'content': 'Hi'}\n {'role': 'assistant', 'content': \"It's open\"}]"
    for written in (cell, f"array({cell}, dtype=object)"):
        quoted = written.replace('"', '""')
        result = imported(tmp_path, "m.csv", f'id,conversation\na,"{quoted}"\n')
        assert turns_of(result) == {"a": ["user: Hi", "assistant: It's open"]}


TURNS = {key: [{"name": who, "text": text} for at, who, text in ROWS if at == key] for key in "ab"}


@pytest.mark.parametrize(
    "content",
    [
        {"version": 1, "chats": TURNS},
        {"version": 1, "store": {at: [{"role": who, "content": x} for to, who, x in ROWS if to == at] for at in "ab"}},
        {"rooms": {key: {"title": "x", "messages": turns} for key, turns in TURNS.items()}, "users": {"u": {}}},
        {"data": {"conversations": {"edges": [{"node": {"id": key, "messages": TURNS[key]}} for key in "ab"]}}},
        {"rooms": {key: {"messages": {f"-{at:019}": turn for at, turn in enumerate(TURNS[key])}} for key in "ab"}},
        {"hits": {"hits": [{"_id": at, "_source": {"chat_id": at, **t}} for at in "ab" for t in TURNS[at]]}},
        {"data": [{"id": key, "type": "chats", "attributes": {"messages": TURNS[key]}} for key in "ab"]},
        {
            "data": [
                {"id": at, "attributes": turn, "relationships": {"chat": {"data": {"type": "chat", "id": at}}}}
                for at in "ab"
                for turn in TURNS[at]
            ]
        },
        [
            {"chatId": {"$oid": at}, "at": {"$date": "2024-03-05T10:00:00Z"}, **turn}
            for at in "ab"
            for turn in TURNS[at]
        ],
        [{"Item": {"id": {"S": at}, "turns": {"L": [{"M": t} for t in TURNS[at]]}}} for at in "ab"],
    ],
)
def test_dialogues_are_found_below_keys_that_are_ids_and_in_wrappers(tmp_path, content):
    assert turns_of(imported(tmp_path, "m.json", json.dumps(content))) == BOTH


def test_an_object_around_the_only_list_is_the_dialogue_if_it_has_an_id(tmp_path):
    answer = {"data": {"conversation": {"id": "a", "subject": "x", "messages": TURNS["a"]}}}
    assert turns_of(imported(tmp_path, "m.json", json.dumps(answer))) == {"a": BOTH["a"]}


def test_a_page_of_short_messages_is_parted_by_its_pairs_of_numbers(tmp_path):
    pairs = [("1", "9", "Open?"), ("9", "1", "Yes."), ("2", "9", "Where?"), ("9", "2", "Here.")]
    rows = [{"from": one, "to": other, "body": text} for one, other, text in pairs]
    page = json.dumps({"messages": rows, "next_page_uri": None, "page": 0})
    assert list(turns_of(imported(tmp_path, "m.json", page))) == ["1, 9", "2, 9"]


def test_the_text_of_a_ticket_comes_before_its_replies(tmp_path):
    tickets = [
        {"id": key, "description": "It broke.", "requester": "ada", "replies": [{"author": "bo", "body": "Sorry."}]}
        for key in "ab"
    ]
    result = imported(tmp_path, "m.json", json.dumps(tickets))
    assert turns_of(result) == {key: ["ada: It broke.", "bo: Sorry."] for key in "ab"}


def test_a_known_form_without_ids_is_one_dialogue_and_that_is_noted(tmp_path):
    (tmp_path / "m.jsonl").write_text(lines(*({"lane": key, "role": role, "content": x} for key, role, x in ROWS)))
    export = read_export(tmp_path / "m.jsonl", Options())
    assert len(export.result.dialogues) == 1
    assert any("the whole file is one dialogue" in note for note in export.descriptions[tmp_path / "m.jsonl"].notes)


@pytest.mark.parametrize(
    "answer",
    [
        "Oak.",
        {"role": "assistant", "content": "Oak."},
        {"choices": [{"message": {"role": "assistant", "content": "Oak."}}]},
        [{"message": {"role": "assistant", "content": "Oak."}}],
    ],
)
@pytest.mark.parametrize(
    "asked", [[{"role": "user", "content": "A tree?"}], {"messages": [{"role": "user", "content": "A tree?"}]}]
)
def test_an_answer_outside_the_messages_of_a_log_is_the_last_turn(tmp_path, asked, answer):
    record = {"id": "a", "op": "chat", "input": asked, "output": answer}
    assert turns_of(imported(tmp_path, "m.jsonl", lines(record))) == {"a": ["user: A tree?", "assistant: Oak."]}


@pytest.mark.parametrize(
    "unsaid",
    [
        {"role": "assistant", "channel": "analysis", "content": "Let me see."},
        {"role": "assistant", "content": '<tool_call>\n{"name": "w"}\n</tool_call>'},
    ],
)
def test_what_a_model_writes_to_itself_is_not_said(tmp_path, unsaid):
    messages = [{"role": "user", "content": "Sun?"}, unsaid, {"role": "assistant", "content": "Yes."}]
    record = lines({"id": "a", "messages": messages})
    assert turns_of(imported(tmp_path, "m.jsonl", record)) == {"a": ["user: Sun?", "assistant: Yes."]}


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("version", ["version", "edited_at"])
def test_only_the_newest_version_of_an_edited_message_counts(tmp_path, order, version):
    marks = {"version": (1, 2, 1), "edited_at": (None, "2024-03-05T10:02", None)}[version]
    said = (("m1", "ada", "At nine", 0), ("m1", "ada", "At ten", 0), ("m2", "bo", "Fine", 1))
    rows = [
        {"id": name, "thread_id": "t", "author": who, "text": text, "created_at": f"2024-03-05T10:0{at}", version: mark}
        for (name, who, text, at), mark in zip(said, marks, strict=True)
    ]
    result = imported(tmp_path, "m.json", json.dumps(rows[::order]))
    assert turns_of(result) == {"t": ["ada: At ten", "bo: Fine"]}
    assert result.left_out == {"edited": 1}
    assert len(imported(tmp_path, "m.json", json.dumps(rows), keep=("edited",)).dialogues[0].turns) == 3


def test_a_contact_in_each_row_is_whose_dialogue_it_is_and_the_flag_tells_the_side(tmp_path):
    rows = ["Ann,1,Hi", "Ann,0,Hello", "Bo,0,Open?", "Bo,1,Yes"]
    for flag in ("IsSend", "is_sender", "fromMe"):
        content = f"nickname,{flag},content\n" + "\n".join(rows) + "\n"
        assert turns_of(imported(tmp_path, "m.csv", content)) == {
            "Ann": ["1: Hi", "0: Hello"],
            "Bo": ["0: Open?", "1: Yes"],
        }


def test_a_recipe_takes_the_first_column_of_speakers_who_take_turns(tmp_path):
    names = "localId,TalkerId,Type,SubType,IsSender,CreateTime,Status,StrContent,StrTime,Remark,NickName,Sender"
    for sender, said in (("wxid_a", "wxid_b"), ("", "")):
        rows = [f"1,5,1,0,0,1709632800,,Hi,,Ann,Ann,{sender}", f"2,5,1,0,1,1709632860,,Yes,,Ann,Ann,{said}"]
        found = turns_of(imported(tmp_path, "m.csv", "\n".join([names, *rows]) + "\n"))
        assert found == {"5": [f"{sender or 0}: Hi", f"{said or 1}: Yes"]}


def test_a_field_that_a_rule_for_messages_names_is_metadata_of_the_dialogue(tmp_path):
    said = [("user", "Rain?", ""), ("assistant", "Hm.", "analysis"), ("assistant", "No.", "final")]
    messages = [{"role": role, "content": text, "channel": channel} for role, text, channel in said]
    record = {"id": "s1", "channel": "chat", "deleted": "no", "name": "Ana", "messages": messages}
    result = imported(tmp_path, "m.jsonl", lines(record))
    assert turns_of(result) == {"s1": ["user: Rain?", "assistant: No."]}
    assert result.dialogues[0].metadata == {"channel": "chat", "deleted": "no"}


def test_an_object_of_metadata_beside_the_messages_is_the_metadata(tmp_path):
    messages = [{"role": "user", "content": "Rain?"}, {"role": "assistant", "content": "No."}]
    facts = {"thumbs": "up", "model": "other", "plan": {"name": "pro"}, "createdAt": "2024-03-05"}
    record = lines({"id": "s1", "model": "m", "metadata": facts, "messages": messages})
    [dialogue] = imported(tmp_path, "m.jsonl", record).dialogues
    assert dialogue.metadata == {"model": "m", "thumbs": "up"}


STATES = [{"role": role, "content": text} for role, text in (("user", "Hi"), ("bot", "Yes?"), ("user", "My card"))]


def test_the_last_and_longest_state_of_a_dialogue_counts(tmp_path):
    states = [{"session_id": "s", "messages": STATES[:last]} for last in (1, 3, 2)]
    result = imported(tmp_path, "e.jsonl", lines(*states, {"session_id": "t", "messages": STATES[:2]}))
    assert turns_of(result) == {"s": ["user: Hi", "bot: Yes?", "user: My card"], "t": ["user: Hi", "bot: Yes?"]}
    assert (result.repeated, [item.reason for item in result.quarantine]) == (1, ["the id came before on line 2"])


def test_another_dialogue_with_a_known_id_is_quarantined(tmp_path):
    states = [{"session_id": "s", "messages": turns} for turns in (STATES[:2], STATES[1:])]
    result = imported(tmp_path, "e.jsonl", lines(*states))
    assert turns_of(result) == {"s": ["user: Hi", "bot: Yes?"]}
    assert [item.reason for item in result.quarantine] == ["the id came before on line 1"]
