from __future__ import annotations

import gzip
import json

import pandas as pd
import pytest

from conversations.dialogue import Dialogue, Turn
from conversations.options import Options
from conversations.reading import read_export
from dial2vec.errors import CorpusError
from tests.conversations.exports import imported


def read(tmp_path, name, content, **options):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    export = read_export(path, Options(**options))
    return export.result.dialogues, [(q.origin.line, q.dialogue_id, q.reason) for q in export.result.quarantine]


def test_rows_are_grouped_and_put_in_order_wherever_they_stand(tmp_path):
    rows = [
        "Conversation ID;Speaker;Text;Created At;Queue",
        'c1;Anna;"Hello;\nyou";2024-01-02 10:00;billing',
        "c2;bot;second;2024-01-02 10:05;sales",
        "c1;Bob;Yes;2024-01-02 10:01;billing",
        "c2;Bob;first;2024-01-02 10:04;sales",
    ]
    dialogues, quarantine = read(tmp_path, "calls.csv", "\n".join(rows))
    assert dialogues == [
        Dialogue(
            "c1", (Turn("Anna", "Hello;\nyou"), Turn("Bob", "Yes")), ("billing",), date="2024-01-02T10:00:00+00:00"
        ),
        Dialogue("c2", (Turn("Bob", "first"), Turn("bot", "second")), ("sales",), date="2024-01-02T10:04:00+00:00"),
    ]
    assert dialogues[1].origin.line == 4
    assert quarantine == []


DEFECTS = [
    (b"call_id,speaker,text,time,queue\n", "header"),
    (b"good,agent,Hello,2024-01-01 10:00,a\n", "a good one, its rows not together"),
    (b'quote,agent,"never closed,2024-01-01 10:00,a\n', "1 a quote that is never closed"),
    (b'after,agent,"closed" and on,2024-01-01 10:00,a\n', "2 text after a closing quote"),
    (b"short,agent,Hello\n", "3 a row with too few cells"),
    (b"long,agent,Hello, you,2024-01-01 10:00,a\n", "4 a row with too many cells"),
    (b",agent,whose?,2024-01-01 10:00,a\n", "5 no id"),
    (b"nobody,,Hello,2024-01-01 10:00,a\n", "6 no speaker"),
    (b"nul,agent,Hel\0lo,2024-01-01 10:00,a\n", "7 a NUL byte"),
    (b"byte,agent,caf\xe9,2024-01-01 10:00,a\n", "8 a byte that is not UTF-8"),
    (b"half,agent,cut \xed\xa0\xbd emoji,2024-01-01 10:00,a\n", "9 half of a character"),
    (b"blank,agent,  ,2024-01-01 10:00,a\n", "10 nothing said in the whole dialogue"),
    (b"when,agent,two,2024-01-01 10:02,a\n", "11 a time that cannot be read, and rows not in order"),
    (b"when,agent,three,yesterday,a\n", ""),
    (b"when,agent,one,2024-01-01 10:01,a\n", ""),
    (b"\n , , , , \n", "12 blank lines and blank rows: no loss"),
    (
        b'lines,agent,"two\r\nlines &amp; ""quotes""",01/02/2024 10:01,a\n',
        "13 line ends in quotes, times of mixed form",
    ),
    (b"lines,caller,first,2024-01-02T09:00:00Z,a\n", ""),
    (b"lines,caller,,2024-01-02T09:00:01Z,a\n", "14 a blank turn: left out"),
    (
        b"alone ,agent,only one speaks,2024-01-01 10:00,a,,\n",
        "15 one speaker, surplus blank cells, a blank after the id",
    ),
    (b"huge,agent," + b"x" * 300_000 + b",2024-01-01 10:00,a\n", "16 a huge cell"),
    (b"good,caller,Hi,2024-01-01 10:01,a\n", ""),
    ("utf8,agent,très bien, élève ça été à où – “oui”,,\n".replace(", él", " él").encode(), "whole characters"),
]


