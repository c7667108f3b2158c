"""Find one dialogue in a file, for commands about a single dialogue."""

from __future__ import annotations

import warnings
from pathlib import Path

from conversations.dialogue import Dialogue
from conversations.reading import read
from dial2vec.errors import CorpusError, did_you_mean

# Number of ids that an error lists.
N_IDS = 5


def find_dialogue(path: Path, dialogue_id: str | None, *, way: str) -> Dialogue:
    """Return the only dialogue of an export, or the one with an id.

    :param dialogue_id: Id, or None if the file has one dialogue only.
    :param way: Option that names a dialogue, with {} for the id, such as "--id {}".
    :raises CorpusError: if there is no such dialogue, or if there are several and no id is given.
    """
    with warnings.catch_warnings(action="ignore"):
        # Others may be unusable.
        dialogues = read(path)
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
