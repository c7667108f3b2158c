"""Example queries: the largest gains and losses of retrieval by training, and the most confident errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dial2vec.evaluation.ranking import COSINE_STEP
from dial2vec.evaluation.relatedness import cosine_blocks


@dataclass(frozen=True, slots=True)
class NearestDialogues:
    """Nearest other dialogues of every dialogue.

    :param precisions: average precision of each query in (0, 1], float64 [n]; NaN if no other dialogue has its label.
    :param nearest: places of the most similar dialogues, the most similar first, int64 [n, k].
    :param cosines: cosines to these dialogues in [-1, 1], float64 [n, k].
    """

    precisions: np.ndarray
    nearest: np.ndarray
    cosines: np.ndarray


@dataclass(frozen=True, slots=True)
class Example:
    """Query to show.

    :param query: place of the query among the dialogues.
    :param why: "gained", "lost" or "confident and wrong".
    """

    query: int
    why: str


def rank_nearest(vectors: np.ndarray, labels: Sequence[str], *, depth: int = 3, block: int = 256) -> NearestDialogues:
    """Rank all other dialogues by cosine for every dialogue; hits come last among equals, as in `retrieval_scores`.

    The mean of the average precisions without NaN is the MAP of `retrieval_scores`.

    :param vectors: vectors of the dialogues, float32 [n, d]; a zero vector has cosine 0 to all.
    :param labels: n labels.
    :param depth: maximum number of nearest dialogues to keep.
    :param block: queries per block; memory is about six times `block` x n float64.
    """
    codes, counts = np.unique(np.asarray(labels), return_inverse=True, return_counts=True)[1:]
    depth = max(min(depth, len(codes) - 1), 0)
    ranks = np.arange(1, len(codes) + 1)
    precisions, nearest, similar = np.full(len(codes), np.nan), [], []
    for queries, cosines in cosine_blocks(vectors, block=block):
        rows = np.arange(len(queries))[:, None]
        same = codes[queries, None] == codes
        # The lowest bit, below the cosine step, marks a hit. The query itself comes last and is no hit.
        keys = 2 * np.rint(-cosines / COSINE_STEP).astype(np.int64) + same
        keys[rows[:, 0], queries] = np.iinfo(np.int64).max
        order = keys.argsort(axis=1, kind="stable")
        hits = same[rows, order]
        hits[:, -1] = False
        precision = (hits.cumsum(axis=1) / ranks * hits).sum(axis=1)
        has_hit = counts[codes[queries]] > 1
        precisions[queries[has_hit]] = precision[has_hit] / (counts[codes[queries[has_hit]]] - 1)
        nearest.append(order[:, :depth])
        similar.append(cosines[rows, order[:, :depth]])
    empty = [np.zeros((0, depth))]
    return NearestDialogues(
        precisions, np.concatenate(nearest or empty).astype(np.int64), np.concatenate(similar or empty)
    )


def choose_examples(
    start: NearestDialogues, trained: NearestDialogues, labels: Sequence[str], *, changed: int = 3, wrong: int = 2
) -> list[Example]:
    """Return the queries to show, each once; of equals, the earlier dialogue.

    :param labels: n labels.
    :param changed: maximum number of queries with the largest gains in average precision, and with the largest losses.
    :param wrong: maximum number of queries whose nearest dialogue has another label; a mutual pair counts once.
    """
    gains = np.nan_to_num(trained.precisions - start.precisions)
    gained = [int(query) for query in np.argsort(-gains, kind="stable")[:changed] if gains[query] > 0]
    lost = [int(query) for query in np.argsort(gains, kind="stable")[:changed] if gains[query] < 0]
    confident = _confident_errors(trained, labels, without={*gained, *lost})[:wrong]
    groups = {"gained": gained, "lost": lost, "confident and wrong": confident}
    return [Example(query, why) for why, queries in groups.items() for query in queries]


def _confident_errors(rankings: NearestDialogues, labels: Sequence[str], *, without: set[int]) -> list[int]:
    """Return queries whose nearest dialogue has another label, the highest cosine first."""
    errors: dict[int, int] = {}
    if not rankings.nearest.shape[1]:
        return []
    first = rankings.nearest[:, 0].tolist()
    for query in np.argsort(-rankings.cosines[:, 0], kind="stable").tolist():
        # If no other dialogue has the label of the query, the encoder cannot be right.
        possible = not np.isnan(rankings.precisions[query])
        mutual = errors.get(first[query]) == query
        if possible and not mutual and query not in without and labels[first[query]] != labels[query]:
            errors[query] = first[query]
    return list(errors)
