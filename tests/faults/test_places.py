"""Places that fail: a full disk, a read-only store, a busy one, damaged files, a clock that jumps."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

sys.path.insert(0, str(Path(__file__).parent))

from project import CORPUS, call, dialogues, drop, environment, lost_dialogues, make_project, registry_faults

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting takes root")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose first training is champion."""
    folder = make_project(tmp_path_factory.mktemp("places"))
    for command in (("run",), ("promote", CORPUS)):
        done = call(folder, "dial2vec", *command)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder


def change(project: Path) -> None:
    """Change a setting, so that the next run trains."""
    path = project / "params.yaml"
    params = yaml.safe_load(path.read_text())
    params["train"]["learning_rate"] *= 1.01
    path.write_text(yaml.safe_dump(params))


def refused(project: Path, *command: str) -> str:
    """Run a command that cannot succeed, and return its last line; the champion must load all the same."""
    done = call(project, *command)
    said = (done.stdout + done.stderr).strip()
    assert done.returncode != 0, said
    assert "Traceback" not in said, said
    assert registry_faults(project) == []
    return said


def recovers(project: Path) -> None:
    """The next run succeeds, and the registry is whole."""
    done = call(project, "dial2vec", "run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert registry_faults(project) == []


@contextmanager
def mounted(folder: Path, *options: str) -> Iterator[None]:
    """Mount something over a folder for a while."""
    subprocess.run(["mount", *options, str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@only_root
def test_a_full_disk_stops_a_run_with_a_sentence(project):
    change(project)
    artifacts = project / "artifacts"
    aside = project / "aside"
    shutil.copytree(artifacts, aside)
    with mounted(artifacts, "-t", "tmpfs", "-o", "size=1500k", "tmpfs"):
        (artifacts / "ballast").write_bytes(b"x" * 1_400_000)
        said = refused(project, "dial2vec", "run")
    assert "MB left, which may be why: free some space and run again" in said
    shutil.rmtree(aside)
    recovers(project)


@only_root
def test_a_read_only_store_stops_registering_with_a_sentence(project):
    change(project)
    store = project / "mlruns"
    subprocess.run(["mount", "--bind", str(store), str(store)], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(store)], check=True)
        done = call(project, "dial2vec", "run")
    finally:
        subprocess.run(["umount", "--lazy", str(store)], check=True)
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert "Traceback" not in said
    assert "read" in said.lower().replace("thread", "")
    recovers(project)


def test_a_store_that_is_slow_is_waited_for(project):
    change(project)
    stop = threading.Event()

    def hold() -> None:
        """Hold the database for seconds at a time, as a slow disk does."""
        while not stop.is_set():
            with sqlite3.connect(project / "mlruns" / "mlflow.db", timeout=60, isolation_level=None) as connection:
                connection.execute("BEGIN IMMEDIATE")
                time.sleep(3)
                connection.execute("ROLLBACK")
            time.sleep(1)

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        done = call(project, "dial2vec", "run")
    finally:
        stop.set()
        holder.join()
    assert done.returncode == 0, done.stdout + done.stderr
    assert registry_faults(project) == []


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_a_slow_disk_is_waited_for(project):
    """Whatever is written through to the disk, or renamed on it, takes a quarter of a second longer."""
    change(project)
    slow = "inject=fsync,fdatasync,rename,renameat,renameat2:delay_exit=250000"
    done = subprocess.run(
        ["strace", "-f", "-qq", "-o", "/dev/null", "-e", slow, ".venv/bin/dial2vec", "run"],
        cwd=project, env=environment(project), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert registry_faults(project) == []


@pytest.mark.parametrize("what", ["model", "candidates"])
def test_a_half_written_file_in_dvcs_cache_is_made_anew(project, what):
    """The output is gone from the folder, and what DVC would put there is damaged."""
    lock = yaml.safe_load((project / "dvc.lock").read_text())["stages"]
    stage = {"model": "select", "candidates": "train"}[what]
    [out] = [one for one in lock[f"{stage}@{CORPUS}"]["outs"] if one["path"].endswith(f"/{what}")]
    cache = project / ".dvc" / "cache" / "files" / "md5"
    listing = cache / out["md5"][:2] / out["md5"][2:]
    listing.chmod(0o644)
    listing.write_bytes(listing.read_bytes()[: listing.stat().st_size // 2])
    shutil.rmtree(project / "artifacts" / CORPUS / what)
    recovers(project)


@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize("name", ["dvc.lock", "data.dvc"])
def test_a_record_of_dvc_that_was_cut_costs_no_training(project, name, copies):
    """With its copy it is as before; without one, DVC's run cache and the data itself bring it back."""
    recovers(project)
    before = (project / name).read_text()
    if not copies:
        for copy in (project / ".dvc" / "tmp").glob("*.whole"):
            copy.unlink()
    (project / name).write_text(before[: len(before) // 2] if copies else "")
    done = call(project, "dial2vec", "run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert not any(f"Running stage '{stage}@" in done.stdout for stage in ("train", "select", "distil", "evaluate"))
    assert "was truncated" in done.stderr
    drop(project, f"cut-{name}-{copies}.jsonl", dialogues(6, first=30_000 + 20 * (name == "data.dvc") + 10 * copies))
    done = call(project, "python", "flows/retrain.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert lost_dialogues(project) == registry_faults(project) == []


def test_a_damaged_checkpoint_is_left_alone(project):
    change(project)
    from project import start

    checkpoints = project / "artifacts" / CORPUS / "checkpoints"
    process = start(project, "dial2vec", "run")
    deadline = time.monotonic() + 600
    while process.poll() is None and not list(checkpoints.glob("checkpoint-*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, 9)
    process.wait()
    for path in checkpoints.rglob("*"):
        if path.is_file() and path.stat().st_size > 100:
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    recovers(project)


@pytest.mark.skipif(shutil.which("faketime") is None, reason="faketime is not installed")
@pytest.mark.parametrize("jump", ["-3d", "+3d"])
def test_a_clock_that_jumps_loses_nothing(project, jump):
    drop(project, f"jump{jump[0] == '+'}.jsonl", dialogues(30, first=20_000 if jump[0] == "+" else 21_000))
    before = call(project, "dial2vec", "history", CORPUS).stdout.splitlines()
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "MLFLOW_"))}
    done = subprocess.run(
        ["faketime", "-f", jump, ".venv/bin/python", "flows/retrain.py"],
        cwd=project, env=clean | {"PYTHONPATH": str(project / "src")}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    after = call(project, "dial2vec", "history", CORPUS).stdout.splitlines()
    assert after[: len(before)] == before
    assert len(after) == len(before) + 1
    recovers(project)
