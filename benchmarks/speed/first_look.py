"""`dial2vec look` from a CSV to the open page, cold: seconds, CPU seconds and memory of each phase, beside BERTopic.

    .venv/bin/python benchmarks/speed/first_look.py --corpus FILE.jsonl --sizes 2000 100000 1000000

Writes a CSV with a row per turn, begins `look` in a new process, asks for the page's content until it is there, and
then waits for all that is made later. The dialogues are those of a JSON Lines file in an order of their own; when these
are used up, the first half of one and the second half of another with the same labels. Memory is the sum over all
processes of the command, pages that several share counted once (PSS). Groups and map are made at the same time.

With `--bertopic PYTHON`, the interpreter of an environment with BERTopic, the smallest size is also grouped by BERTopic
at its defaults, with one text per dialogue; `--encoder` names its encoder, such as the folder of all-MiniLM-L6-v2 where
no hub can be reached. NMI and ARI compare the groups with the labels, which the CSV does not have; BERTopic's outliers
are one group.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from conversations.dialogue import Turn, read_dialogues
from million import family, proportional_sizes, read

COLUMNS = ("conversation_id", "time", "speaker", "text", "channel")
HEADER = "| dialogues | phase | seconds | CPU, s | peak memory, MiB |\n|---|---|---|---|---|\n"
PHASES = {"_dialogues": "import", "add": "encode", "clusters_of": "groups", "maps_of": "map"}
PORT, EVERY = 8099, 0.1
# Runs the command, and notes when each phase began and ended.
TIMED = """
import sys, time, json
import dial2vec.collection.look as look
noted, path, names = [], sys.argv.pop(1), json.loads(sys.argv.pop(1))
def timed(name, work):
    def called(*given, **named):
        began = time.time()
        try:
            return work(*given, **named)
        finally:
            noted.append((name, began, time.time()))
            open(path, "w").write(json.dumps(noted))
    return called
for name in names:
    setattr(look, name, timed(name, getattr(look, name)))
from dial2vec.cli import main
sys.argv[0] = "dial2vec"
main()
"""
BERTOPIC = """
import sys, time, json
began = time.time()
from bertopic import BERTopic
texts = json.load(open(sys.argv[1]))
model = BERTopic(embedding_model=sys.argv[2]) if sys.argv[2] else BERTopic()
topics, _ = model.fit_transform(texts)
json.dump({"topics": [int(topic) for topic in topics], "seconds": time.time() - began}, open(sys.argv[3], "w"))
"""


class Cost(NamedTuple):
    """What a command has cost at a moment: CPU seconds so far, and memory in bytes."""

    moment: float
    cpu: float
    memory: int


def main() -> None:
    """Measure every size, the smallest first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True, help="JSON Lines file of dialogues with labels")
    parser.add_argument("--sizes", nargs="+", type=int, default=[2_000, 100_000, 1_000_000], help="dialogues")
    parser.add_argument("--model", help="encoder of look; default: look's own")
    parser.add_argument("--bertopic", metavar="PYTHON", help="interpreter of an environment with BERTopic")
    parser.add_argument("--encoder", default="", help="encoder of BERTopic; default: its own")
    parser.add_argument("--folder", type=Path, help="folder for the files; default: the temporary folder")
    arguments = parser.parse_args()
    found: list[str] = []
    sys.stdout.write(HEADER)
    for size in sorted(arguments.sizes):
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            export = Path(folder, "calls.csv")
            labels, texts = write_export(export, arguments.corpus, size)
            sys.stdout.write("".join(f"| {size:,} | {row} |\n" for row in looked(export, arguments.model)))
            sys.stdout.flush()
            if size == min(arguments.sizes):
                found.append(judged("look", labels, groups_of(export.with_name("calls.look"), len(labels))))
                if arguments.bertopic:
                    topics, seconds = by_bertopic(Path(folder), texts, arguments.bertopic, arguments.encoder)
                    found.append(judged(f"BERTopic, {seconds:.1f} s", labels, topics))
    sys.stdout.write("\n| groups by | number | NMI | ARI | outliers |\n|---|---|---|---|---|\n" + "".join(found))


