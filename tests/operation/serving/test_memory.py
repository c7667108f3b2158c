from __future__ import annotations

import subprocess
import sys

import pytest

from dial2vec.operation.serving import scheduler
from dial2vec.operation.serving.scheduler import FreeMemory

# Arrays of 64 KB lie in the heap, and those that stay between them keep glibc from freeing it.
HOLES = """
from pathlib import Path
from dial2vec.operation.serving.scheduler import FreeMemory

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

arrays = [bytearray(b"1" * 65_536) for _ in range(1600)]
kept = arrays[::10]
del arrays
before = resident()
assert FreeMemory().give_back()
print(before - resident())
"""


@pytest.mark.skipif(scheduler._trimmer() is None, reason="needs glibc")
def test_memory_between_kept_arrays_goes_back_to_the_system():
    done = subprocess.run([sys.executable, "-c", HOLES], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 50 * 65_536 * 10


def test_memory_is_given_back_at_most_once_in_some_seconds(monkeypatch):
    now, asked = 100.0, []
    monkeypatch.setattr(scheduler, "_trimmer", lambda: asked.append)
    monkeypatch.setattr(scheduler.time, "monotonic", lambda: now)
    free = FreeMemory(seconds=5)
    assert [free.give_back(), free.give_back()] == [True, False]
    now = 105.0
    assert free.give_back()
    assert asked == [0, 0]


def test_a_system_without_malloc_trim_is_left_alone(monkeypatch):
    monkeypatch.setattr(scheduler, "_trimmer", lambda: None)
    assert not FreeMemory().give_back()
