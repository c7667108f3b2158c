"""The command by which the dialogues of a topic are used elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dial2vec.cli.group import examples, new_path
from dial2vec.cli.options import filter_options
from dial2vec.errors import Dial2vecError

FORMS = ("openai", "mlflow", "label-studio", "argilla", "labels", "tags", "tables")


@click.command(
    epilog=examples(
        'dial2vec export calls "Lost cards" --as openai --output lost-cards.jsonl',
        "dial2vec export calls 3 7 --as label-studio --sample 200 --output tasks.json",
        "dial2vec export chats --as tags --experiment support-bot",
    )
)
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("topics", metavar="[TOPIC]...", nargs=-1)
@click.option("--as", "form", required=True, type=click.Choice(FORMS), help="Tool or purpose of the dialogues.")
@click.option("--output", metavar="FILE", type=new_path, help="File to write; a folder for --as tables.")
@click.option("--experiment", metavar="NAME", help="MLflow experiment for --as mlflow or tags, instead of a file.")
@click.option("--yes", is_flag=True, help="Write the tags of traces; without it they are only counted.")
@click.option("--undo", is_flag=True, help="Remove the tags from all traces of the experiment.")
@click.option("--area", is_flag=True, help="TOPIC is an area.")
@click.option("--sample", metavar="N", type=click.IntRange(min=1), help="Take N dialogues, drawn at random.")
@click.option("--seed", default=1, show_default=True, type=click.IntRange(min=0), help="Random seed.")
@filter_options
def export(
    folder: Path, topics: tuple[str, ...], form: str, output: Path | None, experiment: str | None, yes: bool,
    undo: bool, **choice: Any,
) -> None:  # fmt: skip
    """Write topics for evaluation, annotation, training, tagging or SQL.

    TOPIC is an id or a name; without one, all topics are taken. The most typical dialogues come first. Tables have the
    whole collection, for DuckDB and pandas.
    """
    from dial2vec.collection.acting import member_records, members_of, write_members
    from dial2vec.collection.collection_folder import CollectionFolder
    from dial2vec.collection.search.filters import Filters
    from dial2vec.collection.tables import write_tables

    if (output is None) == (experiment is None) or (experiment and form not in ("mlflow", "tags")):
        raise Dial2vecError("expected --output FILE, or --experiment NAME with --as mlflow or tags. Give one of them.")
    if (yes or undo) and not (experiment and form == "tags"):
        raise Dial2vecError("found --yes or --undo without --as tags --experiment NAME; expected both. Add them.")
    collection = CollectionFolder(folder)
    if form == "tables" and output is not None:
        if topics or choice["area"] or choice["sample"] or choice["filters"] != Filters():
            raise Dial2vecError(
                "found a choice of dialogues with --as tables; expected none. SQL chooses (docs/sql.md)."
            )
        sizes = write_tables(collection, output)
        click.echo("\n".join(f"{output / name}.parquet: {size:,} rows" for name, size in sizes.items()))
        return
    members = members_of(collection, topics, **choice)
    click.echo(f"{len(members):,} conversations", nl=False)
    if output is not None:
        write_members(collection, members, form, output)
        click.echo(f": {output}")
        return
    from dial2vec.registry.acting import log_evaluation_data, tag_traces

    if form == "mlflow":
        name = ", ".join((folder.resolve().name, *topics))
        size = log_evaluation_data(str(experiment), name, member_records(collection, members, form))
        click.echo(f": evaluation data set {name!r} of {experiment}, {size:,} rows")
    else:
        names = dict(zip(members["dialogue_id"].to_pylist(), members["topic"].to_pylist(), strict=True))
        changed, n = tag_traces(str(experiment), None if undo else names, write=yes)
        click.echo(f": {changed:,} of {n:,} traces {'changed' if yes else 'would change, --yes writes'}")