def recombined(corpus: Path, count: int) -> Iterator[tuple[tuple[str, ...], tuple[Turn, ...]]]:
    """Yield labels and turns of dialogues: those of the corpus, then halves of two with the same labels."""
    known, random = list(read_dialogues(corpus)), np.random.default_rng(1)
    alike: dict[tuple[str, ...], list[tuple[Turn, ...]]] = {}
    for dialogue in known:
        alike.setdefault(dialogue.labels, []).append(dialogue.turns)
    order = random.permutation(len(known))
    for number in range(count):
        first = known[order[number % len(known)]]
        second = alike[first.labels][random.integers(len(alike[first.labels]))]
        half = first.turns[: -(-len(first.turns) // 2)] + second[len(second) // 2 :]
        yield first.labels, first.turns if number < len(known) else half


def write_export(path: Path, corpus: Path, count: int) -> tuple[list[str], list[str]]:
    """Write a CSV with a row per turn; return the labels of the dialogues, and their texts up to 10,000 dialogues."""
    labels, texts, begin = [], [], datetime(2026, 1, 1)
    with path.open("w", encoding="utf-8", newline="") as handle:
        table = csv.writer(handle)
        table.writerow(COLUMNS)
        for number, (own, turns) in enumerate(recombined(corpus, count)):
            labels.append(", ".join(own))
            if count <= 10_000:
                texts.append(" ".join(turn.text for turn in turns))
            moment, channel = begin + timedelta(minutes=7 * number % 400_000), ("phone", "chat", "mail")[number % 3]
            for place, turn in enumerate(turns):
                said = (moment + timedelta(seconds=12 * place)).isoformat(sep=" ")
                table.writerow((f"call-{number:07d}", said, turn.speaker, turn.text, channel))
    return labels, texts


def looked(export: Path, model: str | None) -> list[str]:
    """Return phase, seconds, CPU seconds and memory of each phase of `look`, as cells of a row."""
    noted, folder = export.with_name("phases.json"), export.with_name("calls.look")
    command = [sys.executable, "-c", TIMED, noted, json.dumps(list(PHASES)), "look", export]
    command += ["--output", folder, "--port", PORT, *(["--model", model] if model else [])]
    log = export.with_name("log.txt").open("w+b")
    began = time.time()
    process = subprocess.Popen([*map(str, command)], stdout=log, stderr=subprocess.STDOUT)
    costs: list[Cost] = []
    watch = threading.Thread(target=watched, args=(process, costs), daemon=True)
    watch.start()
    try:
        until(process, lambda: bool(asked("content")), log)
        opened = time.time()
        until(process, lambda: not json.loads(asked("state") or b"{}").get("doing", "."), log)
        spans = [("start", began, began)] + [(PHASES[n], b, e) for n, b, e in json.loads(noted.read_text())]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()
        watch.join()
    # A phase without a span of its own ends where the next one begins.
    first = min(begin for name, begin, _ in spans if name != "start")
    spans[0] = ("start", began, first)
    spans.append(("page", max(end for _, _, end in spans), opened))
    spans += [("**page open**", began, opened), ("made later", opened, time.time())]
    seen: dict[str, tuple[float, float]] = {}
    for name, begin, end in spans:
        # Asked for again, groups and map are only read.
        seen.setdefault(name, (begin, end))
    return [f"{name} | {end - begin:.1f} | {of(costs, begin, end)}" for name, (begin, end) in seen.items()]


def watched(process: subprocess.Popen[bytes], costs: list[Cost]) -> None:
    """Note the costs of a process and of those that it starts, until it ends."""
    while process.poll() is None:
        memory = sum(proportional_sizes(pid)[0] for pid in family(process.pid))
        costs.append(Cost(time.time(), cpu_seconds(process.pid), memory))
        time.sleep(EVERY)


def cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of a process and of those that it started and that have ended; 0 if it has ended."""
    try:
        fields = read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def of(costs: list[Cost], begin: float, end: float) -> str:
    """Return CPU seconds and largest memory, in MiB, in a span of time, as cells of a row."""
    own = [cost for cost in costs if begin - EVERY <= cost.moment <= end + EVERY] or costs[-1:]
    memory = max(cost.memory for cost in own) / 2**20
    return f"{own[-1].cpu - own[0].cpu:.1f} | {memory:,.0f}"


def until(process: subprocess.Popen[bytes], reached: Any, log: Any) -> None:
    """Wait until something is reached; exit with the command's last words if it ends before."""
    while not reached():
        if process.poll() is not None:
            log.seek(0)
            sys.exit(log.read().decode()[-2000:])
        time.sleep(EVERY)


def asked(address: str) -> bytes:
    """Return what the page's server answers, b"" if there is none yet."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/{address}", timeout=600) as answer:
            return bytes(answer.read())
    except OSError:
        return b""


def groups_of(folder: Path, count: int) -> list[int]:
    """Return the topic of each dialogue, in the order of the export."""
    import pyarrow.parquet as pq

    table = pq.read_table(folder / "clusters" / "assignment.parquet", columns=["dialogue_id", "cluster"])
    places = dict(zip(table["dialogue_id"].to_pylist(), table["cluster"].to_pylist(), strict=True))
    return [places[f"call-{number:07d}"] for number in range(count)]


def by_bertopic(folder: Path, texts: list[str], python: str, encoder: str) -> tuple[list[int], float]:
    """Return BERTopic's topic of each text, -1 for an outlier, and the seconds from its import to its topics."""
    given, made = folder / "texts.json", folder / "topics.json"
    given.write_text(json.dumps(texts))
    subprocess.run([python, "-c", BERTOPIC, str(given), encoder, str(made)], check=True, stdout=sys.stderr)
    answer = json.loads(made.read_text())
    return answer["topics"], answer["seconds"]


def judged(name: str, labels: list[str], groups: list[int]) -> str:
    """Return a Markdown row: number of groups, agreement with the labels, and the share of outliers."""
    scores = [normalized_mutual_info_score(labels, groups), adjusted_rand_score(labels, groups)]
    cells = [str(len({*groups} - {-1})), *(f"{100 * score:.1f}" for score in scores)]
    return f"| {name} | {' | '.join(cells)} | {groups.count(-1) / len(groups):.1%} |\n"


if __name__ == "__main__":
    main()
