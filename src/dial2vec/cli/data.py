"""Commands that bring dialogues in and count them."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import click

from dial2vec.cli.group import complete_corpus, complete_public, examples
from dial2vec.data.importing import FORMATS


@click.command(epilog=examples("dial2vec fetch sgd"))
@click.argument("corpus", shell_complete=complete_public)
def fetch(corpus: str) -> None:
    """Bring a public CORPUS into data/ and version it.

    Downloads it, or takes it from the mirror that the variable DIAL2VEC_MIRROR names, a folder or a URL: one folder
    per corpus, with the upstream archive in it. Its SHA-256 is recorded beside it, and compared from then on.
    """
    from dial2vec.data.corpora.fetch import MIRROR
    from dial2vec.data.corpora.fetch import fetch as fetch_corpus
    from dial2vec.files import checkout_lock, find_root
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

    They are JSON Lines, and looked at first: how many can be used, and where a run would stop.
    """
    from dial2vec.data.corpora import get_corpus
    from dial2vec.data.progress import counted
    from dial2vec.data.validation import Checker
    from dial2vec.dialogue import Quarantined
    from dial2vec.files import checkout_lock, find_root
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
        read = get_corpus(corpus, data=root / "data", options=settings.read).read(folder, quarantine=quarantine)
        usable = sum(1 for _ in checker.passing(counted(read, "dialogues")))
        failed = [result for result in checker.results(checker.profile(), earlier=None) if result.stops]
        add_data(root)
    click.echo(f"{usable} dialogues can be used, {len(quarantine)} records cannot.")
    for record in quarantine[:5]:
        click.echo(f"  {record}", err=True)
    for result in failed:
        click.echo(f"A run would stop here: expected {result.expectation}; found {result.found}", err=True)
    click.echo(f"Next: put {corpus} into `corpora` of params.yaml, then `make run`.")


@click.command(
    "import",
    epilog=examples("dial2vec import may.csv --name calls --dry-run", "dial2vec import may.csv --name calls --redact"),
)
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--name", required=True, help="Corpus to import into: data/NAME.")
@click.option("--format", type=click.Choice(list(FORMATS)), help="Default: by ending and content.")
@click.option("--id", "dialogue_id", metavar="COLUMN", help="Column that tells the dialogues apart.")
@click.option("--speaker", metavar="COLUMN", help="Column of the speaker.")
@click.option("--text", metavar="COLUMN", help="Column of what was said.")
@click.option("--label", "labels", metavar="COLUMN", multiple=True, help="Column of a label; may be repeated.")
@click.option("--time", metavar="COLUMN", help="Column that puts the turns of a dialogue in order.")
@click.option("--turns", metavar="COLUMN", help="Column that holds a whole dialogue.")
@click.option("--delimiter", help="Between the cells of a table, such as ';' or 'tab'.")
@click.option("--encoding", help="Such as utf-8, cp1252 or utf-16.")
@click.option("--header/--no-header", default=True, help="Without one, columns are called 1, 2, ...")
@click.option(
    "--merge-turns/--keep-turns", default=False, help="Make turns that follow in one voice one; default keep."
)
@click.option("--redact", is_flag=True, help="Mask e-mail addresses, phone and card numbers and speakers' names.")
@click.option("--redact-name", "names", metavar="NAME", multiple=True, help="Mask this name too; may be repeated.")
@click.option("--phone-country", "countries", metavar="CC", multiple=True, help="Of national numbers; default US, GB.")
@click.option("--dry-run", is_flag=True, help="Show what would be imported and write nothing.")
@click.option("--replace", is_flag=True, help="Replace a file of this name that this export's import did not write.")
def import_(
    source: Path,
    name: str,
    merge_turns: bool,
    redact: bool,
    names: tuple[str, ...],
    countries: tuple[str, ...],
    dry_run: bool,
    replace: bool,
    **described: Any,
) -> None:
    """Make an export of your own a corpus: a file, or a folder of files.

    CSV, TSV, JSON, JSON Lines, Parquet, `Speaker: text` lines, WebVTT and SRT, the text formats also packed by gzip.
    What the columns mean is guessed and shown; docs/import.md tells how.
    """
    from dial2vec.data.importing.options import Options
    from dial2vec.data.importing.redaction import COUNTRIES
    from dial2vec.files import find_root
    from dial2vec.pipeline.import_export import Masks, import_export

    wanted = redact or names or countries
    import_export(
        find_root(),
        source,
        corpus=name,
        options=Options(**described),
        masks=Masks(names=names, countries=countries or COUNTRIES) if wanted else None,
        merge_turns=merge_turns,
        dry_run=dry_run,
        replace=replace,
        say=click.echo,
    )


@click.command(epilog=examples("dial2vec stats calls"))
@click.argument("corpora", nargs=-1, required=True, metavar="CORPUS...", shell_complete=complete_corpus)
@click.option("--json", "as_json", is_flag=True, help="Print a record per corpus, one a line.")
def stats(corpora: tuple[str, ...], as_json: bool) -> None:
    """Count what a corpus has, split by split.

    Dialogues, turns, words and labels, beside published figures where there are some.
    """
    from dial2vec.data.stats import corpus_table, count_corpus
    from dial2vec.files import find_root
    from dial2vec.params import load_settings

    root = find_root()
    settings = load_settings(root / "params.yaml")
    for name in corpora:
        found = count_corpus(name, data=root / "data", settings=settings)
        click.echo(json.dumps(dataclasses.asdict(found)) if as_json else f"{corpus_table(found)}\n")
