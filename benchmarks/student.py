"""How fast a student reads, beside sentence-transformers and model2vec; its folder, its figures, and others' reading.

    .venv/bin/python benchmarks/student.py                       # students of artifacts/<corpus>/student
    .venv/bin/python benchmarks/student.py --corpora demo --model FOLDER

    pip install --target FOLDER --no-deps "model2vec==0.10.0" "skeletoken==0.6.1"
    PYTHONPATH=FOLDER .venv/bin/python benchmarks/student.py     # with model2vec, which is no dependency

Speed is from texts, tokenising included, on the same dialogues of a test split; what is compared takes turns. A student
without a folder gets random rows: its speed does not depend on their numbers. The readers:

- library: `encode` of sentence-transformers on the joined turns, at all its defaults, so it reads 256 tokens at most.
- student, cold: a new object, which tokenises every word once.
- student, warm: an object that has read other dialogues of the corpus, but none of these.
- model2vec: its distillation of the same encoder at its defaults (256 numbers, 512 tokens at most), on the joined
  turns. It is made once, in minutes, and kept in artifacts/model2vec.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from study import Row, table_of_ways
from threadpoolctl import threadpool_limits
from timing import Figure, machine, rate, ratio
from tokenizers import Tokenizer

from conversations.dialogue import Dialogue, read_dialogues
from conversations.files import read_json
from dial2vec.data.corpora.demo import generate_demo
from dial2vec.encoder.folder import STUDENT_FILE
from dial2vec.encoder.names import resolve
from dial2vec.encoder.student import StudentEncoder, TokenTable
from dial2vec.encoder.student.table import Rows
from dial2vec.evaluation import TASKS
from dial2vec.evaluation.measure import measure_vectors
from dial2vec.files import find_root
from dial2vec.params import load_settings
from dial2vec.pipeline.artifacts import Artifacts

ENCODER, DIMENSION = "all-MiniLM-L6-v2", 384
# Dialogues that are timed, and those that a warm student has read.
TIMED, READ = 120, 2000
# A turn of a fast reader is the median of several runs: one of a hundredth of a second says little.
RUNS, LONG_RUN = 5, 0.5
ONE = ", one thread"
FIRST_VECTOR = """
import sys
from dial2vec import Dialogue, StudentEncoder, Turn
StudentEncoder.from_pretrained(sys.argv[1]).encode(Dialogue("d", (Turn("a", "hello"), Turn("b", "hi"))))
"""
# Returns what is timed, after untimed preparations.
Prepare = Callable[[], Callable[[], object]]


class Costs(NamedTuple):
    """Seconds and CPU seconds of each turn of a reader."""

    wall: list[float]
    cpu: list[float]


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", nargs="+", default=["demo", "sgd", "self_dialogue"], help="corpora to read")
    parser.add_argument("--model", type=Path, help="student; default: that of each corpus")
    parser.add_argument("--repeats", type=int, default=3, help="turns of each reader")
    arguments = parser.parse_args()
    root = find_root()
    static = model2vec(root)
    sys.stdout.write(f"{machine()}; load {os.getloadavg()[0]:.1f}; {arguments.repeats} turns\n\n")
    rows: list[Row] = []
    for corpus in arguments.corpora:
        artifacts = Artifacts(root, corpus)
        folder = arguments.model or artifacts.student
        student = StudentEncoder.from_pretrained(folder) if (folder / STUDENT_FILE).is_file() else None
        splits = artifacts.split("test").is_file()
        if splits or corpus == "demo":
            sys.stdout.write(speed_table(artifacts, student or made_up(), static, repeats=arguments.repeats))
        if splits and student:
            dialogues = list(read_dialogues(artifacts.split("test")))
            sys.stdout.write(f"Student of {corpus}:\n\n{folder_table(student, dialogues)}\n")
            sys.stdout.write(f"{likeness(student, dialogues)}\n\n")
        if splits:
            rows += figures(artifacts, student, static)
    if rows:
        sys.stdout.write(f"Purity, Spearman and MAP on test:\n\n{table_of_ways(rows)}")


def made_up(name: str = ENCODER) -> StudentEncoder:
    """Return a student with random fp16 rows and the tokenizer of an encoder."""
    tokenizer = Tokenizer.from_file(str(Path(resolve(name)) / "tokenizer.json"))
    rows = np.random.default_rng(0).normal(size=(tokenizer.get_vocab_size(), DIMENSION)).astype(np.float16)
    return StudentEncoder(TokenTable(rows, np.ones(len(rows), dtype=np.float32)), tokenizer, name=name)


def joined(dialogues: Sequence[Dialogue]) -> list[str]:
    """Return the turns of each dialogue as one text."""
    return [" ".join(turn.text for turn in dialogue.turns) for dialogue in dialogues]


def model2vec(root: Path) -> Any:
    """Return model2vec's distillation of the encoder, kept in artifacts/model2vec; None if it is not installed."""
    if not all(importlib.util.find_spec(name) for name in ("model2vec", "skeletoken")):
        sys.stdout.write("model2vec is not installed, so its rows are left out; benchmarks/student.py says how.\n")
        return None
    from model2vec import StaticModel
    from model2vec.distill import distill

    folder = root / "artifacts" / "model2vec"
    if not folder.is_dir():
        distill(resolve(ENCODER), device="cpu").save_pretrained(folder)
    return StaticModel.from_pretrained(folder)


