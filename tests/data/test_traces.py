from __future__ import annotations

import bz2
import gzip
import json
import lzma
import re
import zipfile

import pytest

from conversations.dialogue import write_dialogues
from dial2vec.data.traces import holds, traces_of, without_dialogues, without_label_rows
from tests.conftest import make_dialogue

OTHERS = [make_dialogue("c1", "a: my parcel is late", "b: so sorry to hear that")]
GONE = make_dialogue("c2", "a: my parcel is <grün> & zerknautscht", "b: so sorry to hear that")


@pytest.fixture
def traces():
    return traces_of([GONE], OTHERS)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("they wrote zerknautscht there", True),
        ("zerknautschter", False),
        ("my parcel is late; so sorry to hear that", False),
        (json.dumps("my parcel is <grün> & zerknautscht"), True),
        ("my parcel is &lt;grün&gt; &amp; zerknautscht", True),
    ],
)
def test_a_file_holds_a_dialogue_by_words_that_no_other_dialogue_has(traces, tmp_path, text, found):
    path = tmp_path / "file"
    path.write_text(text)
    assert holds(path, traces.words, unread=[]) is found


def test_packed_files_are_read_within_and_what_cannot_be_read_is_named(traces, tmp_path):
    for name, opened in (("a.gz", gzip.open), ("a.bz2", bz2.open), ("a.xz", lzma.open)):
        with opened(tmp_path / name, "wt") as handle:
            handle.write("zerknautscht")
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("sheet.xml", "<c>zerknautscht</c>")
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04zerknautscht")
    (tmp_path / "cut.xz").write_bytes((tmp_path / "a.xz").read_bytes()[:-20])
    (tmp_path / "gone").symlink_to("nowhere")
    unread = []
    paths = sorted(tmp_path.iterdir())
    assert [path.name for path in paths if holds(path, re.compile(b"none"), traces.words, unread=unread)] == [
        "a.bz2",
        "a.gz",
        "a.xlsx",
        "a.xz",
    ]
    assert [path.name for path in unread] == ["broken.zip", "cut.xz", "gone"]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_files_in_utf_16_are_read_as_text(traces, tmp_path, monkeypatch, encoding):
    monkeypatch.setattr("dial2vec.data.traces.BLOCK", 7)
    for text, found in (("my <grün> & zerknautscht!", True), ("a zerknaut", False)):
        (tmp_path / "export.csv").write_bytes(f"\ufeff{text}".encode(encoding))
        assert holds(tmp_path / "export.csv", traces.words, unread=[]) is found


def test_a_dialogue_without_words_of_its_own_is_known_by_all_its_turns(tmp_path):
    twin = make_dialogue("c3", "b: so sorry to hear that", "a: my parcel is late")
    traces = traces_of([twin], OTHERS)
    (tmp_path / "with").write_text(json.dumps(twin.to_record()))
    (tmp_path / "without").write_text(json.dumps(OTHERS[0].to_record()))
    assert holds(tmp_path / "with", traces.words, unread=[])
    assert not holds(tmp_path / "without", traces.words, unread=[])
    assert holds(tmp_path / "with", traces.ids, unread=[])


def test_a_dialogue_without_words_of_its_own_is_found_in_files_that_escape_no_letters(tmp_path):
    other, twin = make_dialogue("c4", "a: schön", "b: danke"), make_dialogue("c5", "b: danke", "a: schön")
    write_dialogues(tmp_path / "with", [twin])
    write_dialogues(tmp_path / "without", [other])
    traces = traces_of([twin], [other])
    assert holds(tmp_path / "with", traces.words, unread=[])
    assert not holds(tmp_path / "without", traces.words, unread=[])


@pytest.mark.parametrize("name", ["calls.jsonl", "calls.jsonl.gz"])
def test_other_lines_stay_byte_for_byte(tmp_path, name):
    lines = b'{"dialogue_id": "c1", "x":  1}\nnot json\n{"dialogue_id": "c2"}\n{"dialogue_id": null}\n'
    path = tmp_path / name
    path.write_bytes(gzip.compress(lines) if name.endswith("gz") else lines)
    without_dialogues(path, {"c2"})
    rest = gzip.decompress(path.read_bytes()) if name.endswith("gz") else path.read_bytes()
    assert rest == b'{"dialogue_id": "c1", "x":  1}\nnot json\n{"dialogue_id": null}\n'


def test_labels_lose_the_rows(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text('dialogue_id,label\nc1,"a, b"\nc2,c\n')
    without_label_rows(path, {"c2"})
    assert path.read_text().splitlines() == ["dialogue_id,label", 'c1,"a, b"']
