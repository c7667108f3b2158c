"""Commands on the registry: who is champion, who was before, and why."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from dial2vec.cli.group import complete_corpus, examples
from dial2vec.files import checkout_lock, find_root

if TYPE_CHECKING:
    from dial2vec.registry.records import Decision, RegisteredVersion


@click.command(epilog=examples("dial2vec promote calls"))
@click.argument("corpus", shell_complete=complete_corpus)
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON, for a script.")
def promote(corpus: str, as_json: bool) -> None:
    """Make the candidate champion if it is better.

    Better means: on dev, than both its start and the present champion, by more than chance (docs/champion.md).
    CORPUS-small judges the student of a corpus, also against its teacher.
    """
    from dial2vec.params import load_settings
    from dial2vec.pipeline.promotion import promote_candidate
    from dial2vec.registry.promotion import verdict_sentence
    from dial2vec.registry.receipts import registered_models

    root = find_root()
    with checkout_lock(root, f"promotion of {corpus}"):
        verdict = promote_candidate(root, corpus, load_settings(root / "params.yaml"))
    if as_json:
        click.echo(json.dumps(dataclasses.asdict(verdict), indent=2))
        return
    if verdict.promoted:
        click.echo(f"dial2vec-{corpus}: the candidate is the champion now.")
    else:
        click.echo(f"dial2vec-{corpus}: the champion stays.")
    for line in verdict.reasons or [verdict_sentence(verdict)]:
        click.echo(f"  {line}")
    if verdict.promoted:
        click.echo(f"  To undo this: dial2vec rollback {corpus}")
    for name in registered_models(root, corpus)[1:]:
        click.echo(f"  Its student is judged by: dial2vec promote {name}")


@click.command(epilog=examples("dial2vec versions calls"))
@click.argument("corpus", shell_complete=complete_corpus)
@click.option("--json", "as_json", is_flag=True, help="Print the versions as JSON, for a script.")
def versions(corpus: str, as_json: bool) -> None:
    """List the registered versions of a corpus."""
    from dial2vec.registry.tracking import registered_versions

    _print(registered_versions(find_root(), corpus), as_json)


@click.command(epilog=examples('dial2vec rollback calls --because "worse on refunds"'))
@click.argument("corpus", shell_complete=complete_corpus)
@click.option(
    "--to", metavar="VERSION", help="Registered version to go back to; default: the champion before this one."
)
@click.option("--because", default="", metavar="REASON", help="Reason, for the history.")
def rollback(corpus: str, to: str | None, because: str) -> None:
    """Make an earlier version champion again.

    The version that is replaced is not promoted again automatically.
    """
    from dial2vec.registry.champions import rollback as roll_back

    done = roll_back(find_root(), corpus, to=to, because=because)
    click.echo(f"dial2vec-{corpus}: version {done.after} is champion again, in place of version {done.before}.")
    click.echo(f"  To undo this: dial2vec rollback {corpus} --to {done.before}")


@click.command(epilog=examples("dial2vec history calls"))
@click.argument("corpus", shell_complete=complete_corpus)
@click.option("--json", "as_json", is_flag=True, help="Print the decisions as JSON, for a script.")
def history(corpus: str, as_json: bool) -> None:
    """List who was champion when, and why."""
    from dial2vec.registry.champions import history as decisions

    _print(decisions(find_root(), corpus), as_json)


def _print(records: Sequence[RegisteredVersion] | Sequence[Decision], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(record) for record in records], indent=2))
        return
    for record in records:
        click.echo(str(record))
