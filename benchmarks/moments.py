"""Moments in a million dialogues: seconds of a question, memory, and what the signs of the vectors find.

    .venv/bin/python benchmarks/find.py sgd
    .venv/bin/python benchmarks/moments.py artifacts/find/sgd-1/collection --sizes 100000 1000000

Makes larger collections of a real one. Its own dialogues come first, as they are. The vectors of further turns and
dialogues lie between two real ones, with noise; their texts are those of the real ones with another id. The index of
words is made once for the dialogues of one part, in every turn of which one word is replaced, and stands for all parts.
Recall is the share of the ten first hits of `--exact`, which compares every turn. Memory is what the process holds
itself, and the most that it has resident, mapped files included.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from find import prepare
from numpy.typing import NDArray

from dial2vec.collection.collection_folder import Addition, CollectionFolder, append_blocks, rows_file
from dial2vec.collection.search import Search
from dial2vec.collection.search.turns import open_turns, write_turns
from dial2vec.collection.search.words import PART, update_words
from dial2vec.dialogue import Dialogue, Turn
from dial2vec.encoder.nearest import unit_rows
from dial2vec.files import write_json

NOISE, QUESTIONS = 0.015, 40
HEADER = "| dialogues | turns | on disk, GB | opened in | moments: median, 95 % | auto: median | exact | recall at 10 "
HEADER += "| own memory | resident |\n|---|---|---|---|---|---|---|---|---|---|\n"


class Varied(CollectionFolder):
    """A collection in whose turns one word is replaced, apart from the dialogues of the real one.

    :param n_real: number of these.
    """

    n_real = 0

    def dialogues(self, rows: range | None = None) -> Iterator[Dialogue]:  # type: ignore[override]
        """Yield the dialogues."""
        rng = np.random.default_rng(0)
        known: list[str] = []
        for row, dialogue in enumerate(super().dialogues(rows)):
            known += dialogue.turns[0].text.split() if row < self.n_real else []
            turns = dialogue.turns if row < self.n_real else tuple(_varied(turn, known, rng) for turn in dialogue.turns)
            yield replace(dialogue, turns=turns)


def _varied(turn: Turn, known: list[str], rng: np.random.Generator) -> Turn:
    words = turn.text.split()
    words[int(rng.integers(len(words)))] = known[int(rng.integers(len(known)))]
    return replace(turn, text=" ".join(words))


def mixed(units: NDArray[np.float32], n: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return n vectors of length 1 between two of these, with noise."""
    first, second = units[rng.integers(len(units), size=(2, n))]
    share = rng.uniform(0.5, 0.9, size=(n, 1)).astype(np.float32)
    noise = NOISE * rng.standard_normal((n, units.shape[1]), dtype=np.float32)
    return unit_rows(share * first + (1 - share) * second + noise)


def make(source: CollectionFolder, folder: Path, n: int) -> None:
    """Write a collection of n dialogues; n is a multiple of their number in `source`."""
    rng, copies, size = np.random.default_rng(0), n // len(source), len(source)
    (folder / "rows").mkdir(parents=True)
    shutil.copytree(source.model, folder / "model")
    lines = (source.folder / "dialogues.jsonl").read_bytes().splitlines(keepends=True)
    ids = source.rows["dialogue_id"].to_pylist()
    byte = 0
    with (
        (folder / "dialogues.jsonl").open("wb") as out,
        pq.ParquetWriter(rows_file(folder, 0), source.rows.schema) as to,
    ):
        for copy in range(copies):
            names = [f"{name}-{copy}" if copy else name for name in ids]
            new = [
                line.replace(json.dumps(name).encode(), json.dumps(other).encode(), 1)
                for line, name, other in zip(lines, ids, names, strict=True)
            ]
            out.writelines(new)
            starts = byte + np.concatenate([[0], np.cumsum([len(line) for line in new])])
            byte = int(starts[-1])
            columns = {"dialogue_id": pa.array(names), "byte": pa.array(starts[:-1])}
            table = source.rows
            for name, column in columns.items():
                table = table.set_column(table.schema.get_field_index(name), table.schema.field(name), column)
            to.write_table(table)
    real = np.array(source.vectors)
    blocks = (real if not copy else mixed(real, size, rng) for copy in range(copies))
    append_blocks(folder / "vectors.f32", 0, blocks)
    replace(source.manifest, additions=(Addition("fabricated", "2026-01-01T00:00:00+00:00", n, byte),)).write(folder)
    make_turns(source, CollectionFolder(folder), copies, rng)


