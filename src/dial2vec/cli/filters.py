"""The options that choose dialogues, shared by several commands."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

WHERE = click.option(
    "--where",
    multiple=True,
    metavar="CONDITION",
    help='Count only dialogues with this metadata, such as "channel == phone"; may be repeated.',
)


def filter_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options by which dialogues are found to a command, which gets `filters`."""

    @click.option("--label", "labels", multiple=True, help="Find only dialogues with this label; may be repeated.")
    @click.option(
        "--speaker", "speakers", multiple=True, help="Find only dialogues with this speaker; may be repeated."
    )
    @click.option("--after", metavar="DATE", help="Find only dialogues from this day on, such as 2026-03-04.")
    @click.option("--before", metavar="DATE", help="Find only dialogues before this day.")
    @click.option(
        "--where",
        multiple=True,
        metavar="CONDITION",
        help='Find only dialogues with this metadata, such as "channel == phone", "csat <= 2 or note ~ angry", "agent '
        'in ann, bob" or "csat is missing"; may be repeated.',
    )
    @wraps(command)
    def with_filters(
        *,
        labels: tuple[str, ...],
        speakers: tuple[str, ...],
        after: str | None,
        before: str | None,
        where: tuple[str, ...],
        **arguments: Any,
    ) -> None:
        from dial2vec.collection.search import Filters

        command(filters=Filters(labels, speakers, after, before, where), **arguments)

    return with_filters
