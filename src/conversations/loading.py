"""Any export as a list of dialogues, for Python."""

from __future__ import annotations

import warnings
from pathlib import Path

from conversations.dialogue import Dialogue, Quarantined, read_dialogues
from conversations.errors import CorpusError
from conversations.options import Options
from conversations.reading import read_export
from conversations.writing import Places, quarantine_known_ids


def read(source: str | Path, *, options: Options | None = None) -> list[Dialogue]:
    """Read an export, a file or a folder, as `dial2vec import` does; warn if a part of it cannot be used.

    :param source: Any export that `dial2vec import` reads, or a JSON Lines file of dialogues.
    :param options: Overrides for the guesses about the export, such as `Options(text="message")`.
    :return: Dialogues with unique ids.
    :raises CorpusError: if the export cannot be read, or has no usable dialogue.
    """
    path = Path(source)
    quarantine: list[Quarantined] = []
    if options is None and holds_dialogues(path):
        dialogues = list(read_dialogues(path, quarantine=quarantine))
    else:
        result = read_export(path, options or Options()).result
        quarantine_known_ids(result, Places(Path.cwd(), "", path, file=path))
        dialogues, quarantine = result.dialogues, result.quarantine
    if not dialogues:
        first = f": {quarantine[0]}" if quarantine else ""
        raise CorpusError(f"no dialogue of {path} can be used{first}. Expected at least one. Mend the export.")
    if quarantine:
        warnings.warn(
            f"{len(quarantine)} dialogues or records of {path} cannot be used and are left out, the first: "
            f"{quarantine[0]}. `dial2vec import {path} --output FILE.jsonl` lists all with reasons.",
            stacklevel=2,
        )
    return dialogues


def holds_dialogues(path: Path) -> bool:
    """Return whether a path is a JSON Lines file whose first line is a dialogue."""
    if path.is_dir() or not path.name.lower().endswith((".jsonl", ".jsonl.gz")):
        return False
    try:
        next(read_dialogues(path))
    except CorpusError:
        return False
    return True
