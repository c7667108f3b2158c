"""The command that shows a collection on a page."""

from __future__ import annotations

from pathlib import Path

import click

from dial2vec.cli.group import examples
from dial2vec.cli.model import or_small
from dial2vec.errors import Dial2vecError

PORT = click.option(
    "--port",
    default=8050,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port of the page; 0 takes any free one.",
)


@click.command(
    epilog=examples("dial2vec explore calls", "dial2vec explore calls --start all-MiniLM-L6-v2 --static map.html")
)
@click.argument("folder", type=click.Path(path_type=Path))
@PORT
@click.option("--static", metavar="FILE", type=click.Path(path_type=Path), help="Write the page to this file instead.")
@click.option(
    "--start", metavar="NAME", callback=or_small, help="Encoder to compare with, such as the start, or small."
)
@click.option("--anew", "from_scratch", is_flag=True, help="Make a new map; dialogues may then change place.")
def explore(folder: Path, port: int, static: Path | None, start: str | None, from_scratch: bool) -> None:
    """Look at a collection on a map, in a browser; Ctrl-C ends it.

    The page begins with the topics, which are found if they are missing or old, and can search, filter, read and
    download (docs/explorer.md). New dialogues are placed on the existing map. Only this machine can open the page.
    """
    show(folder, port=port, static=static, start=start, from_scratch=from_scratch)


def show(
    folder: Path,
    *,
    port: int,
    static: Path | None,
    start: str | None = None,
    from_scratch: bool = False,
    browser: bool = False,
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
        click.echo(f"{fitted}; `dial2vec explore {folder} --anew` makes one from all", err=True)
    if static is None:
        from dial2vec.collection.explorer.server import serve_page

        serve_page(collection, maps, port=port, say=click.echo, browser=browser)
        return
    from dial2vec.collection.explorer.explorer_page import write_page

    done = write_page(static, collection, maps)
    click.echo(f"{static}: {done.dialogues} dialogues, {done.bytes / 1e6:.1f} MB")
    if done.left_out:
        click.echo(f"{done.left_out} others, drawn at random, were left out: the file would be too large", err=True)
    click.echo("The file holds the dialogues themselves: give it only to people who may read them.")
