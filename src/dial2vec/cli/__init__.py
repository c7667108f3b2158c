"""The command `dial2vec`: one thin module per group of commands; the work is done elsewhere in the package."""

from __future__ import annotations

import logging

import click

from dial2vec import telemetry
from dial2vec.cli.changes import compare, groups
from dial2vec.cli.clusters import cluster
from dial2vec.cli.completion import completion
from dial2vec.cli.curate import curate
from dial2vec.cli.data import add, fetch, stats, verify
from dial2vec.cli.describe import describe
from dial2vec.cli.explorer import explain, explore, report
from dial2vec.cli.export import export
from dial2vec.cli.group import Sections
from dial2vec.cli.importing import import_
from dial2vec.cli.lens import lens
from dial2vec.cli.look import look
from dial2vec.cli.mcp import mcp
from dial2vec.cli.papers import papers
from dial2vec.cli.pipeline import drift, embed, new, page, results, run, schedule
from dial2vec.cli.receiving import receive
from dial2vec.cli.registry import forget, history, promote, prune, rollback, versions
from dial2vec.cli.search import adapt, duplicates, index, search
from dial2vec.cli.segments import segments
from dial2vec.cli.serving import serve
from dial2vec.cli.watch import watch
from dial2vec.processes import collect_rarely

SECTIONS: dict[str, tuple[click.Command, ...]] = {
    "Bring conversations": (import_, receive, add, fetch, stats),
    "Train": (new, run, results, page),
    "Look into them": (look, watch, index, search, duplicates, adapt, explore, explain),
    "Group and compare them": (cluster, curate, describe, segments, groups, compare, lens, report, export),
    "Use the vectors": (embed, serve),
    "Ask in other tools": (mcp,),
    "Keep the model good": (promote, rollback, history, versions, prune, forget, verify, drift, schedule),
    "Compare methods": (papers,),
    "The shell": (completion,),
}


@click.group(cls=Sections, sections=SECTIONS, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(package_name="dial2vec")
def main(debug: bool) -> None:
    """Train, evaluate, register and use a dialogue encoder on your own conversations."""
    telemetry.switch_off()
    collect_rarely()
    logging.basicConfig(level=logging.INFO if debug else logging.WARNING, format="%(message)s")
