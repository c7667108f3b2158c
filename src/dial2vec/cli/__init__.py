"""The command `dial2vec`: thin, a module per group of commands; what they do lies in the modules that they call."""

from __future__ import annotations

import logging
from typing import Any

import click

from dial2vec import telemetry
from dial2vec.cli.clusters import cluster
from dial2vec.cli.data import add, fetch, import_, stats
from dial2vec.cli.explorer import explore
from dial2vec.cli.pipeline import drift, embed, page, results, run
from dial2vec.cli.registry import history, promote, rollback, versions
from dial2vec.cli.research import augment, benchmark, evaluate, explain
from dial2vec.cli.schedule import schedule
from dial2vec.cli.search import index, search
from dial2vec.cli.serving import serve
from dial2vec.errors import Dial2vecError


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


COMMANDS: tuple[click.Command, ...] = (
    *(run, results, embed, drift, page, schedule, serve),
    *(promote, rollback, history, versions),
    *(index, search, cluster, explore),
    *(fetch, add, import_, stats),
    *(benchmark, augment, evaluate, explain),
)


@click.group(cls=Group, commands=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(package_name="dial2vec")
def main(debug: bool) -> None:
    """Train, judge, register and use a dialogue encoder on your own conversations."""
    telemetry.switch_off()
    logging.basicConfig(level=logging.INFO if debug else logging.WARNING, format="%(message)s")
