"""Fitting the adaptation of a collection, and the guard that refuses a map which does harm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from conversations.dialogue import Dialogue
from dial2vec.collection.adapting.adaptation import Adaptation, Vectors
from dial2vec.collection.collection_folder import CollectionFolder, sampled
from dial2vec.encoder.maps import centred, fit_map, neighbour_targets, neighbourhood_size, ridge_of
from dial2vec.encoder.protocol import Encoder
from dial2vec.errors import ArtifactError
from dial2vec.evaluation.selection import TITLES

# Dialogues that a map is fitted on at most, and with which it is judged; fewer than the last ones have no map.
FITTED, JUDGED, LEAST = 5_000, 500, 80
# Among few dialogues a topic has few, and five neighbours would reach beyond it.
DIALOGUES_PER_NEIGHBOUR = 40
# Falls that are noise: two runs of k-means on the same vectors differ by more in stability (docs/adapting.md).
NOISE = {"stability": 0.03, "silhouette": 0.0, "cross_side": 0.002}
# The map is fitted again if the collection has grown by half.
GROWN = 1.5


def adapt(collection: CollectionFolder, encoder: Encoder, *, seed: int = 1) -> Adaptation:
    """Fit the adaptation of a collection if it has none or has grown by half, else map the new dialogues, and write it.

    :param encoder: encoder of the collection, which reads the two sides of at most 500 dialogues for the guard.
    """
    known = None
    with suppress(ArtifactError):
        # A damaged one is made again.
        known = collection.adaptation
    if known is not None and known.dialogues >= LEAST and len(collection) < GROWN * known.dialogues:
        if known.weight is not None:
            known.append(collection.folder, collection.vectors)
        return known
    adaptation = fit_adaptation(collection.vectors, lambda rows: list(collection.dialogues(rows)), encoder, seed=seed)
    adaptation.write(collection.folder, collection.vectors)
    return adaptation


def fit_adaptation(
    vectors: Vectors, read: Callable[[Sequence[int]], Sequence[Dialogue]], encoder: Encoder, *, seed: int
) -> Adaptation:
    """Fit the map that brings dialogues nearer to the targets of their neighbours, and keep it if the guard lets it.

    :param vectors: plain vectors of length 1, float32 [n, d].
    :param read: function that returns the dialogues of some rows.
    :param encoder: encoder of the vectors.
    :param seed: seed of the samples, and of the guard's k-means.
    """
    n, d = vectors.shape
    nothing = Adaptation(np.zeros(d, dtype=np.float32), None, n)
    if n < LEAST:
        return replace(nothing, reason=f"that takes at least {LEAST} dialogues, and there are {n}")
    units, mean = centred(np.asarray(vectors[sampled(n, FITTED, seed)]))
    m = len(units)
    targets = neighbour_targets(units, k=min(neighbourhood_size(m), max(2, m // DIALOGUES_PER_NEIGHBOUR)))
    tried = replace(nothing, mean=mean, weight=fit_map(units, targets, ridge=ridge_of(m, d), identity=1.0))
    guard = Guard.of(vectors, read, encoder, seed=seed)
    after = guard.figures(tried)
    fallen = guard.fallen(after)
    reason = f"{' and '.join(fallen)} would fall" if fallen else ""
    return replace(nothing if fallen else tried, before=guard.before, after=after, reason=reason)


class Guard:
    """Label-free criteria of a sample of dialogues, of which none may fall.

    Stability and silhouette of clusters rise with every collapse; the agreement of the two sides does not, because
    either side must find by itself what the other finds near (`dial2vec.evaluation.selection.criteria`).

    :param whole: plain vectors of the dialogues, [m, d].
    :param first: vectors of their first sides, [m, d].
    :param second: vectors of their other sides, [m, d].
    """

    def __init__(self, whole: Vectors, first: Vectors, second: Vectors, *, seed: int) -> None:
        self.parts, self.seed = (whole, first, second), seed
        self.before = self.figures(None)

    @classmethod
    def of(
        cls,
        vectors: Vectors,
        read: Callable[[Sequence[int]], Sequence[Dialogue]],
        encoder: Encoder,
        *,
        seed: int,
    ) -> Guard:
        """Encode the sides of a sample of dialogues. Parameters are those of `fit_adaptation`."""
        rows = sampled(len(vectors), JUDGED, seed)
        sides = [sides_of(dialogue) for dialogue in read(rows.tolist())]
        first, second = (encoder.encode([pair[at] for pair in sides]) for at in (0, 1))
        return cls(np.asarray(vectors[rows]), first, second, seed=seed)

    def fallen(self, after: dict[str, float]) -> list[str]:
        """Return the criteria that fell by more than noise, in words."""
        return [TITLES[key] for key, figure in after.items() if figure < self.before[key] - NOISE[key]]

    def figures(self, adaptation: Adaptation | None) -> dict[str, float]:
        """Return the criteria after an adaptation, higher is better; of the plain vectors without one."""
        from dial2vec.evaluation.selection.criteria import Views, measure_criteria

        return measure_criteria(
            Views(*(part if adaptation is None else adaptation(part) for part in self.parts)), seed=self.seed
        )


def sides_of(dialogue: Dialogue) -> tuple[Dialogue, Dialogue]:
    """Return the first speaker's side and the other; of one speaker, the halves of the turns, or of a turn's words."""
    turns = dialogue.turns
    if len({turn.speaker for turn in turns}) > 1:
        return dialogue.side(0), dialogue.side(1)
    if len(turns) > 1:
        half = (len(turns) + 1) // 2
        return replace(dialogue, turns=turns[:half]), replace(dialogue, turns=turns[half:])
    # Chinese has no blanks between words.
    text = turns[0].text
    middle = text.find(" ", len(text) // 2)
    half = middle if middle > 0 else max(1, len(text) // 2)
    return tuple(
        replace(dialogue, turns=(replace(turns[0], text=part),)) for part in (text[:half], text[half:].strip() or text)
    )  # type: ignore[return-value]
