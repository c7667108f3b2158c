"""Notes that people write about dialogues: `notes.jsonl` in the folder of a collection, a line per dialogue."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from conversations.files import write_errors, write_json_lines
from conversations.words import without_halves
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.errors import ArtifactError, CorpusError
from dial2vec.files import folder_lock

# Longest note, in characters.
MOST = 10_000


@dataclass(frozen=True, slots=True)
class Note:
    """A note about a dialogue.

    :param date: day of the last change, ISO 8601.
    :param text: text, never blank.
    """

    dialogue_id: str
    date: str
    text: str


def notes_file(folder: Path) -> Path:
    """Return the file of notes in the folder of a collection."""
    return folder / "notes.jsonl"


def read_notes(folder: Path) -> dict[str, Note]:
    """Return the notes in the folder of a collection by dialogue id, sorted by id; none if there is no file.

    :raises ArtifactError: if the file cannot be read.
    """
    path = notes_file(folder)
    if not path.exists():
        return {}
    notes, number = list[Note](), 0
    try:
        # Python's `splitlines` would divide a note at other marks, too.
        lines = path.read_text(encoding="utf-8").split("\n")
        for number in range(1, len(lines) + 1):
            if lines[number - 1].strip():
                notes.append(_note(lines[number - 1]))
    except (OSError, ValueError, TypeError) as error:
        raise ArtifactError(
            f"{path} cannot be read ({error}, line {number}); expected a line per note with dialogue_id, date and "
            "text. Mend the line, or remove it."
        ) from error
    return {note.dialogue_id: note for note in sorted(notes, key=lambda note: note.dialogue_id)}


def write_note(collection: CollectionFolder, dialogue_id: str, text: str) -> Note | None:
    """Write a note about a dialogue instead of the one before, atomically, and return it.

    :param text: text; a blank one removes the note, and None is returned.
    :raises CorpusError: if the collection has no such dialogue, or the text is longer than `MOST` characters.
    :raises ArtifactError: if the notes so far cannot be read.
    :raises BusyError: if another process writes a note or adds dialogues at this moment.
    """
    collection.row(dialogue_id)
    text = without_halves(text).strip()
    if len(text) > MOST:
        raise CorpusError(f"found a note of {len(text):,} characters; expected at most {MOST:,}. Shorten it.")
    note = Note(dialogue_id, datetime.now(UTC).date().isoformat(), text) if text else None
    with folder_lock(collection.folder, "writes to"):
        notes = read_notes(collection.folder)
        notes.pop(dialogue_id, None)
        if note is not None:
            notes[dialogue_id] = note
        path = notes_file(collection.folder)
        if not notes:
            with write_errors(path):
                path.unlink(missing_ok=True)
            return None
        write_json_lines(path, (asdict(notes[id]) for id in sorted(notes)))
    return note


def _note(line: str) -> Note:
    note = Note(**json.loads(line))
    if not all(isinstance(value, str) for value in (note.dialogue_id, note.date, note.text)):
        raise ValueError("a value is no text")
    return note
