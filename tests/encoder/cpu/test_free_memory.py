"""The memory that a process could still take."""

from __future__ import annotations

from pathlib import Path

import pytest

from dial2vec.encoder.cpu import free_memory
from dial2vec.encoder.cpu.free_memory import free_bytes


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with 9 MB that could be taken, of which 1 MB in pages of files."""
    for place in ("MACHINE", "LIMIT", "USED", "DETAILS"):
        monkeypatch.setattr(free_memory, place, tmp_path / place)
    (tmp_path / "MACHINE").write_text("MemTotal:  20000 kB\nMemFree:  8000 kB\nMemAvailable:  9000 kB\n")
    return tmp_path


def test_it_is_what_the_machine_says(files: Path) -> None:
    assert free_bytes() == 9_000 * 1024


def test_a_container_may_have_less_and_its_pages_of_files_count_as_free(files: Path) -> None:
    (files / "USED").write_text("5000000\n")
    (files / "DETAILS").write_text("anon 1000000\ninactive_file 3000000\n")
    (files / "LIMIT").write_text("max\n")
    assert free_bytes() == 9_000 * 1024
    (files / "LIMIT").write_text("6000000\n")
    assert free_bytes() == 4_000_000


def test_a_system_that_names_less_gives_its_free_pages(files: Path) -> None:
    (files / "MACHINE").write_text("MemTotal:  20000 kB\n")
    free = free_bytes()
    assert free is not None
    assert free > 1_000_000


def test_a_system_that_does_not_say_gives_nothing(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (files / "MACHINE").unlink()
    monkeypatch.delattr("os.sysconf")
    assert free_bytes() is None
