from __future__ import annotations

import pytest

from conversations.options import Options
from conversations.reading import read_export


def read(tmp_path, content, name="chat.md"):
    (tmp_path / name).write_text(content)
    dialogues = read_export(tmp_path / name, Options()).result.dialogues
    return {item.dialogue_id: [f"{turn.speaker}: {turn.text}" for turn in item.turns] for item in dialogues}


@pytest.mark.parametrize(
    "line", ["---", "+++++", "####", "* * *", "═════", "== Transcript 2 (2024-03-02) ==", "--- Interview 2 ---"]
)
def test_rules_and_titles_part_dialogues(tmp_path, line):
    found = read(tmp_path, f"Kim: Hello\nAnn: Lost\n{line}\nKim: Hi\nBo: Open?\n", "chat.txt")
    assert list(found.values()) == [["Kim: Hello", "Ann: Lost"], ["Kim: Hi", "Bo: Open?"]]


def test_headings_that_come_back_are_speakers(tmp_path):
    content = "# Call 17\n\n### Kim\n\nHello\n\n### Ann\n\nLost\n- a card\n\n### Kim\n\nOk\n\n### Ann\n\nBye\n"
    assert read(tmp_path, content) == {"Call 17": ["Kim: Hello", "Ann: Lost\n- a card", "Kim: Ok", "Ann: Bye"]}


def test_headings_of_parts_name_no_dialogue(tmp_path):
    part = "# Call {0}\n## Transcript\nKim: Hello {0}\nAnn: Lost\n## Summary\nA card is lost.\n"
    found = read(tmp_path, part.format(1) + part.format(2))
    assert found == {f"Call {at}": [f"Kim: Hello {at}", "Ann: Lost"] for at in (1, 2)}
