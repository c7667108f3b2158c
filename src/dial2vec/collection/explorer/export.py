"""Dialogues that were selected, as a file to work on with: JSON Lines or CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator

from dial2vec.dialogue import Dialogue

# One row per turn, as `dial2vec import` reads it: a column that counts turns would be taken for their times.
COLUMNS = ("dialogue_id", "date", "labels", "speaker", "text")
# A spreadsheet takes what begins so for a formula, which could send away what stands beside it.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def json_lines(dialogues: Iterable[Dialogue]) -> Iterator[str]:
    """Yield a line per dialogue, in the form that `dial2vec.dialogue.read_dialogues` reads."""
    for dialogue in dialogues:
        yield json.dumps(dialogue.to_record(), ensure_ascii=False) + "\n"


def comma_separated(dialogues: Iterable[Dialogue]) -> Iterator[str]:
    """Yield the heading, then the rows of each dialogue: one per turn, several labels with "; " between them.

    A cell that a spreadsheet would take for a formula has ' in front.
    """
    yield _rows([COLUMNS])
    for one in dialogues:
        about = (one.dialogue_id, one.date or "", "; ".join(one.labels))
        yield _rows([(*about, turn.speaker, turn.text) for turn in one.turns])


def _rows(rows: Iterable[tuple[str, ...]]) -> str:
    written = io.StringIO()
    csv.writer(written).writerows([f"'{cell}" if cell.startswith(FORMULA) else cell for cell in row] for row in rows)
    return written.getvalue()


FORMS: dict[str, Callable[[Iterable[Dialogue]], Iterator[str]]] = {"csv": comma_separated, "jsonl": json_lines}
