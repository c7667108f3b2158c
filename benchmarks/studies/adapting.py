"""What does the adaptation of a collection give, to rankings and to groups? Figures of docs/adapting.md.

    .venv/bin/python benchmarks/studies/adapting.py run sgd woz --archives FOLDER --seeds 1 2 3
    .venv/bin/python benchmarks/studies/adapting.py run sgd --archives FOLDER --encoders trained=artifacts/sgd/model
    .venv/bin/python benchmarks/studies/adapting.py draws sgd woz --archives FOLDER
    .venv/bin/python benchmarks/studies/adapting.py new sgd woz --archives FOLDER
    .venv/bin/python benchmarks/studies/adapting.py table

The corpora are those of topic_corpora.py. Each seed draws 1,000 of 1,500 dialogues, on which the map is fitted and
scored: these figures are transductive. `new` fits the map on one half and scores the other: inductive ones. `draws`
compares small collections of 80 to 500 dialogues before and after, and tries ruinous maps on the guard. Rows go to
adapting.jsonl, and are not computed again.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from conversations.dialogue import Dialogue
from dial2vec.collection.adapting.adaptation import Adaptation
from dial2vec.collection.adapting.fitting import Guard, fit_adaptation
from dial2vec.collection.clustering.levels import areas_of_topics
from dial2vec.collection.clustering.tree import Tree, find_levels
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.maps import centred, fit_map, neighbour_targets, neighbourhood_size
from dial2vec.encoder.nearest import unit_rows
from dial2vec.encoder.protocol import Encoder
from study import add_row, is_known, read_rows
from topic_corpora import CORPORA, read_topics

RESULTS = Path(__file__).with_suffix(".jsonl")
ENCODERS = ("base=all-MiniLM-L6-v2", "general=general")
POOL, DIALOGUES, SIZES, RUINED = 1500, 1000, (80, 100, 150, 250, 500), 250
COLUMNS = {
    "MAP": ("MAP",),
    "topics": ("topics",),
    "NMI / ARI": ("NMI", "ARI"),
    "at the labels' number": ("known NMI", "known ARI"),
    "NMI of areas": ("areas NMI",),
}
Vectors = NDArray[np.float32]


def main() -> None:
    """Measure what is missing, or print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("run", "draws", "new", "table"))
    parser.add_argument("corpora", nargs="*", metavar="CORPUS", help=f"among {', '.join(CORPORA)}")
    parser.add_argument("--archives", type=Path)
    parser.add_argument("--encoders", nargs="+", default=ENCODERS, help="name=folder, each")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    given = parser.parse_args()
    if given.command == "table":
        sys.stdout.write(table())
        return
    for name in given.corpora:
        dialogues = drawn(read_topics(name, given.archives), POOL, 0)
        for kind, _, model in (encoder.partition("=") for encoder in given.encoders):
            encoder = load_encoder(model)
            pool = Pool(dialogues, unit_rows(encoder.encode(dialogues)), encoder)
            for seed in given.seeds:
                MEASURES[given.command](name, kind, pool, seed)


@dataclass(frozen=True)
class Pool:
    """Dialogues with their plain vectors, [n, d]."""

    dialogues: Sequence[Dialogue]
    plain: Vectors
    encoder: Encoder

    def draw(self, most: int, seed: int | list[int]) -> Pool:
        """Return at most so many of the dialogues, in their order."""
        rows = np.sort(np.random.default_rng(seed).permutation(len(self.dialogues))[:most])
        return Pool(self.read(rows), self.plain[rows], self.encoder)

    def read(self, rows: Sequence[int]) -> list[Dialogue]:
        """Return the dialogues of these rows."""
        return [self.dialogues[row] for row in rows]

    def fit(self, seed: int) -> Adaptation:
        """Return the adaptation to these dialogues."""
        return fit_adaptation(self.plain, self.read, self.encoder, seed=seed)


def measure_groups(name: str, kind: str, pool: Pool, seed: int) -> None:
    """Score the plain and the adapted vectors of one draw of dialogues."""
    key = {"study": "groups", "corpus": name, "encoder": kind, "seed": seed}
    if is_known(RESULTS, key):
        return
    some = pool.draw(DIALOGUES, seed)
    for adapted, units in ((False, some.plain), (True, some.fit(seed)(some.plain))):
        figures = scores(units, some.plain, some.dialogues, seed=seed)
        add_row(RESULTS, key | {"adapted": adapted, "dialogues": len(units)} | figures)


