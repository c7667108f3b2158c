"""Fragments that are one turn, and chats of months that are cut where nobody wrote."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations.options import Options
from conversations.pauses import UNTIMED, Row, parts_of, turns_of
from conversations.reading import read_export
from conversations.values.times import ClockReading
from tests.conversations.exports import imported

SAID = [
    ("2024-03-25T09:00:00", "Ann", "Morning"),
    ("2024-03-25T09:01:00", "Bo", "Hi"),
    ("2024-03-25T21:00:00", "Bo", "Dinner?"),
    ("2024-03-25T21:00:40", "Ann", "Yes"),
    ("2024-03-29T08:00:00", "Cy", "Hello all"),
    ("2024-03-29T08:01:00", "Ann", "Hello"),
]
CUT = {
    "chat-2024-03-25": ["Morning", "Hi"],
    "chat-2024-03-25-2": ["Dinner?", "Yes"],
    "chat-2024-03-29": ["Hello all", "Hello"],
}


def telegram() -> str:
    messages = [
        {"id": at, "type": "message", "date": time, "from": name, "from_id": f"user{name}", "text": text}
        for at, (time, name, text) in enumerate(SAID, start=1)
    ]
    return json.dumps({"name": "Home", "type": "private_group", "id": "chat", "messages": messages})


def whatsapp() -> str:
    days = ((f"{time[8:10]}/{time[5:7]}/{time[:4]}, {time[11:]}", name, text) for time, name, text in SAID)
    return "".join(f"[{time}] {name}: {text}\n" for time, name, text in days)


FORMS = {
    "chat.csv": "time,user,text\n" + "".join(f"{time},{name},{text}\n" for time, name, text in SAID),
    "chat.txt": "".join(f"{time.replace('T', ' ')} {name}: {text}\n" for time, name, text in SAID),
    "chat.json": telegram(),
    "_chat/chat.txt": whatsapp(),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_chat_is_cut_where_nobody_wrote(tmp_path, name):
    result = imported(tmp_path, name, FORMS[name], pause=6.0)
    assert {item.dialogue_id: [turn.text for turn in item.turns] for item in result.dialogues} == CUT
    dates = [item.date[:16] for item in result.dialogues]
    assert dates == ["2024-03-25T09:00", "2024-03-25T21:00", "2024-03-29T08:00"]
    [whole] = imported(tmp_path, name, FORMS[name]).dialogues
    assert (whole.dialogue_id, len(whole.turns)) == ("chat", len(SAID))
    assert len(imported(tmp_path, name, FORMS[name], pause=24.0).dialogues) == 2


def test_a_transcript_in_a_cell_is_cut_too(tmp_path):
    content = json.dumps({"id": "chat", "transcript": FORMS["chat.txt"]})
    assert [item.dialogue_id for item in imported(tmp_path, "e.jsonl", content, pause=6.0).dialogues] == list(CUT)


def test_fragments_of_a_plain_transcript_are_joined(tmp_path):
    lines = ["2024-03-25 09:00 Ann: I lost", "2024-03-25 09:00 Ann: my card", "2024-03-25 09:30 Ann: Hello?"]
    [dialogue] = imported(tmp_path, "chat.txt", "\n".join([*lines, "2024-03-25 09:31 Bo: Hi"]), join=60.0).dialogues
    assert [turn.text for turn in dialogue.turns] == ["I lost my card", "Hello?", "Hi"]


@pytest.mark.parametrize("options", [{"pause": 6.0}, {"join": 5.0}])
def test_a_chat_without_times_stays_whole_and_a_note_says_so(tmp_path, options):
    result = imported(tmp_path, "chat.txt", "Ann: Morning\nBo: Hi\n", **options)
    assert len(result.dialogues) == 1
    assert UNTIMED in result.notes


def rows_at(times):
    return [Row(at, "a", str(at), "" if time is None else str(time)) for at, time in enumerate(times)]


@given(st.lists(st.one_of(st.none(), st.integers(10**9, 10**9 + 10**6)), min_size=1, max_size=30), st.floats(0.1, 50))
def test_parts_hold_every_row_once_in_order_and_none_pauses(times, hours):
    rows, reading = rows_at(times), ClockReading()
    parts = parts_of(rows, hours, reading)
    assert [row for part in parts for row in part] == rows
    for part in parts:
        known = [int(row.time) for row in part if row.time]
        assert all(after - before < hours * 3600 for before, after in pairwise(known))


def test_without_a_limit_nothing_is_cut_or_joined():
    rows = rows_at([10**9, 10**9, 2 * 10**9])
    assert parts_of(rows, None, ClockReading()) == [rows]
    assert len(turns_of(rows, None, ClockReading())) == 3


def test_rows_that_a_recipe_keeps_in_their_order_are_cut_but_not_sorted(tmp_path):
    # An answer that was made again has a later time than what follows it.
    said = [("10:00", "Ana", "Rain?"), ("10:09", "Bo", "No."), ("10:05", "Ana", "Sure?"), ("20:00", "Bo", "Hm")]
    rows = [
        {"name": who, "is_user": who == "Ana", "send_date": f"2024-03-25T{time}:00Z", "mes": text}
        for time, who, text in said
    ]
    content = "".join(json.dumps(row) + "\n" for row in rows)
    [whole] = imported(tmp_path, "chat.jsonl", content).dialogues
    assert [turn.text for turn in whole.turns] == ["Rain?", "No.", "Sure?", "Hm"]
    parts = imported(tmp_path, "chat.jsonl", content, pause=6.0).dialogues
    assert [len(part.turns) for part in parts] == [3, 1]


def test_columns_that_are_the_same_in_a_dialogue_are_its_metadata(tmp_path):
    rows = ["7,a,Hello there,phone,3,m1", "7,b,Hi you,phone,3,m2", "8,a,Anyone?,chat,,m3", "8,b,Yes me,chat,,m4"]
    result = imported(tmp_path, "e.csv", "\n".join(["call_id,speaker,text,channel,csat,message_id", *rows]))
    assert [dict(d.metadata) for d in result.dialogues] == [{"channel": "phone", "csat": "3"}, {"channel": "chat"}]


def test_a_column_that_changes_later_than_the_first_rows_is_left_out_of_that_dialogue(tmp_path):
    rows = [f"{n},{s},word {n} {s},{'x' if n < 1500 or s == 'a' else 'y'}" for n in range(1501) for s in "ab"]
    result = imported(tmp_path, "e.csv", "\n".join(["call_id,speaker,text,room", *rows]))
    assert dict(result.dialogues[0].metadata) == {"room": "x"}
    assert dict(result.dialogues[1500].metadata) == {}


@pytest.mark.parametrize(("join", "texts"), [(None, ["I", "lost my card", "Sorry"]), (5, ["I lost my card", "Sorry"])])
def test_fragments_that_are_close_together_are_one_turn(tmp_path, join, texts):
    rows = ["7,2024-03-05 10:00:00,a,I", "7,2024-03-05 10:00:04,a,lost my card", "7,2024-03-05 10:00:06,b,Sorry"]
    result = imported(tmp_path, "e.csv", "\n".join(["call_id,created_at,speaker,text", *rows]), join=join)
    assert [turn.text for turn in result.dialogues[0].turns] == texts


def test_a_blank_speaker_costs_the_turn_or_gets_a_name(tmp_path):
    text = "call_id,speaker,text\n7,a,Hello there\n7,,Hi you\n7,a,Bye then\n"
    result = imported(tmp_path, "e.csv", text)
    assert [turn.text for turn in result.dialogues[0].turns] == ["Hello there", "Bye then"]
    assert (result.left_out, result.quarantine) == ({"no speaker": 1}, [])
    result = imported(tmp_path, "e.csv", text, blank_speaker="caller")
    assert [turn.speaker for turn in result.dialogues[0].turns] == ["a", "caller", "a"]


def test_conversations_in_several_files_are_joined_if_the_user_says_so(tmp_path):
    folder = tmp_path / "calls"
    folder.mkdir()
    (folder / "1.csv").write_text("call_id,speaker,text\n7,a,Hello there\n7,b,Hi you\n")
    (folder / "2.csv").write_text("call_id,speaker,text\n7,a,And now?\n7,b,Bye then\n")
    apart = read_export(folder, Options()).result
    assert (len(apart.dialogues), len(apart.quarantine)) == (1, 1)
    [dialogue] = read_export(folder, Options(parts=True)).result.dialogues
    assert [turn.text for turn in dialogue.turns] == ["Hello there", "Hi you", "And now?", "Bye then"]


def test_fragments_of_a_chat_in_lines_are_joined_too(tmp_path):
    lines = [
        "5/3/24, 9:01 - Ann: hello",
        "5/3/24, 9:01 - Bo: hi",
        "5/3/24, 9:02 - Bo: there",
        "5/3/24, 9:09 - Bo: well",
    ]
    assert len(imported(tmp_path, "chat.txt", "\n".join(lines)).dialogues[0].turns) == 4
    joined = imported(tmp_path, "chat.txt", "\n".join(lines), join=60.0).dialogues[0]
    assert [turn.text for turn in joined.turns] == ["hello", "hi there", "well"]


def test_metadata_that_a_dialogue_cannot_hold_cost_no_dialogue(tmp_path):
    names = [*(f"field_{at}" for at in range(130)), "x" * 150]
    rows = [f"7,{speaker},word {speaker}," + ",".join("1" for _ in names) for speaker in "ab"]
    result = imported(tmp_path, "e.csv", "\n".join(["call_id,speaker,text," + ",".join(names), *rows]))
    assert (len(result.dialogues), len(result.quarantine)) == (1, 0)
    assert len(result.dialogues[0].metadata) == 100
    assert any("keys beyond the first 100" in note for note in result.notes)
