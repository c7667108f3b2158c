"""Zip archives, workbooks, Word documents and databases are read inside, within bounds."""

from __future__ import annotations

import io
import sqlite3
import tarfile
import zipfile

import pytest

from conversations.formats import archives
from conversations.options import Options
from conversations.reading import read_export
from conversations.summary import import_summary
from dial2vec.errors import CorpusError

CHAT = "Anna: Hello\nBo: Hi\n"
ROWS = [["call_id", "speaker", "text"], ["7", "agent", "Hello"], ["7", "customer", "Hi"]]
SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{}</sheetData></worksheet>'
)
BOOK = """<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"
 xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>{}</sheets></workbook>"""
RELATIONS = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{}</Relationships>'
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
KIND = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet"


def write_zip(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


def write_workbook(path, **sheets):
    """Write a workbook of texts, as Excel does with inline strings."""
    names = list(sheets)
    members = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "_rels/.rels": RELATIONS.format(f'<Relationship Id="r" Type="{OFFICE}" Target="xl/workbook.xml"/>'),
        "xl/workbook.xml": BOOK.format(
            "".join(f'<sheet name="{name}" sheetId="{n}" r:id="r{n}"/>' for n, name in enumerate(names, 1))
        ),
        "xl/_rels/workbook.xml.rels": RELATIONS.format(
            "".join(
                f'<Relationship Id="r{n}" Type="{KIND}" Target="worksheets/sheet{n}.xml"/>'
                for n in range(1, len(names) + 1)
            )
        ),
    }
    for n, rows in enumerate(sheets.values(), 1):
        cells = (
            "".join(f'<c t="inlineStr"><is><t>{cell}</t></is></c>' for cell in row).join(("<row>", "</row>"))
            for row in rows
        )
        members[f"xl/worksheets/sheet{n}.xml"] = SHEET.format("".join(cells))
    return write_zip(path, members)


def turns(export):
    return [[(turn.speaker, turn.text) for turn in dialogue.turns] for dialogue in export.result.dialogues]


def test_a_chat_in_a_zip_is_read_and_its_pictures_are_left_inside(tmp_path):
    path = write_zip(tmp_path / "chat.zip", {"_chat.txt": CHAT, "IMG-1.jpg": "x", "__MACOSX/._chat.txt": "y"})
    export = read_export(path, Options())
    assert turns(export) == [[("Anna", "Hello"), ("Bo", "Hi")]]
    assert list(export.descriptions) == [path / "_chat.txt"]
    assert export.result.dialogues[0].dialogue_id == "chat"
    assert export.result.dialogues[0].origin.source == str(path / "_chat.txt")


def test_several_files_of_a_zip_are_read_like_a_folder(tmp_path):
    path = write_zip(tmp_path / "all.zip", {"a/one.txt": CHAT, "b/two.txt": CHAT, "b/bad.json": "{"})
    export = read_export(path, Options())
    assert [dialogue.dialogue_id for dialogue in export.result.dialogues] == ["a/one", "b/two"]
    [refused] = export.result.quarantine
    assert str(path / "b/bad.json") in refused.reason


def test_a_member_cannot_leave_the_folder(tmp_path):
    path = write_zip(tmp_path / "evil.zip", {"../../evil.txt": CHAT, "/abs.txt": CHAT, "C:\\x.txt": CHAT})
    assert len(read_export(path, Options()).result.dialogues) == 3
    assert sorted(item.name for item in tmp_path.iterdir()) == ["evil.zip"]


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"a.jpg": "x"}, "holds no file to import"),
        ({"a.txt": "0" * 3_000_000}, "unpacks to over 0.0 GB from"),
    ],
)
def test_an_archive_without_transcripts_or_out_of_bounds_is_refused(tmp_path, monkeypatch, members, message):
    monkeypatch.setattr(archives, "SMALL", 1 << 20)
    with pytest.raises(CorpusError, match=message):
        read_export(write_zip(tmp_path / "a.zip", members), Options())


def test_a_damaged_archive_is_one_sentence(tmp_path):
    path = write_zip(tmp_path / "a.zip", {"a.txt": CHAT * 100})
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(CorpusError, match=r"a\.zip is a damaged zip archive"):
        read_export(path, Options())


def test_the_sheets_of_a_workbook_are_read_as_tables(tmp_path):
    path = write_workbook(tmp_path / "calls.xlsx", Info=[["Calls of May"]], Calls=ROWS)
    export = read_export(path, Options())
    assert turns(export) == [[("agent", "Hello"), ("customer", "Hi")]]
    summary = import_summary(export, None)
    assert summary.startswith("calls.xlsx, sheet Calls: workbook\n")
    skipped = "skipped without a row below its headings: Info; --table NAME reads one of them"
    assert f"note: calls.xlsx has the sheets Info, Calls; {skipped}" in summary


