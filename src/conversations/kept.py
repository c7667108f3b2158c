"""How earlier files of a corpus were read, so that the next one cannot be read in another way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from conversations.files import atomic_path, read_json, write_json
from conversations.guessing.columns import Columns
from conversations.guessing.speech import NotSpeech
from conversations.options import Options

# Folder of the copies of recipes, beside the readings.
RECIPES = "recipes"


@dataclass(frozen=True, slots=True)
class KeptReading:
    """A way of reading files: a recipe, columns or a form, with the options of the user.

    :param form: Format of transcripts: text, vtt or srt.
    :param options: Options with which the file was read.
    :param merge_turns: True if consecutive turns of one speaker became one turn.
    """

    recipe: str = ""
    columns: Columns | None = None
    form: str = ""
    options: Options = field(default_factory=Options)
    merge_turns: bool = False

    @property
    def way(self) -> tuple[str, Columns | None, str]:
        """The way of reading without the options."""
        return self.recipe, self.columns, self.form

    def __str__(self) -> str:
        if self.columns:
            return f"columns {', '.join(list(self.columns.meanings)[:8])}"
        return f"recipe {self.recipe}" if self.recipe else f"{self.form} transcripts"


def fitting(kept: Sequence[KeptReading], sample: Sequence[dict[str, Any]]) -> Columns | None:
    """Return the kept columns that the first records have; None if there are none."""
    names = {name for values in sample for name in values}
    for reading in kept:
        if (columns := reading.columns) and _needed(columns) <= names:
            return columns
    return None


def _needed(columns: Columns) -> set[str]:
    outside = [columns.dialogue_id, columns.turns, columns.answer]
    inside = [] if columns.turns else [columns.speaker, columns.text, columns.time]
    return {name for name in (*outside, *inside) if name}


def save_readings(path: Path, readings: Sequence[KeptReading]) -> None:
    """Write readings as JSON, atomically; a recipe of the user is copied beside them."""
    write_json(path, [asdict(_with_copy(reading, path.parent)) for reading in readings])


def _with_copy(reading: KeptReading, folder: Path) -> KeptReading:
    """Return a reading whose recipe, if it is a file of the user, is a copy in `folder`, named from there."""
    recipe = Path(reading.options.recipe or "")
    if not recipe.is_file():
        return reading
    copy = folder / RECIPES / recipe.name
    if not (copy.exists() and copy.samefile(recipe)):
        with atomic_path(copy) as temporary:
            temporary.write_bytes(recipe.read_bytes())
    return replace(reading, options=replace(reading.options, recipe=f"{RECIPES}/{recipe.name}"))


def load_readings(path: Path) -> list[KeptReading]:
    """Return the readings in a file; [] without one, or from a file of another version."""
    try:
        return [_from_record(record, path.parent) for record in read_json(path)] if path.is_file() else []
    except (TypeError, KeyError, AttributeError):
        return []


def _from_record(record: dict[str, Any], folder: Path) -> KeptReading:
    columns, options = record["columns"], Options(**{name: _tuples(value) for name, value in record["options"].items()})
    if options.recipe and options.recipe.startswith(f"{RECIPES}/"):
        options = replace(options, recipe=str(folder / options.recipe))
    known = _columns(columns) if columns else None
    return KeptReading(record["recipe"], known, record["form"], options, record["merge_turns"])


def _columns(record: dict[str, Any]) -> Columns:
    return Columns(**_values(Columns, record) | {"not_speech": NotSpeech(**_values(NotSpeech, record["not_speech"]))})


def _values(kind: type, record: dict[str, Any]) -> dict[str, Any]:
    """Return the values that a record of this or an earlier version has for a dataclass."""
    names = {item.name for item in fields(kind)}
    return {name: _tuples(value) for name, value in record.items() if name in names}


def _tuples(value: Any) -> Any:
    """Return lists as tuples, as they were before JSON."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