def scores(units: Vectors, plain: Vectors, dialogues: Sequence[Dialogue], *, seed: int) -> dict[str, float]:
    """Return the figures of one row, in percent."""
    topics = [dialogue.labels[-1] for dialogue in dialogues]
    levels, known = find_levels(units, plain, seed=seed), Tree(units, plain).cut(len(set(topics)))
    figures = {"MAP": mean_average_precision(units, topics), "topics": int(levels.topics.max()) + 1}
    found = {"": levels.topics, "known ": known}
    for title, groups in found.items():
        figures[f"{title}NMI"] = 100 * normalized_mutual_info_score(topics, groups)
        figures[f"{title}ARI"] = 100 * adjusted_rand_score(topics, groups)
    coarse = [dialogue.labels[0] for dialogue in dialogues]
    if len(dialogues[0].labels) > 1:
        areas = areas_of_topics(levels.topics, levels, figures["topics"])[levels.topics]
        figures["areas NMI"] = 100 * normalized_mutual_info_score(coarse, areas)
    return {title: round(figure, 1) for title, figure in figures.items()}


def mean_average_precision(units: Vectors, labels: Sequence[str]) -> float:
    """Return the mean average precision of dialogues of the same label, in percent."""
    numbers, cosines = np.unique(labels, return_inverse=True)[1], units @ units.T
    np.fill_diagonal(cosines, -2)
    same = numbers[np.argsort(-cosines, axis=1, kind="stable")[:, :-1]] == numbers[:, None]
    precision = same.cumsum(axis=1) / np.arange(1, same.shape[1] + 1)
    hits = same.sum(axis=1)
    return 100 * float(((precision * same).sum(axis=1)[hits > 0] / hits[hits > 0]).mean())


def measure_draws(name: str, kind: str, pool: Pool, seed: int) -> None:
    """Adapt small collections, and try ruinous maps on those of 250 dialogues."""
    for size in SIZES:
        key = {"study": "draws", "corpus": name, "encoder": kind, "seed": seed, "size": size}
        if is_known(RESULTS, key) or size > len(pool.dialogues):
            continue
        some = pool.draw(size, [seed, size])
        labels = [dialogue.labels[-1] for dialogue in some.dialogues]
        before, after = (mean_average_precision(units, labels) for units in (some.plain, some.fit(seed)(some.plain)))
        row = {"before": round(before, 2), "after": round(after, 2)}
        if size == SIZES[-1]:
            row |= {"again": round(agreement(some, seed), 3)}
        if size == RUINED:
            guard = Guard.of(some.plain, some.read, pool.encoder, seed=seed)
            maps = ruinous(some, seed)
            passed = [title for title, ruin in maps.items() if not guard.fallen(guard.figures(ruin))]
            # A map that passed has done no harm if it ranks better than the plain vectors.
            row |= {
                "ruinous": len(maps),
                "passed": {
                    title: round(mean_average_precision(maps[title](some.plain), labels), 2) for title in passed
                },
            }
        add_row(RESULTS, key | row)


def measure_new(name: str, kind: str, pool: Pool, seed: int) -> None:
    """Fit the map on one half of the dialogues, and score the other half before and after."""
    key = {"study": "new", "corpus": name, "encoder": kind, "seed": seed}
    if is_known(RESULTS, key):
        return
    rows = np.random.default_rng(seed).permutation(len(pool.dialogues))
    known, new = (Pool(pool.read(half), pool.plain[half], pool.encoder) for half in np.array_split(rows, 2))
    labels = [dialogue.labels[-1] for dialogue in new.dialogues]
    maps = {"before": new.plain, "after": known.fit(seed)(new.plain), "own": new.fit(seed)(new.plain)}
    add_row(RESULTS, key | {title: round(mean_average_precision(units, labels), 1) for title, units in maps.items()})


MEASURES = {"run": measure_groups, "draws": measure_draws, "new": measure_new}


