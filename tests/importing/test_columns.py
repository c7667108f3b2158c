from __future__ import annotations

from pathlib import Path

import pytest

from dial2vec.errors import CorpusError
from dial2vec.importing.columns import find_columns, plain
from dial2vec.importing.options import Options

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
    ],
)
def test_columns_are_told_by_their_names(names, expected):
    id_, speaker, text, time = expected.split()
    cells = [[str(len(name) + at % 2) for name in names.split()] for at in range(4)]
    found = meanings(rows(names, *cells))
    assert {id_: "dialogue id", speaker: "speaker", text: "text", time: "order of turns"}.items() <= found.items()


def test_names_that_are_not_known_are_told_by_what_the_columns_hold():
    names = "num Gespräch Wer text Thema"
    said = ("hello there", "na du auch", "my card is lost", "which one is it")
    sample = rows(names, *((str(at), str(at // 4), "AB"[at % 2], said[at % 4], "x") for at in range(16)))
    assert meanings(sample) == {"Gespräch": "dialogue id", "Wer": "speaker", "text": "text"}


def test_a_column_that_few_rows_fill_is_not_the_speakers():
    said = ("my card is lost", "which one is it", "the blue one please")
    sample = rows("call_id note who's text", *(("1", "x" * (at == 0), "AB"[at % 2], said[at]) for at in range(3)))
    assert meanings(sample) == {"call_id": "dialogue id", "who's": "speaker", "text": "text"}
    sample = rows("call_id user role text", *(("1", "x" * (at == 0), "AB"[at % 2], said[at]) for at in range(3)))
    assert meanings(sample) == {"call_id": "dialogue id", "role": "speaker", "text": "text"}


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
            "which column of the rows holds the text cannot be told; .* Name it with --text COLUMN",
        ),
        ("call_id text", {}, "which column of the rows holds the speaker cannot be told"),
        ("17 agent Hello", {}, r"calls.csv:1: none of its 3 columns has a name that is known; .* use --no-header"),
        ("call_id speaker text", {"turns": "turn"}, r"has no column 'turn' \(--turns\)"),
    ],
)
def test_what_cannot_be_told_is_asked_for(names, options, message):
    sample = [dict.fromkeys(names.split(), "x")]
    with pytest.raises(CorpusError, match=message):
        find_columns(sample, Options(**options), PATH)


def test_turns_without_a_speaker_are_asked_for():
    with pytest.raises(CorpusError, match="which column of the turns in column 'turns' holds the speaker"):
        find_columns([{"id": 1, "turns": [{"text": "hi"}]}], Options(), PATH)


def test_names_are_compared_in_small_words():
    assert plain("conversationId") == plain("Conversation ID") == plain("conversation-id_") == "conversation_id"