def library(name: str, dialogues: Sequence[Dialogue]) -> Callable[[], object]:
    """Return the work of sentence-transformers at its defaults."""
    from sentence_transformers import SentenceTransformer

    model, texts = SentenceTransformer(resolve(name), device="cpu"), joined(dialogues)
    return lambda: model.encode(texts)


def readers(
    student: StudentEncoder, dialogues: Sequence[Dialogue], others: Sequence[Dialogue], name: str = ENCODER
) -> dict[str, Prepare]:
    """Return the library, if it is installed, and the student."""

    def prepared(known: Sequence[Dialogue]) -> Callable[[], object]:
        table = student.table
        fresh = TokenTable(table.rows, table.weights, table.scales)
        encoder = StudentEncoder(fresh, student.tokenizer, name=student.name)
        encoder.encode(known)
        return lambda: encoder.encode(dialogues)

    ways: dict[str, Prepare] = {"student, warm": lambda: prepared(others), "student, cold": lambda: prepared([])}
    if importlib.util.find_spec("sentence_transformers"):
        encode = library(name, dialogues)
        ways = {"library": lambda: encode} | ways
    return ways


def reader_of_model2vec(static: Any, dialogues: Sequence[Dialogue]) -> dict[str, Prepare]:
    """Return model2vec's reader; none without it."""
    texts = joined(dialogues)
    return {} if static is None else {"model2vec": lambda: lambda: static.encode(texts)}


@contextmanager
def threads(n: int) -> Iterator[None]:
    """Compute with so many threads; with one, tokenise in one, too."""
    before, parallel = torch.get_num_threads(), os.environ.get("TOKENIZERS_PARALLELISM", "true")
    os.environ["TOKENIZERS_PARALLELISM"] = "false" if n == 1 else parallel
    torch.set_num_threads(n)
    with threadpool_limits(n):
        yield
    torch.set_num_threads(before)
    os.environ["TOKENIZERS_PARALLELISM"] = parallel


def costs(ways: dict[str, Prepare], *, repeats: int) -> dict[str, Costs]:
    """Return the costs of each reader; they take turns, after each ran once without counting.

    Readers whose name ends with `ONE` have one thread, others the default of each library.
    """
    taken = {name: Costs([], []) for name in ways}
    for prepare in ways.values():
        prepare()()
    for _ in range(repeats):
        for name, prepare in ways.items():
            with threads(1) if name.endswith(ONE) else nullcontext():
                wall, cpu = turn(prepare)
            taken[name].wall.append(wall)
            taken[name].cpu.append(cpu)
    return taken


