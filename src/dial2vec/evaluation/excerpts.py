"""Opening of a dialogue, short enough for a page."""

from __future__ import annotations

from dataclasses import dataclass

from conversations.dialogue import Dialogue, Turn
from conversations.words import cut


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Opening of a dialogue.

    :param turns: first turns; a shortened text ends in "…".
    :param left_out: number of turns after these.
    """

    turns: tuple[Turn, ...]
    left_out: int

    @property
    def sides(self) -> tuple[bool, ...]:
        """True for each turn of the first speaker."""
        return tuple(turn.speaker == self.turns[0].speaker for turn in self.turns)


def excerpt(dialogue: Dialogue, *, turns: int, characters: int) -> Excerpt:
    """Return the first turns of a dialogue.

    :param turns: maximum number of turns.
    :param characters: maximum length of a text and of a speaker's name.
    """
    kept = tuple(Turn(cut(turn.speaker, characters), cut(turn.text, characters)) for turn in dialogue.turns[:turns])
    return Excerpt(kept, len(dialogue.turns) - len(kept))
