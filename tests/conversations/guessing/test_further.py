"""Further columns become metadata; fragments, blank speakers and parts are read as the user says."""

from __future__ import annotations

import pytest

from conversations.options import Options
from conversations.reading import read_export


def read(path, text, **options):
    path.write_text(text)
    return read_export(path, Options(**options)).result


def test_columns_that_are_the_same_in_a_dialogue_are_its_metadata(tmp_path):
    rows = ["7,a,Hello there,phone,3,m1", "7,b,Hi you,phone,3,m2", "8,a,Anyone?,chat,,m3", "8,b,Yes me,chat,,m4"]
    result = read(tmp_path / "e.csv", "\n".join(["call_id,speaker,text,channel,csat,message_id", *rows]))
    assert [dict(d.metadata) for d in result.dialogues] == [{"channel": "phone", "csat": "3"}, {"channel": "chat"}]


def test_a_column_that_changes_later_than_the_first_rows_is_left_out_of_that_dialogue(tmp_path):
    rows = [f"{n},{s},word {n} {s},{'x' if n < 1500 or s == 'a' else 'y'}" for n in range(1501) for s in "ab"]
    result = read(tmp_path / "e.csv", "\n".join(["call_id,speaker,text,room", *rows]))
    assert dict(result.dialogues[0].metadata) == {"room": "x"}
    assert dict(result.dialogues[1500].metadata) == {}


@pytest.mark.parametrize(("join", "texts"), [(None, ["I", "lost my card", "Sorry"]), (5, ["I lost my card", "Sorry"])])
def test_fragments_that_are_close_together_are_one_turn(tmp_path, join, texts):
    rows = ["7,2024-03-05 10:00:00,a,I", "7,2024-03-05 10:00:04,a,lost my card", "7,2024-03-05 10:00:06,b,Sorry"]
    result = read(tmp_path / "e.csv", "\n".join(["call_id,created_at,speaker,text", *rows]), join=join)
    assert [turn.text for turn in result.dialogues[0].turns] == texts


def test_a_blank_speaker_costs_the_turn_or_gets_a_name(tmp_path):
    text = "call_id,speaker,text\n7,a,Hello there\n7,,Hi you\n7,a,Bye then\n"
    result = read(tmp_path / "e.csv", text)
    assert [turn.text for turn in result.dialogues[0].turns] == ["Hello there", "Bye then"]
    assert result.left_out == {"no speaker": 1}
    result = read(tmp_path / "e.csv", text, blank_speaker="caller")
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
    assert len(read(tmp_path / "chat.txt", "\n".join(lines)).dialogues[0].turns) == 4
    joined = read(tmp_path / "chat.txt", "\n".join(lines), join=60.0).dialogues[0]
    assert [turn.text for turn in joined.turns] == ["hello", "hi there", "well"]


def test_metadata_that_a_dialogue_cannot_hold_cost_no_dialogue(tmp_path):
    names = [*(f"field_{at}" for at in range(130)), "x" * 150]
    rows = [f"7,{speaker},word {speaker}," + ",".join("1" for _ in names) for speaker in "ab"]
    result = read(tmp_path / "e.csv", "\n".join(["call_id,speaker,text," + ",".join(names), *rows]))
    assert (len(result.dialogues), len(result.quarantine)) == (1, 0)
    assert len(result.dialogues[0].metadata) == 100
    assert any("keys beyond the first 100" in note for note in result.notes)
