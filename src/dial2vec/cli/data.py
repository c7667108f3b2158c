"""Commands that import dialogues and count them."""

from __future__ import annotations

import dataclasses
import json
import os
from contextlib import closing
from pathlib import Path

import click

from dial2vec.cli.group import complete_corpus, complete_public, examples
from dial2vec.files import checkout_lock, find_root

SPLITS = ("train", "dev", "test")


@click.command(epilog=examples("dial2vec fetch sgd"))
@click.argument("corpus", shell_complete=complete_public)
def fetch(corpus: str) -> None:
    """Download a public CORPUS into data/ and version it.

    The environment variable DIAL2VEC_MIRROR names a mirror to use instead of the internet: a folder or a URL, with one
    folder per corpus that holds the upstream archive. The archive's SHA-256 is recorded and checked by later downloads.
    """
    from dial2vec.data.corpora.fetch import MIRROR
    from dial2vec.data.corpora.fetch import fetch as fetch_corpus
    from dial2vec.pipeline.dvc import add_data, restore_data

    root = find_root()
    mirror = os.environ.get(MIRROR)
    with checkout_lock(root, f"fetch of {corpus}"):
        restore_data(root)
        fetched = fetch_corpus(corpus, data=root / "data", mirror=mirror or None)
        add_data(root)
    click.echo(f"{fetched.path.relative_to(root)}: {fetched.bytes / 1e6:.1f} MB, from {fetched.source}")
    if fetched.missing:
        click.echo(f"Missing upstream files ({len(fetched.missing)}): {', '.join(fetched.missing)}", err=True)
    click.echo(f"Next: put {corpus} into `corpora` of params.yaml, then `make run`.")


@click.command(epilog=examples("dial2vec add calls"))
@click.argument("corpus", shell_complete=complete_corpus)
def add(corpus: str) -> None:
    """Version the transcripts that you put into data/CORPUS.

    The transcripts are JSON Lines. Prints how many dialogues can be used, and which expectation would stop a run.
    """
    from dial2vec.data.corpora import get_corpus
    from dial2vec.data.progress import bar_of
    from dial2vec.data.validation import Checker, checked_parts
    from dial2vec.dialogue import Quarantined
    from dial2vec.params import load_settings
    from dial2vec.pipeline.artifacts import Artifacts
    from dial2vec.pipeline.dvc import add_data, restore_data

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
    click.echo(f"Next: put {corpus} into `corpora` of params.yaml, then `make run`.")


@click.command(epilog=examples("dial2vec queries ubuntu_v2 --split test --output queries.jsonl"))
@click.argument("corpus", shell_complete=complete_public)
@click.option("--split", type=click.Choice(SPLITS), default="test", show_default=True, help="Split to write.")
@click.option("--output", required=True, type=click.Path(path_type=Path), help="JSON Lines file to write.")
def queries(corpus: str, split: str, output: Path) -> None:
    """Write contexts of a public CORPUS with candidate responses.

    Only Ubuntu V2, DSTC7 and ECD come with candidates. Each line has a context with its speakers, the candidates and
    the places of the right ones.
    """
    from dial2vec.data.corpora import get_corpus
    from dial2vec.data.corpora.file_corpus import CandidateCorpus
    from dial2vec.data.corpora.response_queries import write_queries
    from dial2vec.dialogue import Quarantined
    from dial2vec.errors import CorpusError

    root = find_root()
    reader = get_corpus(corpus, data=root / "data")
    if not isinstance(reader, CandidateCorpus):
        raise CorpusError(
            f"{corpus} has no candidates; expected one of the corpora that come with them. Choose another corpus, or "
            "let response selection draw candidates."
        )
    quarantine: list[Quarantined] = []
    written = write_queries(output, reader.queries(root / "data" / corpus, split=split, quarantine=quarantine))
    click.echo(f"{written} contexts with candidates written to {output}, {len(quarantine)} records cannot be used.")
    for record in quarantine[:5]:
        click.echo(f"  {record}", err=True)


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
