"""Evidence from a sample of rows on what its columns mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from itertools import groupby, pairwise
from typing import Any

from conversations.guessing.exchanges import words_per_cell
from conversations.guessing.names import DIALOGUE_WORDS, NAMES, by_name, is_index, plain
from conversations.guessing.voices import is_flag, side_columns
from conversations.values.cells import as_name, cell_text
from conversations.values.times import has_date, seconds
from conversations.vocabulary import word_list, word_set

Values = Sequence[dict[str, Any]]
CLOCK = re.compile(r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:\s?[ap]\.?m\.?)?", re.IGNORECASE)
CLOCK_IN = re.compile(r"\d{1,2}[:.h]\d{2}|\d{13}|\d{10}(?!\d)")
# A session may go on in another conversation, or be a part of one.
FINE = "|".join({*DIALOGUE_WORDS, "topic"} - {"session", "dial"})
DIALOGUE_ID = re.compile(rf"(?:{FINE})_(?:id|uuid|sid|guid|key|number)$|(?:thread|chat|conversation|dialogue)$")
# Number of texts from which on a column with few different ones holds no texts.
MANY = 20
SHOWN = 100
RECEIVERS = word_set("columns", "receivers")
# Numbers, dates and clock times.
NUMERIC = re.compile(r"[+-]?\d")
DATE = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}")
VERSIONS = word_set("columns", "versions")
CHANGED = word_set("columns", "changed")
MESSAGES = word_set("columns", "messages")
CONTACTS = word_set("columns", "contacts")
WAYS = word_set("speakers", "ways")
DATED = word_set("columns", "dated")
COUNTERS = word_set("columns", "counters")
# Words of events that change a message, and from how many words on a value is no event.
EDITS, WORDS_OF_EVENT = word_set("columns", "edits"), 4
OTHER_TIMES = word_set("columns", "other_times")
BOTS = word_list("columns", "bots")
# How alike two versions of a text are.
ALIKE = 0.6


def cells(sample: Values, name: str) -> list[str]:
    """Return the cells of a column that are not blank."""
    return [text for values in sample if (text := as_name(values.get(name)) or cell_text(values.get(name)).strip())]


def filled_values(sample: Values, name: str) -> list[Any]:
    """Return the values of a column in the first rows, without blank ones."""
    return [values[name] for values in sample[:SHOWN] if values.get(name)]


def mostly(sample: Values, name: str, holds: Callable[[Any], bool]) -> bool:
    """Return whether more than half of these values hold something."""
    first = filled_values(sample, name)
    return 2 * sum(map(holds, first)) > len(first)


def filled(sample: Values, name: str) -> bool:
    """Return whether a column has a cell that is not blank."""
    return bool(cells(sample, name))


def mostly_filled(sample: Values, name: str) -> bool:
    """Return whether at least half of the rows fill a column."""
    return 2 * len(cells(sample, name)) >= len(sample)


def repeats(sample: Values, name: str) -> bool:
    """Return whether a column has some value twice."""
    values = cells(sample, name)
    return len(set(values)) < len(values)


def text_column(sample: Values, names: list[str]) -> str | None:
    """Return the column whose name fits a text best; one that most rows fill and that says a thing once goes first."""

    def varied(name: str) -> bool:
        texts = cells(sample, name)
        return 2 * len(texts) >= len(sample) and (len(texts) < MANY or len(set(texts)) > len(texts) / 4)

    full = by_name("text", names, varied) or by_name("text", names, lambda name: mostly_filled(sample, name))
    return full or by_name("text", names, lambda name: filled(sample, name))


def id_column(meaning: str, sample: Values, names: list[str], *, repeating: bool) -> str | None:
    """Return the column whose name fits an id best; a column with repeated values goes first.

    :param repeating: True if a column without repeated values is refused.
    """

    def fits(name: str) -> bool:
        return filled(sample, name) and not any(isinstance(values.get(name), dict | list) for values in sample)

    repeated = by_name(meaning, names, lambda name: fits(name) and repeats(sample, name))
    return repeated or (None if repeating else by_name(meaning, names, fits))


def finer_id(sample: Values, names: list[str], dialogue_id: str | None, speaker: str | None) -> str | None:
    """Return the column of dialogues inside those of an id, as of the chats of a session; None without one.

    Its name is that of an id of dialogues, it changes inside the other id but never spans two of them, and in most of
    its dialogues two people speak.
    """
    if not dialogue_id or not speaker:
        return None
    number = len({as_name(values.get(dialogue_id)) for values in sample})
    finer = {}
    for name in names:
        groups = groups_of(sample, name) if DIALOGUE_ID.match(plain(name)) and mostly_filled(sample, name) else []
        inside = not any(changes([group], dialogue_id) for group in groups)
        several = sum(len(set(cells(group, speaker))) > 1 for group in groups)
        if inside and len(groups) > number and several > 0.8 * len(groups):
            finer[name] = len(groups)
    return max(finer, key=finer.__getitem__, default=None)


def rows_by(sample: Values, key: Callable[[dict[str, Any]], Any]) -> list[list[dict[str, Any]]]:
    """Return the rows with one key together."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for values in sample:
        groups.setdefault(key(values), []).append(values)
    return list(groups.values())