def make_turns(source: CollectionFolder, made: CollectionFolder, copies: int, rng: np.random.Generator) -> None:
    """Write vectors and words of the turns."""
    turns = open_turns(source)
    assert turns is not None
    real = unit_rows(turns.vectors(slice(None)))
    place, record = made.folder / "turns", replace(turns.record, dialogues=0, turns=0)
    place.mkdir()
    for copy in range(copies):
        record = write_turns(place, record, real if not copy else mixed(real, len(real), rng), len(source))
    shutil.copy(source.folder / "turns" / "calibration.json", place)
    calibration = json.loads((place / "calibration.json").read_text()) | {"dialogues": len(made)}
    write_json(place / "calibration.json", calibration)
    one = Varied(made.folder)
    one.n_real = len(source)
    n = min(PART, len(made))
    one.manifest = replace(made.manifest, additions=(replace(made.manifest.additions[0], dialogues=n),))
    update_words(one)
    names = [(first, min(first + PART, len(made))) for first in range(0, len(made), PART)]
    for first, last in names[1:]:
        (place / "words" / f"{first:09d}-{last:09d}").symlink_to(place / "words" / f"{0:09d}-{n:09d}")
    write_json(place / "words" / "words.json", names)


def memory() -> tuple[float, float]:
    """Return the memory that this process holds itself, and its largest resident size, in GiB."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return tuple(int(status[key].split()[0]) / 2**20 for key in ("RssAnon", "VmHWM"))  # type: ignore[return-value]


def measure(folder: Path, questions: list[str]) -> str:
    """Return a row of the table."""
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    began = time.perf_counter()
    search = Search(CollectionFolder(folder))
    search.find(questions[0])
    opened = time.perf_counter() - began
    seconds: dict[str, list[float]] = {"moments": [], "auto": []}
    found = []
    for way, taken in seconds.items():
        for text in questions:
            began = time.perf_counter()
            hits = search.find(text, way=way)  # type: ignore[arg-type]
            taken.append(time.perf_counter() - began)
            found += [{hit.dialogue_id for hit in hits}] if way == "moments" else []
    own, resident = memory()
    began = time.perf_counter()
    exact = [{hit.dialogue_id for hit in search.find(text, way="moments", exact=True)} for text in questions]
    per_exact = (time.perf_counter() - began) / len(questions)
    recall = np.mean([len(some & every) / len(every) for some, every in zip(found, exact, strict=True)])
    assert search.moments is not None
    turns = search.moments.turns.record.turns
    median, most = np.quantile(seconds["moments"], [0.5, 0.95])
    cells = [f"{len(search.collection):,}", f"{turns:,}", f"{size / 1e9:.1f}", f"{opened:.1f} s"]
    cells += [f"{median:.2f} s, {most:.2f} s", f"{np.median(seconds['auto']):.2f} s", f"{per_exact:.2f} s"]
    cells += [f"{recall:.3f}", f"{own:.1f} GiB", f"{resident:.1f} GiB"]
    return f"| {' | '.join(cells)} |\n"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", type=Path, help="Collection to multiply.")
    parser.add_argument("--sizes", nargs="+", type=int, default=[100_000, 1_000_000])
    parser.add_argument("--folder", type=Path, help="Folder for the files; default: the temporary folder.")
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    options = parser.parse_args()
    source = CollectionFolder(options.collection)
    _, asked = prepare(list(source.dialogues()), options.questions, 2)
    questions = [question.text for question in asked if len(question.answers) == 1][: options.questions]
    sys.stdout.write(HEADER)
    for size in options.sizes:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            make(source, Path(folder) / "made", size)
            sys.stdout.write(measure(Path(folder) / "made", questions))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
