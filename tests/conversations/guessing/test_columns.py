from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from conversations.guessing.columns import find_columns
from conversations.guessing.names import is_index, plain
from conversations.options import Options
from conversations.reading import read_export
from dial2vec.errors import CorpusError

PATH = Path("calls.csv")


def rows(names, *cells):
    return [dict(zip(names.split(), row, strict=True)) for row in cells]


def meanings(sample, **options):
    return find_columns(sample, Options(**options), PATH).meanings


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("conversation_id speaker text timestamp", "conversation_id speaker text timestamp"),
        ("callId Sender messageText created_at", "callId Sender messageText created_at"),
        ("ts Author body ticket-id", "ticket-id Author body ts"),
        ("session role utterance turn_index", "session role utterance turn_index"),
        ("message_id call_duration chat_id from content date", "chat_id from content date"),
        ("thread user_name user msg start_time", "thread user msg start_time"),
        ("conversation_sid ParticipantId body timestamp_ms", "conversation_sid ParticipantId body timestamp_ms"),
        ("transcriptSid speaker text BeginOffsetMillis", "transcriptSid speaker text BeginOffsetMillis"),
    ],
)
def test_columns_are_told_by_their_names(names, expected):
    id_, speaker, text, time = expected.split()
    # The speaker changes inside dialogues: otherwise the column would hold whose dialogue it is.
    cells = [[str(len(name) + (at // 2 if name == speaker else at % 2)) for name in names.split()] for at in range(4)]
    found = meanings(rows(names, *cells))
    assert {id_: "dialogue id", speaker: "speaker", text: "text", time: "order of turns"}.items() <= found.items()


def test_names_that_are_not_known_are_told_by_what_the_columns_hold():
    names = "num Faden Wer text Ding"
    said = ("hello there", "na du auch", "my card is lost", "which one is it")
    sample = rows(names, *((str(at), str(at // 4), "AB"[at % 2], said[at % 4], "x") for at in range(16)))
    assert meanings(sample) == {"Faden": "dialogue id", "Wer": "speaker", "text": "text"}


def test_a_column_that_few_rows_fill_is_not_the_speakers():
    said = ("my card is lost", "which one is it", "the blue one please")
    sample = rows("call_id note who's text", *(("1", "x" * (at == 0), "AB"[at % 2], said[at]) for at in range(3)))
    assert meanings(sample) == {"call_id": "dialogue id", "who's": "speaker", "text": "text"}
    sample = rows("call_id user role text", *(("1", "x" * (at == 0), "AB"[at % 2], said[at]) for at in range(3)))
    assert meanings(sample) == {"call_id": "dialogue id", "role": "speaker", "text": "text"}


TIMES = (
    "created_time",
    "start_ms",
    "Date Sent",
    "Comment date",
    "date_created",
    "posted_on",
    "date_unixtime",
    "sentAt",
)


@pytest.mark.parametrize("name", TIMES)
def test_what_is_made_of_words_for_time_is_the_order(name):
    sample = [{"call_id": "1", "speaker": "ab"[at % 2], "text": "x", name: str(9 - at)} for at in range(3)]
    assert find_columns(sample, Options(), PATH).time == name


@pytest.mark.parametrize(
    "name", ["response_time", "updated_at", "end_time", "due_date", "on_call", "utc_offset", "lapse"]
)
def test_times_of_other_things_are_not_the_order_and_that_is_said(name):
    sample = [{"call_id": "1", "speaker": "ab"[at % 2], "text": "x", name: str(9 - at)} for at in range(3)]
    found = find_columns(sample, Options(), PATH)
    assert found.time is None
    assert found.notes == (
        "no order column: turns as they stand; if the newest stands first, name the time with --time",
    )


def test_a_time_that_changes_inside_dialogues_goes_before_one_that_does_not():
    sample = rows(
        "ticket_id speaker text created_at comment_date", *(("1", "ab"[at], "x", "9", str(at)) for at in (0, 1))
    )
    assert find_columns(sample, Options(), PATH).time == "comment_date"
    for row in sample:
        del row["comment_date"]
    found = find_columns(sample, Options(), PATH)
    assert (found.time, found.notes[0]) == (
        "created_at",
        "'created_at' is the same in all turns of a dialogue: turns as they stand",
    )


def test_dates_and_clocks_in_two_columns_are_one_time():
    sample = rows(
        "call_id speaker text date time", ("1", "a", "x", "2024-05-02", "09:00"), ("1", "b", "y", "2024-05-01", "10:00")
    )
    found = find_columns(sample, Options(), PATH)
    assert [found.time_of(row) for row in sample] == ["2024-05-02 09:00", "2024-05-01 10:00"]
    assert (found.meanings["date"], found.meanings["time"]) == ("order of turns", "order of turns")
    sample[0]["time"] = "2024-05-02 09:00"
    assert find_columns(sample, Options(), PATH).day is None


def test_of_several_ids_the_one_that_repeats_tells_the_dialogues_apart():
    sample = rows("Ticket-ID Conversation-ID from body", *(("7", str(at), "ab"[at], "hello") for at in (0, 1)))
    assert find_columns(sample, Options(), PATH).dialogue_id == "Ticket-ID"


def test_objects_and_indices_are_no_ids():
    record = {"id": "1", "session": {"id": "s"}, "messages": [{"role": "user", "content": "hi"}]}
    assert find_columns([record], Options(), PATH).dialogue_id == "id"
    names = "sentence_index who's text"
    sample = rows(names, *((str(at % 4), "AB"[at // 4 % 2], "so many words here") for at in range(16)))
    assert find_columns(sample, Options(), PATH).dialogue_id is None
    assert is_index("rowIdx")
    assert not is_index("indexed")


def test_who_speaks_is_not_told_by_what_was_said():
    answers = ("I block it now", "Have a nice day", "You are welcome so")
    sample = rows("call_id text note", *(("1", f"text {at}", answers[at % 3]) for at in range(6)))
    with pytest.raises(CorpusError, match="is known to hold the speaker"):
        find_columns(sample, Options(), PATH)
    sample = rows("call_id text final_response", *(("1", f"text {at}", "yn"[at % 2]) for at in range(6)))
    with pytest.raises(CorpusError, match="is known to hold the speaker"):
        find_columns(sample, Options(), PATH)


def test_a_transcript_in_a_cell_is_found_beside_a_speaker_and_a_form_in_a_message_is_none():
    [found] = [{"user": "u1", "transcript": "Agent: hi\nUser: yo"}]
    assert find_columns([found], Options(), PATH).turns == "transcript"
    [found] = [{"user": "u1", "message": "Name: Anna\nOrder: 17"}]
    assert find_columns([found], Options(), PATH).turns is None


def test_turns_that_are_not_taken_are_told():
    turns = [{"role": "user", "content": "hi"}]
    record = {"chosen": turns, "rejected": [{"role": "user", "content": "no"}], "copy": turns}
    found = find_columns([record], Options(), PATH)
    assert found.turns == "chosen"
    assert [note for note in found.notes if "holds turns too" in note] == [
        "'rejected' holds turns too, which are not used; --turns rejected takes them instead"
    ]


def test_an_id_of_each_row_is_no_id_of_a_dialogue():
    sample = rows("id speaker text", ("1", "a", "hello you"), ("2", "b", "hi there"))
    found = find_columns(sample, Options(), PATH)
    assert found.dialogue_id is None
    assert "the whole file is one dialogue" in found.notes[0]


def test_what_is_said_goes_before_any_guess():
    sample = rows("conversation_id agent speaker text note", ("1", "a", "b", "c", "d"))
    found = meanings(sample, speaker="agent", text="note", labels=("text", "speaker"))
    assert found == {
        "conversation_id": "dialogue id",
        "agent": "speaker",
        "note": "text",
        "text": "label",
        "speaker": "label",
    }


def test_a_label_that_changes_inside_dialogues_is_not_taken_but_said():
    sample = rows("call_id speaker text intent", *(("1", "a", "hello", str(at)) for at in range(9)))
    found = find_columns(sample, Options(), PATH)
    assert found.labels == ()
    assert "--label intent takes it" in found.notes[0]
    assert find_columns(sample, Options(labels=("intent",)), PATH).labels == ("intent",)


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"id": 1, "messages": [{"role": "user", "content": "hi"}]}, ("id", "messages", "role", "content")),
        ({"id": 1, "x": [{"from": "a", "value": "hi", "n": 1}]}, ("id", "x", "from", "value")),
        ({"key": 1, "turns": '[{"who": "a", "text": "hi"}]'}, ("key", "turns", "who", "text")),
        ({"key": 1, "turns": "[{'who': 'a', 'text': None}]"}, ("key", "turns", "who", "text")),
        ({"call_id": 1, "transcript": "Agent: hi\nUser: yo"}, ("call_id", "transcript", None, None)),
        ({"call_id": 1, "dump": "Agent: hi\nUser: yo"}, ("call_id", "dump", None, None)),
    ],
)
def test_a_column_that_holds_whole_dialogues_is_found(record, expected):
    found = find_columns([record], Options(), PATH)
    assert (found.dialogue_id, found.turns, found.speaker, found.text) == expected


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        (
            "call_id speaker text",
            {"text": "txet"},
            r"has no column 'txet' \(--text\). Did you mean 'text'\? It has 'call_id'",
        ),
        (
            "call_id speaker",
            {},
            "no column of the rows is known to hold the text; .* Name it with --text COLUMN",
        ),
        ("call_id text", {}, "no column of the rows is known to hold the speaker"),
        ("17 agent Hello", {}, r"calls.csv:1: none of its 3 columns has a known name; .* use --no-header"),
        ("call_id speaker text", {"turns": "turn"}, r"has no column 'turn' \(--turns\)"),
    ],
)
def test_what_cannot_be_told_is_asked_for(names, options, message):
    sample = [dict.fromkeys(names.split(), "x")]
    with pytest.raises(CorpusError, match=message):
        find_columns(sample, Options(**options), PATH)


def test_turns_without_a_speaker_are_asked_for():
    with pytest.raises(CorpusError, match="no column of the turns in column 'turns' is known to hold the speaker"):
        find_columns([{"id": 1, "turns": [{"text": "hi"}]}], Options(), PATH)


def test_names_are_compared_in_small_words():
    assert plain("conversationId") == plain("Conversation ID") == plain("conversation-id_") == "conversation_id"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("N° de ticket", "ticket_number"),
        ("Talep No", "ticket_no"),
        ("Номер обращения", "ticket_number"),
        ("問い合わせ番号", "ticket_number"),
        ("رقم المحادثة", "conversation_number"),
        ("Người gửi", "sender"),
        ("Äußerung", "text"),
    ],
)
def test_names_of_columns_are_known_in_more_languages(name, expected):
    assert plain(name) == expected


def test_a_column_sent_is_the_time_if_all_its_values_are_dates():
    names = "chat_id author message sent"
    first, second = ("1", "Ana", "Bye now", "2024-03-05 10:16"), ("1", "Bo", "Hello you", "2024-03-05 10:15")
    assert meanings(rows(names, first, second))["sent"] == "order of turns"
    assert "sent" not in meanings(rows(names, (*first[:3], "yes"), (*second[:3], "yes")))


def test_a_contact_who_sent_and_received_is_the_other_side_of_a_dialogue():
    names = "type number name message"
    cells = [
        ("Received", "1", "Ana", "Hello you"),
        ("Sent", "1", "Ana", "Hi there"),
        ("Received", "2", "Bo", "Good day"),
    ]
    found = meanings(rows(names, *cells, ("Sent", "2", "Bo", "Well now")))
    assert (found["name"], found["type"]) == ("dialogue id", "speaker")


def test_a_table_of_thousands_of_columns_is_refused_in_time():
    started = time.process_time()
    with pytest.raises(CorpusError, match="none of its 3000 columns has a known name"):
        meanings([{f"w{at}x": str(at) for at in range(3000)}] * 20)
    assert time.process_time() - started < 15


def test_each_contact_of_sent_and_received_messages_is_a_dialogue(tmp_path):
    path = tmp_path / "sms.csv"
    rows = [("Ann", "Received", "Hello you"), ("Ann", "Sent", "Hi Ann")]
    rows += [("Bo", "Received", "Where"), ("Bo", "Sent", "Here")]
    path.write_text("Contact,Direction,Message\n" + "".join(",".join(row) + "\n" for row in rows))
    result = read_export(path, Options()).result
    assert {item.dialogue_id: [turn.text for turn in item.turns] for item in result.dialogues} == {
        "Ann": ["Hello you", "Hi Ann"],
        "Bo": ["Where", "Here"],
    }


def test_reactions_to_messages_are_no_turns(tmp_path):
    path = tmp_path / "chat.json"
    reactions = [{"user": {"name": "Bo"}, "text": "+1"}]
    messages = [
        {"sender": {"id": 1, "name": "Ann"}, "text": "Hello you", "reactions": reactions},
        {"sender": {"id": 2, "name": "Bo"}, "text": "Hi Ann", "reactions": []},
    ]
    path.write_text(json.dumps({"messages": messages}))
    [dialogue] = read_export(path, Options()).result.dialogues
    assert [turn.text for turn in dialogue.turns] == ["Hello you", "Hi Ann"]
