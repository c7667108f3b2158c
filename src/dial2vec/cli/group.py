"""Shared by all commands: sections of the help, examples, completion of names, outputs, errors in one sentence."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from dial2vec.errors import Dial2vecError, extra_of, missing_extra
from dial2vec.files import find_root
from dial2vec.registry import SMALL

# Exit status that a shell reports for a program ended by Ctrl-C.
INTERRUPTED = 130
# Commands that once stood beside the others.
MOVED = dict.fromkeys(("tables", "evaluate", "preset", "queries"), "papers")
START_HERE = """Start here:
  dial2vec look calls.csv                    the map of your export, in the browser
  dial2vec new calls                         a project, in which you
  dial2vec import calls.csv --name calls     make your export a corpus
  dial2vec run                               train, evaluate and register"""


def examples(*lines: str) -> str:
    """Return the examples at the end of a command's help."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)


def new_path(text: str) -> Path:
    """Return the path of an output. It may lie in a new folder, but a second missing one is mostly a typing error."""
    if not (folder := Path(text).absolute().parent.parent).is_dir():
        raise Dial2vecError(f"{text} cannot be written: there is no folder {folder}; expected one. Name another path.")
    return Path(text)


class Renamed(click.Option):
    """An option that also has its old names, which follow its name and which the help leaves out."""

    def __init__(self, declarations: Sequence[str], **options: Any) -> None:
        super().__init__([*declarations, declarations[0].removeprefix("--").replace("-", "_")], **options)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the name and the help of the option."""
        names, self.opts = self.opts, self.opts[:1]
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = names


class Sections(click.Group):
    """A group with its commands in sections; an error is one line, with its traceback only by `--debug`.

    :param sections: mapping from title to commands, in the order of the help.
    """

    def __init__(self, *, sections: dict[str, tuple[click.Command, ...]], **options: Any) -> None:
        super().__init__(commands=[command for commands in sections.values() for command in commands], **options)
        self.sections = sections

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a name, also of one that has moved into a group."""
        if cmd_name not in MOVED:
            return super().get_command(ctx, cmd_name)
        group = super().get_command(ctx, MOVED[cmd_name])
        return group.get_command(ctx, cmd_name) if isinstance(group, click.Group) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return a command and its arguments; `search --near-duplicates` is the old name of `duplicates`."""
        if args[0] == "search" and "--near-duplicates" in args:
            args = ["duplicates", *(arg for arg in args[1:] if arg != "--near-duplicates")]
        return super().resolve_command(ctx, args)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the command does, and how to start."""
        super().format_help_text(ctx, formatter)
        formatter.write_paragraph()
        for line in START_HERE.splitlines():
            formatter.write(f"  {line}\n")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections."""
        for title, commands in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(str(command.name), command.get_short_help_str(limit=200)) for command in commands])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; exits with 1 after an error, 2 after a wrong option, 130 after Ctrl-C."""
        try:
            return super().invoke(ctx)
        except (Dial2vecError, OSError, ModuleNotFoundError) as error:
            # A reader that stops early, such as `head`, is no error; click then ends quietly.
            foreign = isinstance(error, ModuleNotFoundError) and not extra_of(str(error.name))
            if ctx.params.get("debug") or getattr(error, "errno", None) == errno.EPIPE or foreign:
                raise
            click.echo(f"Error: {_in_words(error)}", err=True)
            ctx.exit(1)
        except KeyboardInterrupt:
            click.echo("\nStopped.", err=True)
            ctx.exit(INTERRUPTED)


def _in_words(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError):
        return str(missing_extra(extra_of(str(error.name)) or ""))
    if not isinstance(error, OSError) or error.filename is None or error.errno is None:
        return str(error)
    return f"{os.fsdecode(error.filename)}: {os.strerror(error.errno)}. Nothing more was done; --debug shows where."


def complete_corpus(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    """Return the corpora in data/ that start with `begun`, for the shell."""
    try:
        folders = sorted(path.name for path in (find_root() / "data").iterdir() if path.is_dir())
    except (Dial2vecError, OSError):
        return []
    return [name for name in folders if name.startswith(begun)]


def complete_registered(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Return the corpora that start with `begun`, each followed by its student, for the shell."""
    names = [name for corpus in complete_corpus(context, parameter, "") for name in (corpus, f"{corpus}{SMALL}")]
    return [name for name in names if name.startswith(begun)]


def complete_public(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    """Return the public corpora that start with `begun`, for the shell."""
    from dial2vec.data.corpora import known_corpora

    return [name for name in sorted(known_corpora().keys() - {"demo"}) if name.startswith(begun)]
