"""Embedding by a student in processes of this machine, which are killed."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from dial2vec.collection.embedding import embed as embedding
from dial2vec.collection.embedding.embed import embed_file, here
from dial2vec.collection.embedding.parts import embed_in_processes
from dial2vec.collection.embedding.shards import shards_of
from dial2vec.data import workers
from dial2vec.data.workers import in_processes
from dial2vec.encoder import DialogueEncoder, StudentEncoder
from dial2vec.errors import CorpusError, Dial2vecError
from tests.collection.embedding.test_embed import transcripts
from tests.students import tiny_student

DRIVER = """
import functools, sys
from pathlib import Path
from dial2vec.collection.embedding import embed, shards
from dial2vec.data import workers
from dial2vec.encoder import StudentEncoder
embed.shards_of = functools.partial(shards.shards_of, size=1)
workers.processes_for = lambda n_parts, fewest: 2
student = StudentEncoder.from_pretrained(sys.argv[1])
embed.embed_file(Path(sys.argv[2]), Path(sys.argv[3]), encoder=student, progress=False)
assert not {"torch", "transformers"} & sys.modules.keys()
"""


def in_two(parts, *arguments):
    embed_in_processes(parts, *arguments, spread=functools.partial(in_processes, count=2))


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
    path, output = transcripts(tmp_path, n=400), tmp_path / "v.parquet"

    def one_is_killed(parts, encoder, batch_size, done):
        # Once: later its number belongs to nobody, and the last child is the one that counts semaphores.
        victims = []

        def kill(_):
            if not victims:
                victims.append(int(children_of(os.getpid())[-1]))
                os.kill(victims[0], signal.SIGKILL)

        in_two(parts, encoder, batch_size, kill)

    student = StudentEncoder.from_pretrained(student_folder)
    with pytest.raises(Dial2vecError, match=r"one of the 2 processes was ended while it worked.* start again"):
        embed_file(path, output, encoder=student, progress=False, workers=one_is_killed)
    assert not any(map(is_running, children_of(os.getpid())))
    finished = len(list(tmp_path.glob("v.parquet.parts/*/*.parquet")))
    left = []

    def counted(parts, *arguments):
        left.extend(parts)
        in_two(parts, *arguments)

    assert embed_file(path, output, encoder=student, progress=False, workers=counted).dialogues == 400
    assert len(left) + finished == 134 > len(left)
    embed_file(path, tmp_path / "plain.parquet", encoder=student, progress=False)
    assert output.read_bytes() == (tmp_path / "plain.parquet").read_bytes()


def test_a_student_in_processes_needs_no_torch(student_folder, tmp_path):
    path, output = transcripts(tmp_path, n=40), tmp_path / "v.parquet"
    subprocess.run([sys.executable, "-c", DRIVER, student_folder, str(path), str(output)], check=True)
    assert pq.read_metadata(output).num_rows == 40
    assert not list(tmp_path.glob("*.parts"))


def children_of(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def is_running(pid: str) -> bool:
    try:
        return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
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

    def noted(work, items, *, count):
        counts.append(count)
        return map(work, items)

    monkeypatch.setattr("dial2vec.data.workers.in_processes", noted)
    for number, load in enumerate([StudentEncoder, DialogueEncoder]):
        encoder = load.from_pretrained((student_folder, tiny_folder)[number])
        path = transcripts(tmp_path, n=50)
        assert embed_file(path, tmp_path / f"{number}", encoder=encoder, progress=False).dialogues == 50
    assert counts == [2]
