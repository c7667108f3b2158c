"""What the utterance methods learn from: what was said next, what was said around it, what it answers.

Utterances are numbered through all dialogues in order: utterance `first[i] + t` is turn t of dialogue i.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dial2vec.dialogue import Dialogue

Variant = Literal["1-1", "2-1", "3-1", "123-1", "dropout"]
# How many utterances in a row are the query, for each variant.
JOINED: dict[str, tuple[int, ...]] = {"1-1": (1,), "2-1": (2,), "3-1": (3,), "123-1": (1, 2, 3)}
LONGEST_QUERY = 3
NONE = -1


def first_turns(dialogues: Sequence[Dialogue]) -> NDArray[np.int64]:
    """Return the number of each dialogue's first utterance, and at the end that of all utterances, int64 [n + 1]."""
    lengths = [len(dialogue.turns) for dialogue in dialogues]
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def consecutive_pairs(dialogues: Sequence[Dialogue], *, variant: Variant, min_words: int = 4) -> NDArray[np.int64]:
    """Return queries with what was said next (Zhou et al. 2022, section 3.1), int64 [m, 4].

    The first three columns are the query's utterances in their order, -1 where it has fewer; the last is the next.
    Utterances with fewer than `min_words` words are left out first, so what stands around one becomes a pair.

    :param variant: "1-1", "2-1" and "3-1" join one, two or three utterances to the query, "123-1" has all of these;
        "dropout" pairs an utterance with itself.
    :param min_words: the paper drops utterances of three words and fewer.
    """
    rows = []
    for begin, dialogue in zip(first_turns(dialogues), dialogues, strict=False):
        said = [begin + place for place, turn in enumerate(dialogue.turns) if len(turn.text.split()) >= min_words]
        if variant == "dropout":
            rows += [[number, NONE, NONE, number] for number in said]
            continue
        for place in range(1, len(said)):
            for joined in JOINED[variant]:
                if joined <= place:
                    query = said[place - joined : place]
                    rows.append([*query, *[NONE] * (LONGEST_QUERY - joined), said[place]])
    return np.array(rows, dtype=np.int64).reshape(-1, LONGEST_QUERY + 1)


def responses_in_context(
    dialogues: Sequence[Dialogue], *, context_turns: int = 3, min_turns: int = 4
) -> NDArray[np.int64]:
    """Return every utterance with its nearest turns on both sides (Liu et al. 2021, section 3), int64 [m, 1 + c].

    The first column is the response, the others its context: the turn before it, the one behind it, the second one
    before it, and so on, -1 where the dialogue has none.

    :param dialogues: with consecutive turns of one speaker merged (`Dialogue.merged`).
    :param context_turns: c, 1 at least.
    :param min_turns: shorter dialogues are left out; the paper's 4.
    """
    steps = [(place // 2 + 1) * (1 if place % 2 else -1) for place in range(context_turns)]
    rows = []
    for begin, dialogue in zip(first_turns(dialogues), dialogues, strict=False):
        n = len(dialogue.turns)
        if n >= min_turns:
            rows += [
                [begin + place, *(begin + place + step if 0 <= place + step < n else NONE for step in steps)]
                for place in range(n)
            ]
    return np.array(rows, dtype=np.int64).reshape(-1, 1 + context_turns)


def responses_with_neighbour(dialogues: Sequence[Dialogue], *, min_turns: int = 4) -> NDArray[np.int64]:
    """Return every utterance with the turn before it, the first of a dialogue with the one behind it, int64 [m, 2].

    :param dialogues: as of `responses_in_context`.
    :param min_turns: shorter dialogues are left out; 2 at least.
    """
    response, before, behind = responses_in_context(dialogues, context_turns=2, min_turns=min_turns).T
    return np.column_stack([response, np.where(before == NONE, behind, before)])


def contexts_with_answers(dialogues: Sequence[Dialogue], *, answering: int | None = None) -> NDArray[np.int64]:
    """Return every turn that answers others (Poddar et al. 2022, section 3), int64 [m, 2]: (dialogue, turn).

    Its context is all that was said before it.

    :param answering: role whose turns are answers, by who speaks first; None is any.
    """
    rows = [
        (number, place)
        for number, dialogue in enumerate(dialogues)
        for place, role in enumerate(dialogue.roles)
        if place and answering in (None, role)
    ]
    return np.array(rows, dtype=np.int64).reshape(-1, 2)


def foreign_utterances(
    first: NDArray[np.int64], owners: NDArray[np.int64], *, count: int, seed: Sequence[int]
) -> NDArray[np.int64]:
    """Draw utterances from other dialogues, uniformly and with replacement, int64 [m, count].

    :param first: of `first_turns`, for two dialogues at least.
    :param owners: dialogue of each row, whose own utterances are not drawn, int64 [m].
    :param seed: of the draws, which do not depend on rows behind.
    """
    own = first[owners + 1] - first[owners]
    shares = np.random.default_rng(list(seed)).random((len(owners), count))
    # Drawn among all others as if the own ones did not exist, and moved behind them where they come later.
    drawn = (shares * (first[-1] - own)[:, None]).astype(np.int64)
    return drawn + np.where(drawn >= first[owners][:, None], own[:, None], 0)