def groups_of(sample: Values, dialogue_id: str | None) -> list[list[dict[str, Any]]]:
    """Return the rows of each dialogue; all rows in one group if no column has ids."""
    return rows_by(sample, lambda values: as_name(values.get(dialogue_id)) if dialogue_id else "")


def time_column(groups: Sequence[Values], names: list[str]) -> str | None:
    """Return the column that orders turns; a column that changes inside dialogues goes first.

    Turn numbers go before times, which may be cut to minutes.
    """
    sample = [values for group in groups for values in group]

    def numbers(name: str) -> bool:
        values = cells(sample, name)
        return bool(values) and all(value.replace(".", "", 1).isdecimal() for value in values)

    def orders(name: str) -> bool:
        return mostly_filled(sample, name) and changes(groups, name)

    def counted(name: str) -> bool:
        return all(len(set(values)) == len(values) for values in (cells(group, name) for group in groups))

    best = by_name("order", names, lambda name: numbers(name) and orders(name)) or by_name("time", names, orders)
    best = (
        best
        or _dated_column(groups, names)
        or by_name("order", names, numbers)
        or by_name("time", names, lambda name: filled(sample, name))
    )
    dates = (name for name in names if plain(name) in DATED and all(map(DATE.match, cells(sample, name))))
    counts = (name for name in names if plain(name) in COUNTERS and numbers(name) and orders(name) and counted(name))
    return best or next(dates, None) or next(counts, None)


def _dated_column(groups: Sequence[Values], names: list[str]) -> str | None:
    """Return a column of dates with clocks that changes inside dialogues, whatever its name is.

    Of several, such as the time of an answer beside that of the turn, the one in whose order most turns stand counts.
    """
    sample = [values for group in groups for values in group]

    def is_dated(name: str) -> bool:
        texts = cells(sample[:SHOWN], name)
        dated = all(CLOCK.fullmatch(text) or (CLOCK_IN.search(text) and has_date(text)) for text in texts)
        return bool(texts) and dated and mostly_filled(sample, name) and changes(groups, name)

    def in_order(name: str) -> int:
        times = [[seconds(text, day_first=False) or 0.0 for text in cells(group, name)] for group in groups]
        signs = [(before < after) - (before > after) for group in times for before, after in pairwise(group)]
        return abs(sum(signs))

    other = (set(plain(name).split("_")) & OTHER_TIMES for name in names)
    dated = [name for name, words in zip(names, other, strict=True) if not words and is_dated(name)]
    return max(dated, key=in_order, default=None)


def blocks(sample: Values, names: list[str], speaker: str | None, text: str | None) -> str | None:
    """Return a column of numbers whose rows stand in blocks in which two people speak: it may be an id."""
    for name in names:
        ids = [next(same) for _, same in groupby(as_name(values.get(name)) for values in sample)]
        numbered = all(re.search(r"\d", own) and not has_date(own) for own in ids)
        several = sum(len(set(cells(group, speaker or ""))) > 1 for group in groups_of(sample, name))
        if numbered and 1 < len(ids) == len(set(ids)) < 2 * several and name not in (speaker, text):
            return name
    return None


def date_column(sample: Values, names: list[str]) -> str | None:
    """Return the column that tells when the dialogue of a record began."""

    def dated(name: str) -> bool:
        return mostly_filled(sample, name) and all(map(has_date, cells(sample[:MANY], name)))

    return by_name("time", sorted(names, key="date".__ne__), dated)