def test_a_sheet_that_cannot_be_read_is_named_and_the_others_are_read(tmp_path):
    path = write_workbook(tmp_path / "calls.xlsx", Prices=[["colour", "width"], ["red", "7"], ["blue", "9"]], May=ROWS)
    export = read_export(path, Options())
    assert len(export.result.dialogues) == 1
    [refused] = export.result.quarantine
    assert refused.reason.startswith(f"{path}, sheet Prices:1: none of its 2 columns has a known name")
    assert refused.origin.source == f"{path}, sheet Prices"
    one = write_workbook(tmp_path / "one.xlsx", May=ROWS)
    assert "--table" not in import_summary(read_export(one, Options()), None)


def test_files_of_an_archive_in_a_folder_are_read_each_for_itself(tmp_path):
    table = "call_id,speaker,text\n{0},agent,Hello {1}\n{0},customer,Hi\n"
    members = {"may.csv": table.format(7, 1), "june.csv": table.format(7, 2) + table.format(8, 3).partition("\n")[2]}
    (tmp_path / "all").mkdir()
    write_zip(tmp_path / "all" / "calls.zip", members | {"prices.csv": "colour,width\nred,7\n"})
    result = read_export(tmp_path / "all", Options()).result
    assert sorted(dialogue.dialogue_id for dialogue in result.dialogues) == ["7", "8"]
    known, unread = sorted(result.quarantine, key=lambda record: "came before" not in record.reason)
    assert (known.dialogue_id, known.reason) == ("7", "the id came before in june.csv")
    assert unread.origin.source == f"{tmp_path}/all/calls.zip/prices.csv"


def test_one_sheet_can_be_named(tmp_path):
    path = write_workbook(tmp_path / "calls.xlsx", Old=ROWS, New=[ROWS[0], ["8", "a", "b"], ["8", "c", "d"]])
    assert turns(read_export(path, Options(table="New"))) == [[("a", "b"), ("c", "d")]]
    with pytest.raises(CorpusError, match=r"has no table 'Newer' .* it has Old, New"):
        read_export(path, Options(table="Newer"))


def test_a_word_document_is_read_by_its_paragraphs(tmp_path):
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    body = "".join(f"<w:p><w:r><w:t>{line}</w:t></w:r></w:p>" for line in ("Anna: Hello", "Bo: Hi"))
    document = f'<w:document xmlns:w="{space}"><w:body>{body}</w:body></w:document>'
    path = write_zip(tmp_path / "meeting.docx", {"word/document.xml": document})
    assert turns(read_export(path, Options())) == [[("Anna", "Hello"), ("Bo", "Hi")]]
    path = write_zip(tmp_path / "bad.docx", {"word/document.xml": "<w:p"})
    with pytest.raises(CorpusError, match="is a damaged Word document"):
        read_export(path, Options())


def test_a_database_is_read_by_its_table(tmp_path):
    path = tmp_path / "calls.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE turns (call_id, speaker, text)")
        database.executemany("INSERT INTO turns VALUES (?, ?, ?)", ROWS[1:])
    database.close()
    assert turns(read_export(path, Options())) == [[("agent", "Hello"), ("customer", "Hi")]]
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE people (name)")
    database.close()
    with pytest.raises(CorpusError, match=r"is a database with 2 tables: turns, people. .* --table"):
        read_export(path, Options())
    assert len(read_export(path, Options(table="turns")).result.dialogues) == 1


def test_a_table_of_a_file_without_tables_is_an_error(tmp_path):
    (tmp_path / "a.txt").write_text(CHAT)
    with pytest.raises(CorpusError, match=r"has no tables"):
        read_export(tmp_path / "a.txt", Options(table="x"))


@pytest.mark.parametrize(
    ("content", "message"),
    [("<!DOCTYPE html><p>x", "is a web page"), ("%PDF-1.4", "is a PDF"), ("<?xml version='1.0'?><a/>", "is XML")],
)
def test_what_is_no_text_is_refused_with_a_way_out(tmp_path, content, message):
    (tmp_path / "a.txt").write_text(content)
    with pytest.raises(CorpusError, match=message):
        read_export(tmp_path / "a.txt", Options())


