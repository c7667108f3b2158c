"""The command `dial2vec`: thin; what it does lies in the modules that it calls."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Any, Literal

import click

from dial2vec import telemetry
from dial2vec.errors import Dial2vecError
from dial2vec.importing import FORMATS

PAGES = {"mlflow": 5000, "prefect": 4200}


class Group(click.Group):
    """Turns our errors into one line and status 1; `--debug` shows the traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except Dial2vecError as error:
            if ctx.params.get("debug"):
                raise
            click.echo(f"Error: {error}", err=True)
            ctx.exit(1)


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(package_name="dial2vec")
def main(debug: bool) -> None:
    """Train, judge, register and use a dialogue encoder on your own conversations."""
    telemetry.switch_off()
    logging.basicConfig(level=logging.INFO if debug else logging.WARNING, format="%(message)s")


@main.command()
def run() -> None:
    """Run the pipeline of all corpora in params.yaml and show the results."""
    from dial2vec.artifacts import find_root
    from dial2vec.files import checkout_lock
    from dial2vec.params import load_settings
    from dial2vec.pipeline import dvc, ensure_data, results_table, targets

    root = find_root()
    settings = load_settings(root / "params.yaml")
    with checkout_lock(root, "dial2vec run"):
        ensure_data(root, settings.corpora)
        dvc(root, "repro", *targets(settings.corpora))
    click.echo(f"\n{results_table(root, settings)}\n")
    click.echo("MLflow page: make mlflow    Prefect page: make prefect")


@main.command()
def results() -> None:
    """Show the results of the last run."""
    from dial2vec.artifacts import find_root
    from dial2vec.params import load_settings
    from dial2vec.pipeline import results_table

    root = find_root()
    click.echo(results_table(root, load_settings(root / "params.yaml")))


@main.command()
@click.argument("corpus")
def fetch(corpus: str) -> None:
    """Bring the upstream archive of CORPUS into data/ and version it.

    Downloads it, or takes it from the mirror that the variable DIAL2VEC_MIRROR names, a folder or a URL: one folder
    per corpus, with the upstream archive in it. Its SHA-256 is recorded beside it, and compared from then on.
    """
    from dial2vec.artifacts import find_root
    from dial2vec.corpora.fetch import MIRROR
    from dial2vec.corpora.fetch import fetch as fetch_corpus
    from dial2vec.files import checkout_lock
    from dial2vec.pipeline import add_data, restore_data

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


@main.command()
@click.argument("corpus")
def add(corpus: str) -> None:
    """Version your own transcripts in data/CORPUS (JSON Lines) after a look at them."""
    from dial2vec.artifacts import Artifacts, find_root
    from dial2vec.corpora import get_corpus
    from dial2vec.dialogue import Quarantined
    from dial2vec.files import checkout_lock
    from dial2vec.params import load_settings
    from dial2vec.pipeline import add_data, restore_data
    from dial2vec.validation import Checker

    root = find_root()
    settings = load_settings(root / "params.yaml")
    quarantine: list[Quarantined] = []
    with checkout_lock(root, f"add of {corpus}"):
        restore_data(root)
        folder = Artifacts(root, corpus).data
        checker = Checker(settings.validate, quarantine=quarantine)
        read = get_corpus(corpus, data=root / "data", options=settings.read).read(folder, quarantine=quarantine)
        usable = sum(1 for _ in checker.passing(read))
        failed = [outcome for outcome in checker.outcomes(checker.profile(), earlier=None) if outcome.stops]
        add_data(root)
    click.echo(f"{usable} dialogues can be used, {len(quarantine)} records cannot.")
    for record in quarantine[:5]:
        click.echo(f"  {record}", err=True)
    for outcome in failed:
        click.echo(f"A run would stop here: expected {outcome.expectation}; found {outcome.found}", err=True)
    click.echo(f"Next: put {corpus} into `corpora` of params.yaml, then `make run`.")


@main.command("import")
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
    """Import an export of your own, a file or a folder of files, into the corpus NAME.

    CSV, TSV, JSON, JSON Lines, Parquet, `Speaker: text` lines, WebVTT and SRT, the text formats also packed by gzip.
    What the columns mean is guessed and shown; docs/import.md tells how.
    """
    from dial2vec.artifacts import find_root
    from dial2vec.importing.command import Masks, import_export
    from dial2vec.importing.options import Options
    from dial2vec.importing.redaction import COUNTRIES

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