def test_a_collection_in_a_folder_is_no_export(tmp_path):
    (tmp_path / "call.txt").write_text("Agent: Hello\nCustomer: Hi\n")
    (tmp_path / "calls.look" / "encoder").mkdir(parents=True)
    (tmp_path / "calls.look" / "collection.json").write_text("{}")
    (tmp_path / "calls.look" / "encoder" / "tokenizer.json").write_text("{}")
    export = read_export(tmp_path, Options())
    assert list(export.files) == [tmp_path / "call.txt"]
    assert export.result.quarantine == []


def test_sixteen_kinds_of_defect_and_every_dialogue_is_accounted_for(tmp_path):
    dialogues, quarantine = read(tmp_path, "calls.csv", b"".join(line for line, _ in DEFECTS))
    assert [dialogue.dialogue_id for dialogue in dialogues] == ["good", "lines", "alone", "huge", "utf8"]
    assert [turn.text for turn in dialogues[1].turns] == ["first", 'two\r\nlines &amp; "quotes"']
    assert len(dialogues[0].turns) == 2
    damaged = "the row is damaged: it holds bytes that are not valid characters"
    assert sorted(quarantine) == [
        (3, "quote", "text follows a closing quote in this row"),
        (4, "after", "text follows a closing quote in this row"),
        (5, "short", "the row has 3 cells, and there are 5 columns"),
        (6, "long", "the row has 6 cells, and there are 5 columns"),
        (7, "", "the dialogue's id is blank"),
        (8, "nobody", "no turn names its speaker"),
        (9, "nul", damaged),
        (10, "byte", damaged),
        (11, "half", damaged),
        (12, "blank", "it has no turns"),
        (13, "when", "some of its times cannot be read, and its turns are not in order"),
    ]


def test_one_broken_row_quarantines_its_dialogue_whole(tmp_path):
    rows = "call_id,speaker,text\nc1,a,x\nc2,a,y\nc1,a\nc1,a,w\n"
    dialogues, quarantine = read(tmp_path, "calls.csv", rows)
    assert [dialogue.dialogue_id for dialogue in dialogues] == ["c2"]
    assert quarantine == [(4, "c1", "the row has 2 cells, and there are 3 columns")]


def test_names_in_quarantined_dialogues_are_known_to_the_masks(tmp_path):
    assert list(imported(tmp_path, "e.csv", "call_id,speaker,text\nc1,,x\nc1,Dan,y\nc2,Eve,z\n").speakers) == [
        "Dan",
        "Eve",
    ]
    turns = [{"speaker": "", "text": "x"}, {"speaker": "Dan", "text": "y"}]
    assert list(imported(tmp_path, "e.jsonl", json.dumps({"id": 1, "turns": turns})).speakers) == ["Dan"]


CHAT = {"id": 7, "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": [{"text": "yo"}]}]}
CHAT_READ = [Dialogue("7", (Turn("user", "hi"), Turn("assistant", "yo")))]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("e.jsonl", json.dumps(CHAT)),
        ("e.json", json.dumps([CHAT], indent=1)),
        ("e.json", json.dumps(CHAT)),
        ("e.json", json.dumps({"meta": {"n": 1}, "data": {"items": [CHAT]}})),
        ("e.json", json.dumps({"7": CHAT["messages"], "8": [{"role": "a", "content": ""}]})),
        ("e.txt", json.dumps(CHAT) + "\n"),
        ("e.json", json.dumps(CHAT) + "\n" + json.dumps(CHAT | {"id": 8, "messages": []})),
        ("e.jsonl.gz", gzip.compress(json.dumps(CHAT).encode(), mtime=0)),
        ("e.json", json.dumps([CHAT]).encode("utf-16")),
        ("e.csv", f'id,messages\n7,"{json.dumps(CHAT["messages"]).replace(chr(34), chr(34) * 2)}"\n'),
        ("e.csv", f'id,messages\n7,"{CHAT["messages"]}"\n'),
        ("e.csv", 'id,transcript\n7,"user: hi\nassistant: yo"\n'),
    ],
)
def test_a_chat_is_read_from_any_form_of_json(tmp_path, name, content):
    dialogues, _ = read(tmp_path, name, content)
    assert dialogues == CHAT_READ


