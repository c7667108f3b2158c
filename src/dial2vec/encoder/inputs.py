"""Input styles of dialogues: special tokens, turns, positions (Liu et al. 2022, section 3.2)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from dial2vec.errors import ModelError, did_you_mean


@dataclass(frozen=True, slots=True)
class InputStyle:
    """How the turns of a dialogue become one sequence. A special token has the number and the role of its turn.

    :param start: whether the encoder's own start token, if it has one, comes first; it belongs to the first turn.
    :param before: token in front of every turn, by role; roles beyond the last entry use the last entry.
    :param after: token after every turn.
    :param parting: token after every turn but the last.
    :param between: whether the encoder's own separator follows every turn but the last.
    :param end: whether the encoder's own separator follows the last turn.
    :param last_turns: number of turns that are read, counted from the end; None is all.
    :param restart_positions: whether positions restart at 0 in every turn.
    :param count_down: whether turns are numbered ..., 3, 2, 1 instead of 0, 1, 2, ...
    :param apart: whether every turn is encoded alone, with the tokens that otherwise start and end a dialogue; there
        is nothing between turns.
    """

    start: bool = True
    before: tuple[str, ...] = ()
    after: str | None = None
    parting: str | None = None
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
        """The tokens before, after or between turns, without the encoder's own."""
        return (*self.before, *(token for token in (self.after, self.parting) if token is not None))

    @property
    def separated(self) -> bool:
        """Whether any token stands between turns or after them."""
        return self.after is not None or self.parting is not None or self.between or self.end


# End of an utterance, [EOU]: the published code of Liu et al. 2022 takes this token of BERT's vocabulary for it.
EOU = "[unused1]"
# Name in `encoder.input` -> style; docs/encoders.md shows an example of each.
STYLES: dict[str, InputStyle] = {
    "text": InputStyle(),
    "separators": InputStyle(between=True),
    "eou": InputStyle(parting=EOU),
    "closed": InputStyle(between=True, end=True),
    "t5": InputStyle(start=False, between=True, end=True),
    "blender": InputStyle(start=False, between=True, end=True),
    "tod_bert": InputStyle(before=("[sys]", "[usr]"), end=True),
    "plato": InputStyle(start=False, after=EOU, last_turns=15, restart_positions=True, count_down=True),
    "eot": InputStyle(after="[EOT]"),
}
# Inputs with the same tokens around a turn: all turns as one sequence -> each turn alone.
APART = {"closed": "turns"} | {name: f"{name}_turns" for name in ("t5", "blender", "tod_bert", "plato", "eot")}
STYLES |= {apart: replace(STYLES[name], apart=True, between=False, last_turns=None) for name, apart in APART.items()}


def input_style(name: str, last_turns: int | None = None) -> InputStyle:
    """Return the style of a name.

    :param last_turns: number of last turns; None is the style's own.
    :raises ModelError: if the name is unknown or the number is below 1.
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
    """Return the input for one or a few utterances that are no whole dialogue.

    They get the same tokens around them as the encoder's dialogues, and a separator after the last one.

    :param name: the encoder's input.
    """
    joined = next((together for together, apart in APART.items() if apart == name), name)
    return joined if joined in APART else "closed"


def apart_input(name: str) -> str:
    """Return the input that reads every turn of a dialogue alone, as `joined_input` reads one utterance.

    :param name: the encoder's input.
    """
    return APART[joined_input(name)]
