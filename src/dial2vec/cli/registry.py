"""Commands around the registry: who is champion, who was, and why."""

from __future__ import annotations

import dataclasses
import json

import click

from dial2vec.cli.group import complete_corpus, examples


@click.command(epilog=examples("dial2vec promote calls"))
@click.argument("corpus", shell_complete=complete_corpus)
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON, for a script.")
def promote(corpus: str, as_json: bool) -> None:
    """Make the candidate champion, if it is better.

    Better on dev than its start and the present champion, by more than chance (docs/champion.md).
    """
    from dial2vec.files import checkout_lock, find_root
    from dial2vec.params import load_settings
    from dial2vec.pipeline.promotion import promote_candidate
    from dial2vec.registry.promotion import summary

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
    for line in verdict.reasons or [summary(verdict)]:
        click.echo(f"  {line}")
    if verdict.promoted:
        click.echo(f"  To take it back: dial2vec rollback {corpus}")


@click.command(epilog=examples("dial2vec versions calls"))
@click.argument("corpus", shell_complete=complete_corpus)
@click.option("--json", "as_json", is_flag=True, help="As JSON, for a script.")
def versions(corpus: str, as_json: bool) -> None:
    """List the registered versions of a corpus."""
    from dial2vec.files import find_root
    from dial2vec.registry.tracking import versions as registered

    found = registered(find_root(), corpus)
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(one) for one in found], indent=2))
        return
    for version in found:
        click.echo(str(version))


@click.command(epilog=examples('dial2vec rollback calls --because "worse on refunds"'))
@click.argument("corpus", shell_complete=complete_corpus)
@click.option("--to", metavar="VERSION", help="Any registered version; without it, the champion before this one.")
@click.option("--because", default="", metavar="REASON", help="Why, for those who read the history.")
def rollback(corpus: str, to: str | None, because: str) -> None:
    """Make an earlier version champion again.

    The present one is not promoted again by itself.
    """
    from dial2vec.files import find_root
    from dial2vec.registry.champions import rollback as roll_back

    done = roll_back(find_root(), corpus, to=to, because=because)
    click.echo(f"dial2vec-{corpus}: version {done.after} is champion again, in place of version {done.before}.")
    click.echo(f"  To undo this: dial2vec rollback {corpus} --to {done.before}")


@click.command(epilog=examples("dial2vec history calls"))
@click.argument("corpus", shell_complete=complete_corpus)
@click.option("--json", "as_json", is_flag=True, help="As JSON, for a script.")
def history(corpus: str, as_json: bool) -> None:
    """List who was champion when, and why."""
    from dial2vec.files import find_root
    from dial2vec.registry.champions import history as decided

    found = decided(find_root(), corpus)
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(one) for one in found], indent=2))
        return
    for decision in found:
        click.echo(str(decision))
