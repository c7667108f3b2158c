"""A scratch project for pictures: a new checkout, a table of dialogues, its commands and its servers."""

from __future__ import annotations

import contextlib
import csv
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from conversations.dialogue import Dialogue
from dial2vec.files import find_root

ROOT = find_root(Path(__file__).parent)


def make_project(folder: Path, corpus: str, *, train: dict[str, Any] | None = None) -> None:
    """Make a checkout without data, for one corpus.

    :param train: differences from block `train` of params.yaml.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in ("dvc.yaml", "src", "flows"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    (folder / ".venv").symlink_to(sys.prefix)
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    params["corpora"] = [corpus]
    params["train"] |= train or {}
    (folder / "operation.yaml").write_text(yaml.safe_dump({"schedule": {"cron": "0 3 1 1 *"}}))
    (folder / "params.yaml").write_text(yaml.safe_dump(params))
    say(folder, "dvc", "init", "--no-scm", "--quiet")
    say(folder, "dvc", "remote", "add", "--quiet", "--default", "store", "store")


def write_table(dialogues: Iterable[Dialogue], path: Path, *, labels: bool = False) -> None:
    """Write dialogues as a CSV table with a line per turn.

    :param labels: True for a column `topic` with the dialogue's label.
    """
    with path.open("w", encoding="utf-8", newline="") as handle:
        table = csv.writer(handle)
        table.writerow(["conversation", "speaker", "text", *(["topic"] if labels else [])])
        for dialogue in dialogues:
            more = [dialogue.label] if labels else []
            table.writerows([dialogue.dialogue_id, turn.speaker, turn.text, *more] for turn in dialogue.turns)


def environment(folder: Path) -> dict[str, str]:
    """Return the variables of the project's commands."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "MLFLOW_"))}
    return clean | {"PYTHONPATH": str(folder / "src")}


def say(folder: Path, *command: str, **variables: str) -> None:
    """Print a command and its output."""
    sys.stdout.write(f"\n$ {' '.join(command)}\n")
    sys.stdout.flush()
    run = [f".venv/bin/{command[0]}", *command[1:]]
    subprocess.run(run, cwd=folder, env=environment(folder) | variables, check=True)


@contextlib.contextmanager
def at_work(folder: Path, address: str, *command: str) -> Iterator[None]:
    """Run a server until the end of the `with`."""
    with (folder / "servers.log").open("ab") as log:
        run = [f".venv/bin/{command[0]}", *command[1:]]
        process = subprocess.Popen(run, cwd=folder, env=environment(folder), stdout=log, stderr=log)
    try:
        while True:
            with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=5):
                break
            if process.poll() is not None:
                sys.exit(f"{' '.join(command)} ended; see {folder / 'servers.log'}")
            time.sleep(1)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


@contextlib.contextmanager
def serving(folder: Path, *command: str) -> Iterator[str]:
    """Run a command until the end of the `with`, and yield the address that it prints."""
    run = [f".venv/bin/{command[0]}", *command[1:]]
    with subprocess.Popen(run, cwd=folder, env=environment(folder), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = []
        for line in process.stdout:
            said.append(line)
            if address := next((word for word in line.split() if word.startswith("http://")), None):
                break
        else:
            sys.exit(f"{' '.join(command)} said no address, but {''.join(said)!r}")
        try:
            yield address
        finally:
            process.terminate()
