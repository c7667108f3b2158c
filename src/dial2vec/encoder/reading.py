"""How an encoder reads dialogues: its options, and the readings that training can put in their place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from dial2vec.encoder.inputs import apart_input, check_name, input_style, joined_input
from dial2vec.encoder.papers.hierarchical import HIERARCHIES
from dial2vec.encoder.pooling import Pooling
from dial2vec.encoder.tokens import DialogueTokenizer
from dial2vec.errors import ModelError

MIN_LENGTH = 8


@dataclass(frozen=True, slots=True)
class Reading:
    """The part of an encoder's options that can change without other weights.

    :param input: form of a dialogue, a name of `dial2vec.encoder.inputs.STYLES`.
    :param pooling: rule that makes token vectors one vector: "role" (sum of the speakers' means, the paper's default),
        "mean" (all tokens), "turns" (mean of the turns' means), "cls" (first token) or "separators" (mean of these).
    """

    input: str
    pooling: Pooling


@dataclass(frozen=True, slots=True)
class EncoderOptions(Reading):
    """All options of an encoder; a saved model stores them.

    :param max_length: longest input in tokens; the encoder's own limit may be lower.
    :param last_turns: number of turns that are read, counted from the end; None is the input's own number.
    :param hierarchy: "none", or a name of `encoder.papers.hierarchical.HIERARCHIES`: a layer on top of the backbone
        that reads turns as turns. Untrained it changes no vector.
    :param turn_embeddings: whether to add a table for the turn index to the input.
    :param role_embeddings: whether to add a table for the role. A new table is zero and changes no vector.
    :raises ModelError: if a name is unknown or a number is too low.
    """

    input: str = "text"
    pooling: Pooling = "role"
    max_length: int = 512
    last_turns: int | None = None
    hierarchy: str = "none"
    turn_embeddings: bool = False
    role_embeddings: bool = False

    def __post_init__(self) -> None:
        check_name("pooling", self.pooling, get_args(Pooling))
        check_name("hierarchy", self.hierarchy, ("none", *HIERARCHIES))
        length = self.max_length
        if not isinstance(length, int) or length < MIN_LENGTH:
            raise ModelError(f"max_length is {length!r}; expected a whole number of tokens, at least {MIN_LENGTH}.")
        input_style(self.input, self.last_turns)


def sentences_apart(input: str) -> Reading:
    """Return the reading that encodes each turn alone and takes the mean of the turns' means.

    :param input: the encoder's own input.
    """
    return Reading(apart_input(input), "turns")


def one_context(input: str, pooling: Pooling) -> Reading:
    """Return the reading that joins a dialogue as a context: one sequence with a separator after every turn.

    :param input: the encoder's own input.
    """
    return Reading(joined_input(input), pooling)


def check_pooling(pooling: Pooling, tokens: DialogueTokenizer, *, encoder: str, option: str) -> None:
    """Raise if a pooling needs tokens that dialogues do not have.

    :param tokens: tokenizer of the dialogues.
    :param encoder: name of the encoder.
    :param option: setting that names the pooling.
    :raises ModelError: if the pooling needs a start token or a separator and the input has none.
    """
    if pooling == "cls" and not tokens.starts:
        raise ModelError(
            f"{option} is cls, but with input {tokens.input} the first token of {encoder} is no start token of a whole "
            f"dialogue; expected an input such as text or closed. Set {option} to mean."
        )
    if pooling != "separators":
        return
    if tokens.separator is None:
        raise ModelError(
            f"pooling is separators, but the tokenizer of {encoder} has no separator; expected a sep_token or an "
            f"eos_token. Set {option} to another: role, or mean."
        )
    if not tokens.style.separated:
        raise ModelError(
            f"{option} is separators, but input {tokens.input} puts none between turns; expected an input such as "
            f"closed. Set encoder.input to it, or {option} to another: role, or mean."
        )
