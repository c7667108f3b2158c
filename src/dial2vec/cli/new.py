"""The command that makes a project."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

import click

from dial2vec.cli.group import examples


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
