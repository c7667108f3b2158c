"""Exports as the tools of support desks, meetings and chats write them."""

from __future__ import annotations

import json

from conversations.dialogue import Dialogue, Turn
from conversations.options import Options
from conversations.reading import read_export
from tests.conversations.exports import imported

from .test_reading import read


def test_a_meeting_of_three_is_one_dialogue_of_three_speakers(tmp_path):
    said = ("Anna Smith", "Bob", "Cara Lee", "Anna Smith")
    cues = [f"{at}\n00:00:0{at}.000 --> 00:00:0{at}.900\n<v {name}>word {at}</v>" for at, name in enumerate(said)]
    dialogues, quarantine = read(tmp_path, "weekly.vtt", "WEBVTT\n\n" + "\n\n".join(cues))
    assert dialogues == [Dialogue("weekly", tuple(Turn(name, f"word {at}") for at, name in enumerate(said)))]
    assert dialogues[0].n_speakers == 3
    assert quarantine == []


def test_slack_threads_and_messages_outside_them_are_dialogues(tmp_path):
    messages = [
        {"user": "U1", "text": "hey", "ts": "1700000000.0001", "thread_ts": "1700000000.0001"},
        {"user": "U3", "text": "alone", "ts": "1700000005.0"},
        {"user": "U2", "text": "yo", "ts": "1700000001.0001", "thread_ts": "1700000000.0001"},
    ]
    dialogues, _ = read(tmp_path, "slack.json", json.dumps(messages))
    assert dialogues == [
        Dialogue("1700000000.0001", (Turn("U1", "hey"), Turn("U2", "yo")), date="2023-11-14T22:13:20+00:00"),
        Dialogue("1700000005.0", (Turn("U3", "alone"),), date="2023-11-14T22:13:25+00:00"),
    ]


def test_a_support_desks_export_is_read_through_its_nested_parts(tmp_path):
    parts = [
        {"author": {"type": "user", "name": "Al"}, "body": "<p>hi</p>", "created_at": 1},
        {"author": {"type": "admin", "id": 3}, "body": None, "created_at": 2},
        {"author": {"type": "admin", "id": 3}, "body": "yo", "created_at": 3},
    ]
    record = {"id": "x", "conversation_parts": {"conversation_parts": parts}, "tags": {"tags": [{"name": "vip"}]}}
    dialogues, _ = read(tmp_path, "desk.json", json.dumps({"conversations": [record]}))
    assert dialogues == [Dialogue("x", (Turn("Al", "hi"), Turn("admin", "yo")), ("vip",))]


def test_a_first_message_that_stands_beside_the_others_is_the_first_turn(tmp_path):
    first = {"author": {"name": "Al"}, "body": "my card is lost"}
    parts = [{"author": {"name": "Bo"}, "body": "which?"}, {"author": {"name": "Al"}, "body": "the blue one"}]
    record = {"id": 1, "source": first, "last_message": parts[1], "parts": parts}
    dialogues, _ = read(tmp_path, "desk.jsonl", json.dumps(record))
    said = (Turn("Al", "my card is lost"), Turn("Bo", "which?"), Turn("Al", "the blue one"))
    assert dialogues == [Dialogue("1", said)]
    dialogues, _ = read(tmp_path, "desk.jsonl", json.dumps(record | {"source": parts[0]}))
    assert dialogues == [Dialogue("1", said[1:])]
    again = record | {"parts": [parts[0], first, parts[1]]}
    assert len(read(tmp_path, "desk.jsonl", json.dumps(again))[0][0].turns) == 4
    timed = {"id": 1, "solved": first | {"start": 9}, "parts": [part | {"start": at} for at, part in enumerate(parts)]}
    dialogues, _ = read(tmp_path, "desk.jsonl", json.dumps(timed))
    assert dialogues == [Dialogue("1", (*said[1:], said[0]))]
    dialogues, quarantine = read(tmp_path, "desk.jsonl", json.dumps(record | {"source": first | {"author": ""}}))
    assert (dialogues, quarantine) == ([Dialogue("1", said[1:])], [])


