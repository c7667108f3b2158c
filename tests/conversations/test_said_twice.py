"""Messages that an export holds twice, ids inside ids, answers beside lists, and records of several forms."""

from __future__ import annotations

import json

import pytest

from tests.conversations.exports import imported, turns_of


def lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def said(name, who, text, **more):
    return {"conversation_id": "c", "message_id": name, "author": who, "text": text, **more}


USER, BOT = {"role": "user", "content": "Open?"}, {"role": "assistant", "content": "Until six."}


def test_a_message_on_two_pages_counts_once(tmp_path):
    rows = [said("1", "ana", "Hello?", page=1), said("2", "bo", "Yes?", page=1), said("2", "bo", "Yes?", page=2)]
    expected = {"c": ["ana: Hello?", "bo: Yes?", "ana: Bye"]}
    rows.append(said("3", "ana", "Bye", page=2))
    assert turns_of(imported(tmp_path, "m.json", json.dumps(rows))) == expected
    pages = [
        {"page": at, "messages": [{k: v for k, v in r.items() if k != "page"} for r in rows if r["page"] == at]}
        for at in (1, 2)
    ]
    assert turns_of(imported(tmp_path, "p.json", json.dumps(pages))) == expected
    whole = [{"id": "c", "messages": [{"id": r["message_id"], "author": r["author"], "text": r["text"]} for r in rows]}]
    assert turns_of(imported(tmp_path, "w.json", json.dumps(whole))) == expected
    roles = [{"session_id": "c", "id": at, **turn} for at, turn in ((1, USER), (2, BOT), (2, BOT), (3, USER))]
    assert len(imported(tmp_path, "r.jsonl", lines(*roles)).dialogues[0].turns) == 3


def test_an_edited_message_stands_where_it_was_said_first(tmp_path):
    rows = [said("1", "ana", "At nine", at="2024-03-05T10:00"), said("2", "bo", "Fine", at="2024-03-05T10:01")]
    rows += [said("1", "ana", "At ten", at="2024-03-05T10:02"), said("2", "bo", "", at="2024-03-05T10:03")]
    assert turns_of(imported(tmp_path, "m.json", json.dumps(rows[:3]))) == {"c": ["ana: At ten", "bo: Fine"]}
    assert turns_of(imported(tmp_path, "d.json", json.dumps(rows))) == {"c": ["ana: At ten"]}


def test_parts_of_one_message_are_kept(tmp_path):
    rows = [said("1", "ana", "Hello there"), said("1", "ana", "how are you today"), said("2", "bo", "fine")]
    assert len(imported(tmp_path, "m.json", json.dumps(rows)).dialogues[0].turns) == 3


@pytest.mark.parametrize("mark", ["(edited)", "(bearbeitet)", "(modifié)", "（編集済み）"])
def test_a_text_with_a_mark_takes_the_place_of_the_one_before(tmp_path, mark):
    rows = ["x,2024-03-05 10:00,ana,At eight we meet", f"x,2024-03-05 10:00,ana,At nine we meet {mark}"]
    rows.append(f"x,2024-03-05 10:01,bo,ok {mark}")
    content = "chat,time,user,text\n" + "\n".join(rows) + "\n"
    assert turns_of(imported(tmp_path, "m.csv", content)) == {"x": ["ana: At nine we meet", f"bo: ok {mark}"]}


@pytest.mark.parametrize(
    ("outer", "inner"), [("session_id", "chat_id"), ("sessionId", "topicId"), ("user_id", "thread_id")]
)
def test_the_finest_id_of_dialogues_counts(tmp_path, outer, inner):
    rows = [{outer: "s", inner: chat, "author": who, "text": f"{who} says"} for chat in "ab" for who in ("ana", "bo")]
    roles = [{outer: "s", inner: chat, **turn} for chat in "ab" for turn in (USER, BOT)]
    for name, content in (("m.jsonl", lines(*rows)), ("r.jsonl", lines(*roles))):
        assert list(turns_of(imported(tmp_path, name, content))) == ["a", "b"]


@pytest.mark.parametrize("name", ["message_id", "request_id", "run_id", "turn_id"])
def test_ids_of_messages_and_requests_part_nothing(tmp_path, name):
    roles = [{"conversation_id": "c", name: f"r{at // 2}", **(USER, BOT)[at % 2], "at": at} for at in range(4)]
    assert list(turns_of(imported(tmp_path, "r.jsonl", lines(*roles)))) == ["c"]


@pytest.mark.parametrize(
    "beside",
    [{"answer": "Yes."}, {"response": {"text": "Yes."}}, {"output": {"content": "Yes."}}, {"result": "Yes."}],
)
def test_an_answer_beside_a_list_that_ends_with_a_question_is_the_last_turn(tmp_path, beside):
    expected = {"m": ["user: Open?", "assistant: Yes."]}
    assert turns_of(imported(tmp_path, "m.json", json.dumps([{"request": {"messages": [USER]}, **beside}]))) == expected
    whole = imported(tmp_path, "w.json", json.dumps([{"id": "m", "messages": [USER, BOT], **beside}]))
    assert turns_of(whole) == {"m": ["user: Open?", "assistant: Until six."]}


def test_a_partial_text_is_none_and_another_channel_is_metadata(tmp_path):
    rows = [{"type": "partial", "role": "user", "content": "Op"}, {"type": "final", **USER}, {"type": "final", **BOT}]
    rows = [{"session_id": "s", "channel": "whatsapp", **row} for row in rows]
    [dialogue] = imported(tmp_path, "m.jsonl", lines(*rows)).dialogues
    assert [turn.text for turn in dialogue.turns] == ["Open?", "Until six."]
    assert dialogue.metadata["channel"] == "whatsapp"


def test_records_of_other_forms_are_read_in_their_own(tmp_path):
    records = [{"id": key, "messages": [USER, BOT]} for key in "acde"]
    records += [{"prompt": "Tea?", "response": "No, sorry."}]
    records += [{"id": "b", "conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Ho"}]}]
    result = imported(tmp_path, "m.jsonl", lines(*records, {"x": 1, "y": 2}))
    assert [len(dialogue.turns) for dialogue in result.dialogues] == [2] * 6
    assert [item.reason for item in result.quarantine] == ["it has another form (keys x, y), which cannot be read"]


def test_events_change_a_message_and_take_it_back(tmp_path):
    def event(kind, name, who, text, minute):
        message = {"id": name, "conversation_id": "c", "author": who, "text": text}
        return {"event": f"message.{kind}", "message": message, "at": f"2024-03-05T10:0{minute}:00Z"}

    rows = [event("created", "1", "ana", "When?", 0), event("created", "2", "bo", "At eight", 1)]
    rows += [event("created", "3", "ana", "Fine", 2), event("updated", "2", "bo", "Tomorrow", 3)]
    rows.append(event("deleted", "1", "ana", "When?", 4))
    assert turns_of(imported(tmp_path, "events.jsonl", lines(*rows))) == {"c": ["bo: Tomorrow", "ana: Fine"]}
