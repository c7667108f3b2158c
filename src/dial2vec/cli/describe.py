"""The command that lets a language model describe the groups of a collection."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from conversations.words import printable
from dial2vec.cli.group import examples
from dial2vec.errors import Dial2vecError, SettingsError

if TYPE_CHECKING:
    from dial2vec.collection.collection_folder import CollectionFolder
    from dial2vec.collection.describing.describing import Described, Estimate
    from dial2vec.config import LanguageModel


TAKEN = "Send them, and one more for each name that is taken?"


@click.command(epilog=examples("dial2vec describe calls", "dial2vec describe calls --dry-run"))
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--address", help="Address of the server, such as http://localhost:11434/v1; default: operation.yaml's.")
@click.option("--model", help="Name of the model at that address; default: operation.yaml's.")
@click.option("--instructions", metavar="TEXT", help="Whose words, which language, what matters in names.")
@click.option(
    "--audit", is_flag=True, help="List names that are clearly nearer to another group's dialogues; send nothing."
)
@click.option("--unmasked", is_flag=True, help="Send e-mail addresses, numbers and speakers' names as they are.")
@click.option("--redact-name", "names", metavar="NAME", multiple=True, help="Mask this name too; may be repeated.")
@click.option("--phone-country", "countries", metavar="CODE", multiple=True, help="Country of phone numbers to mask.")
@click.option("--dry-run", is_flag=True, help="Print the questions and the estimate, and send nothing.")
@click.option("--yes", is_flag=True, help="Send the questions without asking first.")
@click.option("--json", "as_json", is_flag=True, help="Print descriptions.json instead of a table.")
def describe(
    folder: Path,
    address: str | None,
    model: str | None,
    instructions: str | None,
    audit: bool,
    unmasked: bool,
    names: tuple[str, ...],
    countries: tuple[str, ...],
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Let a language model name the groups and sum them up.

    Works with any server that speaks OpenAI's interface, set in the block language_model of operation.yaml; off until
    an address is given. A few masked dialogues of each group are sent, after a question with the estimated cost. The
    groups keep their own names and terms. Writes FOLDER/descriptions/descriptions.json.
    """
    from conversations.progress import bar_to
    from conversations.redaction import COUNTRIES, Masks
    from dial2vec.collection.collection_folder import CollectionFolder
    from dial2vec.collection.describing.describing import describe_groups, estimate, questions_of

    if unmasked and (names or countries):
        raise Dial2vecError(
            "found --unmasked with --redact-name or --phone-country; expected one of them. Leave --unmasked out."
        )
    collection = CollectionFolder(folder)
    if audit:
        click.echo(_audited(collection, as_json=as_json))
        return
    settings = settings_of({"address": address, "model": model, "instructions": instructions})
    masks = None if unmasked else Masks(names=names, countries=countries or COUNTRIES)
    questions = questions_of(collection, settings, masks=masks)
    expected = estimate(collection, settings, questions)
    if dry_run:
        for question in questions:
            click.echo(f"--- {question.level} {question.id}\n{question.text}\n")
        for question in questions[:1]:
            click.echo(f"--- rules of every question\n{question.messages[0]['content']}\n")
        click.echo(_sentence(expected, settings, unmasked=unmasked))
        return
    if expected.questions:
        agree(_sentence(expected, settings, unmasked=unmasked), TAKEN, yes=yes)
    with bar_to(len(questions), "groups") as bar:
        described = describe_groups(collection, settings, questions, masked=not unmasked, done=bar.update)
    click.echo(json.dumps(described.record, ensure_ascii=False, indent=2) if as_json else _table(described))
    if described.failures:
        left, reasons = len(questions) - described.answered, len(described.failures)
        first = "" if reasons == 1 else f" (first of {reasons} reasons)"
        click.echo(f"{left} of {len(questions)} groups kept their terms{first}: {described.failures[0]}", err=True)
    if not as_json:
        cost = f", cost {described.cost:.4f}" if settings.price_in or settings.price_out else ""
        click.echo(f"{described.answered} groups described, {described.asked} questions asked{cost}")
        click.echo(f"Descriptions: {folder / 'descriptions' / 'descriptions.json'}")


def settings_of(options: dict[str, str | None]) -> LanguageModel:
    """Return the block of the nearest operation.yaml at or above the working folder, with what options say instead."""
    from dial2vec.params import load_operation, operation_from_dict

    here = Path.cwd()
    paths = [folder / "operation.yaml" for folder in (here, *here.parents)]
    path = next((path for path in paths if path.is_file()), paths[0])
    block = asdict(load_operation(path).language_model)
    block |= {key: value for key, value in options.items() if value is not None}
    source = ", ".join(f"--{key}" for key in options)
    settings = operation_from_dict({"language_model": block}, source=source).language_model
    if settings.address is None:
        raise SettingsError(
            f"{path}: language_model.address is null, so no language model is used; expected an address such as "
            "http://localhost:11434/v1. Set it there with model, or give --address and --model."
        )
    return settings


def _audited(collection: CollectionFolder, *, as_json: bool) -> str:
    from dial2vec.collection.describing.audit import audit_names

    rows = audit_names(collection)
    if as_json:
        return json.dumps(rows, ensure_ascii=False, indent=2)
    doubtful = [row for row in rows if row["doubtful"]]
    lines = [
        f"cluster {row['cluster']:>4}  {printable(row['name'])}: cosine {row['cosine']:.2f}, and {row['highest']:.2f} "
        f"to cluster {row['nearest']}; terms: {printable(', '.join(row['terms'][:5]))}"
        for row in doubtful
    ]
    return "\n".join(
        [*lines, f"{len(doubtful)} of {len(rows)} names are clearly nearer to another cluster's dialogues"]
    )


def _sentence(expected: Estimate, settings: LanguageModel, *, unmasked: bool) -> str:
    priced = settings.price_in or settings.price_out
    cost = f"about {expected.cost:.4f} by your prices" if priced else "unknown, because operation.yaml has no prices"
    return (
        f"To {settings.address}, model {settings.model}: {expected.questions} questions with {expected.dialogues} "
        f"{'UNMASKED' if unmasked else 'masked'} dialogues, about {expected.tokens_in:,} tokens and "
        f"{expected.tokens_out:,} of answers; cost: {cost}."
    )


def agree(sentence: str, asked: str, *, yes: bool) -> None:
    """Print what will be sent, and raise an error unless the user agrees, here or by --yes."""
    click.echo(sentence, err=True)
    try:
        agreed = yes or click.confirm(asked, err=True)
    except click.Abort as error:
        raise Dial2vecError(
            "nobody answered, so nothing was sent; expected y. Add --yes to send without it."
        ) from error
    if not agreed:
        raise Dial2vecError("nothing was sent, as you answered.")


def _table(described: Described) -> str:
    lines = []
    for level in ("areas", "clusters"):
        for id, words in described.record[level].items():
            lines.append(f"{level[:-1]:<8}{id:>4} {words['size']:>7,}  {printable(words['name'])}")
            if words["summary"]:
                lines.append(f"{'':22}{printable(words['summary'])}")
            lines.append(f"{'':22}terms: {printable(', '.join(words['terms'][:5]))}")
    return "\n".join(lines)
