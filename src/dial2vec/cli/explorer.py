"""The command that shows a collection on a page."""

from __future__ import annotations

from pathlib import Path

import click

from dial2vec.cli.group import examples


@click.command(
    epilog=examples("dial2vec explore calls", "dial2vec explore calls --start all-MiniLM-L6-v2 --static map.html")
)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--port", default=8050, show_default=True, type=click.IntRange(0, 65535), help="0 is any free one.")
@click.option("--static", metavar="FILE", type=click.Path(path_type=Path), help="Write the page as one file instead.")
@click.option("--start", metavar="NAME", help="Encoder to compare with, such as the one that was trained from.")
@click.option("--anew", is_flag=True, help="Make a new map: everything may lie elsewhere than on the last one.")
def explore(folder: Path, port: int, static: Path | None, start: str | None, anew: bool) -> None:
    """Look at a collection on a map, in a browser; Ctrl-C ends it.

    To search, select, read and download (docs/explorer.md). New dialogues are placed on the map that is there. Nobody
    but this machine is answered.
    """
    from dial2vec.collection import Collection
    from dial2vec.collection.explorer.maps import maps_of
    from dial2vec.errors import Dial2vecError

    if static is not None and static.is_dir():
        raise Dial2vecError(f"{static} is a folder; expected a file to write. Name one, such as {static / 'map.html'}.")
    collection = Collection(folder)
    maps = maps_of(collection, start=start, anew=anew)
    if 2 * len(maps.trained.fitted) < len(collection) and len(maps.trained.fitted) < 50_000:
        known = f"The map was made of {len(maps.trained.fitted)} of the {len(collection)} dialogues"
        click.echo(f"{known}; `dial2vec explore {folder} --anew` makes one of all", err=True)
    if static is None:
        from dial2vec.collection.explorer.server import serve

        serve(collection, maps, port=port, say=click.echo)
        return
    from dial2vec.collection.explorer.explorer_page import write_page

    done = write_page(static, collection, maps)
    click.echo(f"{static}: {done.dialogues} dialogues, {done.bytes / 1e6:.1f} MB")
    if done.left_out:
        click.echo(f"{done.left_out} more would make it too large, and were left out by lot", err=True)
    click.echo("The dialogues are in it as they are: give it to nobody who may not read them.")
