"""`dial2vec explain`: a dialogue of a file, explained on a page."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from dial2vec.dialogue import Dialogue, Origin, RecordError, dialogue_from_record, read_dialogues, reading_errors
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import CorpusError, did_you_mean
from dial2vec.explanation.explanation import explain
from dial2vec.explanation.page import headline, render_page, save_png
from dial2vec.files import atomic_path

# Of the ids that a file has, in an error.
N_IDS = 5


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
    dialogue = find_dialogue(path, dialogue_id)
    found = explain(DialogueEncoder.from_pretrained(model), dialogue)
    with atomic_path(output) as temporary:
        temporary.write_text(render_page(found, model=model), encoding="utf-8")
    say(headline(found))
    say(f"wrote {output}; open it in a browser")
    if png is not None:
        say(f"wrote {png}" if save_png(found, png) else f"one side says nothing, so there is no heat map for {png}")


def find_dialogue(path: Path, dialogue_id: str | None) -> Dialogue:
    """Return the dialogue of a JSON file, which is one object, or of a JSON Lines file that has the id.

    :param dialogue_id: None where the file has one dialogue only.
    :raises CorpusError: when there is no such dialogue, or several and no id.
    """
    whole = _object(path)
    found = [whole] if whole else list(read_dialogues(path))
    if dialogue_id is None and len(found) == 1:
        return found[0]
    ids = [dialogue.dialogue_id for dialogue in found]
    some = ", ".join(ids[:N_IDS]) + (", ..." if len(ids) > N_IDS else "")
    if dialogue_id is None:
        raise CorpusError(f"{path} holds {len(ids)} dialogues; expected one. Say which: --id {ids[0]} (it has {some}).")
    if dialogue_id not in ids:
        hint = did_you_mean(dialogue_id, ids)
        raise CorpusError(
            f"{path} has no dialogue {dialogue_id!r}, only {some}.{hint} Name one of these: --id {ids[0]}."
        )
    return found[ids.index(dialogue_id)]


def _object(path: Path) -> Dialogue | None:
    """Return the dialogue of a file that is one JSON object, over however many lines; None for any other."""
    if path.suffix.lower() != ".json":
        return None
    with reading_errors(path):
        text = path.read_text(encoding="utf-8-sig")
    try:
        return dialogue_from_record(json.loads(text), origin=Origin(str(path), 0))
    except json.JSONDecodeError:
        return None
    except RecordError as error:
        shape = '{"dialogue_id": "...", "turns": [{"speaker": "...", "text": "..."}]}'
        raise CorpusError(f"{path}: {error}. Expected one dialogue: {shape}. Mend the file.") from error
