from __future__ import annotations

import pytest

from conversations.dialogue import Turn
from conversations.formats.encodings import find_encoding
from conversations.formats.plain_text import is_script, read_plain_text, script_of, split_speaker, without_time
from conversations.guessing.names import is_role


@pytest.mark.parametrize(
    ("line", "speaker"),
    [
        ("Agent: Hello", "Agent"),
        ("Anna Smith: Hello: you", "Anna Smith"),
        ("Anna van der Berg: Hello", "Anna van der Berg"),
        ("customer 2: hello", "customer 2"),
        ("Anna (00:12): Hello", "Anna"),
        ("**Agent:** Hello", "Agent"),
        ("王伟：你好", "王伟"),
        ("Agent:Hello", "Agent"),
        ("So here is the thing: no", None),
        ("10:30 is fine", None),
        ("see https://example.org: good", None),
        ("https://example.org", None),
        ("Really? Well: no", None),
        ("no name at all", None),
        ("Bob Stone's iPhone: hi", "Bob Stone's iPhone"),
        ("iPhone (2): hi", "iPhone (2)"),
        ("eBay order: late", None),
        ("- Agent: Hello", "Agent"),
        (": no", None),
    ],
)
def test_a_name_stands_before_the_colon_and_speech_does_not(line, speaker):
    found = split_speaker(line)
    assert (found and found[0]) == speaker


@pytest.mark.parametrize(
    "prefix",
    ["[12.03.24, 14:05:11] ", "12/03/2024, 14:05 - ", "3/1/24, 2:05 PM - ", "00:01:23 ", "[00:01:23.450] ", ""],
)
def test_dates_and_clocks_in_front_are_no_speech(prefix):
    assert without_time(f"{prefix}Anna: hi") == "Anna: hi"


def read(tmp_path, content):
    path = tmp_path / "t.txt"
    path.write_text(content, encoding="utf-8")
    return list(read_plain_text(path, find_encoding(path)))


def test_a_file_is_one_dialogue_and_blank_lines_part_nothing(tmp_path):
    [script] = read(
        tmp_path, "Call of Monday\n\nAgent: Hello\n\nCustomer: My card\nis lost.\n\n10:30 it was\nAgent:\nOk\n"
    )
    assert script.spoken() == (
        Turn("Agent", "Hello"),
        Turn("Customer", "My card\nis lost.\n\n10:30 it was"),
        Turn("Agent", "Ok"),
    )
    assert script.unused == 1


def test_rules_and_headings_part_dialogues(tmp_path):
    scripts = read(tmp_path, "A: x\n---\n---\nB: y\n# call 17\nC: z\n===\n")
    assert [(script.name, script.line, len(script.turns)) for script in scripts] == [
        ("", 1, 1),
        ("", 4, 1),
        ("call 17", 5, 1),
    ]


def test_notices_of_a_messenger_are_no_turns(tmp_path):
    lines = "12/03/2024, 14:05 - Messages are encrypted.\n12/03/2024, 14:05 - Anna: hi\n12/03/2024, 14:06 - Bob left\n"
    [script] = read(tmp_path, lines)
    assert script.spoken() == (Turn("Anna", "hi"),)
    assert script.unused == 2


def test_behind_a_date_stands_any_name_and_no_line_without_one_begins_a_turn(tmp_path):
    chat = [
        "31.12.23, 21:15 - Dr Eve | Acme & Co: one",
        "Note: bring cake",
        "Total: 5",
        "31.12.23, 21:16 - anna from work: two: three",
        '31.12.23, 21:17 - Anna changed the subject from "Party: 1" to "Party: 2"',
        "31.12.23, 21:18 - Anna changed the group name to: Fun",
    ]
    [script] = read(tmp_path, "\n".join(chat))
    assert script.spoken() == (
        Turn("Dr Eve | Acme & Co", "one\nNote: bring cake\nTotal: 5"),
        Turn("anna from work", "two: three"),
    )
    assert script.unused == 2


def test_a_chat_of_a_meeting_names_to_whom_is_written(tmp_path):
    lines = "10:05:12 From Anna Smith to Everyone:\n\tHello all\n10:05:40 From Bob to Anna (Direct Message): Hi: yes\n"
    [script] = read(tmp_path, lines)
    assert script.spoken() == (Turn("Anna Smith", "Hello all"), Turn("Bob", "Hi: yes"))


