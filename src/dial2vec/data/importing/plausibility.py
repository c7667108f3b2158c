"""Doubts about a reading as a whole: an implausible one is refused, with the readings that come closest."""

from __future__ import annotations

from collections.abc import Sequence

from dial2vec.data.importing.naming import FIELDS
from dial2vec.data.importing.names import NAMES, plain

# Words that name a part of a message, not a person.
PARTS = FIELDS | set(NAMES["text"]) | set(NAMES["time"]) | {"label", "labels", "episode_done", "conversation", "size"}
# Numbers of turns and of lines from which on a transcript is weighed.
TURNS, LINES = 6, 6
REMEDY = "describe its lines in a recipe (docs/recipes.md), or save it with a line `Name: text` for each turn"


def doubt_of_script(turns: Sequence[tuple[str, list[str]]], others: int) -> str:
    """Return the reason why a transcript was hardly read right, and what to do; "" if it is plausible.

    :param turns: Speaker and lines of each turn.
    :param others: Number of lines before the first turn that are neither clock times nor notices.
    """
    reason = _reason(turns, others) if turns else ""
    return f"{reason}; {REMEDY}" if reason else ""


def _reason(turns: Sequence[tuple[str, list[str]]], others: int) -> str:
    speakers = [speaker for speaker, _ in turns]
    names = list(dict.fromkeys(speakers))
    parts = [name for name in names if plain(name) in PARTS or name[:1] in "%@" and len(name) > 1 and ":" not in name]
    lengths = [sum(bool(line.strip()) for line in lines) for _, lines in turns]
    if 2 * sum(speaker in parts for speaker in speakers) >= len(turns) and (len(turns) > 1 or others):
        return f"its speakers would be called {', '.join(map(repr, names[:3]))}, which name no people"
    if len(turns) >= TURNS and len(names) > 0.8 * len(turns):
        return f"nearly everybody would speak once: {len(names)} speakers in {len(turns)} turns"
    stuck = sum(lengths) - len(turns) + others
    if len(names) == 1 and stuck >= 3 and stuck > len(turns):
        return f"one speaker, {names[0]!r}, would say everything, and {stuck} lines name nobody"
    if sum(lengths) >= LINES and max(lengths) > 0.6 * sum(lengths) and len(turns) > 1 and max(lengths) > 2 * len(turns):
        return f"most lines would belong to one turn, {max(lengths)} of {sum(lengths)}"
    return ""
