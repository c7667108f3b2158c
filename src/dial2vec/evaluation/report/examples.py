"""Queries worth reading: where retrieval gained most by training, where it lost most, where it errs with confidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dial2vec.evaluation.ranking import COSINE_STEP
from dial2vec.evaluation.relatedness import cosine_blocks


@dataclass(frozen=True, slots=True)
class NearestDialogues:
    """What every dialogue finds among the others.

    :param precisions: [n] float64, average precision of each query in (0, 1]; NaN where no other has its label.
    :param found: [n, k] int64, places of the most similar dialogues, the most similar first.
    :param cosines: [n, k] float64, their cosines in [-1, 1].
    """

    precisions: np.ndarray
    found: np.ndarray
    cosines: np.ndarray


@dataclass(frozen=True, slots=True)
class Example:
    """One query to show.

    :param query: its place among the dialogues.
    :param why: "gained", "lost" or "confident and wrong".
    """

    query: int
    why: str


def rank_nearest(vectors: np.ndarray, labels: Sequence[str], *, depth: int = 3, block: int = 256) -> NearestDialogues:
    """Rank all other dialogues by cosine for every dialogue, hits last among equals as in `retrieval_scores`.

    The mean of the average precisions that are not NaN is the MAP of that function.

    :param vectors: [n, d] float32; a zero vector has cosine 0 to everything.
    :param labels: n labels.
    :param depth: how many found dialogues to keep; fewer where there are fewer others.
    :param block: queries taken at a time; the memory is some six times `block` x n float64.
    """
    codes, counts = np.unique(np.asarray(labels), return_inverse=True, return_counts=True)[1:]
    depth = max(min(depth, len(codes) - 1), 0)
    ranks = np.arange(1, len(codes) + 1)
    precisions, found, similar = np.full(len(codes), np.nan), [], []
    for queries, cosines in cosine_blocks(vectors, block=block):
        rows = np.arange(len(queries))[:, None]
        same = codes[queries, None] == codes
        # Whole steps of the cosine leave the lowest bit to the hit; the query itself stands last and is no hit.
        keys = 2 * np.rint(-cosines / COSINE_STEP).astype(np.int64) + same
        keys[rows[:, 0], queries] = np.iinfo(np.int64).max
        order = keys.argsort(axis=1, kind="stable")
        hits = same[rows, order]
        hits[:, -1] = False
        precision = (hits.cumsum(axis=1) / ranks * hits).sum(axis=1)
        has_hit = counts[codes[queries]] > 1
        precisions[queries[has_hit]] = precision[has_hit] / (counts[codes[queries[has_hit]]] - 1)
        found.append(order[:, :depth])
        similar.append(cosines[rows, order[:, :depth]])
    empty = [np.zeros((0, depth))]
    return NearestDialogues(
        precisions, np.concatenate(found or empty).astype(np.int64), np.concatenate(similar or empty)
    )


def choose_examples(
    start: NearestDialogues, trained: NearestDialogues, labels: Sequence[str], *, changed: int = 3, wrong: int = 2
) -> list[Example]:
    """Return the queries to show, each once, the same every time; among equals the earlier dialogue.

    :param labels: n labels.
    :param changed: how many that gained most average precision, and how many that lost most, at most.
    :param wrong: how many whose first found dialogue has another label at the highest cosine, at most. Two dialogues
        that find each other count once.
    """
    gains = np.nan_to_num(trained.precisions - start.precisions)
    gained = [int(query) for query in np.argsort(-gains, kind="stable")[:changed] if gains[query] > 0]
    lost = [int(query) for query in np.argsort(gains, kind="stable")[:changed] if gains[query] < 0]
    confident = _confident_errors(trained, labels, without={*gained, *lost})[:wrong]
    groups = {"gained": gained, "lost": lost, "confident and wrong": confident}
    return [Example(query, why) for why, queries in groups.items() for query in queries]


def _confident_errors(rankings: NearestDialogues, labels: Sequence[str], *, without: set[int]) -> list[int]:
    """Queries whose first found dialogue has another label, the highest cosine first."""
    errors: dict[int, int] = {}
    if not rankings.found.shape[1]:
        return []
    first = rankings.found[:, 0].tolist()
    for query in np.argsort(-rankings.cosines[:, 0], kind="stable").tolist():
        # Without another dialogue of its label a query can find none, which is no error of the encoder.
        possible = not np.isnan(rankings.precisions[query])
        mutual = errors.get(first[query]) == query
        if possible and not mutual and query not in without and labels[first[query]] != labels[query]:
            errors[query] = first[query]
    return list(errors)
