"""Load on `dial2vec serve`: 50 clients with broken and slow ones among them, a student, and plain encoding.

    .venv/bin/python benchmarks/speed/serve.py                          # all; half an hour on two cores
    .venv/bin/python benchmarks/speed/serve.py load student --requests 300

The server is the command itself, with a registry of its own in a temporary folder; the clients are threads of this
process, on the same processors. The encoder is all-MiniLM-L6-v2; the student has its vocabulary and random rows of the
same width. Dialogues are those of the demo corpus.

- load: requests of one dialogue by 50 clients, each after the answer to its last one; half of the clients keep their
  connection, half open new ones. Two of 100 requests are no good: broken off in the body, hung up before the answer,
  sent slowly, or no JSON. 20 more clients send a byte a second. In the middle the champion changes. Rows show the
  resident memory of the worker, and the time of a batch as its metrics give it.
- student: the same with the student, and its requests per second over those of the encoder.
- handover: the alias moves to and fro under the load of a tiny encoder of random weights.
- speed: every batch of dialogues once, by one client and by four, in turns with plain `encode` of the same batches in
  this process; plain as well by two threads at a time.
- memory: requests of 1 to 100 words by four clients, with `serve`'s bound on the caches of shapes and without it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from conversations.dialogue import Dialogue
from dial2vec import telemetry
from dial2vec.data.corpora.demo import generate_demo
from dial2vec.encoder.names import resolve
from dial2vec.files import find_root
from dial2vec.operation.serving.keeper import SHAPES
from serve_clients import Outcome, Server, load, merge, others, served
from student import made_up
from timing import machine, rate, ratio

CORPUS, MODEL = "demo", "dial2vec-demo"
ENCODER = "all-MiniLM-L6-v2"
TINY = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
BATCHES = (1, 8, 32)
CLIENTS, BAD_SHARE = 50, 0.02


def main() -> None:
    """Print the tables asked for."""
    works = {"load": load_encoder, "student": load_student, "handover": handover, "speed": speed, "memory": memory}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(works)}; default: all")
    parser.add_argument("--requests", type=int, default=10_000, help="requests of each load; default: 10000")
    parser.add_argument("--changes", type=int, default=6, help="number of hand-overs; default: 6")
    parser.add_argument("--repeats", type=int, default=3, help="runs of the speed test; default: 3")
    parser.add_argument("--dialogues", type=int, default=96, help="dialogues of the speed test; default: 96")
    given = parser.parse_args()
    telemetry.switch_off()
    import mlflow
    import uvicorn

    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    sys.stdout.write(f"{machine()}, mlflow {mlflow.__version__}, uvicorn {uvicorn.__version__}; load before: {load}\n")
    given.rates = {}
    for name in given.names or works:
        if name not in works:
            parser.error(f"there is no load {name!r}; expected some of {', '.join(works)}")
        sys.stdout.write(f"\n{works[name](given)}\n")
        sys.stdout.flush()


def load_encoder(given: argparse.Namespace) -> str:
    """Return the table of the load on the encoder."""
    with tempfile.TemporaryDirectory() as folder:
        return loaded(project(Path(folder), ENCODER), CORPUS, given)


def load_student(given: argparse.Namespace) -> str:
    """Return the table of the load on the student."""
    with tempfile.TemporaryDirectory() as folder:
        text = loaded(project(Path(folder), ENCODER, student=True), f"{CORPUS}-small", given)
    if CORPUS in given.rates:
        text += f"\n{given.rates[f'{CORPUS}-small'] / given.rates[CORPUS]:.1f} times the encoder's requests per second."
    return text


def loaded(root: Path, corpus: str, given: argparse.Namespace) -> str:
    """Return the table of a load with a change of the champion in its middle."""
    from dial2vec.registry.store import open_store

    requests = [body([dialogue]) for dialogue in dialogues(200)]
    rows = ["| requests so far | champion | memory of the worker, MB | p50 | p95 | p99, ms | bad on purpose | errors |"]
    rows.append("|---|---|---|---|---|---|---|---|")
    parts = [given.requests // 10, given.requests // 10, given.requests // 2, given.requests * 3 // 10]
    total = Outcome()
    with served(root, corpus) as server, others(server):
        for number, part in enumerate(parts):
            with ThreadPoolExecutor(1) as pool:
                running = pool.submit(both, server, requests, part)
                if number == 2:
                    open_store(root).set_registered_model_alias(f"dial2vec-{corpus}", "champion", "2")
            outcome = running.result()
            while number == 2 and server.version() != "2":
                merge(outcome, both(server, requests, CLIENTS))
            merge(total, outcome)
            so_far = len(total.latencies) + total.bad
            rows.append(
                f"| {so_far:,} | {server.version()} | {server.megabytes():.0f} | {outcome.tail()} | {outcome.bad} | "
                f"{', '.join(sorted(set(outcome.errors))) or 0} |"
            )
        batch = server.batch()
    given.rates[corpus] = total.rate()
    rows.append(f"| all | | | {total.tail()} | {total.bad} | {len(total.errors)} |")
    return "\n".join([*rows, "", f"{corpus}: {total.rate():.1f} requests per second; {batch}."])


def both(server: Server, bodies: Sequence[bytes], requests: int) -> Outcome:
    """Return the results of clients of which half keep their connection, and half open new ones."""
    outcome = Outcome()
    with ThreadPoolExecutor(2) as pool:
        halves = [
            pool.submit(load, server, bodies, clients=CLIENTS // 2, requests=requests // 2, keep=keep, bad=BAD_SHARE)
            for keep in (True, False)
        ]
    for half in halves:
        merge(outcome, half.result())
    # They ran at the same time.
    outcome.seconds = max(half.result().seconds for half in halves)
    return outcome


def handover(given: argparse.Namespace) -> str:
    """Return what clients saw while the alias moved."""
    from dial2vec.registry.store import open_store

    bodies = [body([dialogue]) for dialogue in dialogues(50)]
    with tempfile.TemporaryDirectory() as folder:
        root = project(Path(folder), tiny(Path(folder)))
        client = open_store(root)
        with served(root, CORPUS) as server, ThreadPoolExecutor(2) as pool:
            stop = threading.Event()
            loads = [
                pool.submit(load, server, bodies, clients=4, until=stop.is_set, keep=keep) for keep in (True, False)
            ]
            for _ in range(given.changes):
                wanted = "2" if server.version() == "1" else "1"
                client.set_registered_model_alias(MODEL, "champion", wanted)
                while server.version() != wanted:
                    time.sleep(0.2)
            stop.set()
            kept, again = (one.result() for one in loads)
    rows = ["| clients | hand-overs | requests | p50 | p95 | p99, ms | dropped |", "|---|---|---|---|---|---|---|"]
    for name, done in (("4 that keep their connection", kept), ("4 that connect again", again)):
        rows.append(
            f"| {name} | {given.changes} | {len(done.latencies)} | {done.tail()} | "
            f"{', '.join(sorted(set(done.errors))) or 0} |"
        )
    return "\n".join(rows)


def speed(given: argparse.Namespace) -> str:
    """Return the table of served encoding beside plain encoding."""
    from dial2vec.encoder import DialogueEncoder

    found = dialogues(given.dialogues)
    encoder = DialogueEncoder.from_pretrained(ENCODER)
    rows = ["| dialogues in a request | clients | dialogues per second | of plain encoding | p50 | p95 | p99, ms |"]
    rows.append("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, served(project(Path(folder), ENCODER), CORPUS) as server:
        for size in BATCHES:
            batches = [found[first : first + size] for first in range(0, len(found), size)]
            bodies = [body(batch) for batch in batches]
            works: dict[str, Callable[[], object]] = {
                "plain": lambda batches=batches: [encoder.encode(batch) for batch in batches],
                "plain, two at a time": lambda batches=batches: list(two.map(encoder.encode, batches)),
            }
            outcomes = {f"{count}": Outcome() for count in (1, 4)}
            for clients, outcome in outcomes.items():
                works[clients] = lambda clients=clients, outcome=outcome, bodies=bodies: load(
                    server, bodies, clients=int(clients), requests=len(bodies), into=outcome
                )
            with ThreadPoolExecutor(2) as two:
                taken = turns(works, given.repeats)
            for name in works:
                tail = outcomes[name].tail() if name in outcomes else " | | "
                share = ratio(taken["plain"], taken[name])
                rows.append(f"| {size} | {name} | {rate(len(found), taken[name])} | {share} | {tail} |")
                if name in outcomes and outcomes[name].errors:
                    raise SystemExit(f"errors: {outcomes[name].errors[:3]}")
    return "\n".join(rows)


def memory(given: argparse.Namespace) -> str:
    """Return the table of the worker's memory under texts of every length."""
    draw = random.Random(0)
    words = " ".join(turn.text for one in dialogues(200) for turn in one.turns).split()
    texts = [words[draw.randrange(4_000) :][: draw.randint(1, 100)] for _ in range(given.requests)]
    requests = [
        json.dumps({"inputs": [{"turns": [{"speaker": "a", "text": " ".join(one)}]}]}).encode() for one in texts
    ]
    fifth = given.requests // 5
    rows = ["| requests so far | bound | memory of the worker, MB | requests per second |", "|---|---|---|---|"]
    for bound in (True, False):
        # The environment of whoever starts the command wins; 1024 is what the libraries take by themselves.
        os.environ.update(dict.fromkeys(SHAPES if not bound else (), "1024"))
        with tempfile.TemporaryDirectory() as folder, served(Path(folder), resolve(ENCODER)) as server:
            for first in range(0, given.requests, fifth):
                done = load(server, requests[first : first + fifth], clients=4, requests=fifth)
                if done.errors:
                    raise SystemExit(f"errors: {done.errors[:3]}")
                shown = "yes" if bound else "no"
                rows.append(f"| {first + fifth:,} | {shown} | {server.megabytes():.0f} | {done.rate():.1f} |")
    return "\n".join(rows)


