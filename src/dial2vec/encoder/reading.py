"""How dialogues are read: their tokens, and what becomes of the vectors of these."""

from __future__ import annotations

from dataclasses import dataclass

from dial2vec.encoder.inputs import apart_input, joined_input
from dial2vec.encoder.pooling import Pooling
from dial2vec.encoder.tokens import DialogueTokenizer
from dial2vec.errors import ModelError


@dataclass(frozen=True, slots=True)
class Reading:
    """How an encoder reads dialogues.

    :param input: what a dialogue looks like to it, a name of `dial2vec.encoder.inputs.STYLES`.
    :param pooling: how the vectors of its tokens become one.
    """

    input: str
    pooling: Pooling


def sentences_apart(input: str) -> Reading:
    """Return the reading in which a dialogue is the mean of its turns, each the mean of its tokens and read alone.

    :param input: the encoder's own.
    """
    return Reading(apart_input(input), "turns")


def one_context(input: str, pooling: Pooling) -> Reading:
    """Return the reading in which a dialogue is a context: one sequence, with a separator behind every turn.

    :param input: the encoder's own.
    """
    return Reading(joined_input(input), pooling)


def check_pooling(pooling: Pooling, tokens: DialogueTokenizer, *, encoder: str, option: str) -> None:
    """Refuse a pooling of tokens that dialogues do not have.

    :param tokens: of the dialogues.
    :param encoder: its name.
    :param option: the setting that names the pooling.
    :raises ModelError: when there is no start token to take, or no separator.
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
