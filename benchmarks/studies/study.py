"""What studies share: their command line, rows that are kept as JSON Lines, and figures over seeds in a table."""

from __future__ import annotations

import argparse
import json
import logging
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dial2vec import telemetry
from dial2vec.config import Settings
from dial2vec.evaluation import TASKS
from dial2vec.files import find_root
from dial2vec.params import load_settings

Row = dict[str, Any]


def run_study(
    description: str | None,
    measure: Callable[[argparse.Namespace, Path, Settings], None],
    *,
    table: Callable[[], str],
    options: Callable[[argparse.ArgumentParser], object] = lambda run: None,
) -> None:
    """Measure for the command `run CORPUS...`, or print the table for the command `table`.

    :param measure: function of the options, the project's folder and its settings.
    :param table: function that returns the table of the kept rows.
    :param options: function that adds options to `run`.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run")
    run.add_argument("corpora", nargs="+")
    options(run)
    commands.add_parser("table")
    arguments = parser.parse_args()
    if arguments.command == "table":
        sys.stdout.write(table())
        return
    telemetry.switch_off()
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    root = find_root()
    measure(arguments, root, load_settings(root / "params.yaml"))


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a JSON Lines file; none if it does not exist."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def is_known(path: Path, key: Mapping[str, Any]) -> bool:
    """Return whether some row of a file has these values."""
    return any(key.items() <= row.items() for row in read_rows(path))


def add_row(path: Path, row: Mapping[str, Any]) -> None:
    """Append a row to a file, and print it."""
    line = json.dumps(row) + "\n"
    with path.open("a") as handle:
        handle.write(line)
    sys.stdout.write(line)
    sys.stdout.flush()


def table_of_ways(rows: Sequence[Row]) -> str:
    """Return a Markdown table: a row for each way, a column for each corpus, mean ± sd over seeds.

    Only the last row of a corpus, way and seed counts: older ones had other settings, splits or code.
    """
    rows = list({(row["corpus"], row["way"], row.get("seed")): row for row in rows}.values())
    corpora = list(dict.fromkeys(row["corpus"] for row in rows))
    lines = [f"| | {' | '.join(corpora)} |", f"|---|{'---|' * len(corpora)}"]
    for way in dict.fromkeys(row["way"] for row in rows):
        cells = []
        for corpus in corpora:
            ours = [row for row in rows if (row["corpus"], row["way"]) == (corpus, way)]
            figures = [over_seeds([row[task] for row in ours]) for task in TASKS] if ours else ["–"]
            cells.append(" / ".join(figures) + (f" ({len(ours)} seeds)" if len(ours) > 1 else ""))
        lines.append(f"| {way} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def over_seeds(values: Sequence[float]) -> str:
    """Return mean and standard deviation of a figure; the mean alone for one seed."""
    return f"{statistics.mean(values):.2f}" + (f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else "")
