"""The option --model, shared by the commands that load an encoder: `small` is the small model of a project's corpus."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from dial2vec.encoder.folder import is_student
from dial2vec.encoder.names import resolve
from dial2vec.errors import Dial2vecError
from dial2vec.files import find_root

# Comes with the install.
UNTRAINED = "all-MiniLM-L6-v2"
SMALL = "small"
SMALL_CHAMPION = re.compile(r"models:/dial2vec-(.+)-small@champion")
KINDS = "Folder, registry address, Hugging Face name, or small (the corpus's small model)."


def model_option(help: str = KINDS, **options: Any) -> Callable[[Any], Any]:
    """Return the option --model of a command. Other arguments: `click.option`."""
    return click.option("--model", help=help, callback=or_small, **options)


def or_small(ctx: click.Context, option: click.Parameter, model: str | None) -> str | None:
    """Return the address of the small champion for `small`, any other name as it is; say if that is no student yet.

    With --corpus it is that corpus's champion, else that of the only corpus of params.yaml. A model in a folder `small`
    of the working directory is that model.
    """
    address = model
    if model == SMALL and not (Path(SMALL) / "config.json").is_file():
        address = f"models:/dial2vec-{ctx.params.get('corpus') or _only_corpus(option.opts[0])}-small@champion"
    champion = SMALL_CHAMPION.fullmatch(address or "")
    if address and champion and not is_student(resolve(address)):
        click.echo(
            f"No student of {champion[1]} is champion yet, so {SMALL} is the starting encoder. `dial2vec promote "
            f"{champion[1]}-small` judges the student.",
            err=True,
        )
    return address


def _only_corpus(option: str) -> str:
    from dial2vec.params import load_settings

    try:
        root = find_root()
    except Dial2vecError as error:
        raise Dial2vecError(
            f"{option} {SMALL} is the small model of a project's corpus, and there is {error}"
        ) from None
    corpora = load_settings(root / "params.yaml").corpora
    if len(corpora) > 1:
        raise Dial2vecError(
            f"{option} {SMALL} is the small model of one corpus, and params.yaml names {len(corpora)} "
            f"({', '.join(corpora)}). Give the address of one: {option} models:/dial2vec-{corpora[0]}-small@champion."
        )
    return corpora[0]
