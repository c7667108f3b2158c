from __future__ import annotations

from conversations.options import Options
from conversations.reading import read_export
from conversations.summary import import_summary


def shown(path):
    return import_summary(read_export(path, Options()), None)


def test_files_of_a_folder_that_are_read_alike_are_described_once(tmp_path):
    folder = tmp_path / "calls"
    folder.mkdir()
    for number in range(7):
        (folder / f"{number}.txt").write_text("Agent: Hello\nCustomer: Hi\n")
    (folder / "more.csv").write_text("call_id,speaker,text,room\n1,a,b,c\n1,a,,c\n")
    (folder / "notes.pdf").touch()
    lines = shown(folder).splitlines()
    assert "7 files (0.txt, 1.txt, 2.txt and 4 more): text, UTF-8" in lines
    assert "more.csv: csv, UTF-8, delimiter comma" in lines
    assert "  room     is the metadata of the dialogue" in lines
    assert "skipped for their names: notes.pdf" in lines
    assert "turns        15 (blank ones left out: 1)" in lines


def test_long_dialogues_and_many_reasons_are_cut(tmp_path):
    rows = [f"1,a,word {at}" for at in range(9)] + ["2," + "x," * (3 + at) for at in range(1)]
    rows += [f"{at + 3},{'x,' * (at + 3)}y" for at in range(10)]
    (tmp_path / "c.csv").write_text("call_id,speaker,text\n" + "\n".join(rows))
    lines = shown(tmp_path / "c.csv").splitlines()
    assert "  ... 5 more turns" in lines
    assert any(line.startswith("  and ") and line.endswith(" more reasons") for line in lines)


def test_dialogues_of_one_turn_each_are_told(tmp_path):
    path = tmp_path / "c.csv"
    path.write_text("call_id,speaker,text\n1,a,hello\n2,b,hi\n")
    told = "note: every dialogue has one turn; if that is not so, name another column with --id or --turns"
    assert told in shown(path).splitlines()
    path.write_text("call_id,speaker,text\n1,a,hello\n1,b,hi\n")
    assert told not in shown(path)


def test_what_the_user_left_out_is_told_apart_from_what_nobody_said(tmp_path):
    path = tmp_path / "c.csv"
    path.write_text("call_id,speaker,text,room\n1,a,hello,x\n1,b,hi,x\n1,,hm,x\n1,b,bye,y\n")
    lines = import_summary(read_export(path, Options(drop=("room == y",))), None).splitlines()
    way = "--speaker-of-blank NAME takes in those without a speaker"
    assert f"left out     1 turns, by kind: no speaker (1); {way}" in lines
    assert "not chosen   1 rows or turns, by --where or --drop" in lines


def test_a_wide_table_is_described_in_few_lines(tmp_path):
    path = tmp_path / "c.csv"
    path.write_text("call_id,speaker,text," + ",".join(f"f{at}" for at in range(60)) + ("\n1,a,hi" + ",1" * 60) * 2)
    assert "  and 23 more columns" in shown(path).splitlines()
