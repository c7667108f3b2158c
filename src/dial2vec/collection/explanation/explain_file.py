"""The command `dial2vec explain`: a page that explains a dialogue of a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from conversations.files import atomic_path
from dial2vec.collection.explanation.explanation import explain
from dial2vec.collection.explanation.explanation_page import explanation_headline, render_explanation, save_png
from dial2vec.data.one_dialogue import find_dialogue
from dial2vec.encoder.loading import load_encoder


def explain_file(
    path: Path,
    *,
    dialogue_id: str | None,
    model: str,
    output: Path,
    png: Path | None,
    say: Callable[[str], object],
) -> None:
    """Write the page of a dialogue, and its matrix as a picture if `png` is given.

    :param dialogue_id: id of the dialogue; None if the file has only one.
    :param say: called with each line of output.
    """
    dialogue = find_dialogue(path, dialogue_id, way="--id {}")
    explanation = explain(load_encoder(model), dialogue)
    with atomic_path(output) as temporary:
        temporary.write_text(render_explanation(explanation, model=model), encoding="utf-8")
    say(explanation_headline(explanation))
    say(f"wrote {output}; open it in a browser")
    if png is not None:
        say(f"wrote {png}" if save_png(explanation, png) else f"one side says nothing, so there is no matrix for {png}")
