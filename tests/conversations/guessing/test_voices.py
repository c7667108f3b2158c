from __future__ import annotations

import pytest

from conversations.dialogue import Turn
from conversations.formats.plain_text import script_of
from conversations.guessing.names import plain
from conversations.guessing.naming import without_separators
from conversations.guessing.voices import is_flag, is_side, speaker_column, speaker_key


def groups(names, *dialogues):
    return [[dict(zip(names.split(), row, strict=True)) for row in rows] for rows in dialogues]


TEXTS = ("where is it", "on its way", "thanks a lot", "good bye then")


def dialogue(*rows):
    return [(*row, TEXTS[at]) for at, row in enumerate(rows)]


@pytest.mark.parametrize(
    ("names", "first", "second", "expected"),
    [
        # A constant account is never the speaker.
        ("user_id type text", [("u9", "human"), ("u9", "ai")], [("u8", "human"), ("u8", "ai")], "type"),
        ("username sender_type text", [("m", "customer"), ("m", "agent")], [("l", "customer")], "sender_type"),
        ("customer_name direction text", [("M", "inbound"), ("M", "outbound")], [("L", "inbound")], "direction"),
        # A role goes before an id, a name before a role.
        ("author_id author_type text", [("17", "user"), ("18", "bot")], [("19", "user")], "author_type"),
        ("name role text", [("Ana", "user"), ("Bo", "agent")], [("Cy", "user")], "role"),
        ("sender_name sender_type text", [("Ana", "user"), ("Bo", "agent")], [("Cy", "user")], "sender_name"),
        # Flags tell sides if nothing else does.
        ("is_agent text", [("False",), ("True",)], [("False",), ("True",)], "is_agent"),
        ("fromMe text", [(1,), (0,)], [(0,), (1,)], "fromMe"),
        # Three people of one type are three speakers.
        ("sender_id sender_type text", [("1", "user"), ("2", "user"), ("3", "user")], [("1", "bot")], "sender_id"),
        # A column that most turns leave blank is not the speaker's.
        ("user_id side text", [("7", "internal"), ("", "external"), ("7", "internal")], [("", "external")], "side"),
        ("Agent_or_Visitor text", [("Ana",), ("Bo",)], [("Cy",), ("Bo",)], "Agent_or_Visitor"),
    ],
)
def test_a_speaker_takes_turns(names, first, second, expected):
    sample = groups(names, dialogue(*first), dialogue(*second))
    assert speaker_column(sample, [*names.split()], text="text") == expected


def test_a_column_with_a_new_value_in_each_row_or_a_quality_names_nobody():
    rows = dialogue(("m1", "happy"), ("m2", "sad"), ("m3", "happy"), ("m4", "sad"))
    assert speaker_column(groups("ref sentiment text", rows), ["ref", "sentiment", "text"], text="text") is None


def test_people_without_names_are_told_by_their_ids_if_they_share_a_role():
    people = [{"id": "u1", "type": "user"}, {"id": "u2", "type": "user"}, {"id": "b", "type": "bot"}]
    assert speaker_key([[{"sender": person} for person in people]], "sender") == "id"
    assert speaker_key([[{"sender": person} for person in people[1:]]], "sender") == ""
    named = [person | {"name": person["id"]} for person in people]
    assert speaker_key([[{"sender": person} for person in named]], "sender") == ""


def test_sides_and_flags_are_known_by_their_words():
    assert all(map(is_side, ("user", "Agent", "outbound-api", "Kunde", "function_call", "AI")))
    assert not any(map(is_side, ("Anna", "message", "", "open", "u1")))
    assert all(map(is_flag, ("is_agent", "fromMe", "isInbound", "from_customer")))
    assert not any(map(is_flag, ("agent", "is_open", "me")))


@pytest.mark.parametrize(
    ("name", "english"),
    [
        ("Gesprächs-ID", "conversation_id"),
        ("Sprecher", "speaker"),
        ("Zeitpunkt", "timestamp"),
        ("ID de conversación", "conversation_id"),
        ("Fecha y hora", "date_time"),
        ("Nom de l'expéditeur", "sender_name"),
        ("Date et heure", "date_time"),
        ("Data e ora", "date_time"),
        ("ID conversazione", "conversation_id"),
        ("ID rozmowy", "conversation_id"),
        ("会話ID", "conversation_id"),
        ("Mittente", "sender"),
        ("ID da conversa", "conversation_id"),
        ("Afzender", "sender"),
        ("メッセージ", "message"),
        ("data", "data"),
        ("number of turns", "number_of_turns"),
    ],
)
def test_foreign_names_are_read_in_english(name, english):
    assert plain(name) == english


@pytest.mark.parametrize("remark", ["Note: it rains", "Warning: disk full", "Option 2: a refund", "Hinweis: zu"])
def test_a_remark_in_a_message_is_no_speaker(remark):
    script = script_of(f"Agent: Hello\n{remark}\nCustomer: Hi\nAgent: Bye")
    assert script.spoken() == (Turn("Agent", f"Hello\n{remark}"), Turn("Customer", "Hi"), Turn("Agent", "Bye"))


@pytest.mark.parametrize("frame", ["*** Call ended ***", "Page 2 of 7", "--- end of chat ---", "Seite 2 von 7"])
def test_lines_around_pages_and_calls_are_no_speech(frame):
    script = script_of(f"Agent: Hello\nCustomer: Hi\n{frame}\nAgent: Bye")
    assert script.spoken() == (Turn("Agent", "Hello"), Turn("Customer", "Hi"), Turn("Agent", "Bye"))
    assert script.unused == 1


@pytest.mark.parametrize("mark", [" | ", "<br>", " <EOT> ", " // ", "; ", " [SEP] "])
def test_marks_between_turns_on_one_line_are_no_speech(mark):
    said = ["Agent: Hello.", "Customer: Is it open?", "Agent: Yes"]
    assert without_separators([text + mark.rstrip() for text in said[:-1]] + said[-1:]) == said
    script = script_of(mark.join(said))
    assert [turn.text for turn in script.spoken()] == ["Hello.", "Is it open?", "Yes"]


def test_a_sign_that_not_all_turns_end_with_is_speech():
    said = ["Agent: see a/", "Customer: b", "Agent: c"]
    assert without_separators(said) == said
