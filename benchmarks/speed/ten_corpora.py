"""Ten small corpora with nothing new: three `dial2vec run`, then five retrainings that start in one second.

    .venv/bin/python -m benchmarks.speed.ten_corpora

Makes a project of ten corpora of 60 dialogues with a tiny encoder of random weights, and runs it once, which takes some
ten minutes on two cores. Prints the seconds of each further run, and of five flows what each said last.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml
from tests.faults import project as small

CORPORA, RUNS, FLOWS = [f"calls{number}" for number in range(10)], 3, 5


def main() -> None:
    """Make the project and print the figures."""
    with tempfile.TemporaryDirectory() as place:
        folder = small.make_project(Path(place), n=60)
        params = yaml.safe_load((folder / "params.yaml").read_text()) | {"corpora": CORPORA}
        for corpus in CORPORA:
            (folder / "data" / corpus).mkdir()
            (folder / "data" / corpus / "a.jsonl").write_text(small.dialogues(60))
        (folder / "params.yaml").write_text(yaml.safe_dump(params))
        for number in range(1 + RUNS):
            began = time.perf_counter()
            done = small.call(folder, "dial2vec", "run")
            last = (done.stdout + done.stderr).strip().splitlines()[-1]
            say(f"run {number}: {time.perf_counter() - began:.1f} s, status {done.returncode}: {last}")
        began = time.perf_counter()
        command = [sys.executable, "flows/retrain.py"]
        options = {"cwd": folder, "env": small.environment(folder), "stdout": subprocess.PIPE, "text": True}
        flows = [subprocess.Popen(command, stderr=subprocess.STDOUT, **options) for _ in range(FLOWS)]
        say(f"{FLOWS} flows were started within {time.perf_counter() - began:.2f} s")
        for number, flow in enumerate(flows):
            said = flow.communicate()[0].strip().splitlines()[-1]
            say(f"flow {number}: {time.perf_counter() - began:.1f} s, status {flow.returncode}: {said}")


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
