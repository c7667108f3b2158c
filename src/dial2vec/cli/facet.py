"""The command that answers a question of one's own for every dialogue of a collection."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from conversations.words import printable
from dial2vec.cli.group import examples
from dial2vec.cli.table import fitted, width
from dial2vec.errors import CorpusError, did_you_mean

if TYPE_CHECKING:
    from dial2vec.collection.facets import Facet, FacetValue

# Dialogues shown per answer, and the least width of their turns.
SHOWN, MIN_TEXT = 2, 40


@click.command(
    epilog=examples(
        'dial2vec facet calls --name outcome --is "resolved: the problem was solved" --is "open: they will call back"',
        'dial2vec facet calls --name outcome --is "resolved: that solved it" --example resolved=c-17 --json',
    )
)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--name", required=True, help="Name of the question, such as outcome.")
@click.option(
    "--is",
    "answers",
    required=True,
    multiple=True,
    metavar="LABEL: DESCRIPTION",
    help='A possible answer, such as "resolved: the problem was solved"; may be repeated.',
)
@click.option(
    "--example",
    "known",
    multiple=True,
    metavar="LABEL=ID",
    help="A dialogue that is known to have this answer; may be repeated.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def facet(folder: Path, name: str, answers: tuple[str, ...], known: tuple[str, ...], as_json: bool) -> None:
    """Assign each dialogue to one of your labels.

    Each dialogue gets the answer that its turns are nearest to, the turn that says so and a probability, or "none".
    Writes NAME.parquet, NAME.csv and NAME.json into FOLDER/facets.
    """
    values = _values(answers, known)
    from conversations.progress import waiting
    from dial2vec.collection.collection_folder import CollectionFolder
    from dial2vec.collection.facets import facet as answer_facet
    from dial2vec.collection.search.turns import complete_turns

    collection = CollectionFolder(folder)
    complete_turns(collection, progress=True)
    with waiting("comparing turns with the descriptions"):
        result = answer_facet(collection, name, values)
    if as_json:
        click.echo((folder / "facets" / f"{name}.json").read_text(encoding="utf-8").rstrip())
        return
    click.echo(_table(result))
    click.echo(f"Answer for each dialogue: {folder / 'facets' / f'{name}.csv'}")


def _values(answers: tuple[str, ...], known: tuple[str, ...]) -> list[FacetValue]:
    """Return the possible answers with their examples."""
    from dial2vec.collection.facets import FacetValue

    texts: list[tuple[str, str]] = []
    for answer in answers:
        label, _, text = (part.strip() for part in answer.partition(":"))
        if not label or not text:
            raise CorpusError(
                f"found --is {json.dumps(answer, ensure_ascii=False)}; expected a label and a description, such as "
                '--is "resolved: the problem was solved". Write both.'
            )
        texts.append((label, text))
    ids: dict[str, list[str]] = {label: [] for label, _ in texts}
    for pair in known:
        label, _, dialogue_id = (part.strip() for part in pair.partition("="))
        if label not in ids or not dialogue_id:
            raise CorpusError(
                f"found --example {pair}; expected LABEL=ID with one of the labels {', '.join(ids)}."
                f"{did_you_mean(label, ids)}"
            )
        ids[label].append(dialogue_id)
    return [FacetValue(label, text, tuple(ids[label])) for label, text in texts]


def _table(result: Facet) -> str:
    """Return a line per answer with its size and expected share, and below it the dialogues that are surest."""
    import pyarrow.compute as pc

    room = width()
    lines = [f"{'dialogues':>9} {'expected':>8}  answer"]
    rows = result.rows.sort_by([("probability", "descending"), ("dialogue_id", "ascending")])
    for label, size in result.sizes.items():
        lines.append(f"{size:>9,} {result.shares[label]:>8.1%}  {printable(label)}"[:room])
        answers = rows.filter((pc.field("value") == label) & pc.field("turn").is_valid())
        for row in answers.slice(0, SHOWN).to_pylist():
            end = f"  {printable(row['dialogue_id'])}"
            text = fitted(f"{row['speaker']}: {row['text']}", room - 26 - len(end), least=MIN_TEXT)
            lines.append(f"{'':20}{row['probability']:>5.0%} {text}{end}")
    return "\n".join(lines)
