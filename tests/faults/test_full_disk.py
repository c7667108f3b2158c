"""A disk that fills at every stage: each failure is a sentence, and the next run with more room goes further."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from test_places import change

from project import CORPUS, call, make_project, registry_faults

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounting takes root")
MIB = 1 << 20
# Room for a run, in steps that are smaller than what a stage writes.
STEPS = (0, 16_000, 64_000, 160_000, 320_000, 640_000, 1_300_000, 2_600_000, 5_200_000, 10_400_000)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project on a disk of its own, whose first training is champion."""
    folder = tmp_path_factory.mktemp("disk")
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={200 * MIB}", "tmpfs", str(folder)], check=True)
    try:
        make_project(folder)
        for command in (("run",), ("promote", CORPUS)):
            done = call(folder, "dial2vec", *command)
            assert done.returncode == 0, done.stdout + done.stderr
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def leave(folder: Path, room: int) -> None:
    """Fill the disk up to so many bytes."""
    ballast = folder / "ballast"
    ballast.unlink(missing_ok=True)
    disk = os.statvfs(folder)
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(1, disk.f_bavail * disk.f_frsize - room))


def test_a_disk_that_fills_stops_every_stage_with_a_sentence(project):
    change(project)
    stopped = {}
    for room in STEPS:
        leave(project, room)
        done = call(project, "dial2vec", "run")
        said = done.stdout + done.stderr
        (project / "ballast").unlink()
        assert registry_faults(project) == [], room
        if done.returncode == 0:
            break
        stopped[room] = said
    assert stopped
    assert done.returncode == 0 or call(project, "dial2vec", "run").returncode == 0
    for room, said in stopped.items():
        assert "Traceback" not in said, (room, said)
        assert "space" in said, (room, said)


def test_a_disk_that_is_full_stops_a_promotion_and_a_rollback(project):
    for command in ("promote", "rollback"):
        change(project)
        assert call(project, "dial2vec", "run").returncode == 0
        leave(project, 0)
        done = call(project, "dial2vec", command, CORPUS)
        (project / "ballast").unlink()
        said = done.stdout + done.stderr
        assert done.returncode != 0, said
        assert "Traceback" not in said, said
        assert registry_faults(project) == []
        assert call(project, "dial2vec", command, CORPUS).returncode == 0
        assert registry_faults(project) == []
