"""Commands that index dialogues into a collection, and search it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from dial2vec.cli.group import examples, new_path
from dial2vec.cli.options import NO_ADAPT, UNTRAINED, filter_options, model_option, say_advice, transcripts_of
from dial2vec.errors import Dial2vecError

if TYPE_CHECKING:
    from conversations.dialogue import Dialogue
    from dial2vec.collection.collection_folder import CollectionFolder
    from dial2vec.collection.search import Filters, Search
    from dial2vec.collection.search.search import Answer, Asked

# Endings by which a query without blanks is meant as a path, and the characters of the longest one.
DIALOGUE_FILES, LONGEST_PATH = (".json", ".jsonl", ".gz"), 200


@click.command(epilog=examples("dial2vec index data/calls --model models:/dial2vec-calls@champion --output calls"))
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--output", required=True, metavar="PATH", type=new_path, help="Folder of the collection.")
@model_option("Encoder, such as small; default: the collection's own, for a new collection all-MiniLM-L6-v2.")
@click.option("--batch-size", default=32, show_default=True, type=click.IntRange(min=1), help="Dialogues per batch.")
@NO_ADAPT
def index(
    source: Path,
    output: Path,
    model: str | None,
    batch_size: int,
    no_adapt: bool,
) -> None:
    """Make a collection to search, cluster and explore, or add to one.

    SOURCE is any export that `look` takes, or JSON Lines of dialogues. Dialogues already in the collection are
    skipped. A stopped run continues if it is started again.
    """
    from conversations.progress import waiting
    from dial2vec.collection.adding import add
    from dial2vec.collection.collection_folder import MANIFEST, CollectionFolder
    from dial2vec.encoder.loading import load_encoder

    own = output / "model" if (output / MANIFEST).exists() else UNTRAINED
    with transcripts_of(source) as transcripts:
        with waiting("loading the encoder"):
            encoder = load_encoder(model or own)
        say_advice(transcripts, encoder)
        done = add(output, transcripts, encoder=encoder, batch_size=batch_size, adapted=not no_adapt)
    collection = CollectionFolder(output)
    dates = collection.rows["date"]
    click.echo(f"{output}: {len(collection)} dialogues, {done.dialogues} new, {done.existing} already there")
    click.echo(f"{len(dates) - dates.null_count} of them have a date")
    if model is None and own == UNTRAINED:
        click.echo(f"Their vectors come from {UNTRAINED}, which was not trained on them; --model names another")
    if done.adapted:
        click.echo(done.adapted)
    if done.quarantine:
        click.echo(f"{done.quarantine} records could not be used; the reasons are in {done.quarantine_file}", err=True)
    click.echo(f'Next: dial2vec search {quote(str(output))} "what somebody said"')


@click.command(epilog=examples("dial2vec adapt calls --output calls-encoder"))
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--output", required=True, metavar="PATH", type=new_path, help="Folder of the encoder.")
def adapt(folder: Path, output: Path) -> None:
    """Save an encoder with the map of a collection.

    It is the collection's encoder with the map that was fitted to its dialogues, to embed or serve new ones.
    """
    from dial2vec.collection.adapting.folding import save_adapted
    from dial2vec.collection.collection_folder import CollectionFolder

    agreement = save_adapted(CollectionFolder(folder), output)
    click.echo(f"{output}: an encoder with the map of {folder}; mean cosine to its adapted vectors {agreement:.3f}")
    click.echo(f"Next: dial2vec embed FILE --model {quote(str(output))} --output vectors.parquet")


@click.command(
    epilog=examples(
        'dial2vec search calls "my card was stolen" -k 5 --label cards --after 2026-01-01',
        'dial2vec search calls "stolen card" --not "stolen phone" --where "channel in phone, chat"',
        "dial2vec search calls --like c-17 --not c-20 --json",
    )
)
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("query", required=False)
@click.option("-k", default=10, show_default=True, type=click.IntRange(min=1), help="Number of dialogues to find.")
@click.option("--like", metavar="ID", help="Find dialogues similar to this one of the collection.")
@click.option(
    "--not", "unlike", multiple=True, metavar="TEXT", help="Text, ID or file whose meaning to avoid; may be repeated."
)
@click.option("--moments", "way", flag_value="moments", help="Find by single turns and their words.")
@click.option("--themes", "way", flag_value="themes", help="Find by whole dialogues; default: what suits the query.")
@filter_options
@click.option("--exact", is_flag=True, help="Compare every turn even if there are over a million.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON record per dialogue, each on a line.")
def search(
    folder: Path,
    query: str | None,
    k: int,
    like: str | None,
    unlike: tuple[str, ...],
    way: Asked | None,
    filters: Filters,
    exact: bool,
    as_json: bool,
) -> None:
    """Find the dialogues of a collection that are like a query.

    Each is shown with its most similar turns. QUERY is a text, or an export with a dialogue: `one.json`, `may.csv:ID`.
    Without QUERY, queries are read from standard input line by line; the encoder is loaded only once.
    """
    if query is not None and like is not None:
        raise Dial2vecError(f"found both a query and --like {like}. Give one of them.")
    if way == "moments" and unlike:
        raise Dial2vecError("found --not with --moments; expected --themes, which it works by. Leave one out.")
    from dial2vec.collection.collection_folder import CollectionFolder

    collection = CollectionFolder(folder)
    # Before the encoder is loaded, which takes seconds.
    filters.rows(collection)
    wanted = _of_collection(collection, like) if like is not None else _parse_query(query)
    avoided = [_parse_unlike(collection, given) for given in unlike]
    engine = _open(collection, way or "auto")
    ask = partial(engine.answer, k=k, filters=filters, exact=exact, way=way or "auto", unlike=avoided)
    for asked in (wanted,) if wanted is not None else filter(None, map(str.strip, sys.stdin)):
        _show(asked, ask, n=len(collection), as_json=as_json)


@click.command(
    epilog=examples("dial2vec duplicates calls", "dial2vec duplicates calls --similarity 0.7 --label cards --json")
)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("-k", default=10, show_default=True, type=click.IntRange(min=1), help="Number of groups to show.")
@click.option(
    "--similarity",
    default=0.8,
    show_default=True,
    type=click.FloatRange(0, 1, min_open=True),
    help="Share of word triples that near-duplicates have in common.",
)
@filter_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON record per group, each on a line.")
def duplicates(folder: Path, k: int, similarity: float, filters: Filters, as_json: bool) -> None:
    """Find groups of dialogues that say nearly the same, largest first.

    A group is shown with the first dialogue's opening, and how similar the others are to it.
    """
    from dial2vec.collection.collection_folder import CollectionFolder
    from dial2vec.collection.search.near_duplicates import find_near_duplicates
    from dial2vec.collection.search.showing import near_duplicates_as_record, near_duplicates_as_text

    collection, begun = CollectionFolder(folder), time.perf_counter()
    groups = find_near_duplicates(collection, similarity=similarity, filters=filters, progress=True)
    seconds = time.perf_counter() - begun
    for place, group in enumerate(groups[:k], start=1):
        if as_json:
            click.echo(json.dumps(near_duplicates_as_record(group), ensure_ascii=False))
        else:
            click.echo(near_duplicates_as_text(place, group, _of_collection(collection, group.dialogue_ids[0])))
    copies = sum(len(group.dialogue_ids) for group in groups)
    click.echo(f"{len(groups)} groups with {copies} of {len(collection)} dialogues in {seconds:.2f} s", err=True)


def _open(collection: CollectionFolder, way: Asked) -> Search:
    from conversations.progress import waiting
    from dial2vec.collection.search import Search
    from dial2vec.collection.search.moments import how_to_get_turns

    with waiting("loading the encoder"):
        engine = Search(collection)
    if engine.moments is None and way == "auto":
        click.echo(f"Whole dialogues are searched: {how_to_get_turns(collection)}", err=True)
    return engine


def _of_collection(collection: CollectionFolder, dialogue_id: str) -> Dialogue:
    return next(collection.dialogues([collection.row(dialogue_id)]))


def _parse_unlike(collection: CollectionFolder, given: str) -> str | Dialogue:
    """Return the dialogue of the collection or file that an option names; if it names none, the text itself."""
    return _of_collection(collection, given) if given in collection.row_of else _parse_query(given) or given


def _parse_query(query: str | None) -> str | Dialogue | None:
    """Return the dialogue of the file that the query names; if it names no file, the query itself."""
    if query is None:
        return None
    if not query.strip():
        raise Dial2vecError("the query is blank; expected words, or a file with a dialogue. Write what to look for.")
    from dial2vec.data.one_dialogue import find_dialogue

    name, _, dialogue_id = query.rpartition(":")
    for path, which in ((Path(query), None), (Path(name), dialogue_id)) if len(query) < LONGEST_PATH else ():
        if path.is_file():
            return find_dialogue(path, which, way=f"{path}:{{}}")
        if path.suffix in DIALOGUE_FILES and " " not in query:
            raise Dial2vecError(
                f"{path} does not exist; expected words, or an export with a dialogue. Correct it, or ask in words."
            )
    return query


def _show(query: str | Dialogue, ask: Callable[[str | Dialogue], Answer], *, n: int, as_json: bool) -> None:
    from dial2vec.collection.search.showing import hit_as_record, hits_as_text

    begun = time.perf_counter()
    answer = ask(query)
    seconds = time.perf_counter() - begun
    if not answer.close:
        click.echo("Nothing is close: questions on other things come as near to these dialogues", err=True)
    if as_json:
        for hit in answer.hits:
            click.echo(json.dumps(hit_as_record(hit), ensure_ascii=False))
        return
    click.echo(hits_as_text(answer.hits, bold=sys.stdout.isatty()))
    click.echo(f"{len(answer.hits)} of {n} dialogues by {answer.way} in {seconds:.2f} s", err=True)
