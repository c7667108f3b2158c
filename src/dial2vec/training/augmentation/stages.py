"""Stages of a dialogue: runs of turns about one thing, which can be shuffled, dropped, and grown by foreign turns.

A stage is a run of *neighbouring* turns. Clusters of turns from all over the dialogue, moved as wholes, would part
every answer from its question and let a dialogue begin with all of its thanks; runs keep what belongs together, and
are clusters by similarity all the same: Ward's method on unit vectors, in which only neighbours can be joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import AgglomerativeClustering

from dial2vec.dialogue import Dialogue, Turn
from dial2vec.draws import share_of
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.nearest import unit_rows
from dial2vec.errors import CorpusError, Dial2vecError
from dial2vec.training.augmentation.made import Made
from dial2vec.training.augmentation.ordering import Ordering

# Some three stages in a dialogue of twelve turns: greeting and wish, details, what was agreed.
TURNS_PER_STAGE = 4
# One foreign turn for every five.
FOREIGN_SHARE = 0.2


def turn_vectors(
    encoder: DialogueEncoder, dialogues: Sequence[Dialogue], *, batch_size: int = 64
) -> list[NDArray[np.float32]]:
    """Encode every turn as a dialogue of its own: of each dialogue unit vectors [turns, d] float32.

    Equal turns are encoded once.
    """
    texts = list(dict.fromkeys(turn.text for dialogue in dialogues for turn in dialogue.turns))
    row = {text: place for place, text in enumerate(texts)}
    alone = [Dialogue(str(place), (Turn("speaker", text),)) for place, text in enumerate(texts)]
    units = unit_rows(encoder.encode(alone, batch_size=batch_size))
    return [units[[row[turn.text] for turn in dialogue.turns]] for dialogue in dialogues]


def stages_of(vectors: NDArray[np.float32], *, turns_per_stage: int = TURNS_PER_STAGE) -> list[range]:
    """Cut a dialogue into stages, where neighbouring turns differ most.

    :param vectors: unit vectors of its turns [turns, d].
    :param turns_per_stage: on average; there are two stages at least, as long as there are two turns.
    :return: the turns of each stage, in order; together they are all turns.
    :raises Dial2vecError: for a number below 1.
    """
    if turns_per_stage < 1:
        raise Dial2vecError(f"turns_per_stage is {turns_per_stage}; expected at least 1. Give a larger number.")
    n = len(vectors)
    n_stages = min(n, max(2, round(n / turns_per_stage)))
    if n_stages == n:
        return [range(turn, turn + 1) for turn in range(n)]
    neighbours = sparse.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1], shape=(n, n))
    joined = AgglomerativeClustering(n_stages, linkage="ward", connectivity=neighbours.tocsr()).fit(vectors).labels_
    bounds = [0, *(np.flatnonzero(np.diff(joined)) + 1).tolist(), n]
    return [range(first, last) for first, last in pairwise(bounds)]


def shuffled(dialogue: Dialogue, stages: Sequence[range], rng: np.random.Generator) -> Made:
    """Put the stages in another order, each as a whole."""
    if len(stages) < 2:
        return Made(dialogue, "it has one turn only, so there is nothing to shuffle")
    order = rng.permutation(len(stages))
    turns = _turns(dialogue, [stages[place] for place in order])
    if turns == dialogue.turns:
        # Where no swap of neighbours changes anything, no order does: all stages repeat one and the same turns.
        swaps = [[*stages[:i], stages[i + 1], stages[i], *stages[i + 2 :]] for i in range(len(stages) - 1)]
        others = [found for swap in swaps if (found := _turns(dialogue, swap)) != dialogue.turns]
        if not others:
            return Made(dialogue, "its turns are all alike, so every order is the same")
        turns = others[rng.integers(len(others))]
    return Made(replace(dialogue, turns=turns))


def shortened(dialogue: Dialogue, stages: Sequence[range], rng: np.random.Generator) -> Made:
    """Drop one stage, of those without which every speaker still says something."""
    left = [_turns(dialogue, [stage for stage in stages if stage != dropped]) for dropped in stages]
    speakers = {turn.speaker for turn in dialogue.turns}
    whole = [turns for turns in left if {turn.speaker for turn in turns} == speakers]
    if not whole:
        return Made(dialogue, "without any of its stages a speaker would be gone")
    return Made(replace(dialogue, turns=whole[rng.integers(len(whole))]))


def _turns(dialogue: Dialogue, stages: Sequence[range]) -> tuple[Turn, ...]:
    return tuple(dialogue.turns[turn] for stage in stages for turn in stage)


@dataclass(frozen=True, slots=True)
class ForeignTurns:
    """Turns of many dialogues, to be lent to others.

    :param turns: m of them, dialogue by dialogue.
    :param roles: int64 [m], the role of each in its own dialogue.
    :param vectors: their unit vectors [m, d].
    :param places: id of a dialogue -> its turns among these.
    """

    turns: list[Turn]
    roles: NDArray[np.int64]
    vectors: NDArray[np.float32]
    places: dict[str, range]

    @classmethod
    def of(cls, dialogues: Sequence[Dialogue], vectors: Sequence[NDArray[np.float32]]) -> ForeignTurns:
        """Collect the turns of dialogues.

        :param vectors: of each dialogue, as `turn_vectors` returns them.
        :raises CorpusError: when there is no dialogue.
        """
        if not dialogues:
            raise CorpusError("there are no dialogues to lend turns; expected at least one. Give the training split.")
        first = np.concatenate([[0], np.cumsum([len(dialogue.turns) for dialogue in dialogues])]).tolist()
        return cls(
            [turn for dialogue in dialogues for turn in dialogue.turns],
            np.array([role for dialogue in dialogues for role in dialogue.roles], dtype=np.int64),
            np.concatenate(vectors),
            {dialogue.dialogue_id: range(*first[i : i + 2]) for i, dialogue in enumerate(dialogues)},
        )

    def for_dialogue(self, dialogue: Dialogue) -> NDArray[np.int64]:
        """Return which turns a dialogue can be lent: of other dialogues, and of a role that it has."""
        fitting = self.roles < dialogue.n_speakers
        own = self.places.get(dialogue.dialogue_id, range(0))
        fitting[own.start : own.stop] = False
        return np.flatnonzero(fitting)


def lengthened(
    dialogue: Dialogue,
    vectors: NDArray[np.float32],
    foreign: ForeignTurns,
    ordering: Ordering,
    rng: np.random.Generator,
    *,
    share: float = FOREIGN_SHARE,
) -> Made:
    """Insert random foreign turns, each where the ordering model has it fit best between its neighbours.

    A foreign turn is said by the speaker of the same name, such as "agent"; where there is none, by the one who has
    its role here: the first speaker's turn by the first speaker.

    :param vectors: unit vectors of the turns [turns, d].
    :param share: foreign turns for every turn; one at least.
    """
    lent = foreign.for_dialogue(dialogue)
    if not len(lent):
        return Made(dialogue, "no other dialogue has a turn to lend")
    speakers = list(dict.fromkeys(turn.speaker for turn in dialogue.turns))
    turns, known = list(dialogue.turns), vectors
    wanted = max(1, share_of(share, len(turns)))
    for number in rng.permutation(lent)[:wanted]:
        place = _best_place(known, foreign.vectors[number], ordering)
        own = foreign.turns[number]
        speaker = own.speaker if own.speaker in speakers else speakers[foreign.roles[number]]
        turns.insert(place, Turn(speaker, own.text))
        known = np.insert(known, place, foreign.vectors[number], axis=0)
    return Made(replace(dialogue, turns=tuple(turns)))


def _best_place(vectors: NDArray[np.float32], vector: NDArray[np.float32], ordering: Ordering) -> int:
    """Return the gap 0 to n whose neighbours it fits best: mean log probability to follow, and to be followed."""
    repeated = np.broadcast_to(vector, vectors.shape)
    follows = np.log(ordering.follows(vectors, repeated))
    followed = np.log(ordering.follows(repeated, vectors))
    inside = (follows[:-1] + followed[1:]) / 2
    return int(np.concatenate([followed[:1], inside, follows[-1:]]).argmax())