def agreement(pool: Pool, seed: int) -> float:
    """Return the adjusted Rand index of the topics of nine tenths of the dialogues with the topics of all."""
    known = pool.draw(len(pool.dialogues) * 9 // 10, seed)
    rows = np.sort(np.random.default_rng(seed).permutation(len(pool.dialogues))[: len(known.dialogues)])
    before, after = (find_levels(some.fit(1)(some.plain), some.plain, seed=1).topics for some in (known, pool))
    return float(adjusted_rand_score(before, after[rows]))


def ruinous(pool: Pool, seed: int) -> dict[str, Adaptation]:
    """Return maps that do harm: collapses, targets of other dialogues, style instead of topic, and chance."""
    units, mean = centred(pool.plain)
    n, d = units.shape
    rng, axes = np.random.default_rng(seed), np.linalg.svd(units, full_matrices=False)[2]
    targets = neighbour_targets(units, k=neighbourhood_size(n))
    letters = [sum(len(turn.text) for turn in dialogue.turns) for dialogue in pool.dialogues]
    lengths, turn = np.argsort(np.argsort(letters)) * 6 // n, np.arange(n) % 7
    style, wheel = (
        unit_rows(np.stack([units[parts == part].mean(axis=0) for part in np.unique(parts)]))[parts]
        for parts in (lengths, turn)
    )
    maps = {f"{kept} directions": axes[:kept].T @ axes[:kept] for kept in (1, 2)}
    for rank in (1, 2, 3, 4, 6):
        some = rng.normal(size=(d, rank))
        maps[f"random, rank {rank}"] = some @ some.T
    for ridge in (0.01, 0.03, 0.1):
        maps[f"shuffled, ridge {ridge}"] = fit_map(units, targets[rng.permutation(n)], ridge=ridge, identity=0.0)
        maps[f"lengths, ridge {ridge}"] = fit_map(units, style, ridge=ridge, identity=0.0)
        maps[f"turns of a wheel, ridge {ridge}"] = fit_map(units, wheel, ridge=ridge, identity=0.0)
    maps["weakest directions"] = axes[-min(n, d) // 4 :].T @ axes[-min(n, d) // 4 :]
    maps["strongest directions squared"] = axes.T @ np.diag(np.linspace(1, 0, len(axes)) ** 200) @ axes
    maps["inverted"] = np.linalg.pinv(units.T @ units / n + 1e-6 * np.eye(d))
    maps["half forgotten"] = np.diag(np.repeat([1.0, 0.0], [d // 64, d - d // 64]))
    return {name: Adaptation(mean, weight.astype(np.float32), n) for name, weight in maps.items()}


def drawn(dialogues: Sequence[Dialogue], most: int, seed: int) -> list[Dialogue]:
    """Return at most so many dialogues, in their order."""
    return [dialogues[row] for row in np.sort(np.random.default_rng(seed).permutation(len(dialogues))[:most])]


def table() -> str:
    """Return Markdown tables of the kept rows: means over seeds, of the plain and of the adapted vectors."""
    rows = read_rows(RESULTS)
    groups = [row for row in rows if row["study"] == "groups"]
    lines = [f"| corpus | encoder | {' | '.join(COLUMNS)} |", f"|---|---|{'---|' * len(COLUMNS)}"]
    kept = [(row["corpus"], row["encoder"]) for row in groups]
    for corpus, kind in dict.fromkeys(kept):
        lines.append(_line(corpus, kind, [row for row in groups if (row["corpus"], row["encoder"]) == (corpus, kind)]))
    for kind in ("base", "general"):
        lines.append(_line("mean", kind, [row for row in groups if row["encoder"] == kind]))
    lines += ["", "| new dialogues | encoder | plain | map of others | own map |", "|---|---|---|---|---|"]
    new = [row for row in rows if row["study"] == "new"]
    for corpus, kind in dict.fromkeys((row["corpus"], row["encoder"]) for row in new):
        own = [row for row in new if (row["corpus"], row["encoder"]) == (corpus, kind)]
        cells = (f"{statistics.mean(row[title] for row in own):.1f}" for title in ("before", "after", "own"))
        lines.append(f"| {corpus} | {kind} | {' | '.join(cells)} |")
    draws = [row for row in rows if row["study"] == "draws"]
    below = [f"{row['corpus']} {row['size']}: {row['before']} -> {row['after']}" for row in draws if row["after"] < row["before"] - 0.05]  # fmt: skip  # noqa: E501
    tried, passed = sum(row.get("ruinous", 0) for row in draws), [row["passed"] for row in draws if row.get("passed")]
    again = statistics.mean(row["again"] for row in draws if "again" in row)
    lines += ["", f"{len(draws)} draws, below: {below}; {tried} ruinous maps, passed: {passed}; topics of nine tenths: ARI {again:.2f}"]  # fmt: skip  # noqa: E501
    return "\n".join([*lines, ""])


def _line(corpus: str, kind: str, rows: Sequence[dict[str, Any]]) -> str:
    """Return a row of the table, each cell the means of the plain and of the adapted vectors."""
    cells = []
    for titles in COLUMNS.values():
        sides = [[row for row in rows if row["adapted"] == adapted and titles[0] in row] for adapted in (False, True)]
        sides = [" / ".join(f"{statistics.mean(row[title] for row in own):.1f}" for title in titles) for own in sides if own]  # fmt: skip  # noqa: E501
        cells.append(" → ".join(sides))
    return f"| {corpus} | {kind} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
