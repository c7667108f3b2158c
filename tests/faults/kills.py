"""Kill -9 at random moments, again and again: does the champion always load, and does the next run succeed?

    .venv/bin/python tests/faults/kills.py --kills 300 --output docs/faults.json

Each round brings new dialogues or new settings, starts one of the commands, and kills a random process of its tree at a
random moment of its usual duration: the command itself, DVC, a stage, the flow, a server's worker. Then the champion is
loaded, every version's files and aliases are looked at, the collection is opened, and the same command is started
again: until it ended before its kill, or was killed four times, and is left alone. That last run has to succeed; one of
a server has to answer. A stopped series of rounds continues at its end.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from itertools import chain
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import psutil

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]

from kinds import KINDS, Kind

from project import call, collection_faults, lost_dialogues, make_project, registry_faults, start

MOST_KILLS = 4
PATIENCE = 1800.0
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")
HOW = ".venv/bin/python tests/faults/kills.py --kills {kills}"


@dataclass(frozen=True)
class Round:
    """The kills of one change, and their results."""

    number: int
    kind: str
    kills: list[tuple[float, str]]
    faults: list[str]
    recovered: bool
    seconds: float


def one_round(project: Path, seed: int, number: int, usual: dict[str, float]) -> Round:
    """Start a command and kill a process of its tree, until it gets through; look at the registry every time."""
    rng = np.random.default_rng([seed, number])
    kind = KINDS[rng.choice(len(KINDS), p=[one.weight for one in KINDS])]
    began = time.monotonic()
    if kind.change is not None:
        kind.change(project, number)
    faults: list[str] = []
    if kind.before and (before := call(project, *kind.before)).returncode:
        faults.append(f"before the kills: {_reason(before.stdout + before.stderr)}")
    kills: list[tuple[float, str]] = []
    longest, status = 0.0, None
    while status is None:
        wait = float(rng.uniform(0, usual.get(kind.name, kind.seconds))) if len(kills) < MOST_KILLS else PATIENCE
        again = time.monotonic()
        killed, status = _attempt(project, kind, wait, rng)
        longest = max(longest, time.monotonic() - again)
        if killed:
            kills.append((round(wait, 2), killed))
        faults += registry_faults(project) + collection_faults(project)
    usual[kind.name] = 0.7 * usual.get(kind.name, kind.seconds) + 0.3 * longest
    if status:
        faults.append(_reason((project / "said.log").read_text()))
    faults += lost_dialogues(project) + kind.check(project)
    return Round(number, kind.name, kills, faults, status == 0, round(time.monotonic() - began, 1))


def _attempt(project: Path, kind: Kind, wait: float, rng: np.random.Generator) -> tuple[str, int | None]:
    """Run a command, kill a process of its tree after a while, and return which, or the status it ended with before."""
    (project / "said.log").unlink(missing_ok=True)
    process = start(project, *kind.command)
    if kind.answers and wait == PATIENCE:
        return "", _answered(project, process, kind.answers)
    with contextlib.suppress(subprocess.TimeoutExpired):
        return "", process.wait(wait)
    killed = _kill(process.pid, rng)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(5 if kind.answers else 60)
    _end_group(process.pid)
    return (killed, None) if killed else ("", process.wait())


def _answered(project: Path, process: subprocess.Popen[bytes], path: str) -> int:
    """Ask a server for a path once it has said its address, end it by Ctrl-C, and return its exit status."""
    deadline, address = time.monotonic() + 300, None
    while address is None and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.5)
        address = ADDRESS.search((project / "said.log").read_text())
    if address is not None:
        with urllib.request.urlopen(address[0] + path, timeout=30) as answer:
            assert answer.status == 200
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(60)
    _end_group(process.pid)
    return process.wait() or 1


def _reason(said: str) -> str:
    """Return the lines of a failed command that name an error, or its last one."""
    lines = said.strip().splitlines()
    return " | ".join([line.strip() for line in lines if "error" in line.lower()][-3:] or lines[-1:])


def _kill(pid: int, rng: np.random.Generator) -> str:
    """Kill one of the processes of a tree, and return its command; "" when all had ended."""
    with contextlib.suppress(psutil.Error):
        tree = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
        chosen = tree[int(rng.integers(len(tree)))]
        said = " ".join(chosen.cmdline()[1:4])
        os.kill(chosen.pid, signal.SIGKILL)
        return said or "one without a name"
    return ""


def _end_group(pid: int) -> None:
    """End what is left of a command, as the end of a session would."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            os.killpg(pid, signal.SIGTERM if time.monotonic() < deadline - 5 else signal.SIGKILL)
        except ProcessLookupError:
            return
        time.sleep(0.5)


def main() -> None:
    """Do the rounds that are not in the records yet, a process for each project, and write the summary."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--projects", type=int, default=2, help="so many at the same time, each with its share")
    parser.add_argument("--work", type=Path, default=Path("artifacts/faults"), help="folder of the projects")
    parser.add_argument("--output", type=Path, help="such as docs/faults.json")
    arguments = parser.parse_args()
    shares = [len(range(first, arguments.kills, arguments.projects)) for first in range(arguments.projects)]
    folders = [arguments.work.resolve() / str(seed) for seed in range(arguments.projects)]
    with ProcessPoolExecutor(arguments.projects, mp_context=get_context("spawn")) as pool:
        rounds = list(chain.from_iterable(pool.map(kills_in, folders, range(arguments.projects), shares)))
    summary = summed_up(rounds, arguments.kills)
    sys.stdout.write(json.dumps(summary, indent=2) + "\n")
    if arguments.output:
        arguments.output.write_text(json.dumps(summary, indent=2) + "\n")


def kills_in(folder: Path, seed: int, kills: int) -> list[dict]:
    """Go on in a project until so many kills have hit, and return its rounds."""
    project, record = folder / "project", folder / "rounds.jsonl"
    if not record.is_file():
        shutil.rmtree(project, ignore_errors=True)
        project.mkdir(parents=True)
        make_project(project)
        done = call(project, "dial2vec", "run")
        assert done.returncode == 0, done.stdout + done.stderr
        record.touch()
    rounds = [json.loads(line) for line in record.read_text().splitlines()]
    usual: dict[str, float] = {}
    while (hit := sum(len(one["kills"]) for one in rounds)) < kills:
        found = one_round(project, seed, len(rounds), usual)
        rounds.append(asdict(found))
        with record.open("a") as handle:
            handle.write(json.dumps(rounds[-1]) + "\n")
        struck = ", ".join(f"{what} after {after} s" for after, what in found.kills) or "nothing"
        sys.stdout.write(f"{hit + len(found.kills)}/{kills} in {folder.name}, {found.kind}: killed {struck}; "
                         f"{found.faults or 'well'} ({found.seconds} s)\n")  # fmt: skip
        sys.stdout.flush()
    return rounds


def summed_up(rounds: list[dict], kills: int) -> dict[str, object]:
    """Return the record for docs/faults.json."""
    by_kind = {kind.name: sum(one["kind"] == kind.name for one in rounds) for kind in KINDS}
    return {
        "kills": sum(len(one["kills"]) for one in rounds),
        "rounds": len(rounds),
        "champion_lost": sum(bool(one["faults"]) for one in rounds),
        "runs_not_recovered": sum(not one["recovered"] for one in rounds),
        "by_kind": by_kind,
        "command": HOW.format(kills=kills),
    }


if __name__ == "__main__":
    main()