@main.command()
@click.argument("corpora", nargs=-1, required=True, metavar="CORPUS...")
def stats(corpora: tuple[str, ...]) -> None:
    """Count dialogues, turns, words and labels of each CORPUS as the pipeline splits it, beside published figures."""
    from dial2vec.artifacts import find_root
    from dial2vec.params import load_settings
    from dial2vec.stats import count_corpus, describe

    root = find_root()
    settings = load_settings(root / "params.yaml")
    for name in corpora:
        click.echo(describe(count_corpus(name, data=root / "data", settings=settings)) + "\n")


@main.command()
@click.option("--corpus", "corpora", metavar="CORPUS", multiple=True, help="Default: those of params.yaml.")
@click.option("--system", "systems", metavar="SYSTEM", multiple=True, help="A row of the tables; default: all.")
@click.option(
    "--ablation", "ablations", metavar="SETTING", multiple=True, help="Change it in the paper's recipe; or: all."
)
@click.option("--seed", "seeds", multiple=True, type=click.IntRange(0, 2**31), default=(1, 2, 3), show_default=True)
@click.option("--tasks", is_flag=True, help="Score the tasks for utterances, too; of all methods by default.")
@click.option("--intents", type=click.Path(path_type=Path), help="For --tasks: folder or zip of the intent sets.")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Cells computed at the same time.")
@click.option("--output", type=click.Path(path_type=Path), help="Folder of the tables; default: artifacts/benchmark.")
def benchmark(
    corpora: tuple[str, ...],
    systems: tuple[str, ...],
    ablations: tuple[str, ...],
    seeds: tuple[int, ...],
    tasks: bool,
    intents: Path | None,
    jobs: int,
    output: Path | None,
) -> None:
    """Fill the paper's tables: every SYSTEM on every CORPUS with every seed, beside the published figures.

    A cell that is there is not computed again, so a run that was killed goes on. Each is a run of MLflow's experiment
    dial2vec-benchmark.
    """
    from dial2vec.artifacts import find_root
    from dial2vec.benchmark.grid import run_benchmark
    from dial2vec.benchmark.systems import ABLATIONS, ablated
    from dial2vec.benchmark.utterances import TaskData
    from dial2vec.params import load_settings

    root = find_root()
    changed = ABLATIONS if "all" in ablations else ablations
    named = [*systems, *(["paper"] if changed else []), *(system for name in changed for system in ablated(name))]
    written = run_benchmark(
        root,
        load_settings(root / "params.yaml"),
        corpora=corpora,
        systems=list(dict.fromkeys(named)),
        seeds=seeds,
        tasks=TaskData(intents=intents) if tasks or intents else None,
        jobs=jobs,
        output=output or root / "artifacts" / "benchmark",
        say=click.echo,
    )
    for path in written:
        click.echo(f"wrote {path}")


@main.command()
@click.argument("transcripts", type=click.Path(path_type=Path))
@click.option(
    "--model", required=True, help="Such as models:/dial2vec-calls@champion, a folder, or a Hugging Face name."
)
@click.option("--output", required=True, type=click.Path(path_type=Path), help="Parquet file to write.")
@click.option("--batch-size", default=32, show_default=True, type=click.IntRange(min=1), help="Dialogues at a time.")
def embed(transcripts: Path, model: str, output: Path, batch_size: int) -> None:
    """Write one vector per dialogue of TRANSCRIPTS (JSON Lines) to a Parquet file: dialogue_id, embedding."""
    from dial2vec.dialogue import read_dialogues

    if output.suffix != ".parquet":
        raise Dial2vecError(f"{output} does not end in .parquet, and Parquet is what is written. Name it so.")
    # A wrong path is found before the model is loaded.
    next(read_dialogues(transcripts, quarantine=[]), None)
    from dial2vec.embedding import embed_file
    from dial2vec.encoder import DialogueEncoder

    done = embed_file(transcripts, output, encoder=DialogueEncoder.from_pretrained(model), batch_size=batch_size)
    click.echo(f"{output}: {done.dialogues} vectors of length {done.dimension}")
    if done.cut:
        click.echo(f"Longer than {done.max_length} tokens, so their end was left out: {done.cut}", err=True)
    if done.quarantine:
        click.echo(f"{done.quarantine} records could not be used; the reasons are in {done.quarantine_file}", err=True)