def test_records_that_are_no_dialogue_are_quarantined_with_line_and_id(tmp_path):
    lines = [
        CHAT,
        "{broken",
        CHAT,
        {"id": 8, "messages": []},
        {"messages": CHAT["messages"]},
        {"id": 9, "messages": "text"},
        {"id": 10, "messages": [{"role": "", "content": "x"}]},
        {"id": 11, "messages": [{"role": "a", "content": "\ud83d"}]},
        {"id": 12, "messages": [{"role": "a", "content": " "}]},
        5,
    ]
    content = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    dialogues, quarantine = read(tmp_path, "e.jsonl", content)
    assert dialogues == CHAT_READ
    assert [(line, name) for line, name, _ in quarantine] == [
        *((2, ""), (3, "7"), (4, "8"), (5, ""), (6, "9"), (7, "10"), (8, "11"), (9, "12"), (10, ""))
    ]
    assert quarantine[1][2] == "the id came before on line 1"
    assert quarantine[5][2] == "no turn names its speaker"


def test_parquet_is_read_by_rows_and_by_records(tmp_path):
    rows = pd.DataFrame(
        {"call_id": [1, 1], "speaker": ["a", "b"], "text": ["x y", "z"], "time": pd.to_datetime([2, 1], unit="s")}
    )
    rows.to_parquet(tmp_path / "rows.parquet")
    pd.DataFrame([CHAT | {"messages": [{"role": "a", "content": "x"}]}]).to_parquet(tmp_path / "chats.pq")
    [found] = read_export(tmp_path / "rows.parquet", Options()).result.dialogues
    assert found == Dialogue("1", (Turn("b", "z"), Turn("a", "x y")))
    [found] = read_export(tmp_path / "chats.pq", Options()).result.dialogues
    assert found == Dialogue("7", (Turn("a", "x"),))
    cut = (tmp_path / "rows.parquet").read_bytes()[:-20]
    with pytest.raises(CorpusError, match="expected a whole Parquet file"):
        read(tmp_path, "cut.parquet", cut)


def test_a_table_without_ids_is_one_dialogue_and_that_is_said(tmp_path):
    (tmp_path / "talk.csv").write_text("speaker,text\nagent,hello there\nuser,hi you\n")
    export = read_export(tmp_path / "talk.csv", Options())
    assert [dialogue.dialogue_id for dialogue in export.result.dialogues] == ["talk"]
    assert "the whole file is one dialogue" in export.descriptions[tmp_path / "talk.csv"].notes[0]


def test_a_table_without_a_header_is_read_by_numbers(tmp_path):
    rows = "c1,agent,hello there\nc1,user,hi you\n"
    with pytest.raises(CorpusError, match="use --no-header"):
        read(tmp_path, "calls.csv", rows)
    named = {"dialogue_id": "1", "speaker": "2", "text": "3"}
    dialogues, _ = read(tmp_path, "calls.csv", rows, header=False, **named)
    assert dialogues == [Dialogue("c1", (Turn("agent", "hello there"), Turn("user", "hi you")))]


def test_a_folder_is_read_as_one_and_a_file_that_cannot_be_read_is_said(tmp_path):
    folder = tmp_path / "calls"
    folder.mkdir()
    (folder / "a.txt").write_text("Agent: Hello\nCustomer: Hi\n")
    (folder / "b.vtt").write_text("WEBVTT\n\n00:00:01.000 --> 00:00:02.000\n<v Anna>Hello</v>\n")
    (folder / "c.csv").write_text("")
    (folder / "notes.pdf").write_text("")
    (folder / ".hidden.csv").write_text("")
    export = read_export(folder, Options())
    assert [dialogue.dialogue_id for dialogue in export.result.dialogues] == ["a", "b"]
    assert [record.origin for record in export.result.quarantine] == [(str(folder / "c.csv"), 0)]
    assert [path.name for path in export.skipped] == ["notes.pdf"]
    assert list(export.result.speakers) == ["Agent", "Customer", "Anna"]


