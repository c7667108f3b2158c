"""Commands on a collection of dialogues: make it, and search in it."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dial2vec.cli.group import examples
from dial2vec.errors import Dial2vecError

if TYPE_CHECKING:
    from dial2vec.collection import Collection
    from dial2vec.collection.search import Filters, Search
    from dial2vec.dialogue import Dialogue

# What comes with the install.
UNTRAINED = "all-MiniLM-L6-v2"


@click.command(epilog=examples("dial2vec index data/calls --model models:/dial2vec-calls@champion --output calls"))
@click.argument("transcripts", type=click.Path(path_type=Path))
@click.option("--output", required=True, type=click.Path(path_type=Path), help="Folder of the collection.")
@click.option(
    "--model",
    help="Such as models:/dial2vec-calls@champion; default: the collection's own, for a new one all-MiniLM-L6-v2.",
)
@click.option("--batch-size", default=32, show_default=True, type=click.IntRange(min=1), help="Dialogues at a time.")
@click.option("--approximate", is_flag=True, help="Make an index for fast search also below 100,000 dialogues.")
def index(transcripts: Path, output: Path, model: str | None, batch_size: int, approximate: bool) -> None:
    """Make a collection to search, cluster and explore, or add to one.

    TRANSCRIPTS is a JSON Lines file, or a folder of them. Dialogues that are there already are passed over. A run that
    was stopped goes on where it was.
    """
    from dial2vec.collection import Collection, add
    from dial2vec.collection.collection import MANIFEST
    from dial2vec.collection.embedding.shards import look_at

    look_at(transcripts)
    from dial2vec.encoder import DialogueEncoder

    own = output / "model" if (output / MANIFEST).exists() else UNTRAINED
    encoder = DialogueEncoder.from_pretrained(model or own)
    done = add(output, transcripts, encoder=encoder, batch_size=batch_size)
    collection = Collection(output)
    dates = collection.rows["date"]
    click.echo(f"{output}: {len(collection)} dialogues, {done.dialogues} new, {done.existing} that were there already")
    click.echo(f"{len(dates) - dates.null_count} of them have a date")
    if model is None and own == UNTRAINED:
        click.echo(f"Their vectors are those of {UNTRAINED}, which has learnt nothing from them; --model names another")
    if done.quarantine:
        click.echo(f"{done.quarantine} records could not be used; the reasons are in {done.quarantine_file}", err=True)
    _update(collection, approximate)
    click.echo(f'Next: dial2vec search {output} "what somebody said"')


def _update(collection: Collection, asked: bool) -> None:
    from tqdm.auto import tqdm

    from dial2vec.collection.search.approximate import FAISS, FROM, has_faiss, update_index

    if not asked and len(collection) < FROM:
        return
    if not has_faiss():
        click.echo(f"No index was made, so every vector is looked at: {FAISS}", err=True)
        return
    with tqdm(total=len(collection), unit="vector", disable=None, desc="index") as bar:
        measured = update_index(collection, done=bar.update)
    click.echo(f"Index of {measured.lists} lists; {measured.probes} are looked into, which finds ", nl=False)
    click.echo(f"{measured.recall:.1%} of the 10 nearest (--exact finds all)")


@click.command(
    epilog=examples(
        'dial2vec search calls "my card was stolen" -k 5 --label cards --after 2026-01-01',
        "dial2vec search calls --like c-17 --json",
    )
)
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("query", required=False)
@click.option("-k", default=10, show_default=True, type=click.IntRange(min=1), help="Dialogues to find.")
@click.option("--like", metavar="ID", help="Find what is like this dialogue of the collection.")
@click.option("--label", "labels", multiple=True, help="Only with this label; may be repeated.")
@click.option("--speaker", "speakers", multiple=True, help="Only with this speaker; may be repeated.")
@click.option("--after", metavar="DATE", help="Only what began then or later, such as 2026-03-04.")
@click.option("--before", metavar="DATE", help="Only what began before.")
@click.option("--exact", is_flag=True, help="Look at every vector, also where there is an index.")
@click.option("--json", "as_json", is_flag=True, help="Print a record per dialogue, one a line.")
def search(
    folder: Path,
    query: str | None,
    k: int,
    like: str | None,
    labels: tuple[str, ...],
    speakers: tuple[str, ...],
    after: str | None,
    before: str | None,
    exact: bool,
    as_json: bool,
) -> None:
    """Find the dialogues of a collection that are most like a query.

    Each with the turns that speak for it. QUERY is a text; or a file with a dialogue, `file.json`, `file.jsonl` or
    `file.jsonl:ID`. Without it, queries are read line by line, which loads the encoder only once.
    """
    if query is not None and like is not None:
        raise Dial2vecError(f"found both a query and --like {like}. Give one of them.")
    from dial2vec.collection import Collection
    from dial2vec.collection.search import Filters, Search

    collection = Collection(folder)
    filters = Filters(labels, speakers, after, before)
    # Wrong options are found before the encoder is loaded.
    filters.rows(collection)
    asked = next(collection.dialogues([collection.row(like)])) if like is not None else _asked(query)
    found = Search(collection)
    if asked is not None:
        _answer(found, asked, k, filters, exact=exact, as_json=as_json)
        return
    for line in sys.stdin:
        if line.strip():
            _answer(found, line.strip(), k, filters, exact=exact, as_json=as_json)


def _asked(query: str | None) -> str | Dialogue | None:
    """Return the dialogue of a file where the query names one, else the query."""
    if query is None:
        return None
    from dial2vec.data.one_dialogue import find_dialogue

    name, _, dialogue_id = query.rpartition(":")
    for path, which in ((Path(query), None), (Path(name), dialogue_id)):
        if path.suffix in (".json", ".jsonl", ".gz") and path.is_file():
            return find_dialogue(path, which, way=f"{path}:{{}}")
    return query


def _answer(found: Search, asked: str | Dialogue, k: int, filters: Filters, *, exact: bool, as_json: bool) -> None:
    from dial2vec.collection.search.showing import hit_as_record, hits_as_text

    begun = time.perf_counter()
    hits = found.find(asked, k, filters=filters, exact=exact)
    seconds = time.perf_counter() - begun
    if as_json:
        for hit in hits:
            click.echo(json.dumps(hit_as_record(hit), ensure_ascii=False))
        return
    click.echo(hits_as_text(hits, bold=sys.stdout.isatty()))
    click.echo(f"{len(hits)} of {len(found.collection)} dialogues in {seconds:.2f} s", err=True)