def day_column(sample: Values, names: list[str], time: str | None) -> str | None:
    """Return the column of dates that belongs to a column of clock times; None if `time` holds no bare clock times."""
    clocks = cells(sample, time) if time else []
    if not clocks or not all(map(CLOCK.fullmatch, clocks)):
        return None
    dates = [name for name in names if "date" in plain(name).split("_")]
    return by_name("time", dates, lambda name: mostly_filled(sample, name))


def receiver_column(sample: Values, names: list[str], speaker: str | None) -> str | None:
    """Return the column of receivers, if these speak too and there are at least two pairs of people."""
    receivers = [name for name in names if plain(name) in RECEIVERS and mostly_filled(sample, name)]
    if speaker is None:
        return None
    for name in receivers:
        ends = [(as_name(values.get(speaker)), as_name(values.get(name))) for values in sample]
        pairs = {frozenset(pair) for pair in ends if all(pair)}
        if len(pairs) > 1 and any(pair[::-1] in set(ends) for pair in ends):
            return name
    return None


def partner_column(sample: Values, names: list[str], speaker: str | None) -> str | None:
    """Return the column that tells sent from received messages if `speaker` names the other side of both, as in SMS."""
    for name in side_columns([sample], names):
        sides: dict[str, set[str]] = {}
        for values in sample:
            sides.setdefault(as_name(values.get(speaker or "")), set()).add(as_name(values.get(name)))
        ways = {plain(side).split("_")[0] for pair in sides.values() for side in pair}
        both = sum(len(pair) > 1 for pair in sides.values())
        if (ways <= WAYS or is_flag(name)) and mostly_filled(sample, name) and len(sides) > 1 and 2 * both > len(sides):
            return name
    return None


def contacts(sample: Values, names: list[str], speaker: str | None) -> tuple[str | None, str | None]:
    """Return the column of the other side of each dialogue, None without one, and that of the speakers, as in SMS."""
    if side := partner_column(sample, names, speaker):
        return speaker, side
    known = (name for name in names if CONTACTS & set(plain(name).split("_")) and mostly_filled(sample, name))
    return next((name for name in known if partner_column(sample, [speaker or ""], name)), None), speaker


def headings(sample: Values, columns: dict[str, str]) -> int:
    """Return the number of first rows that are further headings, such as the questions of a survey.

    Such a row differs in kind from all others in at least two columns: letters where others have numbers or dates, or
    a speaker and an id that no other row has.
    """
    return next((at for at in range(3) if not _is_heading(sample[at : at + 1], sample[at + 1 :], columns)), 3)


def _is_heading(first: Values, rest: Values, columns: dict[str, str]) -> bool:
    if not first or len(rest) < 3 or not all(isinstance(value, str) for value in first[0].values()):
        return False
    if any(cell_text(value).startswith('{"ImportId"') for value in first[0].values()):
        return True
    marks = 0
    for name in first[0]:
        [cell], others = cells(first, name) or [""], cells(rest, name)
        numbers = len(others) >= 3 and all(NUMERIC.match(other) for other in others)
        alone = columns.get(name) == "speaker" and cell not in others and len(set(others)) <= len(others) / 2
        marks += bool(cell) and ((numbers and not re.search(r"\d", cell)) or alone)
    return marks > 1


def changes(groups: Sequence[Values], name: str) -> bool:
    """Return whether a column has two values in one dialogue."""
    return any(len(set(cells(group, name))) > 1 for group in groups)


def longest(sample: Values, names: list[str]) -> str | None:
    """Return the column of the longest texts, if these have over 2 words on average; names have fewer."""
    simple = [name for name in names if not any(isinstance(values.get(name), dict | list) for values in sample)]
    columns = {name: cells(sample, name) for name in simple if mostly_filled(sample, name)}
    lengths = {name: sum(map(len, texts)) / len(texts) for name, texts in columns.items() if texts}
    best = max(lengths, key=lambda name: lengths[name], default=None)
    return best if best and words_per_cell(columns[best]) > 2 else None


