from __future__ import annotations

import pytest

from conversations.dialogue import Turn
from conversations.formats.around_turns import bare_of_status, is_day
from conversations.formats.encodings import find_encoding
from conversations.formats.plain_text import read_plain_text
from tests.conversations.exports import imported, turns_of

SAID = ["Kim: Is it open?", "Ann: Yes - until 8", "Kim: Good", "Ann: Bye"]


def read(tmp_path, content):
    return turns_of(imported(tmp_path, "chat.txt", content))


@pytest.mark.parametrize(
    "form",
    [
        "[{0}] {1}: {2}",
        "#{0} {1}: {2}",
        "{0}. {1}: {2}\n and more",
        "Turn {0} - {1}: {2}",
        "[Channel {0}] {1}: {2}",
        "{1} says: {2}",
        "{1} wrote:\n{2}",
        "(10:0{0}:00 AM) {1} says: {2}",
        "{1} schreibt: {2}",
    ],
)
def test_numbers_of_turns_and_says_are_no_part_of_a_name(tmp_path, form):
    lines = [form.format(at, *line.split(": ", 1)) for at, line in enumerate(SAID, start=1)]
    more = "\nand more" if "more" in form else ""
    assert read(tmp_path, "\n".join(lines) + "\n") == {"chat": [line + more for line in SAID]}


def test_items_of_a_list_and_what_others_said_stay_in_the_turn(tmp_path):
    content = "Kim: Do this:\n1. Open: the door\n2. Close: the lid\nAnn: He said: no\nKim: Ok\nAnn: Bye\n"
    assert read(tmp_path, content)["chat"][0] == "Kim: Do this:\n1. Open: the door\n2. Close: the lid"
    assert read(tmp_path, content)["chat"][1] == "Ann: He said: no"


@pytest.mark.parametrize(
    "days", [("2024-03-01", "2024-03-02"), ("Friday, March 1, 2024", "Today"), ("1.3.24", "2.3.24")]
)
def test_dates_above_turns_are_no_speech(tmp_path, days):
    content = f"{days[0]}\n{SAID[0]}\n{SAID[1]}\n\n{days[1]}\n{SAID[2]}\n{SAID[3]}\n"
    assert read(tmp_path, content) == {"chat": SAID}


def test_a_date_is_speech_unless_one_stands_above_the_first_turn(tmp_path):
    assert read(tmp_path, "Kim: When?\nAnn:\n2024-03-02\nKim: Ok\nAnn: Bye\n")["chat"][1] == "Ann: 2024-03-02"
    assert not any(map(is_day, ["on 2024-03-02 then", "12", "10:30", "March", "we met in March 2024"]))


def test_remarks_of_transcribers_and_notices_are_no_speech(tmp_path):
    content = (
        f"{SAID[0]}\n[laughter]\n{SAID[1]}\n(pause)\n{SAID[2]}\n{SAID[3]}\nAnn has left the chat.\n[END OF CALL]\n"
    )
    assert read(tmp_path, content) == {"chat": SAID}


def test_in_a_chat_with_times_round_brackets_are_speech(tmp_path):
    assert read(tmp_path, "10:01:00 Kim: Ok\n(laughs)\n10:02:00 Ann: Bye\n")["chat"][0] == "Kim: Ok\n(laughs)"


FIELDS = "Date: 2024-03-01\nAgent: Kim Lee\nCustomer: Ann\nDuration: 03:12\n"


@pytest.mark.parametrize("below", ["", "\n", "-----\n"])
def test_fields_above_turns_are_no_speech(tmp_path, below):
    assert read(tmp_path, FIELDS + below + "\n".join(SAID)) == {"chat": SAID}
    queued = FIELDS + f"Queue: cards\n{below or chr(10)}" + "\n".join(SAID)
    assert read(tmp_path, queued) == {"chat": SAID}


def test_a_first_turn_below_fields_is_speech(tmp_path):
    content = "Date: 2024-03-01\nDuration: 03:12\nKim: Hello\n\nAnn: [the blue one]\n\nKim:\n[pardon]\n"
    assert read(tmp_path, content) == {"chat": ["Kim: Hello", "Ann: [the blue one]", "Kim: [pardon]"]}


