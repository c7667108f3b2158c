"""A million dialogues from file to file by a student: seconds, CPU seconds and memory of `dial2vec embed`.

    .venv/bin/python benchmarks/million.py --sizes 10000 100000 1000000

Takes the dialogues of a corpus in turn. Each copy has an id of its own, in every turn one word replaced by another word
of the corpus, and a number of six digits, so that some words are always new to the student. Memory is the sum over all
processes of the command, pages that several share counted once (PSS), one to ten times a second. A million dialogues
take 3 GB of disk for a while.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from conversations.dialogue import read_dialogues
from dial2vec.files import find_root

SIZES = [10_000, 100_000, 1_000_000]
HEADER = "| dialogues | file, MB | seconds | dialogues/s | CPU, s | µs of CPU per dialogue | peak memory, MiB |\n"


class Run(NamedTuple):
    """Costs of a command.

    :param seconds: wall-clock seconds.
    :param cpu: user and system seconds of all its processes.
    :param memory: largest memory of all of them, in bytes, with the pages of files that they map.
    :param own: the same without pages of files, which the system takes back when it needs them.
    """

    seconds: float
    cpu: float
    memory: int
    own: int


def main() -> None:
    """Measure every size, the smallest first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    demo = find_root() / "artifacts" / "demo"
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, help="numbers of dialogues")
    parser.add_argument("--model", default=str(demo / "student"), help="student; default: that of the demo corpus")
    parser.add_argument("--corpus", type=Path, default=demo / "dialogues.jsonl", help="JSON Lines to take words from")
    parser.add_argument("--folder", type=Path, help="folder for the files; default: the temporary folder")
    arguments = parser.parse_args()
    sys.stdout.write(f"{HEADER}|---|---|---|---|---|---|---|\n")
    for size in sorted(arguments.sizes):
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            path, output = Path(folder, "dialogues.jsonl"), Path(folder, "vectors.parquet")
            with path.open("w", encoding="utf-8") as out:
                out.writelines(varied(arguments.corpus, size))
            command = [sys.executable, "-m", "dial2vec.cli", "embed", path, "--model", arguments.model]
            run = measured([*map(str, command), "--output", str(output)])
            sys.stdout.write(row(size, path.stat().st_size, run))
            sys.stdout.flush()


def varied(corpus: Path, n_dialogues: int) -> Iterator[str]:
    """Yield lines of JSON: copies of the corpus's dialogues with their own ids and some other words."""
    records = [dialogue.to_record() for dialogue in read_dialogues(corpus)]
    texts = [[turn["text"].split(" ") for turn in record["turns"]] for record in records]
    words = sorted({word for turns in texts for turn in turns for word in turn})
    rng = np.random.default_rng(0)
    for number in range(n_dialogues):
        record, turns = records[number % len(records)], texts[number % len(records)]
        places, drawn = rng.random(len(turns)).tolist(), rng.integers(len(words), size=len(turns)).tolist()
        record["dialogue_id"] = f"call-{number:09d}"
        for turn, own, place, word in zip(record["turns"], turns, places, drawn, strict=True):
            changed = own.copy()
            changed[int(place * len(own))] = words[word]
            turn["text"] = " ".join(changed)
        record["turns"][0]["text"] += f" {rng.integers(10**6):06d}"
        yield json.dumps(record, ensure_ascii=False) + "\n"


def measured(command: list[str]) -> Run:
    """Run a command and return what it cost."""
    before, began, memory, own = os.times(), time.perf_counter(), 0, 0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        every, without_files = zip(*map(proportional_sizes, family(process.pid)), strict=True)
        memory, own = max(memory, sum(every)), max(own, sum(without_files))
        # Reading the memory of a process holds it up, so that of a long run is read less often.
        time.sleep(min(1.0, 0.1 + (time.perf_counter() - began) / 60))
    seconds, after = time.perf_counter() - began, os.times()
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with status {process.returncode}; run it to see the reason.")
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return Run(seconds, cpu, memory, own)


def family(pid: int) -> list[int]:
    """Return a process and all processes that it started, and those that they started."""
    try:
        children = [int(child) for path in Path(f"/proc/{pid}/task").glob("*/children") for child in read(path).split()]
    except OSError:
        children = []
    return [pid, *(member for child in children for member in family(child))]


def proportional_sizes(pid: int) -> tuple[int, int]:
    """Return the memory of a process in bytes, and that without pages of files; 0 and 0 if it has ended.

    A page that n processes share counts 1/n in each.
    """
    try:
        sizes = dict(line.split(":") for line in read(Path(f"/proc/{pid}/smaps_rollup")).splitlines()[1:])
    except OSError:
        return 0, 0
    every, files = (int(sizes[name].split()[0]) if sizes else 0 for name in ("Pss", "Pss_File"))
    return 1024 * every, 1024 * (every - files)


def read(path: Path) -> str:
    """Return the text of a file of /proc."""
    return path.read_text(encoding="utf-8")


def row(size: int, n_bytes: int, run: Run) -> str:
    """Return a Markdown row."""
    figures = (f"{n_bytes / 1e6:,.0f}", f"{run.seconds:.1f}", f"{size / run.seconds:,.0f}", f"{run.cpu:.0f}")
    return f"| {size:,} | {' | '.join(figures)} | {1e6 * run.cpu / size:.0f} | {run.memory / 2**20:,.0f} |\n"


if __name__ == "__main__":
    main()
