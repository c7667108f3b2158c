"""The command that retrains on a schedule."""

from __future__ import annotations

import os

import click

from dial2vec.cli.group import examples
from dial2vec.files import find_root


@click.command(epilog=examples("dial2vec schedule"))
@click.option(
    "--port", default=4200, show_default=True, type=click.IntRange(1, 65535), help="Port of the Prefect page."
)
@click.option("--now", is_flag=True, help="Retrain now as well as at the scheduled time.")
def schedule(port: int, now: bool) -> None:
    """Retrain every night; Ctrl-C ends it.

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
    click.echo("Stopped: nothing is retrained until you run `make schedule` again.")
