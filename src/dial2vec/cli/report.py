"""The command that writes a collection on one sheet."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

import click

from dial2vec.cli.filters import WHERE
from dial2vec.cli.group import examples
from dial2vec.errors import Dial2vecError


@click.command(epilog=examples("dial2vec report calls --pdf", "dial2vec report calls --before 2026-05-01"))
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--output", metavar="FILE", type=click.Path(path_type=Path), help="The .html file to write; default: NAME.html."
)
@click.option("--pdf", is_flag=True, help="Also write a .pdf file; needs an installed Chromium, Chrome or Edge.")
@click.option("--paper", default="A4", show_default=True, type=click.Choice(["A4", "Letter"]), help="Size of the PDF.")
@click.option("--before", metavar="DATE", help="Start of the second of two periods to compare; default: a late one.")
@click.option("--since", metavar="DATE", help="Count no dialogues before this date.")
@click.option("--until", metavar="DATE", help="Count only dialogues before this date.")
@WHERE
def report(
    folder: Path,
    output: Path | None,
    pdf: bool,
    paper: str,
    before: str | None,
    since: str | None,
    until: str | None,
    where: tuple[str, ...],
) -> None:
    """Write a collection on one sheet, for a meeting.

    What the dialogues are about, areas with their topics, what changed, and typical dialogues. The page is one file
    without scripts, and prints on one sheet. Groups are made first if FOLDER has none, or if dialogues were added.
    """
    if output is not None and output.suffix.lower() not in (".html", ".htm"):
        raise Dial2vecError(f"{output} does not end in .html; expected an .html file. Rename it.")
    from conversations.progress import bar_to
    from dial2vec.collection.collection_folder import CollectionFolder
    from dial2vec.collection.summary import Scope, write_summary

    collection = CollectionFolder(folder)
    path = output or Path(f"{folder.resolve().name}.html")
    sheet = path.with_suffix(".pdf") if pdf else None
    with bar_to(None, "dialogues read", unit="") as bar:
        summary = write_summary(
            path, collection, Scope(before, since, until, where), pdf=sheet, paper=paper, done=bar.update
        )
    click.echo(f"{path}: {summary.dialogues:,} dialogues in {summary.areas} areas and {summary.topics} topics")
    if sheet is not None:
        click.echo(f"{sheet}: the same on one sheet of {paper}")
    click.echo("Both quote dialogues" if sheet else "It quotes dialogues", nl=False)
    click.echo(
        ": give them only to people who may read them." if sheet else ": give it only to people who may read them."
    )
    click.echo(f"Next: dial2vec explore {quote(str(folder))}    every dialogue, on a map")
