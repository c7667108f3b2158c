from __future__ import annotations

import bz2
import gzip
import json
import lzma
import sqlite3
import zipfile
from contextlib import closing

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conversations.dialogue import write_dialogues
from dial2vec.collection.forgetting import ids_in, without_dialogues
from dial2vec.operation.forgetting.traces import traces_of
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
    assert words.are_in(path) is found


def sqlite(path, text):
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE notes (id, note)")
        # A text that takes several pages of the file, with the word where two of them meet.
        database.executemany("INSERT INTO notes VALUES (1, ?)", [("x " * n + text,) for n in range(2020, 2040)])


def test_a_file_is_read_however_it_is_packed_or_encoded(words, tmp_path, monkeypatch):
    monkeypatch.setattr("dial2vec.operation.forgetting.traces.BLOCK", 7)
    monkeypatch.setattr("dial2vec.operation.forgetting.traces.OVERLAP", 40)
    text = "my <grün> & zerknautscht!"
    with zipfile.ZipFile(tmp_path / "held.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("empty.xml", "")
        archive.writestr("inner.gz", gzip.compress(f"<c>{text}</c>".encode()))
    for codec in ("none", "snappy", "gzip", "brotli", "lz4", "zstd"):
        table = pa.table({"n": [1.0, 2.0], "said": [None, [{"text": text}]]})
        pq.write_table(table, tmp_path / f"held.{codec}.parquet", compression=codec)
    np.savez_compressed(tmp_path / "held.npz", words=np.array(["a", text]), more=np.zeros(3))
    sqlite(tmp_path / "held.db", text)
    sqlite(tmp_path / "free.db", "nothing")
    zstd = pa.compress(text.encode(), "zstd", asbytes=True)
    files = {
        "held.gz": gzip.compress(text.encode()),
        "held.txt": text.encode(),
        "held.npy": b"\0\xff" + text.encode(),
        "held.bz2": bz2.compress(text.encode()),
        "held.xz": lzma.compress(text.encode()),
        "held.zst": zstd,
        "held.utf16": f"\ufeff{text}".encode("utf-16-le"),
        "held.utf16be": f"\ufeff{text}".encode("utf-16-be"),
        "free.txt": "a zerknaut, schön".encode(),
        "free.npy": bytes(range(256)),
        "free.cp1251": "моя посылка".encode("cp1251"),
        "none.gz": gzip.compress(text.encode())[:12],
        "none.parquet": b"PAR1",
        "none.pdf": b"%PDF-1.7",
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "none.link").symlink_to("nowhere")
    expected = {"held": True, "free": False, "none": None}
    found = {path.name: words.are_in(path) for path in tmp_path.iterdir()}
    assert found == {name: expected[name.split(".")[0]] for name in found}


@pytest.mark.parametrize("encoding", ["cp1251", "koi8-r", "utf-16", "utf-8"])
def test_words_in_cyrillic_are_found_in_the_encodings_of_their_exports(tmp_path, encoding):
    words, _ = traces_of([make_dialogue("c1", "a: моя посылка помята")], OTHERS)
    (tmp_path / "file").write_bytes("id;text\n1;моя посылка помята\n".encode(encoding))
    assert words.are_in(tmp_path / "file")


def test_a_dialogue_without_words_of_its_own_is_known_by_all_its_turns(tmp_path):
    twin = make_dialogue("c3", "b: so sorry to hear that", "a: my parcel is late")
    words, _ = traces_of([twin], OTHERS)
    (tmp_path / "with").write_text(json.dumps(twin.to_record()))
    (tmp_path / "without").write_text(json.dumps(OTHERS[0].to_record()))
    assert words.are_in(tmp_path / "with")
    assert not words.are_in(tmp_path / "without")
    assert ids_in(tmp_path / "with") == {"c3"}


def test_a_dialogue_without_words_of_its_own_is_found_in_files_that_escape_no_letters(tmp_path):
    other, twin = make_dialogue("c4", "a: schön", "b: danke"), make_dialogue("c5", "b: danke", "a: schön")
    write_dialogues(tmp_path / "with", [twin])
    write_dialogues(tmp_path / "without", [other])
    words, _ = traces_of([twin], [other])
    assert words.are_in(tmp_path / "with")
    assert not words.are_in(tmp_path / "without")


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
