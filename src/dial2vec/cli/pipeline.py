"""Commands on a project, its pipeline and its models: make it, run it, see it, and retrain on a schedule."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from shlex import quote
from typing import Literal

import click

from conversations.files import read_json
from dial2vec.cli.group import examples, new_path
from dial2vec.cli.options import UNTRAINED, model_option, say_advice, transcripts_of
from dial2vec.errors import Dial2vecError
from dial2vec.files import checkout_lock, find_root

# File names that `dial2vec embed` writes into a folder.
VECTORS_PART = re.compile(r"part-\d{8}\.parquet")
# Exit status of `dial2vec drift`: 1 is an error, 2 a wrong option.
DRIFT = 3
PAGES = {"mlflow": 5000, "prefect": 4200}


@click.command(epilog=examples("dial2vec new calls"))
@click.argument("folder", type=click.Path(path_type=Path))
def new(folder: Path) -> None:
    """Make a project, in which you train, watch and serve.

    FOLDER gets the settings (params.yaml, operation.yaml), the stages (dvc.yaml), a Makefile and data/. Its corpus has
    the name of the folder. Training needs the extra "pipeline" (docs/projects.md).
    """
    from dial2vec.params import load_settings
    from dial2vec.project.new import make_project

    written = make_project(folder)
    [corpus] = load_settings(folder / "params.yaml").corpora
    click.echo(f"{folder}: {', '.join(str(path.relative_to(folder)) for path in written)}, data/")
    steps = [f"dial2vec import ../calls.csv --name {corpus}", "dial2vec run"]
    if folder.resolve() != Path.cwd():
        steps.insert(0, f"cd {quote(str(folder))}")
    click.echo("Next: " + "\n      ".join(steps))


@click.command(epilog=examples("dial2vec run"))
def run() -> None:
    """Train, evaluate and register, and show the results.

    The corpora are those of params.yaml. A stage runs only if its inputs, settings or code have changed. A stopped run
    continues if it is started again.
    """
    from dial2vec.params import load_settings
    from dial2vec.pipeline.dvc_records import note_data
    from dial2vec.project.dvc import dvc, ensure_data, targets
    from dial2vec.project.results import results_table
    from dial2vec.registry.receipts import reconcile

    root = find_root()
    settings = load_settings(root / "params.yaml")
    with checkout_lock(root, "dial2vec run"):
        ensure_data(root, settings.corpora)
        for note in reconcile(root, settings.corpora):
            click.echo(note)
        dvc(root, "repro", *targets(settings.corpora))
        # `dvc repro` has also versioned data/.
        note_data(root)
    click.echo(f"\n{results_table(root, settings)}\n")
    click.echo("Pages: dial2vec page mlflow, dial2vec page prefect")


@click.command(epilog=examples("dial2vec results --json"))
@click.option("--json", "as_json", is_flag=True, help="Print the scores as JSON, for a script.")
def results(as_json: bool) -> None:
    """Show the results of the last run."""
    from dial2vec.params import load_settings
    from dial2vec.pipeline.artifacts import Artifacts
    from dial2vec.project.results import require_runs, results_table

    root = find_root()
    settings = load_settings(root / "params.yaml")
    if not as_json:
        click.echo(results_table(root, settings))
        return
    require_runs(root, settings.corpora)
    click.echo(json.dumps({name: read_json(Artifacts(root, name).metrics) for name in settings.corpora}, indent=2))


@click.command(
    epilog=examples("dial2vec embed new.csv --model models:/dial2vec-calls@champion --output vectors.parquet")
)
@click.argument("source", type=click.Path(path_type=Path))
@model_option(default=UNTRAINED, show_default=True)
@click.option(
    "--output", required=True, metavar="PATH", type=new_path, help="File that ends in .parquet, or folder for several."
)
@click.option("--batch-size", default=32, show_default=True, type=click.IntRange(min=1), help="Dialogues per batch.")
def embed(source: Path, model: str, output: Path, batch_size: int) -> None:
    """Write one vector per dialogue to Parquet.

    The columns are dialogue_id and embedding. SOURCE is any export that `look` takes, or JSON Lines of dialogues. A
    stopped run continues if it is started again.
    """
    if output.suffix != ".parquet" and (output.suffix or output.is_file()):
        raise Dial2vecError(f"{output} does not end in .parquet; expected a Parquet file. Rename it.")
    if output.is_dir() and not all(VECTORS_PART.fullmatch(path.name) for path in output.iterdir()):
        raise Dial2vecError(f"{output} holds files that `embed` did not write and would replace. Name another folder.")
    with transcripts_of(source) as transcripts:
        from dial2vec.collection.embedding.embed import embed_file
        from dial2vec.encoder.loading import load_encoder

        encoder = load_encoder(model)
        say_advice(transcripts, encoder)
        done = embed_file(transcripts, output, encoder=encoder, batch_size=batch_size)
    click.echo(f"{output}: {done.dialogues} vectors of length {done.dimension}")
    if model == UNTRAINED:
        click.echo(f"They come from {UNTRAINED}, which was not trained on these dialogues; --model names another")
    if done.long:
        read = "were read in windows" if done.in_windows else "lost their end"
        click.echo(f"{done.long} dialogues are longer than {done.max_length} tokens and {read}", err=True)
    if done.quarantine:
        click.echo(f"{done.quarantine} records could not be used; the reasons are in {done.quarantine_file}", err=True)


@click.command(epilog=examples("dial2vec drift new.csv --corpus calls"))
@click.argument("source", type=click.Path(path_type=Path))
# First, because --model small is the small model of this corpus.
@click.option("--corpus", is_eager=True, help="Corpus to compare with; default: the only one of params.yaml.")
@model_option("Encoder of both sides, such as small; default: the base encoder.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def drift(source: Path, corpus: str | None, model: str | None, as_json: bool) -> None:
    """Test whether new dialogues differ from the training data.

    SOURCE is any export that `look` takes, or JSON Lines of dialogues. Exit status: 0 without drift or with too few
    dialogues to judge, 3 on drift, 1 on an error.
    """
    from conversations.dialogue import Quarantined
    from dial2vec.params import load_operation, load_settings

    root = find_root()
    settings = load_settings(root / "params.yaml")
    if corpus is None and len(settings.corpora) > 1:
        several = f"params.yaml names {len(settings.corpora)} corpora ({', '.join(settings.corpora)})"
        raise Dial2vecError(f"{several}; expected one to compare with. Choose one: --corpus {settings.corpora[0]}.")
    from dial2vec.operation.drift.compare_files import compare_files, comparison_text

    name, quarantine = corpus or settings.corpora[0], list[Quarantined]()
    options = load_operation(root / "operation.yaml").drift
    with transcripts_of(source) as transcripts:
        done = compare_files(
            root, name, transcripts, model=model, settings=settings, options=options, quarantine=quarantine
        )
    text = json.dumps(done.to_dict(), ensure_ascii=False, indent=2) if as_json else comparison_text(done, name)
    # Lines of a temporary file are the dialogues of the export in their order.
    click.echo(text if transcripts == source else text.replace(f"{transcripts}:", f"{source}, dialogue "))
    if quarantine:
        click.echo(f"{len(quarantine)} records could not be used, such as {quarantine[0]}", err=True)
    if done.alarm:
        sys.exit(DRIFT)


@click.command(epilog=examples("dial2vec page mlflow"))
@click.argument("which", type=click.Choice(sorted(PAGES)))
@click.option("--port", type=click.IntRange(1, 65535), help="Port of the page; default: 5000 (mlflow), 4200 (prefect).")
def page(which: Literal["mlflow", "prefect"], port: int | None) -> None:
    """Open the page of MLflow or Prefect; Ctrl-C ends it."""
    from dial2vec.operation.pages import FIRST, LOGIN, RUNS, page_command

    root = find_root()
    command, environment = page_command(which, root, port or PAGES[which])
    click.echo(
        f"Open http://127.0.0.1:{port or PAGES[which]}{FIRST[which]} in a browser (ready in about 20 seconds); Ctrl-C "
        "ends it."
    )
    click.echo(LOGIN if which == "prefect" else RUNS)
    os.chdir(root)
    os.execvpe(sys.executable, [sys.executable, *command], os.environ | environment)


@click.command(epilog=examples("dial2vec schedule"))
@click.option(
    "--port", default=4200, show_default=True, type=click.IntRange(1, 65535), help="Port of the Prefect page."
)
@click.option("--now", is_flag=True, help="Retrain now as well as at the scheduled time.")
def schedule(port: int, now: bool) -> None:
    """Retrain on a schedule; Ctrl-C ends it.

    The time is `schedule.cron` in operation.yaml. Starts Prefect's server and a worker, and restarts them if they end.
    If PREFECT_API_URL names a server, that server is used.
    """
    from dial2vec.operation.pages import PREFECT_SERVER
    from dial2vec.operation.schedule.deployment import write_deployment
    from dial2vec.operation.schedule.supervisor import supervise
    from dial2vec.params import load_operation

    root = find_root()
    options = load_operation(root / "operation.yaml").schedule
    write_deployment(root, options, shared=bool(os.environ.get(PREFECT_SERVER)))
    click.echo(f"Retraining at '{options.cron}' ({options.timezone}); starting server and worker, about a minute")
    supervise(root, options, port, now=now, say=click.echo)
    click.echo("Stopped: nothing is retrained until you run `dial2vec schedule` again.")
