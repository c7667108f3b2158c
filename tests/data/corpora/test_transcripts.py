import gzip
import json
import os
from pathlib import Path

import pytest

from conversations.dialogue import Dialogue, Origin, Quarantined
from conversations.files import transcript_files
from dial2vec.data.corpora.transcripts import Transcripts
from dial2vec.errors import CorpusError


def lines(*dialogue_ids: str) -> str:
    turns = [{"speaker": "agent", "text": "Hello"}, {"speaker": "caller", "text": "Hi"}]
    return "".join(json.dumps({"dialogue_id": name, "turns": turns}) + "\n" for name in dialogue_ids)


def read(folder: Path) -> tuple[list[Dialogue], list[Quarantined]]:
    quarantine: list[Quarantined] = []
    return list(Transcripts().read(folder, quarantine=quarantine)), quarantine


def test_all_files_are_read_in_the_order_of_their_names(tmp_path: Path):
    (tmp_path / "2026-02.jsonl").write_text(lines("c"))
    (tmp_path / "2026-01.jsonl.gz").write_bytes(gzip.compress(lines("a", "b").encode()))
    (tmp_path / "notes.txt").write_text("not read")
    (tmp_path / ".hidden.jsonl").write_text("not read")
    (tmp_path / "folder.jsonl").mkdir()
    dialogues, quarantine = read(tmp_path)
    assert [d.dialogue_id for d in dialogues] == ["a", "b", "c"]
    assert [record.origin.source for record in quarantine] == [str(tmp_path / "notes.txt")]
    assert [path.name for path in transcript_files(tmp_path)] == ["2026-01.jsonl.gz", "2026-02.jsonl"]


def test_id_of_an_earlier_file_is_quarantined(tmp_path: Path):
    (tmp_path / "1.jsonl").write_text(lines("a"))
    (tmp_path / "2.jsonl").write_text(lines("b", "a", "b"))
    dialogues, quarantine = read(tmp_path)
    assert [d.dialogue_id for d in dialogues] == ["a", "b"]
    assert [str(s) for s in quarantine] == [
        f"{tmp_path}/2.jsonl:2: dialogue 'a': the id came before in 1.jsonl",
        f"{tmp_path}/2.jsonl:3: dialogue 'b': the id 'b' came before in this file",
    ]