def thread(*rows):
    names = ("user", "text", "ts", "thread_ts")
    return json.dumps([dict(zip(names, (*row, "17.1"), strict=True)) for row in rows])


def test_a_folder_is_read_with_those_in_it_and_a_thread_goes_on_in_the_next_file(tmp_path):
    for channel in ("general", "random"):
        (tmp_path / channel).mkdir()
        (tmp_path / channel / "notes.txt").write_text(f"Agent: Hello {channel}\nCustomer: Hi\n")
    (tmp_path / "users.json").write_text(json.dumps([{"id": "U1", "name": "anna", "real_name": "Anna Lee"}]))
    (tmp_path / "general" / "1.json").write_text(thread(("U1", "hey", "17.1"), ("U2", "yo", "17.3")))
    (tmp_path / "general" / "2.json").write_text(thread(("U1", "late", "17.2"), ("U2", "yo", "17.3")))
    result = read_export(tmp_path, Options()).result
    assert [dialogue.dialogue_id for dialogue in result.dialogues] == ["general/notes", "17.1", "random/notes"]
    assert result.dialogues[1].turns == (Turn("U1", "hey"), Turn("U1", "late"), Turn("U2", "yo"))
    assert result.repeated == 1
    assert [record.origin for record in result.quarantine] == [(str(tmp_path / "users.json"), 0)]
    (tmp_path / "general" / "2.json").write_text(thread(("U1", "late", "17.2"), ("", "who?", "17.3")))
    result = read_export(tmp_path, Options()).result
    assert [record.reason for record in result.quarantine if record.dialogue_id] == []
    assert result.left_out == {"no speaker": 1}