def turn(prepare: Prepare) -> tuple[float, float]:
    """Return median seconds and CPU seconds of some runs."""
    runs: list[tuple[float, float]] = []
    while len(runs) < RUNS and sum(wall for wall, _ in runs) < LONG_RUN:
        work = prepare()
        # Else some runs contain a search of torch and of all dialogues for garbage, 0.3 s.
        gc.freeze()
        began, used = time.perf_counter(), time.process_time()
        work()
        runs.append((time.perf_counter() - began, time.process_time() - used))
    return statistics.median(wall for wall, _ in runs), statistics.median(cpu for _, cpu in runs)


def against_library(
    dialogues: Sequence[Dialogue], others: Sequence[Dialogue], static: Any, *, name: str = ENCODER, repeats: int = 3
) -> dict[str, Figure]:
    """Return rates and ratios of a made-up student for `bench-quick`."""
    ways = readers(made_up(name), dialogues, others, name) | reader_of_model2vec(static, dialogues)
    alone = f"student, warm{ONE}"
    timed = costs(ways | {alone: ways["student, warm"]}, repeats=repeats)
    taken = {way: seconds.wall for way, seconds in timed.items()}
    measured = {}
    for state, reader in (("", "student, warm"), ("_cold", "student, cold"), ("_one_thread", alone)):
        ours = taken[reader]
        measured[f"student{state}_dialogues_per_second"] = rate(len(dialogues), ours)
        for way, end in (("library", "library_default"), ("model2vec", "model2vec")):
            if way in taken:
                measured[f"student{state}_vs_{end}"] = ratio(taken[way], ours)
    return measured


