"""Work on a real Ray cluster of this machine, whose workers are killed."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from itertools import count, islice
from pathlib import Path

import pytest

from conversations.dialogue import read_dialogues
from conversations.files import read_json
from dial2vec.data.workers import spread
from dial2vec.data.workers.cluster import TRIES, on_cluster
from dial2vec.errors import CorpusError, Dial2vecError
from dial2vec.pipeline.prepare import prepare
from dial2vec.pipeline.validate import validate
from tests.pipeline.conftest import project as project
from tests.pipeline.projects import run

pytestmark = pytest.mark.services("ray")

ray = pytest.importorskip("ray")


@pytest.fixture(scope="module")
def cluster():
    """A cluster of two workers, which all tests of this file share; Ray does not look whether its GPU is there."""
    ray.init(num_cpus=2, num_gpus=1, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    yield "local"
    ray.shutdown()


def test_results_come_in_order_and_a_killed_worker_is_replaced(cluster, tmp_path):
    def work(number):
        mark = tmp_path / str(number)
        if number in (2, 5) and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return 2 * number

    assert list(spread(work, range(12), n_parts=12, fewest=1, cluster=cluster)) == [2 * n for n in range(12)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2", "5"]


def test_parts_are_read_only_as_far_as_workers_need_them(cluster):
    def work(number):
        return number

    numbers = count()
    assert list(islice(on_cluster(work, numbers, address=cluster), 3)) == [0, 1, 2]
    assert next(numbers) < 12


def test_parts_with_a_gpu_share_a_process(cluster):
    def work(number):
        given = ray.get_runtime_context().get_assigned_resources()
        return os.getpid(), given["CPU"], given["GPU"]

    done = list(on_cluster(work, range(4), address=cluster, cpus=2, gpus=1))
    assert len(done) == 4
    # A new process for each would load its encoder again.
    assert len(set(done)) == 1
    assert done[0][1:] == (2, 1)


def test_a_part_that_ends_every_worker_stops_the_run_with_a_sentence(cluster, tmp_path):
    def work(number):
        with (tmp_path / "tries").open("a") as tries:
            tries.write(".")
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(Dial2vecError, match=rf"part 1 of the corpus ended {TRIES} workers in a row\. Give each more"):
        list(on_cluster(work, [0], address=cluster))
    assert (tmp_path / "tries").read_text() == "." * TRIES


def test_an_error_of_the_work_is_raised_as_it_is(cluster):
    def work(number):
        raise CorpusError(f"line {number} is no dialogue")

    with pytest.raises(CorpusError, match=r"^line 7 is no dialogue$"):
        list(on_cluster(work, [7], address=cluster))


def test_stages_write_the_same_on_a_cluster_whose_worker_is_killed(cluster, project, monkeypatch):
    artifacts, said = run(project, validate, prepare)
    files = (artifacts.dialogues, artifacts.quarantine, *(artifacts.split(name) for name in ("train", "dev", "test")))
    alone = [path.read_bytes() for path in files]
    known = read_json(artifacts.split_report)
    (project / "operation.yaml").write_text(f"cluster: {{address: {cluster}}}\n")
    monkeypatch.setattr("dial2vec.data.corpora.transcripts.PART", 3)
    monkeypatch.setattr("dial2vec.pipeline.prepare.BLOCK", 3)
    killed: list[int] = []
    killer = threading.Thread(target=kill_a_worker, args=(b"ray::check_part", killed))
    killer.start()
    _, again = run(project, validate, prepare)
    killer.join()
    assert killed
    assert again == said
    assert [path.read_bytes() for path in files] == alone
    assert read_json(artifacts.split_report) == known
    assert sum(1 for _ in read_dialogues(artifacts.dialogues)) > 3


def kill_a_worker(name: bytes, killed: list[int]) -> None:
    """Kill the first process of this name that appears; on a busy machine the first one takes minutes to start."""
    deadline = time.monotonic() + 300
    while not killed and time.monotonic() < deadline:
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if process.stat().st_uid == os.getuid() and name in (process / "cmdline").read_bytes():
                    os.kill(int(process.name), signal.SIGKILL)
                    killed.append(int(process.name))
                    break
        time.sleep(0.01)


def test_an_address_where_nothing_listens_is_said(monkeypatch):
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(Dial2vecError, match=r"there is no Ray cluster at 'ray://localhost:1' .*cluster\.address of"):
        list(spread(end, [1], n_parts=1, fewest=1, cluster="ray://localhost:1"))


def end(number: int) -> None:
    raise AssertionError
