"""The command that writes a paper's settings into params.yaml."""

from __future__ import annotations

import click

from dial2vec.cli.group import examples
from dial2vec.files import find_root


@click.command(epilog=examples("dial2vec preset dial2vec-paper"))
@click.argument("name", required=False)
def preset(name: str | None) -> None:
    """Write the settings of a paper into params.yaml.

    NAME is one of those that the command lists without it, or default, which brings back the values of a new project.
    Only settings of the method, the encoder, the choice and the scoring change; comments stay.
    """
    from dial2vec.params import load_settings
    from dial2vec.pipeline.presets import PRESETS, notes_on, write_preset

    if name is None:
        for known, settings in PRESETS.items():
            click.echo(f"{known:28}{settings.source}")
        return
    path = find_root() / "params.yaml"
    changed = write_preset(path, name)
    for line in changed or ["params.yaml has these settings already"]:
        click.echo(line)
    if name in PRESETS:
        for note in notes_on(name, load_settings(path).corpora):
            click.echo(f"Note: {note}")
    click.echo("Next: dial2vec run")