@main.command()
@click.argument("transcripts", type=click.Path(path_type=Path))
@click.option("--output", required=True, type=click.Path(path_type=Path), help="Folder to write.")
@click.option("--way", "ways", multiple=True, help="Default: all whose models are given.")
@click.option("--model", default="all-MiniLM-L6-v2", show_default=True, help="Encoder that finds the stages.")
@click.option("--masked", help="Masked language model, for insertion and replacement.")
@click.option("--translate", nargs=2, metavar="THERE BACK", help="Two translation models, for back_translation.")
@click.option("--limit", type=click.IntRange(1), help="Dialogues at most.")
@click.option("--seed", default=42, show_default=True, type=click.IntRange(0))
def augment(
    transcripts: Path,
    output: Path,
    ways: tuple[str, ...],
    model: str,
    masked: str | None,
    translate: tuple[str, str] | None,
    limit: int | None,
    seed: int,
) -> None:
    """Write variants of TRANSCRIPTS (JSON Lines) that keep the intent, and some that do not, with a page to look at."""
    from dial2vec.augmentation import Tools
    from dial2vec.augmentation.command import augment_file
    from dial2vec.augmentation.masked import load_masked
    from dial2vec.augmentation.translation import BackTranslation, load_translator

    tools = Tools(
        masked=load_masked(masked) if masked else None,
        translation=BackTranslation(*map(load_translator, translate)) if translate else None,
    )
    for path in augment_file(
        transcripts, output, ways=ways, tools=tools, model=model, limit=limit, seed=seed, say=click.echo
    ):
        click.echo(f"wrote {path}")


@main.command()
@click.option("--model", required=True, help="A folder, a registry address, or a Hugging Face name.")
@click.option("--tasks", default="", help="Names parted by commas; default: all that there is data for.")
@click.option("--intents", type=click.Path(path_type=Path), help="Folder or zip of Clinc150, Bank77, SNIPS, HWU64.")
@click.option("--corpus", "corpora", multiple=True, help="Responses are selected on its test split.")
@click.option("--pairs", type=click.Path(path_type=Path), help="TSV of score, sentence, sentence.")
@click.option("--candidates", type=click.Path(path_type=Path), help="Queries with candidates, as DialogueCSE has them.")
@click.option("--limit", default=1000, show_default=True, type=click.IntRange(1), help="Queries at most.")
@click.option("--seed", default=42, show_default=True, type=click.IntRange(0))
@click.option("--output", type=click.Path(path_type=Path), help="JSON Lines file for the results.")
def evaluate(
    model: str,
    tasks: str,
    intents: Path | None,
    corpora: tuple[str, ...],
    pairs: Path | None,
    candidates: Path | None,
    limit: int,
    seed: int,
    output: Path | None,
) -> None:
    """Evaluate MODEL on tasks for utterances: intents, retrieval, response selection and its robustness."""
    from dial2vec.artifacts import Artifacts, find_root
    from dial2vec.tasks.command import evaluate_tasks
    from dial2vec.tasks.run import Sources

    splits = tuple((name, Artifacts(find_root(), name).split("test")) for name in corpora)
    sources = Sources(intents=intents, dialogues=splits, pairs=pairs, candidates=candidates, limit=limit)
    names = [name.strip() for name in tasks.split(",") if name.strip()]
    evaluate_tasks(model, names, sources, seed=seed, output=output, say=click.echo)


@main.command()
@click.argument("corpus")
def promote(corpus: str) -> None:
    """Make the candidate of CORPUS champion if it beats its start and the present champion on dev."""
    from dial2vec.artifacts import find_root
    from dial2vec.files import checkout_lock
    from dial2vec.params import load_settings
    from dial2vec.stages.promote import promote_candidate

    root = find_root()
    with checkout_lock(root, f"promotion of {corpus}"):
        verdict = promote_candidate(root, corpus, load_settings(root / "params.yaml"))
    if verdict.promoted:
        click.echo(f"dial2vec-{corpus}: the candidate is the champion now.")
    else:
        click.echo(f"dial2vec-{corpus}: the champion stays.")
    for reason in verdict.reasons:
        click.echo(f"  {reason}")


@main.command()
@click.argument("corpus")
def versions(corpus: str) -> None:
    """List the registered versions of CORPUS."""
    from dial2vec.artifacts import find_root
    from dial2vec.tracking import versions as registered

    for version in registered(find_root(), corpus):
        click.echo(str(version))


@main.command()
@click.argument("which", type=click.Choice(sorted(PAGES)))
@click.option(
    "--port", type=click.IntRange(1, 65535), help="Port on this machine; default 5000 (mlflow), 4200 (prefect)."
)
def page(which: Literal["mlflow", "prefect"], port: int | None) -> None:
    """Open the page of MLflow or Prefect on this machine; Ctrl-C ends it."""
    from dial2vec.artifacts import find_root
    from dial2vec.pages import page_command

    root = find_root()
    command, environment = page_command(which, root, port or PAGES[which])
    click.echo(
        f"Open http://127.0.0.1:{port or PAGES[which]} in a browser (ready in about 20 seconds); Ctrl-C ends it."
    )
    os.chdir(root)
    os.execvpe(sys.executable, [sys.executable, *command], os.environ | environment)


if __name__ == "__main__":
    main()