@pytest.mark.parametrize("content", [b"", b"\n  \n", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("packed", [False, True])
def test_empty_file_among_others_is_quarantine_whole(tmp_path: Path, content: bytes, packed: bool):
    name = "1.jsonl.gz" if packed else "1.jsonl"
    (tmp_path / name).write_bytes(gzip.compress(content) if packed else content)
    (tmp_path / "2.jsonl").write_text(lines("a"))
    dialogues, quarantine = read(tmp_path)
    assert [d.dialogue_id for d in dialogues] == ["a"]
    assert quarantine == [Quarantined(Origin(str(tmp_path / name), 0), "", "the file is empty")]


def test_bad_line_is_quarantine_with_its_number(tmp_path: Path):
    (tmp_path / "1.jsonl").write_text(lines("a") + "{half\n" + lines("b"))
    dialogues, quarantine = read(tmp_path)
    assert [d.dialogue_id for d in dialogues] == ["a", "b"]
    assert [s.origin for s in quarantine] == [(str(tmp_path / "1.jsonl"), 2)]


def test_damaged_file_stops_the_reading(tmp_path: Path):
    (tmp_path / "1.jsonl").write_text(lines("a"))
    (tmp_path / "2.jsonl.gz").write_bytes(gzip.compress(lines("b").encode())[:-12])
    with pytest.raises(CorpusError, match=r"2.jsonl.gz is not a whole gzip file"):
        read(tmp_path)


def test_nothing_usable_names_the_first_problem_of_this_folder(tmp_path: Path):
    (tmp_path / "1.jsonl").write_text("")
    (tmp_path / "2.jsonl").write_text("[]\n")
    quarantine = [Quarantined(Origin("elsewhere", 1), "", "of another corpus")]
    with pytest.raises(CorpusError, match=r"no usable dialogue in the 2 .*1.jsonl: the file is empty"):
        list(Transcripts().read(tmp_path, quarantine=quarantine))
    assert len(quarantine) == 3


@pytest.mark.parametrize("name", ["", "absent"])
def test_folder_without_transcripts_is_refused(tmp_path: Path, name: str):
    with pytest.raises(CorpusError, match=r"no usable dialogue in the 0 \*.jsonl and .* Put your transcripts there"):
        read(tmp_path / name)


def test_files_that_are_not_read_are_quarantined_with_the_way_to_read_them(tmp_path: Path):
    (tmp_path / "1.jsonl").write_text(lines("a"))
    (tmp_path / "2.JSONL").write_text(lines("b"))
    (tmp_path / "may.csv").write_text("id,speaker,text\n")
    (tmp_path / "2024").mkdir()
    (tmp_path / "2024" / "old.jsonl").write_text(lines("c"))
    (tmp_path / ".hidden.json").write_text("{}")
    dialogues, quarantine = read(tmp_path)
    assert [d.dialogue_id for d in dialogues] == ["a", "b"]
    assert [record.origin.source for record in quarantine] == [
        str(tmp_path / "2024" / "old.jsonl"),
        str(tmp_path / "may.csv"),
    ]
    assert "`dial2vec import` reads other exports" in quarantine[0].reason


def test_a_file_of_labels_replaces_those_of_the_dialogues(tmp_path: Path):
    (tmp_path / "a.jsonl").write_text(
        "".join(
            json.dumps(json.loads(line) | {"labels": ["own"]}) + "\n" for line in lines("d1", "d2", "d3").splitlines()
        )
    )
    (tmp_path / "labels.csv").write_text('dialogue_id,label\nd1,"Cards, lost"\nd3,orders\nd3,cards\nd9,x\n')
    dialogues, quarantine = read(tmp_path)
    assert [dialogue.labels for dialogue in dialogues] == [("Cards, lost",), (), ("cards", "orders")]
    assert quarantine == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"id,label\n", "labels.csv has the columns id, label; expected dialogue_id, label"),
        (b"", "has the columns none"),
        (b"dialogue_id,label\nd1\n", "labels.csv:2 has 1 cells; expected 2"),
        (b"dialogue_id,label\nd1,\xff\n", "expected CSV in UTF-8"),
    ],
)
def test_a_file_that_holds_no_labels_stops_the_reading(tmp_path: Path, content: bytes, message: str):
    (tmp_path / "a.jsonl").write_text(lines("d1"))
    (tmp_path / "labels.csv").write_bytes(content)
    with pytest.raises(CorpusError) as raised:
        read(tmp_path)
    assert message in str(raised.value)


def test_the_first_problem_is_one_of_a_file_that_is_read(tmp_path: Path):
    (tmp_path / "README.txt").write_text("about these calls")
    (tmp_path / "calls.jsonl").write_text("{half\n")
    with pytest.raises(CorpusError, match=r"the first problem is .*calls\.jsonl:1: not valid JSON"):
        read(tmp_path)


def test_parts_end_before_they_are_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "calls.jsonl").write_text(lines("a", "b", "c", "d", "e"))
    size = len(lines("a"))
    for most, expected in ((size, [1] * 5), (size + 1, [2, 2, 1]), (10**7, [5])):
        monkeypatch.setattr("dial2vec.data.corpora.transcripts.PART_SIZE", most)
        assert [len(part.lines) for part in Transcripts().parts(tmp_path)] == expected


def test_labels_that_change_while_they_are_read_are_said(tmp_path: Path):
    (tmp_path / "calls.jsonl").write_text(lines("a"))
    (tmp_path / "labels.csv").write_text("dialogue_id,label\na,card\n")
    [part] = Transcripts().parts(tmp_path)
    assert [dialogue.labels for dialogue in part.dialogues([])] == [("card",)]
    os.utime(tmp_path / "labels.csv", ns=(1, 1))
    [later] = Transcripts().parts(tmp_path)
    with pytest.raises(CorpusError, match=r"labels\.csv was changed while it was read\. Start again"):
        part.dialogues([])
    (tmp_path / "labels.csv").unlink()
    assert [dialogue.labels for dialogue in later.dialogues([])] == [("card",)]
    with pytest.raises(CorpusError, match=r"labels\.csv does not exist"):
        part.dialogues([])