def test_a_table_in_a_document_is_a_table_and_a_document_of_libreoffice_is_text(tmp_path):
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    rows = [["Speaker", "Text"], ["Anna", "Hello: you"], ["Bo", "Hi"]]
    cells = ["".join(f"<w:tc><w:p><w:r><w:t>{cell}</w:t></w:r></w:p></w:tc>" for cell in row) for row in rows]
    table = "".join(f"<w:tr>{row}</w:tr>" for row in cells)
    document = f'<w:document xmlns:w="{space}"><w:body><w:tbl>{table}</w:tbl></w:body></w:document>'
    path = write_zip(tmp_path / "meeting.docx", {"word/document.xml": document})
    assert turns(read_export(path, Options())) == [[("Anna", "Hello: you"), ("Bo", "Hi")]]
    space = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
    text = f'<office xmlns:text="{space}"><text:p>Anna: Hello</text:p><text:p>Bo: Hi</text:p></office>'
    path = write_zip(tmp_path / "meeting.odt", {"content.xml": text})
    assert turns(read_export(path, Options())) == [[("Anna", "Hello"), ("Bo", "Hi")]]


def test_a_readme_is_no_dialogue_and_an_archive_in_an_archive_is_read(tmp_path):
    path = write_zip(tmp_path / "a.zip", {"README.txt": "Contact: me\nDate: now\n", "a.txt": CHAT, "b.txt": CHAT})
    export = read_export(path, Options())
    assert (len(export.result.dialogues), export.result.quarantine) == (2, [])
    inner = write_zip(tmp_path / "inner.zip", {"_chat.txt": CHAT}).read_bytes()
    assert turns(read_export(write_zip(tmp_path / "all.zip", {"chat.zip": inner}), Options())) == [
        [("Anna", "Hello"), ("Bo", "Hi")]
    ]


def test_archives_among_the_files_of_an_archive_are_named_in_full(tmp_path):
    inner = {f"chat-{n}.zip": write_zip(tmp_path / "in.zip", {"_chat.txt": CHAT}).read_bytes() for n in range(12)}
    export = read_export(write_zip(tmp_path / "all.zip", inner), Options())
    assert {str(path.relative_to(tmp_path)) for path in export.files} == {f"all.zip/{n}/_chat.txt" for n in inner}
    assert import_summary(export, None).startswith("12 files (chat-0.zip/_chat.txt, ")
    outer = write_zip(tmp_path / "outer.zip", {"all.zip": (tmp_path / "all.zip").read_bytes()})
    assert import_summary(read_export(outer, Options()), None).startswith("12 files (all.zip/chat-0.zip/_chat.txt, ")


def test_a_table_that_unpacks_to_gigabytes_is_refused_before_it_is_read(tmp_path):
    import pyarrow
    from pyarrow import parquet

    from conversations.formats.tables import read_parquet

    texts = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 400_000), pyarrow.array(["word " * 200]))
    path = tmp_path / "turns.parquet"
    parquet.write_table(pyarrow.table({"text": texts}), path)
    assert path.stat().st_size < 200_000
    with pytest.raises(CorpusError, match=r"unpacks to over 0\.1 GB"):
        sum(1 for _ in read_parquet(path))


def write_tar(path, members, mode="w:gz"):
    with tarfile.open(path, mode) as archive:
        for name, text in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
        link = tarfile.TarInfo("link.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return path


@pytest.mark.parametrize(
    ("name", "mode"), [("a.tar", "w"), ("a.tar.gz", "w:gz"), ("a.tgz", "w:gz"), ("a.tar.bz2", "w:bz2"), ("a.bin", "w")]
)
def test_a_tar_archive_is_read_as_a_folder(tmp_path, name, mode):
    members = {"x/one.txt": CHAT, "../../two.txt": CHAT, "voice.opus": "?", "._one.txt": "?"}
    path = write_tar(tmp_path / name, members, mode)
    assert len(read_export(path, Options()).result.dialogues) == 2
    assert not (tmp_path.parent / "two.txt").exists()


def test_a_damaged_or_useless_tar_archive_is_refused(tmp_path, monkeypatch):
    path = write_tar(tmp_path / "a.tgz", {"one.txt": CHAT})
    monkeypatch.setattr(archives, "SMALL", 10)
    monkeypatch.setattr(archives, "RATIO", 0.01)
    with pytest.raises(CorpusError, match=r"a\.tgz unpacks to over"):
        read_export(path, Options())
    monkeypatch.undo()
    path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(CorpusError, match="is a damaged tar archive"):
        read_export(path, Options())
    with pytest.raises(CorpusError, match="holds no file to import"):
        read_export(write_tar(tmp_path / "b.tar", {"voice.opus": "?"}, "w"), Options())