def test_a_mail_with_its_replies_is_the_first_turn_and_a_text_of_the_whole_is_none(tmp_path):
    replies = [{"from": "Bo", "body": "which?"}, {"from": "Al", "body": "the blue one"}]
    mail = {"id": 1, "from": "Al", "body": "my card is lost", "replies": replies}
    said = (Turn("Al", "my card is lost"), Turn("Bo", "which?"), Turn("Al", "the blue one"))
    assert read(tmp_path, "mail.jsonl", json.dumps(mail))[0] == [Dialogue("1", said)]
    mail["body"] = "which? the blue one"
    assert read(tmp_path, "mail.jsonl", json.dumps(mail))[0] == [Dialogue("1", said[1:], metadata={"from": "Al"})]


def test_blank_turns_are_counted_also_inside_records(tmp_path):
    turns = [{"role": "user", "content": "hi"}, {"role": "tool", "content": None}, {"role": "user", "content": " "}]
    result = imported(tmp_path, "e.jsonl", json.dumps({"id": 1, "messages": turns}))
    assert (result.blank, result.left_out) == (1, {"tool": 1})
    assert imported(tmp_path, "e.csv", 'id,transcript\n1,"Agent: hi\nUser:\nUser: you"\n').blank == 1


def test_turns_with_the_list_of_their_words_are_turns_and_no_dialogues(tmp_path):
    word = {"speaker": "A", "text": "Hello"}
    said = [
        {"speaker": "A", "text": "Hello you.", "start": 5, "words": [word]},
        {"speaker": "B", "text": "Hi.", "start": 9},
    ]
    whole = {"id": "t-1", "text": "Hello you. Hi.", "words": [word], "utterances": said}
    expected = (Turn("A", "Hello you."), Turn("B", "Hi."))
    assert read(tmp_path, "e.json", json.dumps(whole))[0] == [Dialogue("t-1", expected)]
    assert read(tmp_path, "e.json", json.dumps(whole), turns="utterances")[0] == [Dialogue("t-1", expected)]
    assert read(tmp_path, "e.json", json.dumps(said))[0] == [Dialogue("e", expected)]
    nested = {"results": {"channels": [{"n": 1}], "utterances": said}}
    assert read(tmp_path, "e.json", json.dumps(nested))[0] == [Dialogue("e-1", expected)]


