from pathlib import Path

from conversations.dialogue import Dialogue, Turn
from tests.papers.corpora.upstream import read, tabs


def test_messages_of_a_session_are_a_dialogue_and_tabs_belong_to_the_text(tmp_path: Path):
    dialogues, quarantine = read("jddc", tmp_path)
    assert dialogues == [
        Dialogue("s1", (Turn("customer", "你好"), Turn("waiter", "您好\t请讲"))),
        Dialogue("s2", (Turn("customer", "退货"),)),
    ]
    assert quarantine == []


def test_file_without_a_header_loses_no_message(tmp_path: Path):
    plain = tabs(("s1", "u1", 0, 0, 0, "你好"))
    assert read("jddc", tmp_path, {"chat.txt": plain})[0] == [Dialogue("s1", (Turn("customer", "你好"),))]


def test_text_after_two_tabs_and_a_header_without_its_name_are_read(tmp_path: Path):
    header = "session_id\tuser_id\twaiter_send\tis_transfer\tis_repeat\n"
    table = header + tabs(("s1", "u1", 0, 0, 1, "", "几点发货"), ("s1", "u1", 1, 0, 1, "", "五点"))
    dialogues, quarantine = read("jddc", tmp_path, {"chat.txt": table})
    assert dialogues == [Dialogue("s1", (Turn("customer", "几点发货"), Turn("waiter", "五点")))]
    assert quarantine == []


def test_odd_lines_quarantine_their_session(tmp_path: Path):
    table = tabs(("s1", "u", 0, 0, 0, "a"), ("s2", "u", "x", 0, 0, "b"), ("s3", "u", 1), ("s1", "u", 0, 0, 0, "c"))
    _, quarantine = read("jddc", tmp_path, {"chat.txt": table})
    assert [(found.origin.line, found.dialogue_id, found.reason) for found in quarantine] == [
        (2, "s2", "the third cell of line 2 must be 0 or 1, found 'x'"),
        (3, "s3", "line 3 has 3 cells, expected 6"),
        (4, "s1", "the id 's1' came before"),
    ]
