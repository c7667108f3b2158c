"""Tables with merged cells: the id of a dialogue stands in its first row only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conversations.guessing.names import by_name, is_index, plain
from conversations.values.cells import cell_text


class MergedCells:
    """Fills the cells below the id of a dialogue, which stands only in its first row, as merged cells are saved.

    :param columns: Columns of the ids, and of the speakers if they are merged, too.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = columns
        self.notes = (f"{columns[0]!r} names a dialogue in its first row only: the rows below belong to it",)
        self._last: dict[str, Any] = {}

    def __call__(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return a row with the id of its dialogue."""
        self._last = self._last | {n: cell for n in self._columns if cell_text(cell := values.get(n)).strip()}
        return values | self._last


def merged_cells(sample: Sequence[dict[str, Any]]) -> MergedCells | None:
    """Return what fills the ids that stand only in the first row of each dialogue, and speakers that do; or None.

    Speakers are merged where a row below has only a text.
    """
    names = [name for name in (sample[0] if sample else ()) if cell_text(sample[0][name])]
    column = by_name("id", names, lambda name: not is_index(name))
    # A message outside any thread has no "thread_ts" in Slack.
    if (
        column is None
        or plain(column) == "thread_ts"
        or any(column not in values or len(values) < 3 for values in sample)
    ):
        return None
    ids = [text for values in sample if (text := cell_text(values[column]).strip())]
    below = [values for values in sample if not cell_text(values[column]).strip()]
    others = [name for name in names if name != column]
    speaker, words = by_name("speaker", others), by_name("text", others)
    alone = [values for values in below if sum(bool(cell_text(value).strip()) for value in values.values()) < 2]
    merged = bool(speaker and words and speaker != words) and all(cell_text(v[words or ""]).strip() for v in alone)
    if not (not alone or merged) or not len(set(ids)) == len(ids) <= len(below) or len(below) < 2:
        return None
    return MergedCells([column, *([speaker] if alone and speaker else [])])
