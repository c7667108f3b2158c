"""The command that explains a vector."""

from __future__ import annotations

from pathlib import Path

import click

from dial2vec.cli.group import examples
from dial2vec.cli.model import UNTRAINED, model_option
from dial2vec.errors import Dial2vecError


@click.command(epilog=examples("dial2vec explain one.json --model models:/dial2vec-calls@champion --output page.html"))
@click.argument("transcript", type=click.Path(path_type=Path))
@model_option(default=UNTRAINED, show_default=True)
@click.option("--output", required=True, type=click.Path(path_type=Path), help="The .html file to write.")
@click.option("--png", type=click.Path(path_type=Path), help="The .png file of the matrix, if wanted.")
@click.option("--id", "dialogue_id", help="Id of the dialogue, if TRANSCRIPT holds several.")
def explain(transcript: Path, model: str, output: Path, png: Path | None, dialogue_id: str | None) -> None:
    """Show which turns of a dialogue made its vector.

    The page also shows how its two sides match. TRANSCRIPT is a .json file with one dialogue, or JSON Lines.
    """
    for path, suffix in ((output, ".html"), (png, ".png")):
        if path is not None and path.suffix.lower() != suffix:
            raise Dial2vecError(f"{path} does not end in {suffix}; expected a {suffix} file. Rename it.")
    from dial2vec.collection.explanation.explanation_page import explain_file

    explain_file(transcript, dialogue_id=dialogue_id, model=model, output=output, png=png, say=click.echo)
