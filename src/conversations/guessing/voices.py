"""The column of the speakers, weighed by what it holds: speakers take turns and come back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from conversations.guessing.exchanges import WORDY, is_answer, words_per_cell
from conversations.guessing.names import all_by_name, in_english, is_index, plain
from conversations.values.cells import as_name, cell_text
from conversations.vocabulary import word_set

Values = Sequence[dict[str, Any]]
SIDES = word_set("speakers", "sides")
PROGRAMS = word_set("speakers", "calls")
QUALITIES = word_set("columns", "qualities")
# Flags that tell the side of a turn.
FLAG = re.compile(
    r"(?:is_|from_|by_|sent_by_|was_|)(?:from_)?(?:agent|me|bot|customer|user|client|inbound|outbound|incoming|outgoing"
    r"|human|staff|admin|visitor|operator|assistant|ai|support|self|mine|sent|received|sender|send|owner)"
)
FLAGGED = re.compile(r"(?:is|from|by|sent|was)_|inbound$|outbound$|incoming$|outgoing$")
# Values of a flag; the words among them name nobody, whereas speakers may be called 0 and 1, or by a letter.
BOOLEANS = word_set("speech", "yes") | word_set("speech", "no")
FLAG_WORDS = {value for value in BOOLEANS if len(value) > 1 and value[0] not in "01"} | {"是", "否", "예"}
ID = re.compile(r"(?:^|_)(?:id|sid|uuid|guid|key|user)$")
NOTES = word_set("speakers", "notes")
# Number of turns of a dialogue from which on speakers are expected to come back.
LONG = 4


@lru_cache(maxsize=4096)
def is_side(value: str) -> bool:
    """Return whether a value names a side of a conversation: "user", "Agent", "outbound-api"."""
    if plain(value) in PROGRAMS:
        return True
    words = [in_english(word) for word in plain(value).split("_")]
    return 0 < len(words) <= 3 and all(word in SIDES for word in words) and words != ["message"]


class Voices(NamedTuple):
    """What a column holds if it names the speakers.

    :param filled: Share of the turns that have a value.
    :param changing: True if some dialogue has two values.
    :param returning: True unless nearly each turn has a new value.
    :param sides: True if most values are sides.
    :param values: Number of different values.
    """

    filled: float
    changing: bool
    returning: bool
    sides: bool
    values: int

    @property
    def good(self) -> bool:
        """Whether the column may well name the speakers."""
        return self.filled >= 0.5 and self.changing and self.returning


def voices(groups: Sequence[Values], name: str) -> Voices:
    """Return what a column holds if it names the speakers."""
    flag = is_flag(name)
    total = filled = once = long = 0
    changing = False
    values: dict[str, int] = {}
    for group in groups:
        cells = [as_name(turn.get(name)) for turn in group]
        spoken = [cell for cell in cells if cell]
        total += len(cells)
        filled += len(spoken)
        distinct = set(spoken)
        changing = changing or len(distinct) > 1
        if len(spoken) >= LONG:
            long += len(spoken)
            once += len(distinct)
        for cell in spoken:
            values[cell] = values.get(cell, 0) + 1
    if flag:
        sides = len(values) == 2 and all(value.lower() in BOOLEANS for value in values)
    else:
        known = sum(count for value, count in values.items() if is_side(value))
        noted = sum(count for value, count in values.items() if plain(value) in NOTES)
        sides = known > 0 and known >= 0.8 * (filled - noted)
    # In a group each may speak once, and again in another dialogue.
    returning = sides or not long or once <= 0.9 * long or len(values) <= 0.8 * filled
    returning = returning and (flag or not {value.lower() for value in values} <= FLAG_WORDS)
    return Voices(filled / max(total, 1), changing, returning, sides, len(values))


def is_flag(name: str) -> bool:
    """Return whether a column's name is that of a flag for one side, such as `is_agent` or `fromMe`."""
    bare = plain(name)
    return bool(FLAG.fullmatch(bare) and FLAGGED.match(bare))


def side_columns(groups: Sequence[Values], names: Sequence[str]) -> list[str]:
    """Return the columns whose values are sides and change inside dialogues, words before flags, the fullest first."""
    weighed = {name: voices(groups, name) for name in names if not is_index(name)}
    telling = [name for name, voice in weighed.items() if voice.sides and voice.changing]
    return sorted(
        telling, key=lambda name: (is_flag(name), -weighed[name].filled, name not in all_by_name("speaker", names))
    )


