"""What a map keeps of the nearest neighbours, and CPU seconds: t-SNE of all by several numbers of steps, and in stages.

    .venv/bin/python benchmarks/speed/layout.py --corpus FILE.jsonl --model FOLDER --sizes 2000 20000

Kept is the share of the ten nearest neighbours by cosine that are among the ten nearest on the map, over 500 dialogues.
In stages is `dial2vec.collection.explorer.layout`: up to 3,000 dialogues the same as t-SNE of all.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from conversations.dialogue import read_dialogues
from dial2vec import load_encoder
from dial2vec.collection.explorer.layout import lay_out_many
from dial2vec.encoder.nearest import unit_rows
from dial2vec.evaluation import geometry

STEPS = ((250, 500), (125, 250), (75, 175), (50, 100))
NEAREST, JUDGED, SEED = 10, 500, 42


def main() -> None:
    """Measure every size by every way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True, help="JSON Lines file of dialogues")
    parser.add_argument("--model", required=True, help="encoder")
    parser.add_argument("--sizes", nargs="+", type=int, default=[2_000, 20_000], help="dialogues")
    arguments = parser.parse_args()
    dialogues, encoder = list(read_dialogues(arguments.corpus)), load_encoder(arguments.model)
    order = np.random.default_rng(SEED).permutation(len(dialogues))
    sys.stdout.write("| dialogues | way | kept, % | CPU, s |\n|---|---|---|---|\n")
    for size in arguments.sizes:
        units = unit_rows(encoder.encode([dialogues[at] for at in order[:size]])).astype(np.float32)
        for early, late in STEPS:
            geometry.EARLY, geometry.LATE = early, late
            report(size, f"t-SNE of all, {early} + {late} steps", units)
        geometry.EARLY, geometry.LATE = 75, 175
        report(size, "in stages", units, in_stages=True)


def report(size: int, way: str, units: np.ndarray, *, in_stages: bool = False) -> None:
    """Print a row."""
    began = time.process_time()
    points = lay_out_many(units, seed=SEED) if in_stages else geometry.lay_out(units, seed=SEED).points
    taken = time.process_time() - began
    rows = np.random.default_rng(1).permutation(size)[:JUDGED]
    pairs = zip(nearest(units, rows), nearest(points, rows), strict=True)
    kept = np.mean([len({*known.tolist()} & {*drawn.tolist()}) / NEAREST for known, drawn in pairs])
    sys.stdout.write(f"| {size:,} | {way} | {100 * kept:.1f} | {taken:.1f} |\n")
    sys.stdout.flush()


def nearest(points: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the places of the nearest others of some rows, int64 [rows, 10]."""
    near = 2 * points[rows] @ points.T - (points**2).sum(axis=1)
    near[np.arange(len(rows)), rows] = -np.inf
    return np.argpartition(-near, NEAREST, axis=1)[:, :NEAREST]


if __name__ == "__main__":
    main()
