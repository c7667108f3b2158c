"""The command that prints a shell's completion script."""

from __future__ import annotations

from typing import Literal

import click

from dial2vec.cli.group import examples


@click.command(
    epilog=examples(
        'eval "$(.venv/bin/dial2vec completion bash)"     # bash and zsh: now, or as a line of ~/.bashrc, ~/.zshrc',
        ".venv/bin/dial2vec completion fish > ~/.config/fish/completions/dial2vec.fish",
    )
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: Literal["bash", "zsh", "fish"]) -> None:
    """Print the script that completes commands in a shell."""
    from click.shell_completion import get_completion_class

    root = click.get_current_context().find_root()
    complete = get_completion_class(shell)
    assert complete is not None
    click.echo(complete(root.command, {}, "dial2vec", "_DIAL2VEC_COMPLETE").source())
