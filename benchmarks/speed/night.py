"""One night: 1,000 new dialogues on a collection of 100,000. Seconds and peak memory of its update, and its size.

    .venv/bin/python benchmarks/speed/night.py --folder /tmp/night
    .venv/bin/python benchmarks/speed/night.py --folder /tmp/night --dialogues 2000 --nights 365 --each 20    # a year

Makes a collection of dialogues of the demo corpus by the general student, with an index of its turns and without
segments, once; then copies it, adds the dialogues of the next day by `update`, in a process of its own, and prints how
long that takes, how much memory, and the size of the folder. Each night follows the one before. 100,000 dialogues take
1 GB of disk, twice, and two minutes.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from itertools import islice
from pathlib import Path

from conversations.dialogue import Dialogue, write_dialogues
from dial2vec.data.corpora.demo import generate_demo

NIGHT = 1000
MAKE = """
import sys
from pathlib import Path
from dial2vec.collection.news.updating import update
update(Path(sys.argv[1]), Path(sys.argv[2]), encoder="general")
"""
UPDATE = """
import json, resource, sys, time
from pathlib import Path
began = time.perf_counter()
from dial2vec.collection.news.updating import update
news = update(Path(sys.argv[1]), Path(sys.argv[2]))
own, of_children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
cpu = sum(usage.ru_utime + usage.ru_stime for usage in (own, of_children))
print(json.dumps({"seconds": round(time.perf_counter() - began, 1), "cpu": round(cpu, 1), "new": news.dialogues,
                  "told": len(news.changes), "mib": max(own.ru_maxrss, of_children.ru_maxrss) // 1024}))
"""


def main() -> None:
    """Make the collection if it is missing, and measure the nights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="folder of the collections")
    parser.add_argument("--dialogues", type=int, default=100_000, help="size of the collection")
    parser.add_argument("--nights", type=int, default=1, help="nights, one after the other")
    parser.add_argument("--each", type=int, default=NIGHT, help="new dialogues of a night")
    arguments = parser.parse_args()
    folder, n, each = arguments.folder, arguments.dialogues, arguments.each
    base, copy = folder / f"base-{n}", folder / "night"
    if not base.exists():
        write_dialogues(folder / "inbox" / "day-0.jsonl", days(0, n))
        # In its own process: memory of this one would count for the processes that it starts.
        subprocess.run([sys.executable, "-c", MAKE, str(base), str(folder / "inbox")], check=True)
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(base, copy)
    sys.stdout.write("| dialogues before | new | told | seconds | CPU seconds | peak memory, MiB | MB |\n")
    sys.stdout.write("|---|---|---|---|---|---|---|\n")
    for night in range(arguments.nights):
        day = folder / "inbox" / f"day-{night + 1}.jsonl"
        before = n + night * each
        write_dialogues(day, days(before, each))
        command = (sys.executable, "-c", UPDATE, str(copy), str(day))
        done = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        size = sum(path.stat().st_size for path in copy.rglob("*") if path.is_file()) / 1e6
        sys.stdout.write(f"| {before:,} | {done['new']:,} | {done['told']} | {done['seconds']} | {done['cpu']} | ")
        sys.stdout.write(f"{done['mib']:,} | {size:.0f} |\n")
        sys.stdout.flush()


def days(first: int, count: int) -> Iterator[Dialogue]:
    """Yield made-up dialogues, 1,000 a day, with a channel and a rating."""
    for number, dialogue in enumerate(islice(generate_demo(n_dialogues=first + count), first, None), start=first):
        when = date(2026, 1, 1) + timedelta(days=number // NIGHT)
        metadata = {"channel": ("phone", "chat", "mail")[number % 3], "csat": 1 + number * 7919 % 5}
        yield replace(dialogue, date=str(when), metadata=metadata)


if __name__ == "__main__":
    main()