def test_a_list_of_messages_of_several_conversations_is_parted_by_their_ids(tmp_path):
    messages = [{"lane": at // 2, "author": "ab"[at % 2], "body": f"word {at}"} for at in range(4)]
    page = {"messages": messages, "meta": {"page": 0}}
    assert len(read(tmp_path, "e.json", json.dumps(page))[0]) == 1
    assert [d.dialogue_id for d in read(tmp_path, "e.json", json.dumps(page), dialogue_id="lane")[0]] == ["0", "1"]
    page["messages"] = [{"conversation_sid": row["lane"]} | row for row in messages]
    assert [d.dialogue_id for d in read(tmp_path, "e.json", json.dumps(page))[0]] == ["0", "1"]


def test_sentences_of_a_speaker_are_one_turn(tmp_path):
    monologue = {"speakerId": "1", "sentences": [{"text": "Hello."}, {"text": "How are you?"}]}
    calls = {
        "callTranscripts": [{"callId": "7", "transcript": [monologue]}, {"callId": "8", "transcript": [monologue]}]
    }
    dialogues, _ = read(tmp_path, "e.json", json.dumps(calls))
    assert dialogues[0] == Dialogue("7", (Turn("1", "Hello. How are you?"),))


def test_texts_that_were_encoded_twice_are_decoded_and_that_is_said(tmp_path):
    turns = [{"sender_name": "Anna Müller", "content": "Très bien 😀"}, {"sender_name": "Bob", "content": "ok"}]
    text = json.dumps({"messages": turns}, ensure_ascii=False).encode().decode("latin-1")
    path = tmp_path / "e.json"
    path.write_text(text, encoding="utf-8")
    export = read_export(path, Options())
    assert export.result.dialogues[0].turns[0] == Turn("Anna Müller", "Très bien 😀")
    assert "encoded twice" in export.descriptions[path].notes[-1]
    # One text that was not shows that the others only look so.
    dialogues, _ = read(tmp_path, "e.json", text.replace("ok", "déjà vu").encode())
    assert dialogues[0].turns[0].speaker == "Anna MÃ¼ller"


def test_html_is_taken_out_of_texts_that_are_html_and_left_in_a_chat_about_it(tmp_path):
    rows = "call_id,speaker,text\n1,a,<p>Hi &amp; hello</p><p>you<br/>there</p>\n1,b,1 < 2 &gt; 0\n1,a,<p></p>\n"
    path = tmp_path / "e.csv"
    path.write_text(rows)
    export = read_export(path, Options())
    assert export.result.dialogues[0].turns == (Turn("a", "Hi & hello\nyou\nthere"), Turn("b", "1 < 2 > 0"))
    assert export.result.blank == 1
    assert any("are HTML" in note for note in export.descriptions[path].notes)
    path.write_text("call_id,speaker,text\n1,a,write <b>x</b>\n" + "1,b,ok &amp; so\n" * 3)
    export = read_export(path, Options())
    assert [turn.text for turn in export.result.dialogues[0].turns[:2]] == ["write <b>x</b>", "ok &amp; so"]
    assert any("left as they are" in note for note in export.descriptions[path].notes)


def test_a_cell_of_html_lines_is_a_transcript(tmp_path):
    cell = "<p>Chat Started: Monday</p>( 12s ) Tom B: Hello<br>( 1m 5s ) Visitor: R&amp;D please: now<br>"
    dialogues, _ = read(tmp_path, "e.csv", f'CaseNumber,Owner,Body\n17,Tom,"{cell}"\n')
    assert dialogues == [
        Dialogue("17", (Turn("Tom B", "Hello"), Turn("Visitor", "R&D please: now")), metadata={"Owner": "Tom"})
    ]


def test_a_bot_without_the_usual_name_speaks_by_its_other_one(tmp_path):
    messages = [
        {"user": "U1", "text": "help", "ts": "1.0", "thread_ts": "1.0"},
        {"username": "pager", "bot_id": "B1", "text": "incident", "ts": "2.0", "thread_ts": "1.0"},
        {"bot_id": "B2", "text": "solved", "ts": "3.0", "thread_ts": "1.0"},
    ]
    dialogues, _ = read(tmp_path, "slack.json", json.dumps(messages))
    assert dialogues == [Dialogue("1.0", (Turn("U1", "help"), Turn("pager", "incident"), Turn("B2", "solved")))]


def test_one_exchange_per_row_is_two_turns_per_row(tmp_path):
    rows = "session_id,user_id,timestamp,user_message,bot_response\n"
    rows += "s1,u,2024-01-01 10:01,Thanks a lot,Welcome\ns1,u,2024-01-01 10:00,I lost my card,I block it\n"
    dialogues, _ = read(tmp_path, "e.csv", rows)
    said = (Turn("user", "I lost my card"), Turn("bot", "I block it"), Turn("user", "Thanks a lot"))
    date, metadata = "2024-01-01T10:00:00+00:00", {"user_id": "u"}
    assert dialogues == [Dialogue("s1", (*said, Turn("bot", "Welcome")), date=date, metadata=metadata)]
    answers = "question,answer,topic\nHow?,So it is,a\nWhere is it?,Here,b\n"
    assert [dialogue.labels for dialogue in read(tmp_path, "qa.csv", answers)[0]] == [("a",), ("b",)]
    log = [{"input": "Sort a list", "output": "Use sorted()"}, {"input": "Hi", "output": ""}]
    dialogues, _ = read(tmp_path, "log.jsonl", "\n".join(map(json.dumps, log)))
    assert dialogues == [
        Dialogue("log-1", (Turn("user", "Sort a list"), Turn("bot", "Use sorted()"))),
        Dialogue("log-2", (Turn("user", "Hi"),)),
    ]
