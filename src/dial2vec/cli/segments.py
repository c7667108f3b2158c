"""The command that cuts dialogues into segments and groups these."""

from __future__ import annotations

import json
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from conversations.words import printable
from dial2vec.cli.group import examples
from dial2vec.cli.table import fitted, width
from dial2vec.errors import Dial2vecError

if TYPE_CHECKING:
    from dial2vec.collection.collection_folder import CollectionFolder
    from dial2vec.collection.segments import Segments

# Minimum width of a segment's text, in characters, on narrow terminals too.
MIN_TEXT = 60


@click.command(epilog=examples("dial2vec segments calls", "dial2vec segments calls --dialogue call-0042"))
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--dialogue", "dialogue_id", metavar="ID", help="Show the segments of this dialogue, found before.")
@click.option("--seed", default=1, show_default=True, type=click.IntRange(min=0), help="Random seed.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def segments(folder: Path, dialogue_id: str | None, seed: int, as_json: bool) -> None:
    """Cut dialogues where their topic changes, and group the segments.

    FOLDER is a collection. Each dialogue gets every topic that it has, with its share of the words. How readily a
    dialogue is cut is learnt from the collection itself, without labels. Writes into FOLDER/segments: segments.parquet,
    segments.csv, and topics.json.
    """
    from conversations.progress import bar_to
    from dial2vec.collection.collection_folder import CollectionFolder
    from dial2vec.collection.search.turns import complete_turns
    from dial2vec.collection.segments import find_segments

    collection = CollectionFolder(folder)
    if dialogue_id is not None:
        _show_dialogue(collection, dialogue_id, as_json=as_json)
        return
    complete_turns(collection, progress=True)
    with bar_to(len(collection) + 1, "segments") as bar:
        result = find_segments(collection, seed=seed, done=bar.update)
    if as_json:
        click.echo((folder / "segments" / "topics.json").read_text(encoding="utf-8").rstrip())
        return
    click.echo(_table(result, collection))
    click.echo(
        f"{result.segments:,} segments in {result.seen:,} dialogues; {result.several:.0%} of the dialogues have "
        "several topics"
    )
    click.echo(f"Segments of each dialogue: {folder / 'segments' / 'segments.csv'}")
    example = quote(result.topics[0].typical[0].dialogue_id)
    click.echo(f"Next: dial2vec segments {quote(str(folder))} --dialogue {example}")


def _table(result: Segments, collection: CollectionFolder) -> str:
    """Return the topics, the one with most segments first, each with its most typical segment."""
    room = width()
    lines = [f"{'id':>4} {'segments':>9} {'dialogues':>9} {'words':>6}  name"]
    for topic in result.topics:
        name = printable(topic.name)
        lines.append(f"{topic.id:>4} {topic.segments:>9,} {topic.dialogues:>9,} {topic.share:>6.1%}  {name}"[:room])
        for place in topic.typical[:1]:
            [dialogue] = collection.dialogues([collection.row(place.dialogue_id)])
            text = " / ".join(turn.text for turn in dialogue.turns[place.first : place.last + 1])
            lines.append(f"{'':33}{fitted(text, room - 33, least=MIN_TEXT)}")
    return "\n".join(lines)


def _show_dialogue(collection: CollectionFolder, dialogue_id: str, *, as_json: bool) -> None:
    """Print the segments of a dialogue with their turns."""
    from dial2vec.collection.segments.segments import segments_of

    [dialogue] = collection.dialogues([collection.row(dialogue_id)])
    rows = segments_of(collection, [dialogue_id])
    if not rows:
        raise Dial2vecError(
            f"dialogue {dialogue_id!r} of {collection.folder} has no segments, because it was added later; expected "
            f"one that was cut. Run `dial2vec segments {collection.folder}` again."
        )
    if as_json:
        click.echo(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    for row in rows:
        click.echo(f"{row['share']:>4.0%}  {printable(row['topic_name']).upper()} (topic {row['topic']})")
        for number in range(row["first_turn"], row["last_turn"] + 1):
            turn = dialogue.turns[number]
            click.echo(f"      {number:>3} {printable(turn.speaker)}: {printable(turn.text)}")