def test_each_dialogue_has_its_own_fields(tmp_path):
    content = "".join(f"Call ID: {at}\n{FIELDS}-----\n" + "\n".join(SAID) + "\n=====\n" for at in (7, 8))
    assert read(tmp_path, content) == {"Call ID: 7": SAID, "Call ID: 8": SAID}


def test_signs_of_a_status_are_no_part_of_a_name():
    assert bare_of_status("Kim Lee  :palm_tree: :cat:  10:05 AM") == "Kim Lee  10:05 AM"
    assert bare_of_status("Kim: lunch :pizza: 10:05 AM") == "Kim: lunch :pizza: 10:05 AM"


@pytest.mark.parametrize(
    "line", ["---", "+++++", "####", "* * *", "═════", "== Transcript 2 (2024-03-02) ==", "--- Interview 2 ---"]
)
def test_rules_and_titles_part_dialogues(tmp_path, line):
    found = turns_of(imported(tmp_path, "chat.txt", f"Kim: Hello\nAnn: Lost\n{line}\nKim: Hi\nBo: Open?\n"))
    assert list(found.values()) == [["Kim: Hello", "Ann: Lost"], ["Kim: Hi", "Bo: Open?"]]


def test_headings_that_come_back_are_speakers(tmp_path):
    content = "# Call 17\n\n### Kim\n\nHello\n\n### Ann\n\nLost\n- a card\n\n### Kim\n\nOk\n\n### Ann\n\nBye\n"
    assert turns_of(imported(tmp_path, "chat.md", content)) == {
        "Call 17": ["Kim: Hello", "Ann: Lost\n- a card", "Kim: Ok", "Ann: Bye"]
    }


def test_headings_of_parts_name_no_dialogue(tmp_path):
    part = "# Call {0}\n## Transcript\nKim: Hello {0}\nAnn: Lost\n## Summary\nA card is lost.\n"
    found = turns_of(imported(tmp_path, "chat.md", part.format(1) + part.format(2)))
    assert found == {f"Call {at}": [f"Kim: Hello {at}", "Ann: Lost"] for at in (1, 2)}


STAMPED = [
    ("10:00:01", "Kim", "Is it open?"),
    ("10:00:05", "Ann Lee", "Yes: until 8"),
    ("10:01:09", "Kim", "Good - bye"),
]
FORMS = (
    "[{0}] {1} | {2}",
    "2024-03-01 {0} | {1} | {2}",
    "2024-03-01 {0} - {1} - {2}",
    "{0} - {1} - {2}",
    "[{0}] {1} -> {2}",
    "[2024-03-01 {0}] <{1}> {2}",
    "{0}\t{1}\t{2}",
    "2024-03-01 {0};{1};{2}",
    "2024-03-01T{0}.123456Z {1}: {2}",
    "[2024-03-01T{0}+01:00] {1}: {2}",
    "Fri 01 Mar 2024 {0} {1}: {2}",
    "{1} [{0}] {2}",
    "{1} ({0}) - {2}",
    "{1}, 2024-03-01 {0}: {2}",
    "{1} at {0}: {2}",
)


@pytest.mark.parametrize("form", FORMS)
def test_a_time_beside_a_name_tells_speaker_and_text(tmp_path, form):
    [dialogue] = imported(tmp_path, "chat.txt", "".join(form.format(*said) + "\n" for said in STAMPED)).dialogues
    assert dialogue.turns == tuple(Turn(name, text) for _, name, text in STAMPED)


def test_a_line_with_the_time_of_turns_but_no_speaker_is_a_notice(tmp_path):
    path = tmp_path / "chat.txt"
    path.write_text("(10:00:01 AM) Ann: Hi\n(10:00:05 AM) *** Kim joined ***\n10:30 is fine\n(10:00:07 AM) Kim: Yes\n")
    [script] = read_plain_text(path, find_encoding(path))
    assert script.spoken() == (Turn("Ann", "Hi\n10:30 is fine"), Turn("Kim", "Yes"))
    assert script.unused == 1
