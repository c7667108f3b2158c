"""The command from an export to the open map."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Any

import click

from dial2vec.cli.clusters import say_changes
from dial2vec.cli.explorer import PORT, show
from dial2vec.cli.group import examples, new_path
from dial2vec.cli.importing import import_, masks_of, options_of
from dial2vec.cli.options import NO_ADAPT, model_option
from dial2vec.encoder.names import GENERAL, untrained
from dial2vec.errors import CorpusError, Dial2vecError
from dial2vec.files import find_root

# Options of `import` that say where to write, or that are its own here.
OWN = {"sources", "name", "output", "sample", "dry_run", "replace", "known", "explain", "save_recipe", "new_reading"}


@click.command(
    epilog=examples(
        "dial2vec look --sample",
        "dial2vec look calls.csv",
        "dial2vec look calls.csv --sample 2000",
        "dial2vec look calls.look --lens outcome",
    )
)
@click.argument("source", required=False, type=click.Path(path_type=Path))
@click.option(
    "--sample",
    metavar="[N]",
    is_flag=False,
    flag_value=0,
    type=click.IntRange(min=0),
    help="Look at N conversations of SOURCE, drawn at random. Without N and SOURCE, look at 1,000 made-up ones, "
    "written to sample.jsonl.",
)
@click.option("--output", metavar="FOLDER", type=new_path, help="Folder of vectors and map; default: NAME.look.")
@click.option("--static", metavar="FILE", type=new_path, help="Write the map to this file instead.")
@model_option(
    "Encoder, as of the other commands; default: general, whose page one by all-MiniLM-L6-v2 replaces later, if torch "
    "is installed."
)
@click.option(
    "--lens",
    "lenses",
    multiple=True,
    metavar="NAME",
    help="Group by what this lens tells, not by what is talked about. SOURCE is the collection that has the lens, as "
    "`dial2vec lens` learnt it; may be repeated.",
)
@NO_ADAPT
@PORT
def look(
    source: Path | None,
    sample: int | None,
    output: Path | None,
    static: Path | None,
    model: str | None,
    lenses: tuple[str, ...],
    port: int,
    no_adapt: bool,
    **reading: Any,
) -> None:
    """See an export as a map, in one step and any folder.

    SOURCE is any export that `import` reads, or a .jsonl file of dialogues. The dialogues are read, encoded, grouped
    and shown in your browser; Ctrl-C ends it. NAME.look keeps the result, so that the next look at SOURCE is quick.
    """
    from conversations.formats.formats import stem
    from conversations.options import Options
    from dial2vec.collection.explorer.better import better
    from dial2vec.collection.explorer.later import INDEX_OF_TURNS
    from dial2vec.collection.look import LookReading, clusters_of, drawing, look_into
    from dial2vec.data.corpora.demo import write_sample

    options, masks, lenses = options_of(reading), masks_of(reading), tuple(dict.fromkeys(lenses))
    merged = reading["merge_turns"]
    as_it_is = (options, masks, merged, sample, model) == (Options(), None, False, None, None)
    _check(source, sample, lenses, as_it_is=as_it_is)
    source = source or write_sample(Path("sample.jsonl"))
    folder = output or Path(".".join([stem(source).removesuffix(".look"), *lenses, "look"]))
    # A page is replaced later by a better one, a file is not.
    better_one = untrained() if not lenses and model is None and static is None and untrained() != GENERAL else ""
    start = model or (GENERAL if static is None else untrained())
    adapted = not (no_adapt or lenses)
    own = LookReading(start, options, masks, merged, adapted, sample or None, better_one, lenses)
    # A file has no server that could index the turns later.
    collection = look_into(folder, source, own, turns=static is not None, say=click.echo)
    click.echo(f"{folder}: {len(collection)} dialogues")
    with drawing(collection):
        clusters = clusters_of(collection)
    for group in sorted(clusters.clusters, key=lambda group: -group.size) if clusters else ():
        click.echo(f"  {group.size:>6,}  {group.name}")
    say_changes(collection)
    click.echo(f"\nNext:\n{_next_steps(folder)}\n")
    show(
        folder,
        port=port,
        static=static,
        browser=True,
        later=[INDEX_OF_TURNS, *([better(better_one)] if better_one else [])],
    )


# How an export is read is said as to `import`.
look.params += [parameter for parameter in import_.params if parameter.name not in OWN]


def _check(source: Path | None, sample: int | None, lenses: tuple[str, ...], *, as_it_is: bool) -> None:
    """Raise if options of `look` exclude each other.

    :param as_it_is: True if no option says how to read or encode.
    """
    if (sample is None or sample > 0) and source is None:
        raise CorpusError(
            "look was given no export; expected a file or folder of conversations. Name one, or try "
            "`dial2vec look --sample`, which makes some up."
        )
    if sample == 0 and source is not None:
        raise CorpusError(
            f"look was given {source} and --sample without a number; expected how many of its conversations to draw. "
            "Say `--sample 2000`, or leave it out."
        )
    if lenses and not as_it_is:
        raise CorpusError(
            f"look was given --lens {lenses[0]} and an option that reads, draws, masks or encodes conversations; "
            "expected all those of a collection, as it has them. Leave out one of the two."
        )


def _next_steps(folder: Path) -> str:
    search = f'  dial2vec search {quote(str(folder))} "what somebody said"    search by meaning'
    try:
        find_root()
    except Dial2vecError:
        return f"{search}\n  dial2vec new calls    a project in which you train, watch and serve an encoder of your own"
    return f"{search}\n  dial2vec import FILE --name calls    then train (run), watch (schedule) and serve"
