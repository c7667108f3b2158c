"""The group of the papers' commands, which another package brings."""

from __future__ import annotations

import click

from dial2vec import extension
from dial2vec.cli.group import examples


class Papers(click.Group):
    """A group whose commands are imported when one of them is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return sorted(extension.papers("commands"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a name, or None."""
        command: click.Command | None = extension.papers("commands").get(cmd_name)
        return command


@click.group(cls=Papers, epilog=examples("dial2vec papers tables --corpus sgd"))
def papers() -> None:
    """Repeat the papers' experiments: tables, tasks and settings."""
