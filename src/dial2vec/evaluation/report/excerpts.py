"""As much of a dialogue as a page has room for."""

from __future__ import annotations

from dataclasses import dataclass

from dial2vec.dialogue import Dialogue, Turn


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The opening of a dialogue.

    :param turns: its first turns; a text that was cut ends in "…".
    :param left_out: how many turns follow.
    """

    turns: tuple[Turn, ...]
    left_out: int


def excerpt(dialogue: Dialogue, *, turns: int, characters: int) -> Excerpt:
    """Return the first turns of a dialogue.

    :param turns: how many at most.
    :param characters: length of a turn's text at most, and of a speaker's name.
    """
    kept = tuple(Turn(_cut(turn.speaker, characters), _cut(turn.text, characters)) for turn in dialogue.turns[:turns])
    return Excerpt(kept, len(dialogue.turns) - len(kept))


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else text[: characters - 1].rstrip() + "…"
