"""Selected dialogues as a file: JSON Lines or CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator

from conversations.dialogue import Dialogue
from dial2vec.collection.formulas import without_formula

# One row per turn, as `dial2vec import` reads it. It would take a column of turn numbers for times.
COLUMNS = ("dialogue_id", "date", "labels", "speaker", "text")


def json_lines(dialogues: Iterable[Dialogue]) -> Iterator[str]:
    """Yield a line per dialogue, in the format of `conversations.dialogue.read_dialogues`."""
    for dialogue in dialogues:
        yield json.dumps(dialogue.to_record(), ensure_ascii=False) + "\n"


def comma_separated(dialogues: Iterable[Dialogue]) -> Iterator[str]:
    """Yield the header, then the rows of each dialogue, one per turn; labels are joined by "; ".

    A cell that a spreadsheet would take for a formula starts with '.
    """
    yield _rows([COLUMNS])
    for dialogue in dialogues:
        about = (dialogue.dialogue_id, dialogue.date or "", "; ".join(dialogue.labels))
        yield _rows([(*about, turn.speaker, turn.text) for turn in dialogue.turns])


def _rows(rows: Iterable[tuple[str, ...]]) -> str:
    written = io.StringIO()
    csv.writer(written).writerows(map(without_formula, row) for row in rows)
    return written.getvalue()


FORMS: dict[str, Callable[[Iterable[Dialogue]], Iterator[str]]] = {"csv": comma_separated, "jsonl": json_lines}
