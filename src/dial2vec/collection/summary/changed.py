"""What changed between two periods, in a few lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conversations.words import printable, short
from dial2vec.collection.changes import compare_groups
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.search.filters import Filters

# Lines on groups, on the metadata, and on terms.
LINES = {"groups": 4, "metadata": 2, "terms": 1}
# Characters of a name.
NAME = 40
# The second period starts late, but has a quarter of the dialogues; both have 20.
LATE_SHARE, LEAST = 0.25, 20


@dataclass(frozen=True, slots=True)
class ChangedLine:
    """A line on a change.

    :param text: sentence without a full stop, such as "cards grew from 4% to 9%".
    :param kind: "new", "up" or "down".
    """

    text: str
    kind: str


@dataclass(frozen=True, slots=True)
class Changed:
    """What changed between two periods.

    :param since: start of the second period, an ISO date.
    :param n_before: number of dialogues before it.
    :param n_after: number of dialogues after it.
    :param lines: the clearest changes of groups, of the metadata and of terms.
    :param more: number of other clear changes.
    """

    since: str
    n_before: int
    n_after: int
    lines: tuple[ChangedLine, ...]
    more: int


def second_period(periods: Sequence[str], totals: Sequence[int]) -> str | None:
    """Return the day on which the second of two periods starts; None if there are too few dialogues.

    :param periods: first days, months or years of equal periods, such as "2026-03", in order.
    :param totals: number of dialogues of each.
    :return: start of the latest period from which on a quarter of the dialogues follow, at least 20; 20 come before.
    """
    enough = max(LEAST, LATE_SHARE * sum(totals))
    for place in reversed(range(1, len(periods))):
        if sum(totals[place:]) >= enough:
            return f"{periods[place]}-01-01"[:10] if sum(totals[:place]) >= LEAST else None
    return None


def changed_since(
    collection: CollectionFolder,
    boundary: str,
    names: Mapping[int, str],
    *,
    since: str | None,
    until: str | None,
    filters: Filters,
    done: Callable[[int], object],
) -> Changed:
    """Compare the dialogues before a date with those after.

    :param names: name of each group that is shown, by its id.
    :param since: start of the first period; None means the earliest dialogue.
    :param until: end of the second period, exclusive; None means the latest dialogue.
    :param done: called with a number of dialogues that were read.
    :raises CorpusError: if a period has no dialogue, or a date is invalid.
    """
    changes = compare_groups(collection, before=boundary, since=since, until=until, filters=filters, done=done)
    lines, clear = list[ChangedLine](), 0
    for name, most in LINES.items():
        rows = [row for row in changes.records[name] if row["change"]]
        # Changes in all dialogues come before those within a group.
        rows.sort(key=lambda row: name == "metadata" and _has_group(row))
        lines += [_line(row, names) for row in rows[:most]]
        clear += len(rows)
    return Changed(boundary, changes.n_before, changes.n_after, tuple(lines), clear - len(lines))


def _has_group(row: Mapping[str, Any]) -> bool:
    return isinstance(row["group"], int)


def _line(row: Mapping[str, Any], names: Mapping[int, str]) -> ChangedLine:
    change, before, after = row["change"], row["before"], row["after"]
    written = short if change in ("rose", "fell") else _percent
    verb = {"new": "is new, from", "gone": "is gone, from"}.get(change, f"{change} from")
    kind = "new" if change == "new" else "up" if change in ("grew", "rose") else "down"
    return ChangedLine(f"{_subject(row, names)} {verb} {written(before)} to {written(after)}", kind)


def _subject(row: Mapping[str, Any], names: Mapping[int, str]) -> str:
    """Return what changed: "cards", "channel = chat", or "“stolen” in cards"."""
    name = printable(names.get(row["group"], row["name"]), NAME) if _has_group(row) else ""
    if "key" in row:
        what = row["key"] + (f" = {row['value']}" if isinstance(row["value"], str) else "")
    elif "term" in row:
        what = f"“{row['term']}”"
    else:
        return printable(name or f"dialogues {row['name']}")
    return printable(f"{what} in {name}" if name else what)


def _percent(share: float) -> str:
    return f"{share:.0%}" if share == 0 or share >= 0.1 else f"{share:.1%}"