@pytest.mark.parametrize("heading", ["{}  {}  \n", "{}, [01.05.2024 {}]\n", "{}\n{}\n", "{} ({}):\n"])
def test_a_name_with_a_clock_heads_the_lines_below(tmp_path, heading):
    said = [("Anna Smith", "0:03", "Good: morning.\nAll"), ("Speaker 3", "1:02:30", "Meet at 10:30")]
    text = "".join(heading.format(name, clock) + f"{words}\n\n" for name, clock, words in said)
    [script] = read(tmp_path, text + "Transcribed by https://otter.ai\n")
    assert script.spoken() == (Turn("Anna Smith", "Good: morning.\nAll"), Turn("Speaker 3", "Meet at 10:30"))


def test_speech_over_a_clock_is_no_name(tmp_path):
    [script] = read(tmp_path, "00:00:05\nHello\n00:00:09\nBye\n00:00:12\nYes\n")
    assert script.turns == []
    assert script.unused == 6


def test_a_clock_in_a_chat_with_dates_is_speech(tmp_path):
    chat = "[12:00:01] Anna: When?\n[12:00:05] bob from work: at\n10:30\n10:30 is fine: ok\n"
    [script] = read(tmp_path, chat)
    assert script.spoken() == (Turn("Anna", "When?"), Turn("bob from work", "at\n10:30\n10:30 is fine: ok"))


def test_clocks_of_their_own_and_footers_are_no_speech(tmp_path):
    lines = "Attendees\n00:00:00\nAnna: Hello\n\n00:05:00\n\nBob: Hi\nMeeting ended after 00:06:10\n"
    [script] = read(tmp_path, lines)
    assert script.spoken() == (Turn("Anna", "Hello"), Turn("Bob", "Hi"))
    assert script.unused == 4


def test_a_script_has_two_speakers():
    assert is_script("Agent: Hello\nCustomer: Hi")
    assert not is_script("Note: one\nNote: two")
    assert not is_script("Human: hi\n\nAssistant:")
    assert not is_script("I said: hello\nand left")


def test_roles_are_no_names():
    assert all(map(is_role, ("Agent", "SPEAKER_00", "support bot", "User 2", "customer-service", "A")))
    assert not any(map(is_role, ("Anna", "Agent Anna", "17", "", "U02ABC")))


@pytest.mark.parametrize(
    "content",
    [
        "[Yesterday 10:15 AM] Ana Ruiz\nHello: all\n\n[10:16 AM] Bo\nHi\n\n[10:17 AM] Ana Ruiz\nBye\n",
        "[00:00:03.120] - Ana Ruiz\nHello: all\n\n[00:00:09.040] - Bo\nHi\n\n[00:01:02.000] - Ana Ruiz\nBye\n",
        "00:00:03 Ana Ruiz\nHello: all\n\n00:00:09 Bo\nHi\n\n00:01:02 Ana Ruiz\nBye\n",
        "(0:00 - 0:05)\n[Ana Ruiz]\nHello: all\n\n(0:05 - 0:09)\n[Bo]\nHi\n\n(0:09 - 0:12)\n[Ana Ruiz]\nBye\n",
        "Ana Ruiz\n10:15 AM\nHello: all\nBo\n10:16 AM\nHi\nAna Ruiz\n10:17 AM\nBye\n",
        "Ana Ruiz: [00:03] Hello: all\nBo: [00:09] Hi\nAna Ruiz: [00:12] Bye\n",
        "Ana Ruiz: Hello: all #00:00:03-1#\nBo: Hi #00:00:09-0#\nAna Ruiz: Bye #00:00:12-5#\n",
        "00:00:03:12 Ana Ruiz: Hello: all\n00:00:09:02 Bo: Hi\n00:00:12:20 Ana Ruiz: Bye\n",
        "1  Ana Ruiz:  Hello: all\n2  Bo:  Hi\n3  Ana Ruiz: Bye\n",
        "Call ID: 4711\nDate: 2024-03-05\nAna Ruiz: Hello: all\nBo: Hi\nAna Ruiz: Bye\nSummary: a greeting\n",
    ],
)
def test_names_beside_clocks_numbers_and_fields_are_told_from_them(tmp_path, content):
    path = tmp_path / "t.txt"
    path.write_text(content)
    [script] = read_plain_text(path, find_encoding(path))
    said = [("Ana Ruiz", "Hello: all"), ("Bo", "Hi"), ("Ana Ruiz", "Bye")]
    assert not script.problem
    assert [(turn.speaker, turn.text) for turn in script.spoken()] == said


