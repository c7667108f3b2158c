"""After a forgetting no byte of a project holds the dialogue's words, masked or not, packed or not, or in a remote."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sqlite3
import subprocess
import sys
import time
import zipfile
from contextlib import closing

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from dial2vec.cli import main
from dial2vec.operation.schedule.inbox import take_in

WORDS = ("zanzibarine", "Heimlich", "5552234", "куролесица")
ROWS = [
    *(("y-1", who, text) for who, text in [("agent", "how can I help you"), ("Marta Heimlich", "call +49 30 5552234")]),
    *[
        ("y-1", "agent", "a zanzibarine куролесица"),
        ("y-2", "agent", "how can I help you"),
        ("y-2", "Tom", "thank you"),
    ],
]
UNPACKED = {b"\x1f\x8b": gzip.decompress, b"BZh": bz2.decompress, b"\xfd7zXZ": lzma.decompress}


def dvc(root, *arguments):
    subprocess.run([sys.executable, "-m", "dvc", *arguments, "--quiet"], cwd=root, check=True)


def texts_in(content):
    """Yield a content and all that it unpacks to, in every encoding of the test."""
    yield from (content, content.decode("utf-16-le", "ignore").encode(), content.decode("cp1251", "ignore").encode())
    yield content.decode("utf-32-le", "ignore").encode()
    for sign, unpack in UNPACKED.items():
        if content.startswith(sign):
            yield from texts_in(unpack(content))
    if content.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for name in archive.namelist():
                yield from texts_in(archive.read(name))
    if content.startswith(b"PAR1"):
        yield str(pq.read_table(io.BytesIO(content)).to_pylist()).encode()


def holding(root):
    """Return the files of a project in which a word is, but for those of the programs."""
    found = set()
    for path in root.rglob("*"):
        if path.is_file():
            texts = [*texts_in(path.read_bytes()), str(path).encode()]
            if path.name == "prefect.db":
                with closing(sqlite3.connect(path)) as log:
                    texts.append(str(log.execute("SELECT * FROM log").fetchall()).encode())
            if any(word.encode() in text for word in WORDS for text in texts):
                found.add(str(path.relative_to(root)))
    return found


def exports(folder):
    """Write the dialogues as a table that no search of text reads, an hour ago."""
    folder.mkdir(parents=True)
    table = pa.table(dict(zip(("dialogue_id", "speaker", "text"), map(list, zip(*ROWS, strict=True)), strict=True)))
    pq.write_table(table, folder / "night.parquet", compression="zstd")
    os.utime(folder / "night.parquet", (time.time() - 3600,) * 2)


@pytest.mark.services("dvc")
@pytest.mark.parametrize("redact", [False, True])
def test_no_byte_of_a_project_holds_a_forgotten_dialogue(tmp_path, monkeypatch, redact):
    monkeypatch.chdir(tmp_path)
    for name, text in {"params.yaml": "corpora: [calls]\n", "dvc.yaml": "stages: {}\n"}.items():
        (tmp_path / name).write_text(text)
    dvc(tmp_path, "init", "--no-scm")
    dvc(tmp_path, "remote", "add", "-d", "far", str(tmp_path / "far"))
    exports(tmp_path / "inbox" / "calls")
    said = []
    [arrival] = take_in(tmp_path, tmp_path / "inbox", ["calls"], redact=redact, say=said.append)
    assert arrival.dialogues == 2, said
    dvc(tmp_path, "push")
    assert not any(word in line for word in WORDS for line in said)
    said_words = "a zanzibarine куролесица"
    # What people and earlier versions made of it.
    prefect = tmp_path / ".prefect" / "prefect.db"
    prefect.parent.mkdir(exist_ok=True)
    with closing(sqlite3.connect(prefect)) as log, log:
        log.execute("CREATE TABLE log (message TEXT)")
        log.execute("INSERT INTO log VALUES (?)", [said_words * 400])
    ids = ["y-1", "y-2"]
    pq.write_table(pa.table({"dialogue_id": ids, "text": [said_words, ""]}), tmp_path / "v.parquet", compression="zstd")
    notes = {
        "notes.zip": lambda path: zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED).writestr("a.txt", said_words),
        "notes.bz2": lambda path: path.write_bytes(bz2.compress(said_words.encode("utf-16-le"))),
        "notes.npz": lambda path: np.savez_compressed(path, words=np.array([said_words])),
        "notes.csv": lambda path: path.write_bytes(said_words.encode("cp1251")),
    }
    for name, written in notes.items():
        written(tmp_path / name)
    assert len(holding(tmp_path)) >= 9
    done = CliRunner().invoke(main, ["forget", "calls", "y-1", "--yes"])
    assert done.exit_code == 0, done.output
    left = {line.split()[0] for line in done.output.splitlines() if "(LEFT, edit or remove it yourself)" in line}
    # They are named, nothing else holds a word, and without them nothing does.
    assert holding(tmp_path) == left == set(notes)
    for name in notes:
        (tmp_path / name).unlink()
    assert holding(tmp_path) == set()
