"""Commands on the registry: who is champion, who was before and why, and which old versions go."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dial2vec.cli.group import complete_corpus, complete_registered, examples
from dial2vec.errors import Dial2vecError
from dial2vec.files import checkout_lock, find_root

if TYPE_CHECKING:
    from dial2vec.registry.records import Decision, RegisteredVersion


@click.command(epilog=examples("dial2vec promote calls"))
@click.argument("corpus", shell_complete=complete_registered)
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON, for a script.")
def promote(corpus: str, as_json: bool) -> None:
    """Make the candidate champion if it is better.

    Better means: on dev, than both its base encoder and the present champion, by more than chance (docs/champion.md).
    CORPUS-small judges the student of a corpus, also against its teacher.
    """
    from dial2vec.params import load_settings
    from dial2vec.project.promotion import promote_candidate
    from dial2vec.registry.promotion import verdict_sentence
    from dial2vec.registry.receipts import registered_models

    root = find_root()
    _tell_changes(root, corpus)
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
@click.argument("corpus", shell_complete=complete_registered)
@click.option("--json", "as_json", is_flag=True, help="Print the versions as JSON, for a script.")
def versions(corpus: str, as_json: bool) -> None:
    """List the registered versions of a corpus."""
    from dial2vec.registry.tracking import registered_versions

    root = find_root()
    _tell_changes(root, corpus)
    _print(registered_versions(root, corpus), as_json)


@click.command(epilog=examples('dial2vec rollback calls --because "worse on refunds"'))
@click.argument("corpus", shell_complete=complete_registered)
@click.option(
    "--to", metavar="VERSION", help="Registered version to go back to; default: the champion before this one."
)
@click.option("--because", default="", metavar="REASON", help="Reason, for the history.")
def rollback(corpus: str, to: str | None, because: str) -> None:
    """Make an earlier version champion again.

    The version that is replaced is not promoted again automatically.
    """
    from dial2vec.registry.champions import rollback as roll_back

    root = find_root()
    _tell_changes(root, corpus)
    done = roll_back(root, corpus, to=to, because=because)
    before = f", in place of version {done.before}" if done.before else "; there was none"
    click.echo(f"dial2vec-{corpus}: version {done.after} is champion again{before}.")
    if done.before:
        click.echo(f"  To undo this: dial2vec rollback {corpus} --to {done.before}")


@click.command(epilog=examples("dial2vec history calls"))
@click.argument("corpus", shell_complete=complete_registered)
@click.option("--json", "as_json", is_flag=True, help="Print the decisions as JSON, for a script.")
def history(corpus: str, as_json: bool) -> None:
    """List who was champion when, and why."""
    from dial2vec.registry.champions import history as decisions

    root = find_root()
    _tell_changes(root, corpus)
    _print(decisions(root, corpus), as_json)


@click.command(epilog=examples("dial2vec prune calls", "dial2vec prune calls --keep-last 3 --yes"))
@click.argument("corpora", nargs=-1, metavar="[CORPUS]...", shell_complete=complete_corpus)
@click.option("--keep-last", type=click.IntRange(min=0), help="Newest versions to keep; default: operation.yaml.")
@click.option("--keep-days", type=click.FloatRange(min=0), help="Keep younger versions; default: operation.yaml.")
@click.option(
    "--version", "chosen", multiple=True, metavar="N", help="Remove only this version, with its student; repeatable."
)
@click.option("--yes", is_flag=True, help="Remove; without it nothing is removed.")
def prune(
    corpora: tuple[str, ...], keep_last: int | None, keep_days: float | None, chosen: tuple[str, ...], yes: bool
) -> None:
    """Remove old versions with their files.

    First shows what would go, and why each other version stays: champions, candidates, the champion before, their
    starts, versions with any alias, the last ones and the young ones (docs/champion.md). DVC's cache loses what neither
    the project nor a branch or tag of git refers to. The history keeps a line on each removed version.
    """
    from dial2vec.operation.schedule.runs import remove_old_runs
    from dial2vec.params import load_operation, load_settings
    from dial2vec.project.prune import plan_prune, remove_planned

    root = find_root()
    block = load_operation(root / "operation.yaml").prune
    rules = dataclasses.replace(
        block,
        keep_last=block.keep_last if keep_last is None else keep_last,
        keep_days=block.keep_days if keep_days is None else keep_days,
    )
    names = corpora or load_settings(root / "params.yaml").corpora
    if chosen and len(names) != 1:
        raise Dial2vecError(f"--version names versions of one corpus; found {len(names)} corpora. Name one.")
    picked = {(name, number) for name in names for number in chosen}
    with checkout_lock(root, "dial2vec prune"):
        for corpus in names:
            _tell_changes(root, corpus)
        plan = plan_prune(root, names, rules, chosen=chosen)
        for line in plan.lines():
            click.echo(line)
        kept = [version for version in plan.versions if (version.corpus, version.version) in picked and version.why]
        for version in kept:
            click.echo(f"Version {version.version} stays: {'; '.join(version.why)}.")
        for sentence in remove_planned(root, plan) if yes else ():
            click.echo(sentence)
        click.echo(remove_old_runs(root, rules.keep_days, dry_run=not yes))
    rest = "All but what stays is removed" if kept else "All of this is removed"
    click.echo(f"{rest}." if yes else f"Dry run: nothing is removed. With --yes {rest[0].lower()}{rest[1:]}.")


@click.command(epilog=examples("dial2vec forget calls c-1042", "dial2vec forget calls c-1042 --remote --yes"))
@click.argument("corpus", shell_complete=complete_corpus)
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option(
    "--collection",
    "collections",
    multiple=True,
    type=click.Path(path_type=Path, exists=True),
    help="A collection elsewhere that loses them too; repeatable.",
)
@click.option("--remote", is_flag=True, help="Also from DVC's remote, if it is a folder outside the project.")
@click.option("--yes", is_flag=True, help="Do it; without it nothing is changed.")
def forget(corpus: str, ids: tuple[str, ...], collections: tuple[Path, ...], remote: bool, yes: bool) -> None:
    """Remove dialogues from data, what was made of them, and DVC.

    First shows the files that hold them, and the registered versions that knew them (docs/champion.md).
    """
    from dial2vec.operation.forgetting import forget as forget_dialogues
    from dial2vec.operation.forgetting import plan_forget

    root = find_root()
    with checkout_lock(root, "dial2vec forget"):
        plan = plan_forget(root, corpus, ids, collections=collections, remote=remote)
        for line in plan.lines():
            click.echo(line)
        if yes:
            forget_dialogues(plan, click.echo)
    if not yes:
        click.echo("Dry run: nothing is changed. With --yes it is.")


def _tell_changes(root: Path, corpus: str) -> None:
    """Print what somebody has changed in MLflow, on stderr, so that JSON on stdout stays whole."""
    from dial2vec.registry.by_hand import noticed

    for line in noticed(root, corpus):
        click.echo(line, err=True)


def _print(records: Sequence[RegisteredVersion] | Sequence[Decision], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(record) for record in records], indent=2))
        return
    for record in records:
        click.echo(str(record))
