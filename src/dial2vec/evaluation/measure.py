"""Scores of an encoder on a labelled split; each dialogue is encoded once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from dial2vec.evaluation.clustering import Way
from dial2vec.evaluation.intervals import Contributions, contributions
from dial2vec.evaluation.scores import figures, score, task_scores

if TYPE_CHECKING:
    from dial2vec.encoder.protocol import Encoder


@dataclass(frozen=True, slots=True)
class Measured:
    """Scores of one encoder on one split.

    :param scores: result of `evaluation.scores.score`; None if the labels leave nothing to score: fewer than two
        different ones, or none that occurs twice.
    :param vectors: vectors of the labelled dialogues, float32 [n, d].
    :param labels: labels of these dialogues, n.
    :param contributions: share of each dialogue in the scores; None without scores.
    """

    scores: dict[str, float] | None
    vectors: NDArray[np.float32]
    labels: list[str]
    contributions: Contributions | None


def measure(
    encoder: Encoder,
    dialogues: Sequence[Dialogue],
    *,
    runs: int | None,
    seed: int,
    batch_size: int,
    progress: bool = True,
    way: Way = "ours",
    n_clusters: int | None = None,
) -> Measured:
    """Encode the dialogues that have exactly one label and score their vectors (methods: Liu et al. 2022, section 4).

    :param runs: runs of k-means; None as in `clustering.cluster_scores`.
    :param seed: seed of the first run.
    :param way: way of k-means, as in `clustering.cluster_scores`.
    :param n_clusters: number of clusters, as there.
    """
    labelled = [dialogue for dialogue in dialogues if dialogue.label is not None]
    labels = [str(dialogue.label) for dialogue in labelled]
    if not 2 <= len(set(labels)) < len(labels):
        return Measured(None, np.zeros((0, encoder.dimension), np.float32), [], None)
    vectors = encoder.encode(labelled, batch_size=batch_size, show_progress_bar=progress)
    scores = task_scores(vectors, labels, runs=runs, seed=seed, way=way, n_clusters=n_clusters)
    return Measured(figures(scores, vectors, labels), vectors, labels, contributions(scores, labels))


def measure_vectors(
    vectors: NDArray[np.float32],
    labels: Sequence[str | None],
    *,
    runs: int | None,
    seed: int,
    way: Way = "ours",
    n_clusters: int | None = None,
) -> dict[str, float] | None:
    """Return the scores of vectors; None if the labels leave nothing to score.

    :param vectors: float32 [n, d].
    :param labels: n labels; a dialogue with None is left out.
    """
    rows = [row for row, label in enumerate(labels) if label is not None]
    known = [str(labels[row]) for row in rows]
    if not 2 <= len(set(known)) < len(known):
        return None
    return score(vectors[rows], known, runs=runs, seed=seed, way=way, n_clusters=n_clusters)
