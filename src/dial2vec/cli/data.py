"""Commands that import dialogues and count them."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import click

from dial2vec.cli.group import complete_corpus, complete_public, examples
from dial2vec.data.importing import FORMATS
from dial2vec.errors import Dial2vecError
from dial2vec.files import checkout_lock, find_root


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
    from dial2vec.data.progress import counted
    from dial2vec.data.validation import Checker
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
        read = get_corpus(corpus, data=root / "data", options=settings.read).read(folder, quarantine=quarantine)
        usable = sum(1 for _ in checker.passing(counted(read, "dialogues")))
        failed = [result for result in checker.results(checker.profile(), earlier=None) if result.stops]
        add_data(root)
    click.echo(f"{usable} dialogues can be used, {len(quarantine)} records cannot.")
    for record in quarantine[:5]:
        click.echo(f"  {record}", err=True)
    for result in failed:
        click.echo(f"This would stop a run: expected {result.expectation}; found {result.found}", err=True)
    click.echo(f"Next: put {corpus} into `corpora` of params.yaml, then `make run`.")


@click.command(
    "import",
    epilog=examples(
        "dial2vec import may.csv --name calls --dry-run", "dial2vec import *.csv --output calls.jsonl --redact"
    ),
)
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--name", help="Corpus of the project to import into: data/NAME.")
@click.option("--output", metavar="FILE", type=click.Path(path_type=Path), help="File to import into, in any folder.")
@click.option(
    "--format", "file_format", type=click.Choice(list(FORMATS)), help="Default: guessed from name and content."
)
@click.option("--id", "dialogue_id", metavar="COLUMN", help="Column of the dialogue's id.")
@click.option("--speaker", metavar="COLUMN", help="Column of the speaker.")
@click.option("--text", metavar="COLUMN", help="Column of the turn's text.")
@click.option("--label", "labels", metavar="COLUMN", multiple=True, help="Column of a label; may be repeated.")
@click.option("--time", metavar="COLUMN", help="Column that the turns of a dialogue are sorted by.")
@click.option("--turns", metavar="COLUMN", help="Column that holds a whole dialogue.")
@click.option("--delimiter", help="Character between the cells of a table, such as ';' or 'tab'.")
@click.option("--encoding", help="Encoding of the text, such as utf-8, cp1252 or utf-16.")
@click.option("--header/--no-header", default=True, help="Without a header row, columns are named 1, 2, ...")
@click.option("--merge-turns/--keep-turns", default=False, help="Join consecutive turns of one speaker; default: keep.")
@click.option("--redact", is_flag=True, help="Mask e-mail addresses, phone and card numbers and speakers' names.")
@click.option("--redact-name", "names", metavar="NAME", multiple=True, help="Mask this name too; may be repeated.")
@click.option(
    "--phone-country", "countries", metavar="CC", multiple=True, help="Mask national numbers of CC; default: US, GB."
)
@click.option("--dry-run", is_flag=True, help="Show what would be imported and write nothing.")
@click.option("--replace", is_flag=True, help="Replace an existing file even if this export did not write it.")
def import_(
    sources: tuple[Path, ...],
    name: str | None,
    output: Path | None,
    file_format: str | None,
    dialogue_id: str | None,
    speaker: str | None,
    text: str | None,
    labels: tuple[str, ...],
    time: str | None,
    turns: str | None,
    delimiter: str | None,
    encoding: str | None,
    header: bool,
    merge_turns: bool,
    redact: bool,
    names: tuple[str, ...],
    countries: tuple[str, ...],
    dry_run: bool,
    replace: bool,
) -> None:
    """Import your exports as a corpus of the project, or into a file.

    Give --name or --output. SOURCE is a file or a folder of files: CSV, TSV, JSON, JSON Lines, Parquet, `Speaker: text`
    lines, WebVTT or SRT. Text formats may be gzipped. The meaning of the columns is guessed and shown (docs/import.md).
    """
    from dial2vec.data.importing.options import Options
    from dial2vec.data.importing.redaction import COUNTRIES
    from dial2vec.pipeline.import_export import Masks, import_export
    from dial2vec.pipeline.import_files import import_files

    if (name is None) == (output is None):
        raise Dial2vecError(
            f"found {'neither --name nor' if name is None else 'both --name and'} --output; expected --name CORPUS in "
            "a project, or --output FILE.jsonl in any folder. Give one of them."
        )
    masks = Masks(names=names, countries=countries or COUNTRIES) if redact or names or countries else None
    options = Options(
        format=file_format,
        encoding=encoding,
        delimiter=delimiter,
        header=header,
        dialogue_id=dialogue_id,
        speaker=speaker,
        text=text,
        labels=labels,
        time=time,
        turns=turns,
    )
    given: Any = {"options": options, "masks": masks, "merge_turns": merge_turns, "replace": replace}
    given |= {"dry_run": dry_run, "say": click.echo}
    if output is not None:
        import_files(sources, output, **given)
    for source in sources if name else ():
        import_export(find_root(), source, corpus=name or "", **given)


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
