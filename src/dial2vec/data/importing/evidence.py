"""What a sample of rows says about its columns, where their names do not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from dial2vec.data.importing.cells import as_name, cell_text
from dial2vec.data.importing.exchanges import WORDY, is_answer, words_per_cell
from dial2vec.data.importing.names import NAMES, by_name, is_index, plain

Values = Sequence[dict[str, Any]]
# So many speakers are few in any sample.
FEW = 5
CLOCK = re.compile(r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:\s?[ap]\.?m\.?)?", re.IGNORECASE)
# Who speaks where no person does.
BOTS = ("bot_name", "bot_id")


def cells(sample: Values, name: str) -> list[str]:
    """Return the cells of a column that are not blank."""
    return [text for values in sample if (text := as_name(values.get(name)) or cell_text(values.get(name)).strip())]


def filled(sample: Values, name: str) -> bool:
    """Whether a column has a cell that is not blank."""
    return bool(cells(sample, name))


def mostly_filled(sample: Values, name: str) -> bool:
    """Whether most rows fill a column."""
    return 2 * len(cells(sample, name)) >= len(sample)


def repeats(sample: Values, name: str) -> bool:
    """Whether some value of a column comes twice."""
    found = cells(sample, name)
    return len(set(found)) < len(found)


def fullest(meaning: str, sample: Values, names: list[str]) -> str | None:
    """Return the column whose name says `meaning` best, one that most rows fill before one that few do."""
    found = by_name(meaning, names, lambda name: mostly_filled(sample, name))
    return found or by_name(meaning, names, lambda name: filled(sample, name))


def id_column(meaning: str, sample: Values, names: list[str], *, repeating: bool) -> str | None:
    """Return the column whose name says best that it is an id, one that repeats before one that does not.

    :param repeating: whether one that does not repeat is none at all.
    """

    def fits(name: str) -> bool:
        return filled(sample, name) and not any(isinstance(values.get(name), dict | list) for values in sample)

    found = by_name(meaning, names, lambda name: fits(name) and repeats(sample, name))
    return found or (None if repeating else by_name(meaning, names, fits))


def groups_of(sample: Values, dialogue_id: str | None) -> list[Values]:
    """Return the rows of each dialogue."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for values in sample:
        groups.setdefault(as_name(values.get(dialogue_id)) if dialogue_id else "", []).append(values)
    return list(groups.values())


def time_column(groups: Sequence[Values], names: list[str]) -> str | None:
    """Return the column that puts turns in order: one that changes inside dialogues before one that does not.

    The number of a turn goes before its time, which may be cut to minutes.
    """
    sample = [values for group in groups for values in group]

    def numbers(name: str) -> bool:
        found = cells(sample, name)
        return bool(found) and all(cell.replace(".", "", 1).isdecimal() for cell in found)

    def orders(name: str) -> bool:
        return mostly_filled(sample, name) and changes(groups, name)

    found = by_name("order", names, lambda name: numbers(name) and orders(name)) or by_name("time", names, orders)
    return found or by_name("order", names, numbers) or by_name("time", names, lambda name: filled(sample, name))


def day_column(sample: Values, names: list[str], time: str | None) -> str | None:
    """Return the column of dates that belongs to one of clocks; None where the time is no clock, or has its date."""
    clocks = cells(sample, time) if time else []
    if not clocks or not all(map(CLOCK.fullmatch, clocks)):
        return None
    dates = [name for name in names if "date" in plain(name).split("_")]
    return by_name("time", dates, lambda name: mostly_filled(sample, name))


def changes(groups: Sequence[Values], name: str) -> bool:
    """Whether a column has two values in one dialogue."""
    return any(len(set(cells(group, name))) > 1 for group in groups)


def longest(sample: Values, names: list[str]) -> str | None:
    """Return the column of the longest texts, if they have more words than names have."""
    simple = [name for name in names if not any(isinstance(values.get(name), dict | list) for values in sample)]
    found = {name: cells(sample, name) for name in simple if mostly_filled(sample, name)}
    lengths = {name: sum(map(len, texts)) / len(texts) for name, texts in found.items() if texts}
    best = max(lengths, key=lambda name: lengths[name], default=None)
    return best if best and words_per_cell(found[best]) > 2 else None


def repeating(sample: Values, names: list[str]) -> str | None:
    """Return the column with the most different values, each of them twice or more on average; no index is one."""
    found = {name: cells(sample, name) for name in names if mostly_filled(sample, name) and not is_index(name)}
    counts = {name: (len(set(values)), len(values)) for name, values in found.items()}
    different = {name: number for name, (number, total) in counts.items() if 1 < number <= total / 2}
    # A column of as few values as there are speakers is the speakers'.
    return max((name for name in different if different[name] > 2), key=lambda name: different[name], default=None)


def alternating(sample: Values, names: list[str], dialogue_id: str | None) -> str | None:
    """Return the column of the fewest values that still changes inside dialogues, and holds no texts."""
    found = {}
    for name in names:
        pairs = [(as_name(v.get(dialogue_id)) if dialogue_id else "", as_name(v.get(name))) for v in sample]
        said = {(first, second) for first, second in pairs if second}
        dialogues, values = {first for first, _ in said}, {second for _, second in said}
        several = len(said) > len(dialogues) and 1 < len(values) <= max(FEW, len(sample) / 2)
        texts = is_answer(name) or words_per_cell(list(values)) > WORDY
        if several and not texts and not is_index(name) and mostly_filled(sample, name):
            found[name] = len(values)
    return min(found, key=lambda name: found[name], default=None)


def other_speakers(sample: Values, names: list[str], speaker: str, text: str) -> tuple[str, ...]:
    """Return the columns that name who speaks where the speaker's is blank, as Slack does for bots."""
    blank = [values for values in sample if cell_text(values.get(text)).strip() and not as_name(values.get(speaker))]
    known = [name for wanted in (*NAMES["speaker"], *BOTS) for name in names if plain(name) == wanted]
    return tuple(name for name in known if filled(blank, name))


def steady(groups: Sequence[Values], label: str) -> bool:
    """Whether a column keeps its value inside dialogues, but for a few: then it labels them and not their turns."""
    seen = [set(cells(group, label)) for group in groups]
    known = [values for values in seen if values]
    return sum(len(values) > 1 for values in known) <= len(known) / 5