def repeating(sample: Values, names: list[str]) -> str | None:
    """Return the column with the most distinct values that occur at least twice on average; an index is refused.

    A column with only 2 values holds speakers, unless it is named like an id, or its values have digits and stand in
    two blocks. Words that take turns name speakers.
    """
    columns = {name: cells(sample, name) for name in names if mostly_filled(sample, name) and not is_index(name)}
    counts = {name: (len(set(values)), len(values)) for name, values in columns.items()}
    different = {name: number for name, (number, total) in counts.items() if 1 < number <= total / 2}
    runs = {name: sum(map(str.__ne__, columns[name], columns[name][1:])) + 1 for name in different}
    digits = {name for name in different if all(re.search(r"\d", value) for value in columns[name])}
    # Small numbers may count the parts of one dialogue.
    counted = {name for name in digits if max(map(len, columns[name])) < 2 or set(plain(name).split("_")) <= CONTACTS}
    blocks = {name for name in digits - counted if runs[name] == different[name]}
    likely = [
        name
        for name in different
        if (different[name] > 2 and (name in digits or 2 * runs[name] <= counts[name][1]))
        or name in blocks
        or plain(name).endswith(("link_id", "thread", "group_id"))
    ]
    return max(likely, key=lambda name: different[name], default=None)


def other_speakers(sample: Values, names: list[str], speaker: str, text: str) -> tuple[str, ...]:
    """Return further columns that name the speaker if `speaker` is blank, as for bots in Slack, names before sides."""
    blank = [values for values in sample if cell_text(values.get(text)).strip() and not as_name(values.get(speaker))]
    if not blank:
        return ()
    known = [name for wanted in (*NAMES["speaker"], *BOTS) for name in names if plain(name) == wanted]
    return tuple(name for name in dict.fromkeys((*known, *side_columns([sample], names))) if filled(blank, name))


def versions(groups: Sequence[Values], names: Sequence[str], speaker: str, text: str) -> tuple[str, str] | None:
    """Return the columns of a message's id and of its version, if some message is there twice.

    Without a version the column of the id stands for it: the row that comes later counts. Then the same person has to
    say the same, nearly the same, or nothing: a message may also come in several parts.
    """
    sample = [values for group in groups for values in group]
    version = next((name for name in names if plain(name) in VERSIONS | CHANGED), None)
    for message in (name for name in names if plain(name) in MESSAGES and repeats(sample, name)):
        pairs = [(as_name(values.get(message)), as_name(values.get(version or ""))) for values in sample]
        if version and len(set(pairs)) == len(pairs) and all(age(text) is not None for text in cells(sample, version)):
            return message, version
        messages = (rows for group in groups for rows in groups_of(group, message))
        again = [rows for rows in messages if rows[1:] and as_name(rows[0].get(message))]
        # A bare id may be that of a person.
        few = "_" in plain(message) or 2 * len({name for name, _ in pairs}) >= len(pairs)
        if few and again and mostly_filled(sample, message) and all(_is_again(rows, speaker, text) for rows in again):
            return message, message
    return None


def _is_again(rows: Values, speaker: str, text: str) -> bool:
    """Return whether rows hold versions of one message: of events that say so, or with nearly the same text."""
    events = (plain(value).split("_") for values in rows[1:] for value in values.values() if isinstance(value, str))
    if any(not EDITS.isdisjoint(words) and len(words) < WORDS_OF_EVENT for words in events):
        return True
    texts = [cell for values in rows if (cell := cell_text(values.get(text)).strip())]
    return len(set(cells(rows, speaker))) < 2 and all(are_alike(texts[0], other) for other in texts[1:])


def are_alike(text: str, other: str) -> bool:
    """Return whether a text may be an edited version of another one."""
    return text == other or SequenceMatcher(None, text[:500], other[:500], autojunk=False).ratio() >= ALIKE


def age(version: str) -> float | None:
    """Return a message's version as a number that grows, 0 for one that was never changed; None if it is none."""
    if version.isdecimal():
        return float(version)
    return seconds(version, day_first=False) if version else 0.0


def steady(groups: Sequence[Values], label: str) -> bool:
    """Return whether a column has one value in at least 80 % of the dialogues: it labels dialogues, not turns."""
    labelled = [values for group in groups if (values := set(cells(group, label)))]
    return sum(len(values) > 1 for values in labelled) <= len(labelled) / 5
