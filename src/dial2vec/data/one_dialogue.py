"""Find one dialogue in a file, for commands about a single dialogue."""

from __future__ import annotations

import json
from pathlib import Path

from conversations.dialogue import Dialogue, Origin, RecordError, dialogue_from_record, read_dialogues
from conversations.files import reading_errors
from dial2vec.errors import CorpusError, did_you_mean

# Number of ids that an error lists.
N_IDS = 5


def find_dialogue(path: Path, dialogue_id: str | None, *, way: str) -> Dialogue:
    """Return the dialogue of a JSON file with one object, or the dialogue with an id from a JSON Lines file.

    :param dialogue_id: Id, or None if the file has one dialogue only.
    :param way: Option that names a dialogue, with {} for the id, such as "--id {}".
    :raises CorpusError: if there is no such dialogue, or if there are several and no id is given.
    """
    whole = _object(path)
    dialogues = [whole] if whole else list(read_dialogues(path))
    if dialogue_id is None and len(dialogues) == 1:
        return dialogues[0]
    ids = [dialogue.dialogue_id for dialogue in dialogues]
    some = ", ".join(ids[:N_IDS]) + (", ..." if len(ids) > N_IDS else "")
    if dialogue_id is None:
        raise CorpusError(
            f"{path} holds {len(ids)} dialogues; expected one. Say which: {way.format(ids[0])} (it has {some})."
        )
    if dialogue_id not in ids:
        hint = did_you_mean(dialogue_id, ids)
        raise CorpusError(
            f"{path} has no dialogue {dialogue_id!r}, only {some}.{hint} Name one of these: {way.format(ids[0])}."
        )
    return dialogues[ids.index(dialogue_id)]


def _object(path: Path) -> Dialogue | None:
    """Return the dialogue of a `.json` file with one object, else None."""
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
