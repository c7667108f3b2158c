"""Exports that a test writes, and the dialogues that are read from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from conversations.options import Options
from conversations.reading import read_export
from conversations.result import ImportResult


def imported(folder: Path, name: str, content: str, **options: Any) -> ImportResult:
    """Write an export, and return what is read from it."""
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(content)
    return read_export(folder / name, Options(**options)).result


def turns_of(result: ImportResult) -> dict[str, list[str]]:
    """Return the turns of each dialogue, as `speaker: text`."""
    return {item.dialogue_id: [f"{turn.speaker}: {turn.text}" for turn in item.turns] for item in result.dialogues}
