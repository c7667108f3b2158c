"""Commands that show the groups of a collection with their metadata and over time, and what changed."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click

from conversations.words import mean, printable
from dial2vec.cli.group import examples
from dial2vec.cli.options import WHERE
from dial2vec.cli.table import fitted, width
from dial2vec.errors import Dial2vecError

if TYPE_CHECKING:
    from dial2vec.collection.changes import GroupChanges
    from dial2vec.collection.changes.grouped import Record
    from dial2vec.collection.changes.over_time import Period
    from dial2vec.collection.collection_folder import CollectionFolder

# Widths of the table, in characters.
NAME, NUMBER, SHARE = 32, 15, 10
KEY = "Show this key of the metadata; may be repeated. Default: all with numbers or few different values."


@click.command(epilog=examples("dial2vec groups calls", "dial2vec groups calls --over week"))
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--over", type=click.Choice(["day", "week", "month"]), help="Show the share of each group by period.")
@click.option("--key", "keys", multiple=True, metavar="KEY", help=KEY)
@WHERE
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV instead of a table.")
def groups(
    folder: Path, over: Period | None, keys: tuple[str, ...], where: tuple[str, ...], as_json: bool, as_csv: bool
) -> None:
    """Show the groups with their metadata, or over time.

    Every group has its size, its share, and the mean of each number of the metadata; values and means that differ
    clearly from those of all other dialogues stand below it. With --over, every period is compared with all before it.
    """
    if as_json and as_csv:
        raise Dial2vecError("found both --json and --csv; expected one of them. Leave one out.")
    if over is not None and keys:
        raise Dial2vecError("found --key with --over, which shows no metadata; expected one of them. Leave one out.")
    from conversations.progress import waiting
    from dial2vec.collection.changes.over_time import shares_over_time
    from dial2vec.collection.changes.overview import overview
    from dial2vec.collection.collection_folder import CollectionFolder
    from dial2vec.collection.search.filters import Filters

    collection, filters = CollectionFolder(folder), Filters(where=where)
    if over is not None:
        with waiting("counting dialogues"):
            periods = shares_over_time(collection, over, filters=filters)
        click.echo(_plain(periods, as_csv=as_csv) if as_json or as_csv else _over_time(periods, over))
        return
    with waiting("counting dialogues"):
        table, marks = overview(collection, keys=keys, filters=filters)
    if as_json or as_csv:
        click.echo(_plain(table, as_csv=as_csv))
        return
    click.echo(_overview(table))
    if marks:
        click.echo("* differs clearly from all other dialogues, with all tries counted (5 %)")


@click.command(
    epilog=examples(
        "dial2vec compare calls", "dial2vec compare calls --before 2026-05-01", "dial2vec compare calls-april calls-may"
    )
)
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("other", required=False, type=click.Path(path_type=Path))
@click.option("--before", metavar="DATE", help="End of the first period, which does not include it; default: --after.")
@click.option("--after", metavar="DATE", help="Start of the second period; default: --before.")
@click.option("--since", metavar="DATE", help="Start of the first period; default: the earliest dialogue.")
@click.option("--until", metavar="DATE", help="End of the second period, which does not include it.")
@click.option("--key", "keys", multiple=True, metavar="KEY", help=KEY)
@WHERE
@click.option("--seed", default=1, show_default=True, type=click.IntRange(min=0), help="Random seed.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def compare(
    folder: Path,
    other: Path | None,
    keys: tuple[str, ...],
    where: tuple[str, ...],
    seed: int,
    as_json: bool,
    **span: str | None,
) -> None:
    """Show what changed between two periods, or two collections.

    Without dates, the latest quarter of the dialogues, or the last addition, is compared with all before.

    Groups that grew, shrank, are new or gone; metadata and terms that changed; and dialogues that show it. A second
    collection has the same encoder; its dialogues go to the groups of the first.
    """
    from conversations.progress import bar_to
    from dial2vec.collection.changes import compare_groups
    from dial2vec.collection.collection_folder import CollectionFolder
    from dial2vec.collection.search.filters import Filters

    first, second = CollectionFolder(folder), None if other is None else CollectionFolder(other)
    with bar_to(None, "dialogues read", unit="") as bar:
        filters = Filters(where=where)
        changes = compare_groups(first, second, keys=keys, filters=filters, seed=seed, done=bar.update, **span)
    if as_json:
        parts = [f'"{name}": {_plain(table, as_csv=False)}' for name, table in changes.records.items()]
        sizes = f'"n_before": {changes.n_before}, "n_after": {changes.n_after}'
        click.echo(f'{{"since": {json.dumps(changes.since)}, {sizes}, {", ".join(parts)}}}')
        return
    if span["before"] is None and span["after"] is None and second is None:
        click.echo(f"The latest dialogues, from {changes.since} on, are compared with all before.")
    click.echo(f"{changes.n_before:,} dialogues before, {changes.n_after:,} after")
    click.echo(_comparison(changes, {"before": first, "after": second or first}))


def _plain(table: Sequence[Record], *, as_csv: bool) -> str:
    """Return a table as CSV, or as a JSON list of records; numbers that are not defined are missing."""
    rows: list[dict[str, object]] = [
        {name: None if cell != cell else cell for name, cell in row.items()} for row in table
    ]
    if not as_csv:
        return json.dumps(rows, ensure_ascii=False, default=datetime.isoformat)
    from dial2vec.collection.formulas import csv_lines

    names = list(rows[0]) if rows else []
    lines: list[list[object]] = [[*names]]
    for row in rows:
        period = row.get("period")
        dated = row | {"period": period.date()} if isinstance(period, datetime) else row
        lines.append([dated[name] for name in names])
    return "\n".join(csv_lines([line]).rstrip("\r\n") for line in lines)


def _overview(table: Sequence[Record]) -> str:
    """Return the groups, largest first, with as many numbers of the metadata as fit, and what stands out."""
    room = max(1, (width() - NAME - 21) // NUMBER)
    keys = [name.removeprefix("mean.") for name in (table[0] if table else ()) if name.startswith("mean.")][:room]
    heads = "".join(f"{fitted(key, NUMBER - 2):>{NUMBER}}" for key in keys)
    lines = [f"{'id':>4} {'size':>7} {'share':>6}  {'name':<{NAME}}{heads}"]
    for row in table:
        numbers = "".join(f"{_spread(row[f'mean.{key}'], row[f'sd.{key}']):>{NUMBER}}" for key in keys)
        lines.append(
            f"{row['id']:>4} {row['size']:>7,} {row['share']:>6.1%}  {fitted(row['name'], NAME):<{NAME}}{numbers}"
        )
        lines += _indented(f"* {row['stands_out']}") if row["stands_out"] else []
    return "\n".join(line.rstrip() for line in lines)


def _indented(text: str) -> list[str]:
    return textwrap.wrap(
        printable(text), max(80, width()), initial_indent=" " * 21, subsequent_indent=" " * 23, break_long_words=False
    )


def _spread(middle: float, sd: float) -> str:
    return "-" if math.isnan(middle) else mean(middle) + ("" if math.isnan(sd) else f" ± {mean(sd)}")


def _over_time(table: Sequence[Record], over: Period) -> str:
    """Return the share of each group in the last periods that fit, then all clear changes, the latest first."""
    form = "%Y-%m" if over == "month" else "%Y-%m-%d"
    of_groups = [list(rows) for _, rows in groupby(table, key=lambda row: row["group"])]
    last = slice(-max(1, (width() - NAME - 6) // SHARE), None)
    heads = "".join(f"{row['period'].strftime(form):>{SHARE + 1}}" for row in of_groups[0][last])
    lines = [f"{'id':>4}  {'name':<{NAME}}{heads}"]
    for rows in sorted(of_groups, key=lambda rows: -sum(row["size"] for row in rows)):
        shares = "".join(f"{row['share']:>{SHARE + 1}.1%}" for row in rows[last])
        lines.append(f"{rows[0]['group']:>4}  {fitted(rows[0]['name'], NAME):<{NAME}}{shares}")
    clear = sorted((row for row in table if row["change"]), key=lambda row: row["p"])
    clear.sort(key=lambda row: row["period"], reverse=True)
    lines.append("Clear changes, each period against all before it, with all tries counted (5 %):")
    for row in clear:
        interval = row["difference_low"], row["difference_high"]
        words = _change(row["change"], row["before"], row["share"], interval, row["p_adjusted"])
        lines.append(f"  {row['period'].strftime(form)}  {fitted(row['name'], NAME)} ({row['group']}) {words}")
    return "\n".join(lines if clear else [*lines, "  none"])


def _change(change: str, before: float, after: float, interval: tuple[float, float], p: float) -> str:
    """Return a change in words: "grew from 4% to 9% (+2.0 to +7.6 points, p 0.003)", "fell from 3.9 to 3.3 (...)"."""
    from dial2vec.collection.changes.overview import moved

    of_means = change in ("rose", "fell")
    low, high = (mean(end) if of_means else f"{100 * end:+.1f}" for end in interval)
    return f"{moved(change, before, after)} ({low} to {high}{'' if of_means else ' points'}, {_p(p)})"


def _p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p {p:.3f}"


def _comparison(changes: GroupChanges, collections: dict[str, CollectionFolder]) -> str:
    """Return the clear changes in sentences, each with dialogues that show it.

    :param collections: collection of the side "before", and of the side "after".
    """
    lines: list[str] = []
    for name, title in (("groups", "Groups"), ("metadata", "Metadata"), ("terms", "Terms within groups")):
        clear = [row for row in changes.records[name] if row["change"]]
        lines.append(f"{title}: {len(clear) or 'no'} clear change{'s' * (len(clear) != 1)}")
        for row in clear:
            lines.append(f"  {_sentence(row)}")
            shown = name.removesuffix("s"), _what(row), row["group"]
            for example in changes.records["dialogues"]:
                if (example["kind"], example["what"], example["group"]) == shown:
                    lines.append(_dialogue(example, collections[example["side"]], row.get("term", "")))
    return "\n".join(lines)


def _what(row: Record) -> str:
    if "term" in row:
        return str(row["term"])
    return "" if "key" not in row else row["key"] + (f" = {row['value']}" if isinstance(row["value"], str) else "")


def _sentence(row: Record) -> str:
    if row["group"] is None:
        group = "all dialogues" if "key" in row else fitted(row["name"], NAME)
    else:
        group = f"{fitted(row['name'], NAME)} ({row['group']})"
    subject = group + (f": {printable(_what(row))}" if _what(row) else "")
    interval = row["low"], row["high"]
    return f"{subject} {_change(row['change'], row['before'], row['after'], interval, row['p_adjusted'])}"


def _dialogue(example: Record, collection: CollectionFolder, term: str) -> str:
    """Return the id of a dialogue and its opening, or its first turn with a term."""
    [dialogue] = collection.dialogues([collection.row(example["dialogue_id"])])
    having = [turn.text for turn in dialogue.turns if term and term in turn.text.lower()]
    text = having[0] if having else " / ".join(turn.text for turn in dialogue.turns[:3])
    id = example["dialogue_id"]
    return f"      {printable(id)}  {fitted(text, width() - 8 - len(id), least=60)}"
