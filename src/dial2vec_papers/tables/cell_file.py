"""Cells in one file: for git, or to merge the cells of several machines."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path

from conversations.files import numbered_lines, write_json, write_json_lines
from dial2vec.config import Settings
from dial2vec.errors import ArtifactError
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec_papers.tables.cells import Cell, Place, cell_of, cell_path, known_cell, made_by
from dial2vec_papers.tables.systems import is_system


def take_cells(root: Path, path: Path, settings: Settings) -> int:
    """Merge the cells of a file into the checkout, and return how many were new or added something.

    Only cells of today's settings and splits are taken. A cell that the checkout has already only gains what it lacks:
    its course, or tasks on other data.

    :param path: JSON Lines file; a missing file has no cells.
    :raises ArtifactError: if a line is no cell.
    """
    taken = 0
    for cell in read_cells(path).values():
        if not _is_of_today(root, cell, settings):
            continue
        known = known_cell(root, cell.place, settings)
        if known is not None and not known.left_out:
            records = cell.task_records | known.task_records
            cell = replace(known, task_records=records, course=known.course or cell.course)
        if cell != known:
            write_json(cell_path(root, cell.place), asdict(cell))
            taken += 1
    return taken


def keep_cells(path: Path, cells: Iterable[Cell]) -> None:
    """Add cells to a file, one per line, sorted; a cell replaces the one of the same place.

    Cells that were left out are not kept.

    :raises ArtifactError: if an existing line is no cell.
    """
    kept = read_cells(path) | {cell.place: cell for cell in cells if not cell.left_out}
    write_json_lines(path, (asdict(kept[place]) for place in sorted(kept)))


def read_cells(path: Path) -> dict[Place, Cell]:
    """Return the cells of a file by place; none if the file does not exist.

    :raises ArtifactError: if a line is no cell.
    :raises CorpusError: if the file cannot be read.
    """
    if not path.exists():
        return {}
    cells = {}
    for number, line in numbered_lines(path, "a file of cells"):
        cell = _cell_of_line(line, path, number)
        cells[cell.place] = cell
    return cells


def _cell_of_line(line: str, path: Path, number: int) -> Cell:
    try:
        return cell_of(json.loads(line))
    except (ValueError, TypeError, AttributeError) as error:
        raise ArtifactError(
            f"{path}:{number}: this line is no cell of the tables; expected one "
            "that `dial2vec papers tables --cells` wrote. Take the line out, or name another file."
        ) from error


def _is_of_today(root: Path, cell: Cell, settings: Settings) -> bool:
    artifacts = Artifacts(root, cell.corpus)
    if not is_system(cell.system) or cell.corpus not in settings.corpora or not artifacts.split("test").is_file():
        return False
    return cell.made_by == made_by(artifacts, cell.system, settings, seed=cell.seed)
