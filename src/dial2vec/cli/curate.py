"""The commands by which people decide about the clusters of a collection."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from conversations.words import printable, with_noun
from dial2vec.cli.group import examples

if TYPE_CHECKING:
    from dial2vec.collection.clustering.curation import Change


@click.group(epilog=examples('dial2vec curate calls rename 3 "Lost cards"', "dial2vec curate calls merge 3 7"))
@click.argument("folder", type=click.Path(path_type=Path))
@click.pass_context
def curate(context: click.Context, folder: Path) -> None:
    """Rename, merge, split or hide groups; move dialogues; keep notes.

    A decision is applied at once, and again after each clustering. Decisions are in FOLDER/curation.yaml, notes in
    FOLDER/notes.jsonl.
    """
    context.obj = folder


@curate.command(epilog=examples('dial2vec curate calls rename 3 "Lost cards"'))
@click.argument("cluster", type=int)
@click.argument("name")
@click.pass_obj
def rename(folder: Path, cluster: int, name: str) -> None:
    """Give a cluster a name, which stays."""
    _decide(folder, "rename", cluster, to=name)


@curate.command(epilog=examples("dial2vec curate calls merge 3 7"))
@click.argument("cluster", type=int)
@click.argument("other", type=int)
@click.pass_obj
def merge(folder: Path, cluster: int, other: int) -> None:
    """Let the dialogues of cluster OTHER join CLUSTER."""
    _decide(folder, "merge", cluster, other=other)


@curate.command(epilog=examples("dial2vec curate calls split 3"))
@click.argument("cluster", type=int)
@click.pass_obj
def split(folder: Path, cluster: int) -> None:
    """Make each fine topic of a cluster a cluster of its own."""
    _decide(folder, "split", cluster)


@curate.command(epilog=examples("dial2vec curate calls pin 3"))
@click.argument("cluster", type=int)
@click.pass_obj
def pin(folder: Path, cluster: int) -> None:
    """Keep a cluster together, with its id and its name, whatever is clustered later."""
    _decide(folder, "pin", cluster)


@curate.command(epilog=examples("dial2vec curate calls hide 3"))
@click.argument("cluster", type=int)
@click.pass_obj
def hide(folder: Path, cluster: int) -> None:
    """Leave a cluster out of tables and maps; its dialogues are kept."""
    _decide(folder, "hide", cluster)


@curate.command(epilog=examples("dial2vec curate calls move d17 3"))
@click.argument("dialogue")
@click.argument("cluster", type=int)
@click.pass_obj
def move(folder: Path, dialogue: str, cluster: int) -> None:
    """Put a dialogue into another cluster, where it stays."""
    _decide(folder, "move", cluster, dialogue=dialogue)


@curate.command(epilog=examples('dial2vec curate calls note d17 "Call back on Monday"'))
@click.argument("dialogue")
@click.argument("text", required=False)
@click.pass_obj
def note(folder: Path, dialogue: str, text: str | None) -> None:
    """Keep a note on a dialogue instead of the one before; "" removes it, and without TEXT it is shown."""
    from dial2vec.collection.clustering.notes import read_notes, write_note
    from dial2vec.collection.collection_folder import CollectionFolder

    collection = CollectionFolder(folder)
    if text is None:
        collection.row(dialogue)
        kept = read_notes(folder).get(dialogue)
        click.echo("No note." if kept is None else f"{kept.date}  {printable(kept.text)}")
    else:
        verb = "removed" if write_note(collection, dialogue, text) is None else "kept"
        click.echo(f"The note on {printable(dialogue)} is {verb}.")


@curate.command(epilog=examples("dial2vec curate calls undo"))
@click.pass_obj
def undo(folder: Path) -> None:
    """Take back the last decision; repeat it for the one before."""
    from dial2vec.collection.clustering.curation import undo_decision
    from dial2vec.collection.collection_folder import CollectionFolder

    change = _with_bar(lambda done: undo_decision(CollectionFolder(folder), done=done))
    click.echo(f"Taken back: {change.decision} ({printable(change.decision.name)})")


@curate.command(epilog=examples("dial2vec curate calls proposals", "dial2vec curate calls proposals --accept 2"))
@click.option("--accept", type=int, metavar="NUMBER", help="Carry out this proposal.")
@click.option("--dismiss", type=int, metavar="NUMBER", help="Let this proposal go.")
@click.pass_obj
def proposals(folder: Path, accept: int | None, dismiss: int | None) -> None:
    """List what agents have proposed; accept or dismiss it."""
    from dial2vec.collection.clustering.proposals import FILE, open_proposals, settle_proposal
    from dial2vec.collection.collection_folder import CollectionFolder

    for number, accepted in ((accept, True), (dismiss, False)):
        if number is not None:
            change = settle_proposal(CollectionFolder(folder), number, accepted=accepted)
            sentence = "" if change is None else change.sentence(lambda cluster: f"“{cluster.name}”")
            click.echo(printable(sentence) or f"Proposal {number} is dismissed.")
    waiting = open_proposals(CollectionFolder(folder))
    for made in waiting:
        click.echo(
            f"{made.number:>3}  {made.decision.date}  {printable(made.decision.words)}\n     {printable(made.reason)}"
        )
    click.echo(f"{with_noun(len(waiting), 'proposal')} of agents in {folder / FILE}")


@curate.command("list", epilog=examples("dial2vec curate calls list"))
@click.pass_obj
def list_(folder: Path) -> None:
    """List all decisions, oldest first, and those that cannot be applied."""
    from dial2vec.collection.clustering.curation import decisions_of
    from dial2vec.collection.clustering.notes import notes_file, read_notes
    from dial2vec.collection.collection_folder import CollectionFolder

    decisions = decisions_of(CollectionFolder(folder))
    for edit, problem in decisions:
        names = edit.name if edit.other_name is None else f"{edit.name}; {edit.other_name}"
        click.echo(f"{edit.date:<10}  {edit}  ({printable(names)}){f'  NOT APPLIED: {problem}' if problem else ''}")
    click.echo(f"{len(decisions)} decisions in {folder / 'curation.yaml'}")
    if notes := read_notes(folder):
        click.echo(f"{len(notes)} note{'s' if len(notes) > 1 else ''} in {notes_file(folder)}")


def _decide(folder: Path, action: str, cluster: int, **needed: Any) -> None:
    """Decide about a cluster, and print what was done.

    :param needed: arguments of the action: `to`, `other` or `dialogue`.
    """
    from dial2vec.collection.clustering.curation import curate as decide
    from dial2vec.collection.collection_folder import CollectionFolder

    collection = CollectionFolder(folder)
    change = _with_bar(lambda done: decide(collection, action, cluster, done=done, **needed))
    if action == "split":
        click.echo(f"Cluster {cluster} ({printable(change.decision.name)}) is {len(change.parts)} clusters now:")
        for part in change.parts:
            click.echo(f"{part.id:>4} {part.size:>7,}  {printable(part.name)}")
    else:
        sentence = printable(change.sentence(lambda cluster: f"cluster {cluster.id} ({cluster.name})"))
        click.echo(f"{sentence[0].upper()}{sentence[1:]}" if "dialogue" not in needed else sentence)
    click.echo(f"To take it back: dial2vec curate {quote(str(folder))} undo")


def _with_bar(work: Callable[[Callable[[int], object]], Change]) -> Change:
    from conversations.progress import bar_to
    from dial2vec.collection.clustering.stability import HALVES

    with bar_to(HALVES, "groups") as bar:
        return work(bar.update)
