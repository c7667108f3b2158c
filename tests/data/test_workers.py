"""Results come in order from every number of processes, and an ended process is said."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from itertools import count, islice
from pathlib import Path

import pytest

from dial2vec.data import workers as module
from dial2vec.data.workers import WAITING, in_processes, processes_for
from dial2vec.errors import Dial2vecError

DRIVER = """
import time
from dial2vec.data.workers import in_processes

if __name__ == "__main__":
    for _ in in_processes(time.sleep, [0.0, 0.0, 600.0, 600.0], count=2):
        print("done", flush=True)
"""


def twice(number: int) -> tuple[int, int]:
    time.sleep(0.02 * (number % 3 == 0))
    return 2 * number, os.getpid()


def fail(number: int) -> int:
    raise ValueError(f"item {number}")


def end(number: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("processes", [1, 3])
def test_results_come_in_order(processes: int) -> None:
    results, pids = zip(*in_processes(twice, range(20), count=processes), strict=True)
    assert list(results) == [2 * number for number in range(20)]
    assert (os.getpid() in pids) == (processes == 1)
    assert len(set(pids)) <= processes


@pytest.mark.parametrize("processes", [1, 2])
def test_items_are_read_only_as_far_as_they_are_needed(processes: int) -> None:
    numbers = count()
    found = list(islice((result for result, _ in in_processes(twice, numbers, count=processes)), 3))
    assert found == [0, 2, 4]
    assert next(numbers) <= 3 + WAITING * processes + 1


@pytest.mark.parametrize("processes", [1, 2])
def test_an_error_of_the_work_is_raised(processes: int) -> None:
    with pytest.raises(ValueError, match="item 0"):
        list(in_processes(fail, range(4), count=processes))


def test_a_process_that_is_killed_is_said_in_a_sentence() -> None:
    with pytest.raises(Dial2vecError, match=r"one of the 2 processes was ended while it worked, .* start again"):
        list(in_processes(end, range(4), count=2))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_processes_end_with_a_command_that_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as command:
        assert command.stdout is not None
        assert command.stdout.readline() == "done\n"
        children = [int(pid) for pid in Path(f"/proc/{command.pid}/task/{command.pid}/children").read_text().split()]
        command.kill()
    deadline = time.monotonic() + 20
    while (alive := [pid for pid in children if running(pid)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(children) >= 2
    assert not alive


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_there_are_as_many_processes_as_processors_and_as_are_worth_their_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    share = tmp_path / "cpu.max"
    monkeypatch.setattr(module, "CPU_SHARE", share)
    assert processes_for(1000, fewest=8) == 4
    for text, processes in (("250000 100000", 2), ("50000 100000", 1), ("max 100000", 4)):
        share.write_text(text)
        assert processes_for(1000, fewest=8) == processes
    assert [processes_for(parts, fewest=8) for parts in (0, 1, 8, 16, 24, 1000)] == [1, 1, 1, 2, 3, 4]
