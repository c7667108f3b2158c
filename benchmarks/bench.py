"""Run the benchmarks and put their tables into docs/benchmarks.md, each between two marks, as soon as it is ready.

.venv/bin/python benchmarks/bench.py                  # all; an hour on two idle cores, 3 GB of disk
.venv/bin/python benchmarks/bench.py speed scaling    # some
"""

from __future__ import annotations

import datetime
import subprocess
import sys
import time
from pathlib import Path

from study import names_or_all
from timing import machine

from conversations.files import atomic_path
from dial2vec.errors import Dial2vecError
from dial2vec.files import find_root

COMMANDS = {
    "speed": ["speed.py", "--repeats", "3"],
    "student": ["student.py"],
    "scaling": ["scaling.py", "--output", "docs/scaling.png"],
    "scoring": ["scoring.py", "--sizes", "1000", "10000", "100000"],
    "million": ["million.py", "--sizes", "10000", "100000", "1000000"],
    "data": ["growth.py", "--sizes", "10000", "100000", "1000000"],
}


def main() -> None:
    """Run the named benchmarks, one after the other."""
    root = find_root()
    for name in names_or_all(__doc__, COMMANDS):
        sys.stdout.write(f"{name}: benchmarks/{' '.join(COMMANDS[name])}\n")
        sys.stdout.flush()
        began = time.perf_counter()
        table = printed(root, COMMANDS[name])
        put(root / "docs" / "benchmarks.md", name, section(COMMANDS[name], table, machine()))
        sys.stdout.write(f"{table}{name}: {time.perf_counter() - began:.0f} s, now in docs/benchmarks.md\n")


def printed(root: Path, command: list[str]) -> str:
    """Run a benchmark in its own process, and return its output.

    :raises SystemExit: if it fails, after its own message.
    """
    script, *options = command
    done = subprocess.run(
        [sys.executable, root / "benchmarks" / script, *options], cwd=root, stdout=subprocess.PIPE, text=True
    )
    if done.returncode:
        sys.exit(
            f"{done.stdout}benchmarks/{script} ended with status {done.returncode}; docs/benchmarks.md is as it was."
        )
    return done.stdout


def section(command: list[str], table: str, on: str) -> str:
    """Return a table with its command, machine and date."""
    where = "" if on in table else f"{on}\n\n"
    today = datetime.datetime.now(datetime.UTC).date()
    return f"`benchmarks/{' '.join(command)}`, {today}:\n\n{where}{table.strip()}\n"


def put(path: Path, name: str, text: str) -> None:
    """Replace the text between the marks of a benchmark.

    :raises Dial2vecError: if a mark is missing.
    """
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    before, found, rest = path.read_text(encoding="utf-8").partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise Dial2vecError(f"{path} has no place for {name}; expected the lines {begin.strip()} and {end.strip()}")
    with atomic_path(path) as temporary:
        temporary.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except Dial2vecError as error:
        sys.exit(str(error))