def speaker_column(groups: Sequence[Values], names: Sequence[str], *, text: str | None) -> str | None:
    """Return the column of the speakers.

    A column that is named like one and whose values take turns goes first. Roles go before ids, unless two people of a
    dialogue have one role. A column that is only named like one is used if no other column takes turns.
    """
    spoken = [[turn for turn in group if not text or cell_text(turn.get(text)).strip()] for group in groups]
    spoken = [group for group in spoken if group] or [list(group) for group in groups]
    candidates = [name for name in names if name != text and _may_name(groups, name)]
    named = all_by_name("speaker", candidates) + [name for name in candidates if _names_sides(name)]
    weighed = {name: voices(spoken, name) for name in named}
    sides = side_columns(spoken, candidates)
    good = [name for name in named if weighed[name].good]
    people = [name for name in good if not _is_id(name, spoken)]
    best = next(iter([*people, *(name for name in good if weighed[name].filled > 0.9), *good]), None)
    full = [name for name in sides if voices(spoken, name).filled > 0.9]
    if best and _is_id(best, spoken):
        gaps = weighed[best].filled <= 0.9
        roles = (name for name in full if name != best and (gaps or not _hides(spoken, name, best)))
        best = next(roles, best)
    if best:
        return best
    telling = [*full, *sides, *turn_takers(spoken, candidates)]
    if telling:
        return next((name for name in named if _parts_side(spoken, name, telling[0])), telling[0])
    # A column that only names something like a speaker: the only voice, or the owner of the dialogue.
    return next((name for least in (0.5, 0.0) for name in named if weighed[name].filled > least), None)


def _parts_side(groups: Sequence[Values], name: str, flag: str) -> bool:
    """Return whether a column names the people of each side that a flag tells, such as `user` beside `is_bot`."""
    pairs = {(as_name(turn.get(name)), as_name(turn.get(flag)).lower()) for group in groups for turn in group}
    people, sides = ({pair[at] for pair in pairs} for at in (0, 1))
    return (
        sides <= BOOLEANS and len(people) == len(pairs) > len(sides) and "" not in people and not _is_id(name, groups)
    )


def turn_takers(groups: Sequence[Values], names: Sequence[str]) -> list[str]:
    """Return the columns with few values that change inside dialogues and come back, the fewest values first."""
    counts = {}
    for name in names:
        if (
            plain(name).rsplit("_", 1)[-1] in QUALITIES
            or is_index(name)
            or all_by_name("time", [name])
            or not _may_name(groups, name)
        ):
            continue
        voice = voices(groups, name)
        different = {as_name(turn.get(name)) for group in groups for turn in group}
        if words_per_cell(list(different)) > WORDY:
            continue
        rows = voice.filled * sum(map(len, groups))
        if voice.good and 1 < voice.values <= max(2, rows / 2) and voice.values < round(rows):
            counts[name] = voice.values
    # Ids stand in blocks, speakers come back.
    return sorted(counts, key=lambda name: (_stands_in_blocks(groups, name), counts[name]))


def _stands_in_blocks(groups: Sequence[Values], name: str) -> bool:
    """Return whether no value of a column comes back in a dialogue after another one."""
    lists = [[as_name(turn.get(name)) for turn in group] for group in groups]
    return all(sum(map(str.__ne__, cells, cells[1:])) < len(set(cells)) for cells in lists)


def _names_sides(name: str) -> bool:
    """Return whether a column's name holds two sides, such as "Agent or Visitor"."""
    words = set(plain(name).split("_")) - {"or", "and"}
    return len(words) > 1 and words <= SIDES - {"message", "in", "out", "sent", "received"}


def _is_id(name: str, groups: Sequence[Values]) -> bool:
    """Return whether a column holds ids, not names: by its name, if its values are no objects with a name."""
    if not ID.search(plain(name)):
        return False
    values = [value for group in groups for turn in group[:5] if (value := turn.get(name))][:50]
    if plain(name).rsplit("_", 1)[-1] != "user":
        return True
    return all(re.search(r"\d", as_name(value)) for value in values)


def _hides(groups: Sequence[Values], role: str, name: str) -> bool:
    """Return whether one role covers two people in most dialogues of several turns."""
    hidden = several = 0
    for group in groups:
        pairs = {(as_name(turn.get(role)), as_name(turn.get(name))) for turn in group}
        if len(group) > 1:
            several += 1
            hidden += len({person for _, person in pairs}) > len({side for side, _ in pairs})
    return 2 * hidden > several


def _may_name(groups: Sequence[Values], name: str) -> bool:
    """Return whether the values of a column are no lists and no texts."""
    values = [value for group in groups for turn in group if (value := turn.get(name)) not in (None, "")][:200]
    if not values or any(isinstance(value, list) for value in values):
        return False
    return not is_answer(name) and words_per_cell([as_name(value) for value in values]) <= 2 * WORDY


def speaker_key(groups: Sequence[Values], name: str) -> str:
    """Return the key of the id if speakers are objects without a name, and one role covers two people; otherwise ""."""
    objects = [value for group in groups for turn in group if isinstance(value := turn.get(name), dict)]
    if not objects or not all("id" in value for value in objects):
        return ""
    for group in groups:
        people = {(as_name(value), str(value["id"])) for turn in group if isinstance(value := turn.get(name), dict)}
        shown = {name for name, _ in people}
        if len(people) > len(shown) and all(map(is_side, shown)):
            return "id"
    return ""
