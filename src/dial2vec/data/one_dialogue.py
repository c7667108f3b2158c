"""One dialogue out of a file, for commands that are about one."""

from __future__ import annotations

import json
from pathlib import Path

from dial2vec.dialogue import Dialogue, Origin, RecordError, dialogue_from_record, read_dialogues, reading_errors
from dial2vec.errors import CorpusError, did_you_mean

# Of the ids that a file has, in an error.
N_IDS = 5


def find_dialogue(path: Path, dialogue_id: str | None, *, way: str) -> Dialogue:
    """Return the dialogue of a JSON file, which is one object, or of a JSON Lines file that has the id.

    :param dialogue_id: None where the file has one dialogue only.
    :param way: how the user names one, with {} for the id, such as "--id {}".
    :raises CorpusError: when there is no such dialogue, or several and no id.
    """
    whole = _object(path)
    found = [whole] if whole else list(read_dialogues(path))
    if dialogue_id is None and len(found) == 1:
        return found[0]
    ids = [dialogue.dialogue_id for dialogue in found]
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
