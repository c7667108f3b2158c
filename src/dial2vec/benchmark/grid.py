"""All cells of a benchmark, in order: those that are there are kept, and a killed run goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dial2vec.benchmark.cells import Cell, compute_cell, known_cell
from dial2vec.benchmark.systems import SYSTEMS
from dial2vec.benchmark.tables import as_csv, as_markdown
from dial2vec.config import Settings
from dial2vec.errors import SettingsError, did_you_mean
from dial2vec.files import atomic_path, checkout_lock
from dial2vec.pipeline import dvc, ensure_data, targets


@dataclass(frozen=True, slots=True)
class Place:
    """Where a cell is in the grid."""

    corpus: str
    system: str
    seed: int

    def __str__(self) -> str:
        return f"{self.corpus}, {SYSTEMS[self.system].title}, seed {self.seed}"


def run_benchmark(
    root: Path,
    settings: Settings,
    *,
    corpora: Sequence[str] = (),
    systems: Sequence[str] = (),
    seeds: Sequence[int] = (1, 2, 3),
    output: Path,
    say: Callable[[str], None],
) -> list[Path]:
    """Compute what is missing of the grid, and return the tables that were written.

    :param corpora: those of `settings` where none is named.
    :param systems: all of `SYSTEMS` where none is named.
    :param output: folder of the tables.
    :param say: shows lines to the user.
    :raises Dial2vecError: for a corpus or a system that is not known, and where a corpus cannot be scored.
    """
    unknown = [name for name in corpora if name not in settings.corpora]
    if unknown:
        raise SettingsError(f"no stages for {', '.join(unknown)}: put them into `corpora` of params.yaml first.")
    names = list(corpora or settings.corpora)
    grid = places(names, list(systems or SYSTEMS), seeds)
    with checkout_lock(root, "benchmark"):
        ensure_data(root, names)
        dvc(root, "repro", *targets(names, ("validate", "prepare")))
        cells = list(run_cells(root, settings, grid, say=say))
    return write_tables(cells, output)


def places(corpora: Sequence[str], systems: Sequence[str], seeds: Sequence[int]) -> list[Place]:
    """Return the cells to compute, corpus by corpus; a system without a seed of its own has one cell.

    :raises SettingsError: for a system that is none.
    """
    for name in systems:
        if name not in SYSTEMS:
            raise SettingsError(
                f"there is no system {name!r}.{did_you_mean(name, SYSTEMS)} Valid: {', '.join(SYSTEMS)}."
            )
    return [
        Place(corpus, system, seed)
        for corpus in corpora
        for system in systems
        for seed in (seeds if SYSTEMS[system].seeded else seeds[:1])
    ]


def run_cells(root: Path, settings: Settings, grid: Sequence[Place], *, say: Callable[[str], None]) -> Iterator[Cell]:
    """Yield every cell of the grid, computing those that are not there."""
    for number, place in enumerate(grid, start=1):
        head = f"[{number}/{len(grid)}] {place}"
        cell = known_cell(root, place.corpus, place.system, place.seed, settings)
        if cell is None:
            say(f"{head} ...")
            cell = compute_cell(root, place.corpus, place.system, place.seed, settings)
            say(f"{head}: {_in_words(cell)}")
        else:
            say(f"{head}: there already, {_in_words(cell)}")
        yield cell


def write_tables(cells: Sequence[Cell], folder: Path) -> list[Path]:
    """Write `results.csv` and `results.md`, and return where they are."""
    paths = []
    for name, text in (("results.csv", as_csv(cells)), ("results.md", as_markdown(cells))):
        with atomic_path(folder / name) as temporary:
            temporary.write_text(text, encoding="utf-8")
        paths.append(folder / name)
    return paths


def _in_words(cell: Cell) -> str:
    if cell.skipped:
        return f"left out: {cell.skipped}"
    found = cell.scores["both"]
    return (
        f"purity {found['purity']:.2f}, Spearman {found['spearman']:.2f}, MAP {found['map']:.2f} "
        f"({cell.seconds:.0f} s, run {cell.run_id[:8]})"
    )
