"""Cells in one file: to be kept in git, or brought together from the machines that computed them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path

from dial2vec.config import Settings
from dial2vec.errors import ArtifactError
from dial2vec.files import atomic_path, write_json
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.research.tables.cells import Cell, cell_of, cell_path, known_cell, made_by
from dial2vec.research.tables.systems import ALL

Name = tuple[str, str, int]


def take_cells(root: Path, path: Path, settings: Settings) -> int:
    """Put the cells of a file to those of the checkout, and return how many were new there or had something to add.

    Only what today's settings on today's splits would give again is taken. Where a cell is there already, what the file
    has beside it, a course or tasks on other data, is added.

    :param path: JSON Lines; one that is not there has none.
    :raises ArtifactError: when a line is no cell.
    """
    taken = 0
    for cell in read_cells(path).values():
        if not _is_of_today(root, cell, settings):
            continue
        known = known_cell(root, cell.corpus, cell.system, cell.seed, settings)
        if known is not None and not known.left_out:
            records = cell.task_records | known.task_records
            cell = replace(known, task_records=records, course=known.course or cell.course)
        if cell != known:
            write_json(cell_path(root, cell.corpus, cell.system, cell.seed), asdict(cell))
            taken += 1
    return taken


def keep_cells(path: Path, cells: Iterable[Cell]) -> None:
    """Add cells to a file, a line each, sorted; a cell takes the place of the one of its name.

    What had to be left out is not kept.

    :raises ArtifactError: when a line that is there is no cell.
    """
    kept = read_cells(path) | {_name(cell): cell for cell in cells if not cell.left_out}
    with atomic_path(path) as temporary:
        lines = (json.dumps(asdict(kept[name])) for name in sorted(kept))
        temporary.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def read_cells(path: Path) -> dict[Name, Cell]:
    """Return the cells of a file by corpus, system and seed; none where there is no file.

    :raises ArtifactError: when a line is no cell, or the file cannot be read.
    """
    if not path.exists():
        return {}
    found = {}
    try:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            cell = _cell_of_line(line, path, number)
            found[_name(cell)] = cell
    except (OSError, UnicodeDecodeError) as error:
        raise ArtifactError(f"{path} cannot be read: {error}. Give a file of cells, or one to be written.") from error
    return found


def _cell_of_line(line: str, path: Path, number: int) -> Cell:
    try:
        return cell_of(json.loads(line))
    except (ValueError, TypeError, AttributeError) as error:
        raise ArtifactError(
            f"{path}:{number}: this line is no cell of the tables; expected one "
            "that `dial2vec tables --cells` wrote. Take the line out, or name another file."
        ) from error


def _is_of_today(root: Path, cell: Cell, settings: Settings) -> bool:
    artifacts = Artifacts(root, cell.corpus)
    if cell.system not in ALL or cell.corpus not in settings.corpora or not artifacts.split("test").is_file():
        return False
    return cell.made_by == made_by(artifacts, cell.system, settings, seed=cell.seed)


def _name(cell: Cell) -> Name:
    return cell.corpus, cell.system, cell.seed
