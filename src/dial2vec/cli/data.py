"""Commands that import dialogues and count them."""

from __future__ import annotations

import dataclasses
import json
import os
from contextlib import closing
from pathlib import Path

import click

from dial2vec.cli.group import complete_corpus, complete_public, examples
from dial2vec.errors import Dial2vecError
from dial2vec.files import checkout_lock, find_root


@click.command(epilog=examples("dial2vec fetch sgd"))
@click.argument("corpus", shell_complete=complete_public)
def fetch(corpus: str) -> None:
    """Download a public CORPUS into data/ and version it.

    The environment variable DIAL2VEC_MIRROR names a mirror to use instead of the internet: a folder or a URL, with one
    folder per corpus that holds the upstream archive. The archive's SHA-256 is recorded and checked by later downloads.
    """
    from dial2vec.data.corpora import fetch_corpus
    from dial2vec.data.corpora.corpus import MIRROR
    from dial2vec.project.dvc import add_data, restore_data

    root = find_root()
    mirror = os.environ.get(MIRROR)
    with checkout_lock(root, f"fetch of {corpus}"):
        restore_data(root)
        fetched = fetch_corpus(corpus, data=root / "data", mirror=mirror or None)
        add_data(root)
    click.echo(f"{fetched.path.relative_to(root)}: {fetched.bytes / 1e6:.1f} MB, from {fetched.source}")
    if fetched.missing:
        click.echo(f"Missing upstream files ({len(fetched.missing)}): {', '.join(fetched.missing)}", err=True)
    click.echo(f"Next: put {corpus} into `corpora` of params.yaml, then `dial2vec run`.")


@click.command(epilog=examples("dial2vec add calls"))
@click.argument("corpus", shell_complete=complete_corpus)
def add(corpus: str) -> None:
    """Version the transcripts that you put into data/CORPUS.

    The transcripts are JSON Lines. Prints how many dialogues can be used, and which expectation would stop a run.
    """
    from conversations.dialogue import Quarantined
    from conversations.progress import bar_of
    from dial2vec.data.corpora import get_corpus
    from dial2vec.data.validation import Checker, checked_parts
    from dial2vec.params import load_settings
    from dial2vec.pipeline.artifacts import Artifacts
    from dial2vec.project.dvc import add_data, restore_data

    root = find_root()
    settings = load_settings(root / "params.yaml")
    quarantine: list[Quarantined] = []
    with checkout_lock(root, f"add of {corpus}"):
        restore_data(root)
        folder = Artifacts(root, corpus).data
        checker = Checker(settings.validate, quarantine=quarantine)
        reader = get_corpus(corpus, data=root / "data", options=settings.read)
        usable = 0
        parts = checked_parts(reader, folder, checker, merge=settings.read.merge_turns)
        with closing(parts), bar_of("dialogues") as bar:
            for part in parts:
                usable += len(part.passing)
                bar.update(len(part.ids))
        failed = [result for result in checker.results(checker.profile(), earlier=None) if result.stops]
        add_data(root)
    click.echo(f"{usable} dialogues can be used, {len(quarantine)} records cannot.")
    for record in quarantine[:5]:
        click.echo(f"  {record}", err=True)
    for result in failed:
        click.echo(f"This would stop a run: expected {result.expectation}; found {result.found}", err=True)
    click.echo(f"Next: put {corpus} into `corpora` of params.yaml, then `dial2vec run`.")


@click.command(epilog=examples("dial2vec stats calls"))
@click.argument("corpora", nargs=-1, required=True, metavar="CORPUS...", shell_complete=complete_corpus)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON record per corpus, each on a line.")
def stats(corpora: tuple[str, ...], as_json: bool) -> None:
    """Count dialogues, turns, words and labels of a corpus, per split.

    Published figures are shown beside the counts if there are any.
    """
    from dial2vec.data.stats import corpus_table, count_corpus
    from dial2vec.params import load_settings

    root = find_root()
    settings = load_settings(root / "params.yaml")
    for name in corpora:
        counts = count_corpus(name, data=root / "data", settings=settings)
        click.echo(json.dumps(dataclasses.asdict(counts)) if as_json else f"{corpus_table(counts)}\n")


@click.command(epilog=examples("dial2vec verify", "dial2vec verify calls-collection"))
@click.argument("path", required=False, type=click.Path(path_type=Path))
def verify(path: Path | None) -> None:
    """Look for damaged files in a project, a collection or a model.

    All files with a checksum are read again: the project's files, DVC's cache and remote, registered versions and
    collections. PATH is a collection, a model or a project; default: the project. Exits with 1 if a file is damaged.
    """
    from dial2vec.operation import verify as work

    damaged = 0
    for place, problems in work.verify(path):
        click.echo(f"{place}: {f'{len(problems)} damaged' if problems else 'whole'}")
        for problem in problems:
            click.echo(f"  {problem}")
        damaged += len(problems)
    if damaged:
        raise Dial2vecError(f"{damaged} damaged files; expected none. Each line above says the way back.")
