"""Commands that make a page: the map of a collection, its one-page report, and what made a vector."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from dial2vec.cli.group import Renamed, examples, new_path
from dial2vec.cli.options import KINDS, UNTRAINED, WHERE, model_option, or_small
from dial2vec.errors import Dial2vecError

if TYPE_CHECKING:
    from dial2vec.collection.explorer.later import Later

PORT = click.option(
    "--port",
    default=8050,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port of the page; 0 takes any free one.",
)


@click.command(
    epilog=examples("dial2vec explore calls", "dial2vec explore calls --base all-MiniLM-L6-v2 --static map.html")
)
@click.argument("folder", type=click.Path(path_type=Path))
@PORT
@click.option("--static", metavar="FILE", type=new_path, help="Write the page to this file instead.")
@click.option(
    "--base", "--start", cls=Renamed, metavar="NAME", callback=or_small, help="Encoder to compare with, or small."
)
@click.option(
    "--from-scratch", "--anew", cls=Renamed, is_flag=True, help="Make a new map; dialogues may then change place."
)
def explore(folder: Path, port: int, static: Path | None, base: str | None, from_scratch: bool) -> None:
    """Look at a collection on a map, in a browser; Ctrl-C ends it.

    The page begins with the topics, which are found if they are missing or old, and can search, filter, read and
    download (docs/explorer.md). New dialogues are placed on the existing map. Only this machine can open the page.
    """
    show(folder, port=port, static=static, start=base, from_scratch=from_scratch)


def show(
    folder: Path,
    *,
    port: int,
    static: Path | None,
    start: str | None = None,
    from_scratch: bool = False,
    browser: bool = False,
    later: Sequence[Later] = (),
) -> None:
    """Serve the topics and the map of a collection, or write them to a file.

    :param browser: True to open the page in the user's browser.
    """
    from dial2vec.collection.collection_folder import CollectionFolder
    from dial2vec.collection.explorer.curating import can_write
    from dial2vec.collection.explorer.maps import maps_of
    from dial2vec.collection.look import clusters_of

    if static is not None and static.is_dir():
        raise Dial2vecError(f"{static} is a folder; expected a file to write. Name one, such as {static / 'map.html'}.")
    collection = CollectionFolder(folder)
    if can_write(collection):
        clusters_of(collection)
    maps = maps_of(collection, start=start, from_scratch=from_scratch)
    if 2 * len(maps.trained.fitted) < len(collection) and len(maps.trained.fitted) < 50_000:
        fitted = f"The map was made from {len(maps.trained.fitted)} of the {len(collection)} dialogues"
        click.echo(f"{fitted}; `dial2vec explore {folder} --from-scratch` makes one from all", err=True)
    if static is None:
        from dial2vec.collection.explorer.server import serve_page

        serve_page(collection, maps, port=port, say=click.echo, browser=browser, later=later)
        return
    from conversations.progress import waiting
    from dial2vec.collection.explorer.explorer_page import write_page

    with waiting("writing the page"):
        done = write_page(static, collection, maps)
    click.echo(f"{static}: {done.dialogues} dialogues, {done.bytes / 1e6:.1f} MB")
    if done.left_out:
        click.echo(f"{done.left_out} others, drawn at random, were left out: the file would be too large", err=True)
    click.echo("The file holds the dialogues themselves: give it only to people who may read them.")


@click.command(epilog=examples("dial2vec explain calls c-17", "dial2vec explain calls.csv c-17 --output page.html"))
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("dialogue_id", metavar="[ID]", required=False)
@model_option(f"{KINDS} Default: the collection's own, for an export {UNTRAINED}.")
@click.option("--output", metavar="PATH", type=new_path, help="The .html file to write; default: ID.html.")
@click.option("--id", "named", help="The same as ID.")
def explain(source: Path, dialogue_id: str | None, model: str | None, output: Path | None, named: str | None) -> None:
    """Show which turns of a dialogue made its vector.

    The page also shows how its two sides match. SOURCE is a collection, or any export that `look` takes; ID says which
    of its dialogues, if it has several.
    """
    if output is not None and output.suffix.lower() != ".html":
        raise Dial2vecError(f"{output} does not end in .html; expected an .html file. Rename it.")
    from dial2vec.collection.explanation.explanation_page import explain_file

    explain_file(source, dialogue_id=dialogue_id or named, model=model, output=output, say=click.echo)


@click.command(epilog=examples("dial2vec report calls --pdf", "dial2vec report calls --before 2026-05-01"))
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--output", metavar="FILE", type=new_path, help="The .html file to write; default: NAME.html.")
@click.option("--pdf", is_flag=True, help="Also write a .pdf file; needs an installed Chromium, Chrome or Edge.")
@click.option("--paper", default="A4", show_default=True, type=click.Choice(["A4", "Letter"]), help="Size of the PDF.")
@click.option("--before", metavar="DATE", help="Start of the second of two periods to compare; default: a late one.")
@click.option("--since", metavar="DATE", help="Count no dialogues before this date.")
@click.option("--until", metavar="DATE", help="Count only dialogues before this date.")
@WHERE
def report(folder: Path, output: Path | None, pdf: bool, paper: str, **scope: Any) -> None:
    """Write the one-page report of a collection.

    What the dialogues are about, areas with their topics, what changed, and typical dialogues. The page is one file
    without scripts, and prints on one page. Groups are made first if FOLDER has none, or if dialogues were added.
    """
    if output is not None and output.suffix.lower() not in (".html", ".htm"):
        raise Dial2vecError(f"{output} does not end in .html; expected an .html file. Rename it.")
    from conversations.progress import waiting
    from dial2vec.collection.collection_folder import CollectionFolder
    from dial2vec.collection.summary import Scope, write_summary

    collection = CollectionFolder(folder)
    path = output or Path(f"{folder.resolve().name}.html")
    sheet = path.with_suffix(".pdf") if pdf else None
    with waiting("counting dialogues"):
        summary = write_summary(path, collection, Scope(**scope), pdf=sheet, paper=paper)
    click.echo(f"{path}: {summary.dialogues:,} dialogues in {summary.areas} areas and {summary.topics} topics")
    if sheet is not None:
        click.echo(f"{sheet}: the same on one page of {paper}")
    quoting, pages = ("Both quote", "them") if sheet else ("It quotes", "it")
    click.echo(f"{quoting} dialogues: give {pages} only to people who may read them.")
    click.echo(f"Next: dial2vec explore {quote(str(folder))}    every dialogue, on a map")
