from __future__ import annotations

import bz2
import gzip
import json
import lzma
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conversations.dialogue import write_dialogues
from dial2vec.collection.forgetting import ids_in, without_dialogues
from dial2vec.operation.traces import holds, traces_of
from tests.conftest import make_dialogue

OTHERS = [make_dialogue("c1", "a: my parcel is late", "b: so sorry to hear that")]
GONE = make_dialogue("c2", "a: my parcel is <grün> & zerknautscht", "b: so sorry to hear that")


@pytest.fixture
def words():
    return traces_of([GONE], OTHERS)[0]


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
def test_a_file_holds_a_dialogue_by_words_that_no_other_dialogue_has(words, tmp_path, text, found):
    path = tmp_path / "file"
    path.write_text(text)
    assert holds(path, words) is found


def test_gzip_is_read_within_and_what_cannot_be_searched_is_not_taken_for_free_of_it(words, tmp_path, monkeypatch):
    monkeypatch.setattr("dial2vec.operation.traces.BLOCK", 7)
    text = "my <grün> & zerknautscht!"
    with zipfile.ZipFile(tmp_path / "none.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("sheet.xml", f"<c>{text}</c>")
    pq.write_table(pa.table({"text": [text]}), tmp_path / "none.parquet", compression="zstd")
    files = {
        "held.gz": gzip.compress(text.encode()),
        "held.txt": text.encode(),
        "held.npy": b"\0\xff" + text.encode(),
        "free.txt": "a zerknaut, schön".encode(),
        "free.npy": bytes(range(256)),
        "none.bz2": bz2.compress(text.encode()),
        "none.xz": lzma.compress(text.encode()),
        "none.gz": gzip.compress(text.encode())[:12],
        "none.utf16": f"\ufeff{text}".encode("utf-16-le"),
        "none.cp1251": "моя посылка".encode("cp1251"),
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "none.link").symlink_to("nowhere")
    expected = {"held": True, "free": False, "none": None}
    assert {path.name: holds(path, words) for path in tmp_path.iterdir()} == {
        path.name: expected[path.stem] for path in tmp_path.iterdir()
    }


def test_a_dialogue_without_words_of_its_own_is_known_by_all_its_turns(tmp_path):
    twin = make_dialogue("c3", "b: so sorry to hear that", "a: my parcel is late")
    words, _ = traces_of([twin], OTHERS)
    (tmp_path / "with").write_text(json.dumps(twin.to_record()))
    (tmp_path / "without").write_text(json.dumps(OTHERS[0].to_record()))
    assert holds(tmp_path / "with", words)
    assert not holds(tmp_path / "without", words)
    assert ids_in(tmp_path / "with") == {"c3"}


def test_a_dialogue_without_words_of_its_own_is_found_in_files_that_escape_no_letters(tmp_path):
    other, twin = make_dialogue("c4", "a: schön", "b: danke"), make_dialogue("c5", "b: danke", "a: schön")
    write_dialogues(tmp_path / "with", [twin])
    write_dialogues(tmp_path / "without", [other])
    words, _ = traces_of([twin], [other])
    assert holds(tmp_path / "with", words)
    assert not holds(tmp_path / "without", words)


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
    without_dialogues(path, {"c2"})
    assert path.read_text().splitlines() == ["dialogue_id,label", 'c1,"a, b"']
