"""Embedding on a real local cluster, whose processes are killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest
from transformers import AutoTokenizer, BertConfig, BertModel

from dial2vec.collection.embedding import embed as embedding
from dial2vec.collection.embedding.embed import embed_file, here
from dial2vec.collection.embedding.on_ray import RayWorkers
from dial2vec.collection.embedding.shards import shards_of
from dial2vec.data.workers.cluster import TRIES
from dial2vec.encoder import StudentEncoder
from dial2vec.encoder.loading import load_encoder
from dial2vec.errors import Dial2vecError
from tests.collection.embedding.test_embed import transcripts

ray = pytest.importorskip("ray")

pytestmark = pytest.mark.services("ray")
DRIVER = """
import sys
from pathlib import Path
from tests.collection.embedding.test_on_ray import embed_slowly
embed_slowly(*sys.argv[1:])
"""


def embed_slowly(folder, path, output):
    """Embed parts of three dialogues, each with a long one, so that there is time to kill a process."""
    encoder = load_encoder(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embedding, "shards_of", partial(shards_of, size=3))
        return embed_file(Path(path), Path(output), encoder=encoder, progress=False, workers=RayWorkers(2))


def embedders():
    """Return the ids of the processes that embed."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if process.stat().st_uid == os.getuid() and b"ray::_embed" in (process / "cmdline").read_bytes():
                found.append(int(process.name))
    return found


def wait_until(true):
    """Wait, on a busy machine for minutes, because each process of Ray imports torch."""
    deadline = time.monotonic() + 600
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.fixture
def slow_folder(tiny_folder, tmp_path):
    """A model wide enough that a part takes some tenths of a second."""
    config = BertConfig.from_pretrained(tiny_folder, hidden_size=768, intermediate_size=3072, num_attention_heads=12)
    BertModel(config).save_pretrained(tmp_path / "slow")
    AutoTokenizer.from_pretrained(tiny_folder).save_pretrained(tmp_path / "slow")
    return str(tmp_path / "slow")


def test_nothing_is_lost_and_nothing_comes_twice_when_driver_and_worker_are_killed(slow_folder, tmp_path):
    path, output, parts = transcripts(tmp_path, n=60, extra=["{broken"]), tmp_path / "v", tmp_path / "v.parts"
    there = {}

    def n_parts():
        return len(list(parts.rglob("*.parquet")))

    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, slow_folder, str(path), str(output)], cwd=Path(__file__).parents[3]
    )
    wait_until(lambda: n_parts() >= 2)
    driver.kill()
    driver.wait()
    wait_until(lambda: not embedders())
    there = {one: one.stat().st_mtime_ns for one in parts.rglob("*.parquet")}
    assert 2 <= len(there) < 21

    killed = []

    def kill_one():
        wait_until(lambda: n_parts() >= len(there) + 2)
        killed.extend(embedders()[:1])
        os.kill(killed[0], signal.SIGKILL)
        killed.append({one: one.stat().st_mtime_ns for one in there} == there)

    killer = threading.Thread(target=kill_one)
    killer.start()
    done = embed_slowly(slow_folder, path, output)
    killer.join()
    assert killed[1:] == [True]
    assert (done.dialogues, done.quarantine) == (60, 1)
    embed_file(path, tmp_path / "plain", encoder=load_encoder(slow_folder), progress=False)
    found, plain = (pq.read_table(folder) for folder in (output, tmp_path / "plain"))
    assert found["dialogue_id"].equals(plain["dialogue_id"])
    # In bf16, parts of another size are rounded otherwise.
    ours, theirs = (np.array(table["embedding"].to_pylist()) for table in (found, plain))
    np.testing.assert_allclose(ours, theirs, atol=0.02)


class FakeRay:
    """The part of Ray that is used, in this process; it has one processor and no GPU."""

    exceptions = ray.exceptions

    def is_initialized(self):
        return False

    def init(self, **options):
        self.options = options

    def shutdown(self):
        self.down = True

    def cluster_resources(self):
        return {"CPU": 1.0}

    def remote(self, **_):
        """`ray.remote(...)(work).options(...).remote(part)` is the result for `get`, or its error."""
        return lambda work: SimpleNamespace(options=lambda name: SimpleNamespace(remote=partial(partial, work)))

    def get(self, task):
        return task()


@pytest.fixture
def fake(monkeypatch):
    fake = FakeRay()
    for module in ("collection.embedding.on_ray", "data.workers.cluster"):
        monkeypatch.setattr(f"dial2vec.{module}.ray_library", lambda: fake)
    return fake


def test_a_part_that_ends_every_worker_stops_the_run_with_its_lines(tiny_folder, tmp_path, fake):
    path = transcripts(tmp_path)
    fake.get = lambda _: (_ for _ in ()).throw(ray.exceptions.WorkerCrashedError)
    sentence = rf"calls\.jsonl: lines 1 to 7 ended {TRIES} workers in a row\. .*smaller batch size.* is kept"
    with pytest.raises(Dial2vecError, match=sentence):
        embed_file(path, tmp_path / "v", encoder=load_encoder(tiny_folder), progress=False, workers=RayWorkers(1))


def test_a_sentence_of_a_worker_reaches_the_user(tiny_folder, tmp_path, fake):
    path = transcripts(tmp_path)

    def changed(parts, *arguments):
        path.write_text(path.read_text().replace("w1", "w2"))
        RayWorkers(1)(parts, *arguments)

    encoder = load_encoder(tiny_folder)
    with pytest.raises(Dial2vecError, match=r"calls\.jsonl was changed while it was being embedded: lines 1 to 7"):
        embed_file(path, tmp_path / "v", encoder=encoder, progress=False, workers=changed)
    assert fake.down
    assert embed_file(path, tmp_path / "v", encoder=encoder, progress=False, workers=RayWorkers(1)).dialogues == 7


def test_workers_embed_by_a_student(student_folder, tmp_path, fake):
    path, student = transcripts(tmp_path), StudentEncoder.from_pretrained(student_folder)
    for output, workers in (("ray", RayWorkers(1)), ("here", here)):
        embed_file(path, tmp_path / output, encoder=student, progress=False, workers=workers)
    assert pq.read_table(tmp_path / "ray").equals(pq.read_table(tmp_path / "here"))


def test_gpus_that_this_machine_lacks_are_said_before_anything_waits_for_them(tiny_folder, tmp_path, fake, caplog):
    encoder, path = load_encoder(tiny_folder), transcripts(tmp_path)
    with pytest.raises(Dial2vecError, match=r"each worker needs 0\.5 GPUs, and the cluster has 0\. Leave --gpus out"):
        embed_file(path, tmp_path / "v", encoder=encoder, progress=False, workers=RayWorkers(1, gpus=0.5))
    embed_file(path, tmp_path / "v", encoder=encoder, progress=False, workers=RayWorkers(1, address="auto", gpus=0.5))
    assert "waiting for more" in caplog.text


@pytest.mark.parametrize(("count", "address", "expected"), [(2, "local", 4), (16, "local", 1), (2, "auto", 1)])
def test_workers_share_the_processors_of_this_machine(monkeypatch, count, address, expected):
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    assert RayWorkers(count, address=address).processors == expected


def test_a_cluster_that_is_not_there_is_said_in_a_sentence(tiny_folder, tmp_path):
    workers = RayWorkers(1, address="127.0.0.1:9")
    encoder = load_encoder(tiny_folder)
    with pytest.raises(Dial2vecError, match=r"there is no Ray cluster at '127.0.0.1:9'.*Start one"):
        embed_file(transcripts(tmp_path), tmp_path / "v", encoder=encoder, progress=False, workers=workers)
