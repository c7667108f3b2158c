"""The command that gives each dialogue of a collection one of your labels, and asks a person for examples."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from conversations.words import printable
from dial2vec.cli.group import examples
from dial2vec.cli.table import fitted, width
from dial2vec.errors import CorpusError, did_you_mean

if TYPE_CHECKING:
    from dial2vec.collection.collection_folder import CollectionFolder
    from dial2vec.collection.lenses import Lens, LensLabel
    from dial2vec.collection.lenses.asking import Questions

# Dialogues shown per label, and the least width of their turns; dialogues that a person is asked about.
SHOWN, MIN_TEXT, ASKED = 2, 40, 20
# Examples that a language model is compared with at most, and tokens of its answer.
COMPARED, ANSWER_TOKENS = 50, 10


@click.command(
    epilog=examples(
        'dial2vec lens calls --name outcome --is "solved: great, that works now" --is "open: we will call you back"',
        "dial2vec lens calls --name outcome --ask",
        "dial2vec lens calls --name outcome --from resolution_code",
    )
)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--name", required=True, help="Name of the lens, such as outcome.")
@click.option(
    "--is",
    "described",
    multiple=True,
    metavar="LABEL: DESCRIPTION",
    help='A label and what is said then, such as "solved: great, that works now"; may be repeated, also for one label. '
    "Default: the labels that the lens has.",
)
@click.option(
    "--example",
    "known",
    multiple=True,
    metavar="LABEL=ID",
    help="A dialogue with this label, or none; may be repeated.",
)
@click.option(
    "--examples",
    "file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="CSV file with dialogue_id and label.",
)
@click.option("--from", "key", metavar="KEY", help="Key of the metadata whose values are the labels of examples.")
@click.option("--ask", is_flag=True, help="Ask for the labels of about twenty varied dialogues.")
@click.option("--page", is_flag=True, help="Ask for them on a page in the browser.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port of that page. Default: any free one.")
@click.option(
    "--by-model",
    "by_model",
    type=click.IntRange(1),
    metavar="N",
    help="Let a language model label N dialogues, masked.",
)
@click.option("--yes", is_flag=True, help="Send them to the language model without asking first.")
@click.option("--seed", default=0, show_default=True, help="Seed of what is drawn.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def lens(
    folder: Path,
    name: str,
    described: tuple[str, ...],
    known: tuple[str, ...],
    file: Path | None,
    key: str | None,
    ask: bool,
    page: bool,
    port: int,
    by_model: int | None,
    yes: bool,
    seed: int,
    as_json: bool,
) -> None:
    """Give each dialogue one of your labels.

    Labels are learnt from examples, 20 or more, and from what is said then. With fewer examples, each dialogue gets the
    label whose description its turns are nearest to, or "none". Examples of earlier runs count, too. Writes NAME.csv,
    NAME.parquet and more into FOLDER/lenses.
    """
    from dial2vec.collection.collection_folder import CollectionFolder
    from dial2vec.collection.lenses import lens as make_lens
    from dial2vec.collection.lenses.asking import Questions, ask_on_page
    from dial2vec.collection.lenses.examples import examples_file, of_metadata, read_examples
    from dial2vec.collection.lenses.lens import NONE

    collection = CollectionFolder(folder)
    labelled = read_examples(own := examples_file(folder, name))
    if file is not None:
        labelled |= read_examples(file)
    if key is not None:
        labelled |= of_metadata(collection, key)
    pairs = list(_pairs(known))
    labelled |= {dialogue_id: label for label, dialogue_id in pairs}
    labels = _labels(folder, name, described, list(labelled.values()), [label for label, _ in pairs])
    if ask or page:
        names = [each.label for each in labels if each.label != NONE]
        questions = Questions(collection, names, labelled, own, n=ASKED, seed=seed)
        if page:
            ask_on_page(questions, name, port=port, say=partial(click.echo, err=as_json))
        else:
            _asked(questions)
        labelled = questions.examples
    if by_model is not None:
        labelled = _labelled(collection, name, labels, labelled, by_model, seed, yes=yes) | labelled
    result = make_lens(collection, name, labels, labelled, seed=seed, progress=True)
    if as_json:
        click.echo((folder / "lenses" / f"{name}.json").read_text(encoding="utf-8").rstrip())
        return
    click.echo(_table(result))
    for line in result.warnings:
        click.echo(line, err=True)
    click.echo(f"Label of each dialogue: {folder / 'lenses' / f'{name}.csv'}")


def _pairs(known: Sequence[str]) -> Iterator[tuple[str, str]]:
    for pair in known:
        label, _, dialogue_id = (part.strip() for part in pair.partition("="))
        if not label or not dialogue_id:
            raise CorpusError(f"found --example {pair}; expected LABEL=ID, such as open=c-17. Write both.")
        yield label, dialogue_id


def _labels(
    folder: Path, name: str, described: Sequence[str], known: Sequence[str], named: Sequence[str]
) -> list[LensLabel]:
    """Return the labels of the options, or those that the lens has, and those that only examples have.

    :param known: labels of all examples.
    :param named: labels of --example, which must be known if labels are described.
    """
    from dial2vec.collection.lenses import LensLabel
    from dial2vec.collection.lenses.lens import NONE, read_record

    texts: dict[str, list[str]] = {}
    for each in described:
        label, _, text = (part.strip() for part in each.partition(":"))
        if not label or not text:
            raise CorpusError(
                f"found --is {json.dumps(each, ensure_ascii=False)}; expected a label and a description, such as "
                '--is "solved: great, that works now". Write both.'
            )
        texts.setdefault(label, []).append(text)
    record = folder / "lenses" / f"{name}.json"
    if not described and record.exists():
        texts = {each["label"]: list(each["descriptions"]) for each in read_record(record)["labels"]}
    for label in named if texts else ():
        if label not in (*texts, NONE):
            raise CorpusError(
                f"found --example {label}=...; expected one of the labels {', '.join((*texts, NONE))}."
                f"{did_you_mean(label, texts)}"
            )
    every = [*texts, *sorted({label for label in known if label != NONE} - set(texts))]
    return [LensLabel(label, tuple(texts.get(label, ()))) for label in every]


def _asked(questions: Questions) -> None:
    """Ask for labels in the terminal, one key for each."""
    keys = {str(number): label for number, label in enumerate(questions.labels[:-1], start=1)}
    keys["0"] = questions.labels[-1]
    shown = "  ".join(f"{key} {label}" for key, label in keys.items())
    place = 0
    while place < len(questions.dialogues):
        dialogue = questions.dialogues[place]
        click.echo(f"\n{place + 1} of {len(questions.dialogues)}  {printable(dialogue.dialogue_id)}")
        for turn in dialogue.turns:
            click.echo(f"  {printable(turn.speaker)}: {printable(turn.text)}")
        click.echo(f"{shown}  s skip  u undo  q end", err=True)
        key = click.getchar()
        if key in ("q", "\x04", ""):
            return
        if key in keys:
            questions.answer(place, keys[key])
        elif key == "u" and place:
            questions.answer(place - 1, None)
        place += (key in keys or key == "s") - (key == "u" and place > 0)


def _labelled(
    collection: CollectionFolder,
    name: str,
    labels: Sequence[LensLabel],
    known: dict[str, str],
    n: int,
    seed: int,
    *,
    yes: bool,
) -> dict[str, str]:
    """Return the labels of a language model for n varied dialogues, and say how often it agrees with other examples."""
    from conversations.progress import bar_to
    from conversations.redaction import COUNTRIES, Masks
    from dial2vec.cli.describe import agree, settings_of
    from dial2vec.collection.lenses.by_model import answers_of, label_questions, unanswered
    from dial2vec.collection.lenses.examples import examples_file, read_examples, varied, write_examples

    settings = settings_of({})
    earlier = read_examples(by_model := examples_file(collection.folder, f"{name}.by_model"))
    compared = [dialogue_id for dialogue_id, label in known.items() if earlier.get(dialogue_id) != label][:COMPARED]
    rows = varied(collection, known, n, seed) + [collection.row(dialogue_id) for dialogue_id in compared]
    questions = label_questions(collection, labels, rows, Masks(countries=COUNTRIES))
    if new := unanswered(collection, settings, questions):
        tokens = sum(question.tokens for question in new)
        cost = (tokens * settings.price_in + len(new) * ANSWER_TOKENS * settings.price_out) / 1e6
        priced = f"about {cost:.4f} by your prices" if cost else "unknown, because operation.yaml has no prices"
        sentence = f"To {settings.address}, model {settings.model}: {len(new)} masked dialogues"
        agree(f"{sentence}, about {tokens:,} tokens; cost: {priced}.", "Send them?", yes=yes)
    with bar_to(len(questions), "labelling", unit="dialogue") as bar:
        answered, failures = answers_of(collection, settings, labels, questions, bar.update)
    labelled = {dialogue_id: label for dialogue_id, label in answered.items() if dialogue_id not in known}
    write_examples(by_model, earlier | labelled)
    for failure in failures[:1]:
        click.echo(f"{len(questions) - len(answered)} dialogues have no label: {failure}", err=True)
    judged = [dialogue_id for dialogue_id in compared if dialogue_id in answered]
    if judged:
        same = sum(answered[dialogue_id] == known[dialogue_id] for dialogue_id in judged)
        click.echo(f"The language model agrees with {same} of {len(judged)} examples that were there.", err=True)
    return labelled


def _table(result: Lens) -> str:
    """Return a line per label with its size and expected share, and below it the dialogues that are surest."""
    import pyarrow.compute as pc

    room = width()
    lines = [f"{'dialogues':>9} {'expected':>8}  label"]
    rows = result.rows.sort_by([("probability", "descending"), ("dialogue_id", "ascending")])
    for label, size in result.sizes.items():
        share = f"{result.shares[label]:.1%}" if label in result.shares else ""
        how = ""
        if quality := result.quality.get(label):
            how = f"  AUROC {quality.auroc:.0%} ({quality.interval[0]:.0%} to {quality.interval[1]:.0%})"
            if len(quality.groups) > 1:
                name, (area, _) = min(quality.groups.items(), key=lambda each: each[1])
                how += f", lowest in {printable(name)}: {area:.0%}"
        lines.append(f"{size:>9,} {share:>8}  {printable(label)}{how}"[:room])
        # Examples have the probability 1.
        surest = (pc.field("value") == label) & pc.field("turn").is_valid() & (pc.field("probability") < 1)
        answers = rows.filter(surest)
        for row in answers.slice(0, SHOWN).to_pylist():
            end = f"  {printable(row['dialogue_id'])}"
            text = fitted(f"{row['speaker']}: {row['text']}", room - 26 - len(end), least=MIN_TEXT)
            lines.append(f"{'':20}{row['probability']:>5.0%} {text}{end}")
    return "\n".join(lines)