def texts_of(artifacts: Artifacts) -> tuple[list[Dialogue], list[Dialogue]]:
    """Return the dialogues of the test split, or half of the demo corpus, and others of the corpus."""
    if artifacts.corpus == "demo":
        dialogues = list(generate_demo())
        return dialogues[: len(dialogues) // 2], dialogues[len(dialogues) // 2 :]
    test, train = (read_dialogues(artifacts.split(name)) for name in ("test", "train"))
    return list(test), list(islice(train, READ))


def speed_table(artifacts: Artifacts, student: StudentEncoder, static: Any, *, repeats: int) -> str:
    """Return a Markdown table of readers: of a few dialogues beside the library, and of all without the library."""
    dialogues, others = texts_of(artifacts)
    measured = []
    for part in (dialogues[:TIMED], dialogues):
        ways = readers(student, part, others) | reader_of_model2vec(static, part)
        encode = ways.pop("library", None)
        ways |= {f"{name}{ONE}": prepare for name, prepare in ways.items()}
        ways = {"library": encode} | ways if encode and len(part) <= TIMED else ways
        measured.append((len(part), costs(ways, repeats=repeats)))
    (few, taken), (many, of_all) = measured
    lines = [
        f"{artifacts.corpus}, {np.mean([len(text) for text in joined(dialogues)]):,.0f} characters per dialogue; "
        f"{torch.get_num_threads()} threads unless said:\n",
        f"| reader | {few} dialogues: per second | per CPU second | times the library | {many:,} dialogues: per second "
        "| per CPU second |\n|---|---|---|---|---|---|",
    ]
    for name, seconds in taken.items():
        times = f"{ratio(taken['library'].wall, seconds.wall).median:.0f}" if "library" in taken else "–"
        cells = [per_second(few, seconds.wall), per_second(few, seconds.cpu), times]
        cells += [per_second(many, part) for part in of_all[name]] if name in of_all else ["–", "–"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n\n"


def per_second(count: int, seconds: Sequence[float]) -> str:
    """Return dialogues per second: the median, the lowest and the highest turn."""
    figure = rate(count, seconds)
    return f"{figure.median:,.0f} ({figure.low:,.0f} to {figure.high:,.0f})"


def folder_table(student: StudentEncoder, dialogues: Sequence[Dialogue]) -> str:
    """Return a Markdown table of the folders: size, seconds of loading, cosine to fp32 rows."""
    table = exact(student.table)
    full = StudentEncoder(table, student.tokenizer, name=student.name, teacher=student.teacher)
    vectors = full.encode(dialogues)
    lines = ["| rows | folder, MB | loading, s | Python to first vector, s | cosine to fp32, mean (lowest) |"]
    lines.append("|---|---|---|---|---|")
    for rows in get_args(Rows):
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary) / "student"
            full.save_pretrained(folder, rows=rows)
            loading, start = [], []
            for _ in range(5):
                began = time.perf_counter()
                small = StudentEncoder.from_pretrained(folder)
                loaded = time.perf_counter()
                subprocess.run([sys.executable, "-c", FIRST_VECTOR, str(folder)], check=True)
                loading.append(loaded - began)
                start.append(time.perf_counter() - loaded)
            mean, low = cosines(vectors, small.encode(dialogues))
            size = folder_size(folder) / 1e6
        times = f"{statistics.median(loading):.2f} | {statistics.median(start):.2f}"
        lines.append(f"| {rows} | {size:.1f} | {times} | {mean:.6f} ({low:.6f}) |")
    return "\n".join(lines) + "\n"


def exact(table: TokenTable) -> TokenTable:
    """Return a table with float32 rows; those of a float16 table get at random what rounding may have taken."""
    if table.rows.dtype != np.float16:
        return table.as_rows("fp32")
    rounded = np.random.default_rng(0).uniform(-0.5, 0.5, table.rows.shape) * np.spacing(np.abs(table.rows))
    return TokenTable((table.rows + rounded).astype(np.float32), table.weights)


def folder_size(folder: Path) -> int:
    """Return the bytes of a folder's files; a file with several names counts once."""
    files = {path.stat().st_ino: path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    return sum(files.values())


def cosines(first: NDArray[np.float32], second: NDArray[np.float32]) -> tuple[float, float]:
    """Return the mean and the lowest cosine of rows of length 1 that belong together."""
    products = np.einsum("nd,nd->n", first.astype(np.float64), second.astype(np.float64))
    return float(products.mean()), float(products.min())


def likeness(student: StudentEncoder, dialogues: Sequence[Dialogue]) -> str:
    """Say how near the mean over all tokens, which other libraries take, comes to the sum over speakers."""
    mean, low = cosines(student.encode(dialogues), student.encode_utterances(joined(dialogues)))
    return f"Cosine of the mean over all tokens to the sum over speakers: {mean:.4f}, lowest {low:.4f}."


def figures(artifacts: Artifacts, student: StudentEncoder | None, static: Any) -> Iterator[Row]:
    """Yield the figures of each encoder on a test split; those of start and trained encoder are in metrics.json."""
    dialogues = list(read_dialogues(artifacts.split("test")))
    ways: dict[str, NDArray[np.float32]] = {}
    if static is not None:
        ways["model2vec"] = np.asarray(static.encode(joined(dialogues)), dtype=np.float32)
    if student is not None:
        ways["student"] = student.encode(dialogues)
        ways["student, mean over all tokens"] = student.encode_utterances(joined(dialogues))
    if artifacts.metrics.is_file():
        metrics = read_json(artifacts.metrics)
        yield from (as_row(artifacts, name, metrics[name]) for name in ("start", "trained") if metrics.get(name))
    settings = load_settings(artifacts.root / "params.yaml")
    for name, vectors in ways.items():
        labels = [dialogue.label for dialogue in dialogues]
        scores = measure_vectors(vectors, labels, runs=settings.evaluate.kmeans_runs, seed=settings.seed)
        if scores:
            yield as_row(artifacts, name, scores)


def as_row(artifacts: Artifacts, way: str, scores: dict[str, float]) -> Row:
    """Return a row for `table_of_ways`."""
    return {"corpus": artifacts.corpus, "way": way, **{task: scores[task] for task in TASKS}}


if __name__ == "__main__":
    main()
