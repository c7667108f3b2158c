"""Stages of a dialogue: groups of turns about one topic, which can be shuffled or dropped; and foreign turns.

A stage is found by Ward's clustering of the turns' unit vectors, in one of two ways:

- "runs", the default: only neighbours may merge, so a stage is a run of neighbouring turns, and a foreign turn comes
  between turns that keep their order. An answer stays with its question, and no dialogue begins with all its thanks.
- "clusters", the paper's ("Generating Synthetic Data via Intent-Preserving and Intent-Corrupting Augmentations",
  section 2.1): any turns may merge, wherever they stand, and the ordering model sorts own and foreign turns together.
  The paper clusters by a trained model of similarity; its basic form, cosines of embeddings, is used here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from conversations.dialogue import Dialogue, Turn
from dial2vec.draws import share_of
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.nearest import unit_rows
from dial2vec.training.augmentation.ordering import Ordering

Stages = Literal["runs", "clusters"]
# About three stages in a dialogue of twelve turns: greeting and request, details, agreement.
TURNS_PER_STAGE = 4
# One foreign turn per five turns.
FOREIGN_SHARE = 0.2


def turn_vectors(encoder: DialogueEncoder, dialogues: Sequence[Dialogue]) -> list[NDArray[np.float32]]:
    """Encode every turn as a dialogue of its own; equal turns only once.

    :return: Unit vectors of each dialogue's turns, [turns, d] float32.
    """
    texts = list(dict.fromkeys(turn.text for dialogue in dialogues for turn in dialogue.turns))
    row = {text: place for place, text in enumerate(texts)}
    alone = [Dialogue(str(place), (Turn("speaker", text),)) for place, text in enumerate(texts)]
    units = unit_rows(encoder.encode(alone, batch_size=64))
    return [units[[row[turn.text] for turn in dialogue.turns]] for dialogue in dialogues]


def stages_of(vectors: NDArray[np.float32], *, kind: Stages = "runs") -> list[Sequence[int]]:
    """Divide a dialogue into stages; two or more turns give at least 2.

    :param vectors: Unit vectors of the turns [turns, d].
    :param kind: "runs" cuts where neighbouring turns differ most; "clusters" groups similar turns wherever they stand.
    :return: Turns of each stage, in order, stages in the order of their first turns; together all turns.
    """
    n = len(vectors)
    n_stages = min(n, max(2, round(n / TURNS_PER_STAGE)))
    if n_stages == n:
        return [range(turn, turn + 1) for turn in range(n)]
    # Loaded here: half a second, and few trainings need it.
    from sklearn.cluster import AgglomerativeClustering

    if kind == "clusters":
        clusters = AgglomerativeClustering(n_stages, linkage="ward").fit(vectors).labels_
        return [np.flatnonzero(clusters == cluster).tolist() for cluster in dict.fromkeys(clusters.tolist())]
    neighbours = sparse.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1], shape=(n, n))
    joined = AgglomerativeClustering(n_stages, linkage="ward", connectivity=neighbours.tocsr()).fit(vectors).labels_
    bounds = [0, *(np.flatnonzero(np.diff(joined)) + 1).tolist(), n]
    return [range(first, last) for first, last in pairwise(bounds)]


def shuffled(dialogue: Dialogue, stages: Sequence[Sequence[int]], rng: np.random.Generator) -> Dialogue:
    """Reorder whole stages; a dialogue whose turns are all alike stays."""
    if len(stages) < 2:
        return dialogue
    order = rng.permutation(len(stages))
    turns = _turns(dialogue, [stages[place] for place in order])
    if turns == dialogue.turns:
        # If neither this order nor a swap of neighbours in it changes anything, no order does: all stages repeat the
        # same turns.
        swaps = [[*stages[:i], stages[i + 1], stages[i], *stages[i + 2 :]] for i in range(len(stages) - 1)]
        others = [other for some in (stages, *swaps) if (other := _turns(dialogue, some)) != dialogue.turns]
        if not others:
            return dialogue
        turns = others[rng.integers(len(others))]
    return replace(dialogue, turns=turns)


def shortened(dialogue: Dialogue, stages: Sequence[Sequence[int]], rng: np.random.Generator) -> Dialogue:
    """Drop one stage such that every speaker keeps at least one turn; if no stage may go, the dialogue stays."""
    left = [tuple(turn for place, turn in enumerate(dialogue.turns) if place not in dropped) for dropped in stages]
    speakers = {turn.speaker for turn in dialogue.turns}
    whole = [turns for turns in left if {turn.speaker for turn in turns} == speakers]
    if not whole:
        return dialogue
    return replace(dialogue, turns=whole[rng.integers(len(whole))])


def _turns(dialogue: Dialogue, stages: Sequence[Sequence[int]]) -> tuple[Turn, ...]:
    return tuple(dialogue.turns[turn] for stage in stages for turn in stage)


@dataclass(frozen=True, slots=True)
class ForeignTurns:
    """Turns of many dialogues that can be inserted into other dialogues.

    :param turns: All m turns, dialogue by dialogue.
    :param roles: Role of each turn in its own dialogue, int64 [m].
    :param vectors: Unit vectors of the turns [m, d].
    :param places: Dialogue id -> places of its turns in `turns`.
    """

    turns: list[Turn]
    roles: NDArray[np.int64]
    vectors: NDArray[np.float32]
    places: dict[str, range]

    @classmethod
    def of(cls, dialogues: Sequence[Dialogue], vectors: Sequence[NDArray[np.float32]]) -> ForeignTurns:
        """Collect the turns of dialogues.

        :param vectors: Vectors of each dialogue's turns, as `turn_vectors` returns them.
        """
        first = np.concatenate([[0], np.cumsum([len(dialogue.turns) for dialogue in dialogues])]).tolist()
        return cls(
            [turn for dialogue in dialogues for turn in dialogue.turns],
            np.array([role for dialogue in dialogues for role in dialogue.roles], dtype=np.int64),
            np.concatenate(vectors),
            {dialogue.dialogue_id: range(*first[i : i + 2]) for i, dialogue in enumerate(dialogues)},
        )

    def for_dialogue(self, dialogue: Dialogue) -> NDArray[np.int64]:
        """Return the places of turns from other dialogues whose role exists in this dialogue."""
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
    kind: Stages = "runs",
    share: float = FOREIGN_SHARE,
) -> Dialogue:
    """Add random foreign turns where the ordering model has them.

    With "runs" each comes into the gap where it fits best, and the own turns keep their order. With "clusters" the
    model sorts own and foreign turns together.

    A foreign turn gets the speaker of the same name, such as "agent". If there is none, it gets the speaker of the same
    role.

    :param vectors: Unit vectors of the turns [turns, d].
    :param share: Number of foreign turns per turn, at least 1 per dialogue.
    """
    lent = foreign.for_dialogue(dialogue)
    if not len(lent):
        return dialogue
    speakers = list(dict.fromkeys(turn.speaker for turn in dialogue.turns))
    turns, known = list(dialogue.turns), vectors
    wanted = max(1, share_of(share, len(turns)))
    for number in rng.permutation(lent)[:wanted]:
        place = len(turns) if kind == "clusters" else ordering.place(known, foreign.vectors[number])
        own = foreign.turns[number]
        speaker = own.speaker if own.speaker in speakers else speakers[foreign.roles[number]]
        turns.insert(place, Turn(speaker, own.text))
        known = np.insert(known, place, foreign.vectors[number], axis=0)
    if kind == "clusters":
        turns = [turns[place] for place in np.argsort(-ordering.ranks(known), kind="stable")]
    return replace(dialogue, turns=tuple(turns))