def test_rows_of_one_id_in_two_files_are_one_dialogue_only_where_times_tell_their_order(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text(f"call_id,speaker,text\n1,x,word {name}\n1,y,word\n")
    result = read_export(tmp_path, Options()).result
    assert [turn.text for turn in result.dialogues[0].turns] == ["word a", "word"]
    assert [record.reason for record in result.quarantine] == ["the id came before in a.csv"]


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("e.csv", "", {}, "is empty"),
        (
            "e.csv",
            "call_id,text\n1,hello\n",
            {"speaker": "text", "text": "text"},
            "is named by --speaker and by --text",
        ),
        ("e.json", json.dumps(CHAT), {"speaker": "role", "text": "role"}, "column 'role' is named by --speaker and by"),
        ("e.csv", "a,b\nx y z,1\n", {"header": False}, "without a header they have no names; expected their num"),
        ("e.csv", 'chat_id,transcript\n1,"Agent: Hi. Bob: Yes."\n', {}, "whole dialogue, name that with --turns"),
        ("e.csv", "\n\n", {}, "has only blank lines"),
        ("e.csv", "call_id,speaker,text\n", {}, "has no row or record; expected"),
        ("e.jsonl", "{\n", {}, "line 1 is not valid JSON"),
        ("e.json", "[", {}, "not valid JSON"),
        ("e.xlsx", b"PK\x03\x04", {}, "is a damaged zip archive, workbook or document .* Export it again"),
        ("e.parquet", b"PAR1", {}, "expected a whole Parquet file"),
        ("e.csv", "call_id,speaker,text\n1,a,b\n", {"text": "txt"}, "Did you mean 'text'"),
        ("e.csv", "call_id,speaker,text\n1,a,b\n", {"format": "json"}, "not valid JSON"),
        ("e.txt", "a: b\n", {"speaker": "who"}, "is read as text, which has no columns, and --speaker names one"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_sentence(tmp_path, name, content, options, message):
    with pytest.raises(CorpusError, match=message) as error:
        read(tmp_path, name, content, **options)
    assert str(tmp_path / name) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_folder_without_exports_says_which_endings_count(tmp_path):
    with pytest.raises(CorpusError, match=r"holds no file to import; expected a table, JSON"):
        read_export(tmp_path, Options())
    with pytest.raises(CorpusError, match="does not exist"):
        read_export(tmp_path / "none.csv", Options())


def test_rows_that_repeat_the_names_of_the_columns_are_left_out_and_counted(tmp_path):
    result = imported(
        tmp_path, "both.csv", "call_id,speaker,text\n1,Ann,Hello\n1,Kim,Hi\ncall_id,speaker,text\n2,Bo,Yes\n2,Kim,No\n"
    )
    assert [dialogue.dialogue_id for dialogue in result.dialogues] == ["1", "2"]
    assert result.repeated == 1


CALLS = (
    "Call ID,{time},Agent,Transcript\n"
    '1,2024-05-01 10:00,Kim,"Agent: Hello{end}Customer: My card was stolen"\n'
    '2,2024-05-02 10:00,Kim,"Agent: Hello{end}Customer: My card was lost"\n'
)


@pytest.mark.parametrize("end", ["\n", " "])
@pytest.mark.parametrize(
    ("time", "options"),
    [
        ("start_time", {}),
        ("Call Start", {}),
        ("Call Start", {"time": "Call Start"}),
        ("begun on", {"time": "begun on"}),
        ("begun on", {"time": "begun on", "recipe": "one_line_calls"}),
    ],
)
def test_a_time_beside_a_whole_dialogue_is_its_date(tmp_path, time, options, end):
    dialogues, _ = read(tmp_path, "calls.csv", CALLS.format(time=time, end=end), **options)
    assert [dialogue.date for dialogue in dialogues] == ["2024-05-01T10:00:00+00:00", "2024-05-02T10:00:00+00:00"]
    assert [dict(dialogue.metadata) for dialogue in dialogues] == [{"Agent": "Kim"}] * 2


def test_the_time_of_a_record_is_its_date_only_if_its_turns_have_none(tmp_path):
    steps = [{"who": "Ana", "said": "Hello you", "ts": "2024-05-01T10:00"}, {"who": "Bo", "said": "Hi", "ts": ""}]
    record = {"ref": "r1", "opened": "2024-04-01", "steps": steps}
    named = {"turns": "steps", "speaker": "who", "text": "said", "time": "opened"}
    [dialogue], _ = read(tmp_path, "r.json", json.dumps([record]), **named)
    assert dialogue.date == "2024-05-01T10:00:00+00:00"
    for turn in steps:
        del turn["ts"]
    [dialogue], _ = read(tmp_path, "r.json", json.dumps([record]), **named)
    assert dialogue.date == "2024-04-01T00:00:00+00:00"


def test_columns_with_blanks_take_the_place_of_those_of_a_recipe(tmp_path):
    text = CALLS.format(time="Call Start", end=" ").replace("Agent,", "Team Name,")
    [dialogue, _], _ = read(tmp_path, "calls.csv", text, labels=("Team Name",), dialogue_id="Call Start")
    assert (dialogue.dialogue_id, dialogue.labels) == ("2024-05-01 10:00", ("Kim",))


def test_a_column_is_not_named_for_lines_that_have_none(tmp_path):
    chat = "3/5/24, 10:00 - Ana: Hello\n3/5/24, 10:01 - Bo: Hi\n"
    with pytest.raises(CorpusError, match="has no columns, and --speaker names one"):
        read(tmp_path, "chat.txt", chat, recipe="whatsapp_android", speaker="who")


def test_programs_beside_the_data_of_an_archive_are_no_exports(tmp_path):
    (tmp_path / "x" / "data").mkdir(parents=True)
    rows = [{"id": "c", "speaker": name, "text": "Hello"} for name in ("Ana", "Bo")]
    (tmp_path / "x" / "data" / "talk.js").write_text(f"window.YTD.talk.part0 = {json.dumps(rows)};\n")
    (tmp_path / "x" / "data" / "talk.min.js").write_text("(function(){var a = [1];})();")
    export = read_export(tmp_path / "x", Options())
    assert (len(export.result.dialogues), len(export.result.quarantine)) == (1, 0)
