"""Seconds, CPU seconds and memory of `dial2vec import` for large exports of made-up words, also by another version.

    python benchmarks/speed/importing.py --beside PATH/OF/ANOTHER/dial2vec

The exports are a CSV of 187 MB, one of a million short rows, a JSON file of 200 MB and a zip of 10,000 JSON files.
The versions take turns; the medians of the runs are printed as a table.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WORDS = ("kite", "sail", "string", "order", "refund", "open", "until", "six", "torn", "red", "parcel", "call", "blue")
ROLES = ("user", "assistant")
TURNS = 10
COLUMNS = ("conversation_id", "created_at", "role", "content", "channel")
MEBI = 1 << 20


def main() -> None:
    """Make the exports, import each by each version, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--beside", type=Path, nargs="*", default=[], help="commands of other versions")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--share", type=float, default=1.0, help="share of the full sizes, for a try")
    asked = parser.parse_args()
    commands = {"this": Path(sys.executable).with_name("dial2vec")} | {str(path): path for path in asked.beside}
    sys.stdout.write("| export | version | seconds | CPU, s | peak memory, MiB |\n|---|---|---|---|---|\n")
    with tempfile.TemporaryDirectory() as name:
        for title, export in exports(Path(name), asked.share).items():
            taken: dict[str, list[tuple[float, float, float]]] = {version: [] for version in commands}
            for _ in range(asked.runs):
                for version, command in commands.items():
                    taken[version].append(imported(command, export, Path(name) / "out.jsonl"))
            for version, runs in taken.items():
                wall, cpu, peak = map(statistics.median, zip(*runs, strict=True))
                sys.stdout.write(f"| {title} | {version} | {wall:.1f} | {cpu:.1f} | {peak:.0f} |\n")
                sys.stdout.flush()


def imported(command: Path, export: Path, output: Path) -> tuple[float, float, float]:
    """Import an export, and return the seconds, the CPU seconds, and the peak of memory in MiB."""
    output.unlink(missing_ok=True)
    began = time.perf_counter()
    words = [str(command), "import", str(export), "--output", str(output), "--replace"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(words)} ended with status {os.waitstatus_to_exitcode(status)}.")
    return time.perf_counter() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / MEBI


def exports(folder: Path, share: float) -> dict[str, Path]:
    """Make the exports, and return their paths by title."""
    random.seed(1)
    rows = table(folder / "rows.csv", 14, lambda path: path.stat().st_size < share * 187 * 10**6)
    short = table(folder / "short.csv", 3, None, n_dialogues=int(share * 10**5))
    with (folder / "chats.json").open("w") as chats:
        for number, chat in enumerate(dialogues()):
            chats.write(("[" if number == 0 else ",\n") + json.dumps(chat))
            if chats.tell() > share * 200 * 10**6:
                break
        chats.write("]")
    with zipfile.ZipFile(folder / "chats.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for number, chat in zip(range(int(share * 10**4)), dialogues(), strict=False):
            archive.writestr(f"chats/{number:05}.json", json.dumps(chat, indent=1))
    return {
        "CSV of 187 MB": rows,
        "CSV of a million short rows": short,
        "JSON of 200 MB": folder / "chats.json",
        "zip of 10,000 JSON files": folder / "chats.zip",
    }


def dialogues(n_words: int = 12) -> Iterator[dict[str, Any]]:
    """Yield dialogues without end, in the form of chat messages."""
    number = 0
    while True:
        texts = (" ".join(random.choices(WORDS, k=n_words)) for _ in range(TURNS))
        messages = [
            {"role": ROLES[at % 2], "content": text, "created_at": f"2024-03-05T10:{at:02}:00Z"}
            for at, text in enumerate(texts)
        ]
        yield {"id": f"c{number}", "created_at": "2024-03-05T10:00:00Z", "channel": "chat", "messages": messages}
        number += 1


def table(path: Path, n_words: int, goes_on: Any, *, n_dialogues: int = 10**9) -> Path:
    """Write a table with a row per turn, while a condition of its path holds, or of a number of dialogues."""
    with path.open("w", newline="") as text:
        writer = csv.writer(text)
        writer.writerow(COLUMNS)
        for number, chat in zip(range(n_dialogues), dialogues(n_words), strict=False):
            for turn in chat["messages"]:
                writer.writerow([chat["id"], turn["created_at"], turn["role"], turn["content"], chat["channel"]])
            if goes_on and number % 1000 == 0 and not goes_on(path):
                break
    return path


if __name__ == "__main__":
    main()
