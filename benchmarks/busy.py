"""How fast dialogues are read while other processes keep the cores busy: by one thread, by all, and as chosen.

    .venv/bin/python benchmarks/busy.py --others 0 1 2 4

Each other process multiplies matrices in one thread. Two threads that share a step wait for the slower one, so that all
threads can be slower than one; `encoder.cpu.threads` takes as many as cores are free. Ways take turns; a row is
the median of the runs, with the lowest and the highest.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from timing import Figure, machine

from dial2vec import telemetry
from dial2vec.data.corpora.demo import generate_demo
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.cpu import threads

ENCODER, DIALOGUES = "all-MiniLM-L6-v2", 600
OTHER = "import torch; torch.set_num_threads(1); a = torch.randn(1500, 1500)\nwhile True: a @ a"


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--others", nargs="+", type=int, default=[0, 1, 2, 4], help="numbers of other processes")
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    telemetry.switch_off()
    encoder = DialogueEncoder.from_pretrained(ENCODER)
    encoder.network.precision = "auto"
    sys.stdout.write(f"{machine()}; {given.repeats} runs\n\n| other processes | one thread | all | as chosen |\n")
    sys.stdout.write("|---|---|---|---|\n")
    for number in given.others:
        with other_work(number):
            sys.stdout.write(row(encoder, number, given.repeats))
            sys.stdout.flush()


@contextmanager
def other_work(number: int) -> Iterator[None]:
    """Keep as many processes busy inside a `with`."""
    running = [subprocess.Popen([sys.executable, "-c", OTHER]) for _ in range(number)]
    time.sleep(5 if running else 0)
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def row(encoder: DialogueEncoder, number: int, repeats: int) -> str:
    """Return the row of a number of other processes: dialogues per second."""
    most, dialogues = torch.get_num_threads(), list(generate_demo())[:DIALOGUES]
    load, nowhere = threads.LOAD, Path("/nowhere")
    found: dict[str, list[float]] = {"one": [], "all": [], "chosen": []}
    for _ in range(repeats):
        for way, rates in found.items():
            # A machine that does not say what its cores do is computed on as it was set.
            threads.LOAD = load if way == "chosen" else nowhere
            torch.set_num_threads(1 if way == "one" else most)
            began = time.perf_counter()
            encoder.encode(dialogues)
            rates.append(len(dialogues) / (time.perf_counter() - began))
            torch.set_num_threads(most)
    threads.LOAD = load
    figures = " | ".join(str(Figure.of(rates, digits=1)) for rates in found.values())
    return f"| {number} | {figures} |\n"


if __name__ == "__main__":
    main()
