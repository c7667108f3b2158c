"""How earlier files of a corpus were read, so that the next one cannot be read in another way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dial2vec.data.importing.guessing.columns import Columns
from dial2vec.data.importing.guessing.speech import NotSpeech
from dial2vec.files import read_json, write_json


@dataclass(frozen=True, slots=True)
class KeptReading:
    """A way of reading files: one of the three is given.

    :param recipe: Name of a recipe.
    :param columns: Meanings of the columns.
    :param form: Format of transcripts: text, vtt or srt.
    """

    recipe: str = ""
    columns: Columns | None = None
    form: str = ""

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
    """Write readings as JSON, atomically."""
    write_json(path, [asdict(reading) for reading in readings])


def load_readings(path: Path) -> list[KeptReading]:
    """Return the readings in a file; [] without one, or from a file of another version."""
    try:
        return [_from_record(record) for record in read_json(path)] if path.is_file() else []
    except (TypeError, KeyError, AttributeError):
        return []


def _from_record(record: dict[str, Any]) -> KeptReading:
    columns = record["columns"]
    return KeptReading(record["recipe"], _columns(columns) if columns else None, record["form"])


def _columns(record: dict[str, Any]) -> Columns:
    rules = {name: _tuples(value) for name, value in record["not_speech"].items()}
    return Columns(**{name: _tuples(value) for name, value in record.items()} | {"not_speech": NotSpeech(**rules)})


def _tuples(value: Any) -> Any:
    """Return lists as tuples, as they were before JSON."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
