"""The command `import`: exports of other tools become dialogues."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from conversations.options import FORMATS
from dial2vec.cli.group import examples, new_path
from dial2vec.errors import Dial2vecError
from dial2vec.files import find_root

if TYPE_CHECKING:
    from conversations.options import Options
    from conversations.redaction import Masks


def _list_known(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from conversations.explaining import known_exports

        click.echo(known_exports())
        ctx.exit()


@click.command(
    "import",
    epilog=examples(
        "dial2vec import may.csv --name calls --dry-run",
        "dial2vec import *.csv --output calls.jsonl --redact",
        "dial2vec import tickets.json --output calls.jsonl --where 'public == true' --explain",
    ),
)
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--name", help="Corpus of the project to import into: data/NAME.")
@click.option("--output", metavar="FILE", type=new_path, help="File to import into, in any folder.")
@click.option("--recipe", metavar="NAME|FILE", help="Recipe to read by; 'none' guesses; default: the one that fits.")
@click.option(
    "--known", is_flag=True, is_eager=True, expose_value=False, callback=_list_known, help="List the supported exports."
)
@click.option(
    "--format", "file_format", type=click.Choice(list(FORMATS)), help="Default: guessed from name and content."
)
@click.option("--id", "dialogue_id", metavar="COLUMN", help="Column of the dialogue's id, or a path such as call.id.")
@click.option("--speaker", metavar="COLUMN", help="Column of the speaker, or a path such as from.user.name.")
@click.option("--text", metavar="COLUMN", help="Column of the turn's text, or a path.")
@click.option("--label", "labels", metavar="COLUMN", multiple=True, help="Column of a label; may be repeated.")
@click.option("--time", metavar="COLUMN", help="Column that the turns of a dialogue are sorted by, or a path.")
@click.option(
    "--turns", metavar="COLUMN", help="Column that holds a whole dialogue, or a path such as results[].lines[]."
)
@click.option("--where", metavar="CONDITION", multiple=True, help="Read only rows or turns such as 'public == true'.")
@click.option("--drop", metavar="CONDITION", multiple=True, help="Leave out rows or turns such as 'type == note'.")
@click.option("--keep", metavar="KINDS", default="", help="Read non-speech messages, such as note,system, as turns.")
@click.option(
    "--speaker-of-blank", "blank_speaker", metavar="NAME", help="Speaker of turns without one; default: left out."
)
@click.option(
    "--join", metavar="SECONDS", type=click.FloatRange(min=0), help="Join turns of one speaker this close together."
)
@click.option(
    "--pause",
    metavar="HOURS",
    type=click.FloatRange(min=0),
    help="Begin a new dialogue after this long without a turn; default: 8 in a chat of months, 0 elsewhere.",
)
@click.option("--parts", is_flag=True, help="Conversations go on in other files: join those with the same id.")
@click.option("--table", help="Sheet of a workbook, or table of a database; default: all sheets, or the only table.")
@click.option("--delimiter", help="Character between the cells of a table, such as ';' or 'tab'.")
@click.option("--encoding", help="Encoding of the text, such as utf-8, cp1252 or utf-16.")
@click.option("--header/--no-header", default=True, help="Without a header row, columns are named 1, 2, ...")
@click.option("--merge-turns/--keep-turns", default=False, help="Join consecutive turns of one speaker; default: keep.")
@click.option("--sample", metavar="N", type=click.IntRange(min=1), help="Import N dialogues, drawn at random.")
@click.option("--redact", is_flag=True, help="Mask e-mail addresses, phone and card numbers and speakers' names.")
@click.option("--redact-name", "names", metavar="NAME", multiple=True, help="Mask this name too; may be repeated.")
@click.option(
    "--phone-country", "countries", metavar="CC", multiple=True, help="Mask national numbers of CC; default: US, GB."
)
@click.option("--explain", is_flag=True, help="Show which field became what, for the first records.")
@click.option("--save-recipe", metavar="FILE", type=new_path, help="Write what was understood as a recipe.")
@click.option("--dry-run", is_flag=True, help="Show what would be imported and write nothing.")
@click.option("--replace", is_flag=True, help="Replace an existing file even if this export did not write it.")
@click.option("--new-reading", is_flag=True, help="Allow another reading than that of the corpus's earlier files.")
def import_(
    sources: tuple[Path, ...],
    name: str | None,
    output: Path | None,
    sample: int | None,
    explain: bool,
    save_recipe: Path | None,
    dry_run: bool,
    replace: bool,
    new_reading: bool,
    **reading: Any,
) -> None:
    """Import your exports as a corpus of the project, or into a file.

    Give --name or --output. SOURCE is a file, a folder, or an address such as hf:OWNER/NAME, mlflow:EXPERIMENT or
    s3://...: exports of some 350 kinds (--known), tables, JSON, Parquet, chats, transcripts, captions, workbooks, Word
    documents, zip archives, databases. What is not known is guessed; the summary shows how it was read
    (docs/import.md).
    """
    from conversations.explaining import refusal
    from dial2vec.errors import CorpusError
    from dial2vec.project.import_export import ImportSettings, import_export
    from dial2vec.project.import_files import import_files

    if (name is None) == (output is None):
        raise Dial2vecError(
            f"found {'neither --name nor' if name is None else 'both --name and'} --output; expected --name CORPUS in "
            "a project, or --output FILE.jsonl in any folder. Give one of them."
        )
    settings = ImportSettings(
        options=options_of(reading),
        masks=masks_of(reading),
        merge_turns=reading["merge_turns"],
        sample=sample,
        explain=explain,
        recipe=save_recipe,
        dry_run=dry_run,
        replace=replace,
    )
    try:
        if output is not None:
            import_files(sources, output, settings, say=click.echo)
        for source in sources if name else ():
            root = find_root()
            import_export(root, source, corpus=name or "", settings=settings, new_reading=new_reading, say=click.echo)
    except CorpusError as error:
        if explain and (shown := refusal(error)):
            click.echo(f"{shown}\n")
        raise


def options_of(reading: dict[str, Any]) -> Options:
    """Return how to read an export, from the options of the command."""
    from conversations.options import Options

    keep = tuple(filter(None, (kind.strip().lower() for kind in reading["keep"].split(","))))
    given = reading | {"format": reading["file_format"], "keep": keep}
    return Options(**{field.name: given[field.name] for field in fields(Options)})


def masks_of(reading: dict[str, Any]) -> Masks | None:
    """Return what to mask, from the options of the command; None for nothing."""
    from conversations.redaction import COUNTRIES, Masks

    names, countries = reading["names"], reading["countries"]
    wanted = reading["redact"] or names or countries
    return Masks(names=names, countries=countries or COUNTRIES) if wanted else None