@pytest.mark.parametrize(
    "line",
    ["[{}] {}", "{}> {}", "<{}> {}", "{} - {}", "00:03 {} - {}", "{} 10:15:03 - {}", "{}「{}」", "{}\n{}\n"],
)
def test_names_without_a_colon_count_if_they_come_back(tmp_path, line):
    path = tmp_path / "t.txt"
    said = [("Agent", "Hello: you"), ("Customer", "Hi"), ("Agent", "Well"), ("Customer", "Bye")]
    path.write_text("\n".join(line.format(*turn) for turn in said))
    [script] = read_plain_text(path, find_encoding(path))
    assert script.spoken() == tuple(Turn(*turn) for turn in said)


@pytest.mark.parametrize("line", ["Call ID: {}", "Dialogue {}", "[Conversation {}]", "=== Call {} ===", "Chat no. {}"])
def test_lines_that_number_dialogues_part_them(tmp_path, line):
    path = tmp_path / "t.txt"
    path.write_text("\n".join(f"{line.format(number)}\nAna: Hello\nBo: Hi\n" for number in (17, 18)))
    scripts = list(read_plain_text(path, find_encoding(path)))
    assert [script.spoken() for script in scripts] == [(Turn("Ana", "Hello"), Turn("Bo", "Hi"))] * 2


def test_a_number_that_is_said_parts_nothing(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("Ana: Which?\nCall 17\nBo: Or\nCall 18\n")
    [script] = read_plain_text(path, find_encoding(path))
    assert [turn.text for turn in script.spoken()] == ["Which?\nCall 17", "Or\nCall 18"]


def test_items_of_a_list_are_no_speakers():
    text = "**User**: What is tea?\n\n**Assistant**: A drink.\n- **Colour:** brown\n\n**User**: Thanks"
    assert [turn.speaker for turn in script_of(text).spoken()] == ["User", "Assistant", "User"]


@pytest.mark.parametrize(
    "form", ["Chat ID: 8f3a-{}", "[Call {} - 2024-03-01]", '<conversation id="{}">', "Ticket no. {}"]
)
def test_ids_that_are_no_numbers_and_dates_beside_numbers_part_dialogues(tmp_path, form):
    said = "Agent: Hello\nCustomer: My id: 7\n"
    scripts = read(tmp_path, "".join(f"{form.format(number)}\n{said}" for number in (1, 2)))
    assert [script.spoken() for script in scripts] == [(Turn("Agent", "Hello"), Turn("Customer", "My id: 7"))] * 2


def test_items_of_a_numbered_list_are_no_speakers():
    script = script_of("Agent: Do this\n1. Open: the door\n2. Close: it\nCustomer: Yes\nAgent: Bye")
    assert [turn.speaker for turn in script.spoken()] == ["Agent", "Customer", "Agent"]
    script = script_of("1. Kim: Hello\n2. Ann: Hi\n3. Kim: Yes")
    assert [turn.speaker for turn in script.spoken()] == ["Kim", "Ann", "Kim"]


@pytest.mark.parametrize("form", ["{}: {}", "{}:\n{}\n", "[10:00] {}: {}", "2024-03-05 10:00 {}: {}"])
def test_a_name_may_stand_behind_the_family_name(form):
    said = [
        ("Lee, Kim", "Hello"),
        ("O'Neil, Ana M. (Vale)", "No, well: no"),
        ("Lee, Kim", "Fine"),
        ("van Dam, Bo", "Hm"),
    ]
    script = script_of("\n".join(form.format(*turn) for turn in said))
    assert [(turn.speaker, turn.text) for turn in script.spoken()] == said
    assert not is_script("Well, Kim: no\nThat is that.\nSo, Ana: yes\nI see.")


def test_names_stand_below_clocks_or_above_them_and_a_weekday_is_no_name():
    below = script_of("10:37 AM\nAna\nok\n\n10:38 AM\nBo\nok\n\n10:39 AM\nAna\nbye")
    above = script_of("Ana\n10:37 AM\nok\n\nBo\n10:38 AM\nok\n\nAna\n10:39 AM\nbye")
    beside = script_of("Ana, Tue 10:37 AM\nok\n\nBo, Tue 10:38 AM\nok\n\nAna, Wed 10:39 AM\nbye")
    for script in (below, above, beside):
        assert [(turn.speaker, turn.text) for turn in script.spoken()] == [("Ana", "ok"), ("Bo", "ok"), ("Ana", "bye")]
