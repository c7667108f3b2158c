"""`dial2vec explain`: a dialogue of a file, explained on a page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dial2vec.collection.explanation.explanation import explain
from dial2vec.collection.explanation.explanation_page import explanation_headline, render_explanation, save_png
from dial2vec.data.one_dialogue import find_dialogue
from dial2vec.encoder import DialogueEncoder
from dial2vec.files import atomic_path


def explain_file(
    path: Path,
    *,
    dialogue_id: str | None,
    model: str,
    output: Path,
    png: Path | None,
    say: Callable[[str], object],
) -> None:
    """Write the page of a dialogue, and the heat map where a file is named for it.

    :param dialogue_id: which of the file's; None where it has one only.
    :param say: is told what was found and written.
    """
    dialogue = find_dialogue(path, dialogue_id, way="--id {}")
    found = explain(DialogueEncoder.from_pretrained(model), dialogue)
    with atomic_path(output) as temporary:
        temporary.write_text(render_explanation(found, model=model), encoding="utf-8")
    say(explanation_headline(found))
    say(f"wrote {output}; open it in a browser")
    if png is not None:
        say(f"wrote {png}" if save_png(found, png) else f"one side says nothing, so there is no heat map for {png}")