def turns(works: dict[str, Callable[[], object]], repeats: int) -> dict[str, list[float]]:
    """Return the seconds of each run of each work; they take turns, and a first round does not count."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(repeats + 1):
        for name, work in works.items():
            began = time.perf_counter()
            work()
            if turn:
                taken[name].append(time.perf_counter() - began)
    return taken


def dialogues(count: int) -> list[Dialogue]:
    """Return the first dialogues of the demo corpus in which two speak."""
    return [one for one in generate_demo() if one.n_speakers > 1][:count]


def body(batch: Sequence[Dialogue]) -> bytes:
    """Return a request."""
    return json.dumps({"inputs": [{"turns": one.to_record()["turns"]} for one in batch]}).encode()


def tiny(folder: Path) -> str:
    """Write an encoder that takes almost no time: the packaged tokenizer, two layers of width 16 and random weights."""
    from transformers import AutoTokenizer, BertConfig, BertModel, set_seed

    set_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(resolve("all-MiniLM-L6-v2"))
    BertModel(BertConfig(vocab_size=len(tokenizer), **TINY)).save_pretrained(folder / "tiny")
    tokenizer.save_pretrained(folder / "tiny")
    return str(folder / "tiny")


def project(folder: Path, encoder: str, *, student: bool = False) -> Path:
    """Make a project in whose registry version 1 is an encoder, and version 2 one that differs from it.

    :param student: True for two students, with the vocabulary and the width of the encoder, in place of encoders.
    """
    import torch

    from dial2vec.encoder import DialogueEncoder
    from dial2vec.registry.records import TrainingRecord
    from dial2vec.registry.tracking import register_training

    root = folder / "project"
    root.mkdir()
    (root / "operation.yaml").write_text("serve: {check_seconds: 1}")
    for name in ("params.yaml", "dvc.yaml"):
        (root / name).write_bytes((find_root(Path(__file__).parent) / name).read_bytes())
    loaded = DialogueEncoder.from_pretrained(encoder)
    if student:
        for seed, name in enumerate(("start", "trained")):
            made_up(encoder, dimension=loaded.dimension, seed=seed).save_pretrained(root / name)
    else:
        loaded.save_pretrained(root / "start")
        with torch.no_grad():
            next(loaded.parameters()).add_(0.01)
        loaded.save_pretrained(root / "trained")
    (root / "empty").touch()
    nothing: dict[str, Any] = {"start": None, "trained": None, "student": None}
    record = TrainingRecord(
        corpus=f"{CORPUS}-small" if student else CORPUS,
        kind="student" if student else "trained",
        params={},
        data_hash="none",
        git_commit="none",
        history=[],
        scores=nothing,
        dev_scores=nothing,
        intervals={},
        gains={},
        dev_hash="none",
        split_sizes={},
        model=root / "trained",
        start_model=root / "start",
        start_name=encoder,
        report=root / "empty",
        selection=root / "empty",
        choice="",
        max_length=loaded.max_length,
        dimension=loaded.dimension,
        languages={},
        example=dialogues(1)[0],
        seconds={},
        fingerprint="none",
    )
    register_training(root, record)
    return root


if __name__ == "__main__":
    main()
