"""A chat of months is cut by itself where nobody wrote, and an export of ordinary dialogues never is."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import pytest

from conversations.options import Options
from conversations.pauses import ENDLESS
from conversations.reading import read, read_export
from tests.conversations.exports import imported

BEGIN = datetime(2024, 3, 5, 18)


def said(days: int, a_day: int, *, every: int = 1) -> list[tuple[datetime, str, str]]:
    """Turns of two people: some minutes of each day on which they write."""
    return [
        (BEGIN + timedelta(days=day * every, minutes=7 * at), ("Ann Lee", "Bo")[at % 2], f"kite {day} {at}")
        for day in range(days)
        for at in range(a_day)
    ]


def whatsapp(turns) -> str:
    return "".join(f"[{time:%d/%m/%Y, %H:%M:%S}] {name}: {text}\n" for time, name, text in turns)


def telegram(turns) -> str:
    messages = [
        {"id": at, "type": "message", "date": f"{time:%Y-%m-%dT%H:%M:%S}", "from": name, "from_id": name, "text": text}
        for at, (time, name, text) in enumerate(turns)
    ]
    return json.dumps({"name": "Home", "type": "personal_chat", "id": 7, "messages": messages})


def table(turns, *, name: str = "7") -> str:
    rows = "".join(f"{name},{time:%Y-%m-%d %H:%M},{who},{text}\n" for time, who, text in turns)
    return f"chat_id,time,user,text\n{rows}"


def lines(turns) -> str:
    return "".join(f"{time:%Y-%m-%d %H:%M} {name}: {text}\n" for time, name, text in turns)


@pytest.mark.parametrize(
    ("name", "write"), [("_chat.txt", whatsapp), ("result.json", telegram), ("c.csv", table), ("c.txt", lines)]
)
def test_a_chat_of_months_is_cut_at_its_pauses_and_a_note_says_how_to_keep_it_whole(tmp_path, name, write):
    result = imported(tmp_path, name, write(said(50, 6)))
    assert [len(dialogue.turns) for dialogue in result.dialogues] == [6] * 50
    assert result.dialogues[1].dialogue_id.endswith("-2024-03-06")
    note = "a chat of months is cut at pauses of 8 hours into 50 dialogues; --pause 0 keeps it whole"
    assert note in result.notes
    assert ENDLESS not in result.notes
    whole = imported(tmp_path, name, write(said(50, 6)), pause=0.0)
    assert [len(dialogue.turns) for dialogue in whole.dialogues] == [300]
    assert not [text for text in whole.notes if "pause" in text]


def test_an_exchange_a_day_is_a_conversation(tmp_path):
    assert len(imported(tmp_path, "_chat.txt", whatsapp(said(100, 2))).dialogues) == 100


@pytest.mark.parametrize(
    ("days", "a_day", "every"),
    [(20, 30, 1), (25, 6, 3), (220, 1, 1), (8, 40, 9)],
    ids=["less than a month", "few turns", "a letter a day", "few pauses"],
)
def test_other_long_dialogues_stay_whole(tmp_path, days, a_day, every):
    [dialogue] = imported(tmp_path, "_chat.txt", whatsapp(said(days, a_day, every=every))).dialogues
    assert len(dialogue.turns) == days * a_day


def test_ordinary_dialogues_beside_a_long_one_keep_an_export_whole(tmp_path):
    rows = table(said(50, 6)) + "".join(
        table(said(1, 4), name=name).partition("\n")[2] for name in ("ticket-1", "ticket-2", "ticket-3")
    )
    result = imported(tmp_path, "tickets.csv", rows)
    assert sorted(len(dialogue.turns) for dialogue in result.dialogues) == [4, 4, 4, 300]
    assert ENDLESS in result.notes


def test_chats_of_a_folder_are_cut_together(tmp_path):
    for name in ("Ann", "Bo", "Cy"):
        imported(tmp_path, f"all/WhatsApp Chat with {name}.txt", whatsapp(said(40, 6)))
    imported(tmp_path, "all/WhatsApp Chat with Di.txt", whatsapp(said(1, 6)))
    export = read_export(tmp_path / "all", Options())
    assert len(export.result.dialogues) == 3 * 40 + 1
    assert export.cut == "3 chats of months are cut at pauses of 8 hours into 120 dialogues; --pause 0 keeps them whole"


def test_the_next_file_of_the_corpus_is_cut_in_the_same_way(tmp_path):
    imported(tmp_path, "_chat.txt", whatsapp(said(50, 6)))
    [reading] = read_export(tmp_path / "_chat.txt", Options()).readings
    assert reading.options == Options(pause=8)


def test_python_says_so_too(tmp_path):
    (tmp_path / "_chat.txt").write_text(whatsapp(said(50, 6)))
    with pytest.warns(UserWarning, match=r"_chat\.txt: a chat of months is cut .*; Options\(pause=0\) keeps it whole"):
        assert len(read(tmp_path / "_chat.txt")) == 50
    assert len(read(tmp_path / "_chat.txt", options=Options(pause=0))) == 1
