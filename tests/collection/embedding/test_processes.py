"""Embedding by a student in processes of this machine, which are killed."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from dial2vec.collection.embedding import embed as embedding
from dial2vec.collection.embedding import processes
from dial2vec.collection.embedding.embed import embed_file, here
from dial2vec.collection.embedding.parts import embed_part
from dial2vec.collection.embedding.processes import embed_in_processes
from dial2vec.collection.embedding.shards import ShardReader, shards_of
from dial2vec.data.workers import processes as workers
from dial2vec.encoder import DialogueEncoder, StudentEncoder
from dial2vec.errors import CorpusError, Dial2vecError
from tests.collection.embedding.test_embed import transcripts
from tests.students import tiny_student

DRIVER = """
import functools, sys
from pathlib import Path
from dial2vec.collection.embedding import embed, shards
from dial2vec.encoder import StudentEncoder
embed.shards_of = functools.partial(shards.shards_of, size=1)
embed.processes_for = lambda n_parts, fewest: 2
student = StudentEncoder.from_pretrained(sys.argv[1])
embed.embed_file(Path(sys.argv[2]), Path(sys.argv[3]), encoder=student, progress=False)
assert not {"torch", "transformers"} & sys.modules.keys()
"""


def in_two(parts, *arguments):
    embed_in_processes(parts, *arguments, count=2)


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    monkeypatch.setattr(embedding, "shards_of", functools.partial(shards_of, size=3))


@pytest.mark.parametrize("rows", ["fp32", "fp16", "int8"])
def test_processes_write_the_file_of_one_process(tmp_path, rows):
    tiny_student().save_pretrained(tmp_path / "student", rows=rows)
    student = StudentEncoder.from_pretrained(tmp_path / "student")
    path = transcripts(tmp_path, n=40, extra=["{broken", '{"dialogue_id": "d3", "turns": []}'])
    path.write_text(path.read_text().replace('"d39"', '"d1"'))
    done = [
        embed_file(path, tmp_path / name, encoder=student, progress=False, workers=by)
        for name, by in (("one.parquet", here), ("two.parquet", in_two))
    ]
    assert [(one.dialogues, one.quarantine, one.long, one.max_length) for one in done] == [(39, 3, 0, None)] * 2
    for name in ("{}.parquet", "{}.parquet.quarantine.jsonl"):
        assert len({(tmp_path / name.format(number)).read_bytes() for number in ("one", "two")}) == 1


def test_a_killed_process_is_reported_and_the_next_run_goes_on(student_folder, tmp_path, monkeypatch):
    # Many parts: on a busy machine the others would be done before the process is killed.
    path, output, started = transcripts(tmp_path, n=400), tmp_path / "v.parquet", []

    class Popen(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            started.append(self)

    monkeypatch.setattr(processes.subprocess, "Popen", Popen)

    def one_is_killed(parts, encoder, batch_size, done):
        in_two(parts, encoder, batch_size, lambda _: started[0].kill())

    student = StudentEncoder.from_pretrained(student_folder)
    sentence = (
        r"calls\.jsonl: the process that embedded lines \d+ to \d+ was ended by SIGKILL; .* finished parts are kept"
    )
    with pytest.raises(Dial2vecError, match=sentence):
        embed_file(path, output, encoder=student, progress=False, workers=one_is_killed)
    assert [process.poll() for process in started] == [-signal.SIGKILL] * 2
    finished = len(list(tmp_path.glob("v.parquet.parts/*/*.parquet")))
    left = []

    def counted(parts, *arguments):
        left.extend(parts)
        in_two(parts, *arguments)

    assert embed_file(path, output, encoder=student, progress=False, workers=counted).dialogues == 400
    assert len(left) + finished == 134 > len(left)
    embed_file(path, tmp_path / "plain.parquet", encoder=student, progress=False)
    assert output.read_bytes() == (tmp_path / "plain.parquet").read_bytes()


def test_processes_end_with_a_killed_command_which_needs_no_torch(student_folder, tmp_path):
    path, output = transcripts(tmp_path, n=400), tmp_path / "v.parquet"
    command = [sys.executable, "-c", DRIVER, student_folder, str(path), str(output)]
    with subprocess.Popen(command) as driver:
        while not list(tmp_path.glob("v.parquet.parts/*/*.parquet")):
            assert driver.poll() is None
            time.sleep(0.01)
        children = Path(f"/proc/{driver.pid}/task/{driver.pid}/children").read_text().split()
        driver.kill()
    assert len(children) == 2
    deadline = time.monotonic() + 60
    while any(is_running(pid) for pid in children):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert not output.exists()
    subprocess.run(command, check=True)
    assert pq.read_metadata(output).num_rows == 400
    assert not list(tmp_path.glob("*.parts"))


def is_running(pid: str) -> bool:
    try:
        return b"serve()" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def test_a_changed_file_stops_the_processes_with_its_sentence(student_folder, tmp_path):
    path = transcripts(tmp_path, n=40)

    def changed(parts, *arguments):
        path.write_text(path.read_text().replace("w1", "w2"))
        in_two(parts, *arguments)

    with pytest.raises(CorpusError, match=r"calls\.jsonl was changed while it was being embedded: lines 1 to 3"):
        embed_file(
            path,
            tmp_path / "v",
            encoder=StudentEncoder.from_pretrained(student_folder),
            progress=False,
            workers=changed,
        )


def test_a_process_per_processor_embeds_many_parts_of_a_student_and_one_a_transformers(
    student_folder, tiny_folder, tmp_path, monkeypatch
):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    monkeypatch.setattr(workers, "CPU_SHARE", tmp_path / "cpu.max")
    counts = []

    def noted(parts, encoder, batch_size, done, *, count):
        counts.append(count)
        with ShardReader() as reader:
            for part in parts:
                done(embed_part(part, encoder, reader, batch_size=batch_size))

    monkeypatch.setattr(embedding, "embed_in_processes", noted)
    for number, load in enumerate([StudentEncoder, DialogueEncoder]):
        encoder = load.from_pretrained((student_folder, tiny_folder)[number])
        path = transcripts(tmp_path, n=50)
        assert embed_file(path, tmp_path / f"{number}", encoder=encoder, progress=False).dialogues == 50
    assert counts == [2]
