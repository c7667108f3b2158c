"""What a dialogue looks like to an encoder: special tokens, turns, positions (Liu et al. 2022, section 3.2)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from dial2vec.errors import ModelError, did_you_mean


@dataclass(frozen=True, slots=True)
class InputStyle:
    """How the turns of a dialogue become one sequence. A special token belongs to a turn and has its number and role.

    :param start: the encoder's own start token, if it has one, in front; it belongs to the first turn.
    :param before: token in front of every turn, by role; a role beyond the last has the last one's.
    :param after: token behind every turn.
    :param between: the encoder's own separator behind every turn but the last.
    :param end: the encoder's own separator behind the last turn.
    :param last_turns: only so many turns, counted from the end, are read; None is all.
    :param restart_positions: positions begin at 0 in every turn instead of once.
    :param apart: every turn is encoded alone, with what stands in front of a dialogue in front of it, and what stands
        behind the last turn behind it; nothing is put between turns.
    :param count_down: turns are numbered ..., 3, 2, 1 instead of 0, 1, 2, ...
    """

    start: bool = True
    before: tuple[str, ...] = ()
    after: str | None = None
    between: bool = False
    end: bool = False
    last_turns: int | None = None
    restart_positions: bool = False
    count_down: bool = False
    apart: bool = False

    @property
    def kept(self) -> slice:
        """The turns that are read."""
        return slice(-self.last_turns if self.last_turns else None, None)

    @property
    def marks(self) -> tuple[str, ...]:
        """The tokens that stand before or behind every turn, beside the encoder's own."""
        return self.before if self.after is None else (*self.before, self.after)

    @property
    def separated(self) -> bool:
        """Whether anything stands between turns or behind them."""
        return self.after is not None or self.between or self.end


# By their name in `encoder.input`; each on an example: docs/encoders.md.
STYLES: dict[str, InputStyle] = {
    "text": InputStyle(),
    "separators": InputStyle(between=True),
    "closed": InputStyle(between=True, end=True),
    "turns": InputStyle(end=True, apart=True),
    "t5": InputStyle(start=False, between=True, end=True),
    "t5_turns": InputStyle(start=False, end=True, apart=True),
    "blender": InputStyle(start=False, between=True, end=True),
    "blender_turns": InputStyle(start=False, end=True, apart=True),
    "tod_bert": InputStyle(before=("[sys]", "[usr]"), end=True),
    "tod_bert_turns": InputStyle(before=("[sys]", "[usr]"), end=True, apart=True),
    "plato": InputStyle(start=False, after="[unused1]", last_turns=15, restart_positions=True, count_down=True),
    "plato_turns": InputStyle(start=False, after="[unused1]", restart_positions=True, count_down=True, apart=True),
}
# Inputs that put the same tokens around a turn: all turns as one sequence -> each alone.
APART = {
    "closed": "turns",
    "t5": "t5_turns",
    "blender": "blender_turns",
    "tod_bert": "tod_bert_turns",
    "plato": "plato_turns",
}


def input_style(name: str, last_turns: int | None = None) -> InputStyle:
    """Return the style of a name.

    :param last_turns: takes the place of the style's own number of turns; None keeps that.
    :raises ModelError: for an unknown name, and for a number below 1.
    """
    check_name("input", name, STYLES)
    if last_turns is None:
        return STYLES[name]
    if last_turns < 1:
        raise ModelError(f"last_turns is {last_turns}; expected at least 1, or None for the input's own number.")
    return replace(STYLES[name], last_turns=last_turns)


def check_name(option: str, name: object, valid: Collection[str]) -> None:
    """Raise a ModelError if the name is not one of the option's valid names."""
    if name not in valid:
        raise ModelError(f"{option} is {name!r}.{did_you_mean(str(name), valid)} Valid: {', '.join(valid)}.")


def joined_input(name: str) -> str:
    """Return the input of utterances that are no whole dialogue, one or a few, for an encoder of dialogues.

    They have the tokens around them that the encoder's dialogues have, with the separator behind the last one.

    :param name: the encoder's input.
    """
    joined = next((one for one, apart in APART.items() if apart == name), name)
    return joined if joined in APART else "closed"


def apart_input(name: str) -> str:
    """Return the input that reads every turn of a dialogue as `joined_input` reads one utterance.

    :param name: the encoder's input.
    """
    return APART[joined_input(name)]
