"""Semantic retrieval: rank sentences of the query's intent first among sentences that share its words."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dial2vec.collection.search.words import K1, METHOD, B, bm25_words
from dial2vec.draws import rng_for, stable_hash
from dial2vec.errors import CorpusError
from dial2vec.evaluation.distribution import normalised
from dial2vec.evaluation.ranking import COSINE_STEP
from dial2vec_papers.tasks.encoding import Reader, encode_distinct
from dial2vec_papers.tasks.intents import Sentences
from dial2vec_papers.tasks.records import Setting, TaskResult, points, tab_rows, timed

# Fills the rows of queries with fewer candidates.
NONE = -1
# Largest number of candidates per query that BM25 gives.
MOST_CANDIDATES = 100
COLUMNS = ("row id", "sentence", "intent", "positive ids", "negative ids")


@dataclass(frozen=True, slots=True)
class CandidateLists:
    """Queries with the candidates to rank.

    :param queries: indices of the queries in `texts`, int64 [q].
    :param candidates: indices of their candidates, int64 [q, c], padded with -1.
    :param relevant: True for relevant candidates, bool [q, c].
    """

    texts: tuple[str, ...]
    queries: NDArray[np.int64]
    candidates: NDArray[np.int64]
    relevant: NDArray[np.bool_]


@timed("bm25s", "numpy")
def retrieve_sentences(
    reader: Reader,
    sentences: Sentences,
    *,
    data: str,
    positives: int | None = None,
    limit: int | None = None,
    seed: int,
) -> TaskResult:
    """Rank the candidates that BM25 finds for each sentence; those of its intent are relevant.

    Figures as in `rank_candidate_lists`. A repeated text counts once, with its first intent in alphabetical order,
    because any system finds a copy of the query. Candidates share a word with the query, so there can be fewer than
    100; equal BM25 scores are ordered at random by the seed. Source: Liu et al. 2021 (DialogueCSE), section
    5.1.2 (SR), with intents instead of human judgements.

    :param sentences: sentences that are both queries and candidates.
    :param positives: largest number of relevant candidates per query, of highest BM25 score; further ones are no
        candidates. None keeps all. The paper: 30, of 100 candidates.
    :param limit: largest number of queries, drawn by the seed; all sentences stay candidates.
    :raises CorpusError: if no query has a relevant candidate.
    """
    intent_of: dict[str, str] = {}
    for text, label in sorted(zip(sentences.texts, sentences.labels, strict=True)):
        intent_of.setdefault(text, label)
    texts = tuple(intent_of)
    drawn = sorted(range(len(texts)), key=lambda place: stable_hash(seed, "query", texts[place]))[:limit]
    queries = np.array(sorted(drawn), dtype=np.int64)
    places = bm25_candidates(texts, queries.tolist(), n=MOST_CANDIDATES, seed=seed)
    labels = np.unique(np.array(list(intent_of.values())), return_inverse=True)[1]
    relevant = (places != NONE) & (labels[places] == labels[queries][:, None])
    lists = CandidateLists(texts, queries, places, relevant)
    settings: dict[str, Setting] = {"candidates": MOST_CANDIDATES, "limit": limit, "seed": seed}
    if positives is not None:
        lists, settings = with_positives(lists, positives), settings | {"positives": positives}
    return _rank(reader, lists, task="semantic_retrieval", data=data, settings=settings)


@timed("numpy")
def rank_candidate_lists(
    reader: Reader, lists: CandidateLists, *, data: str, positives: int | None = None
) -> TaskResult:
    """Rank given candidates by their cosine to the query.

    Figures in points, in (0, 100], higher is better, means over the queries that have a relevant candidate: "map", mean
    average precision over the relevant ones *among the candidates*, and "mrr", the mean of 1 / rank of the first. Among
    equally similar candidates the relevant ones come last, so equal vectors get the lowest possible figures. Queries
    without a relevant candidate count as left out. A query whose candidates are all relevant always scores 100. Source:
    Liu et al. 2021 (DialogueCSE), section 5.1.2 (SR).

    :param lists: queries and candidates, as returned by `read_candidate_lists`.
    :param positives: largest number of relevant candidates per query, the first in their list; further ones are no
        candidates. None keeps all. The paper's lists have at most 30.
    :raises CorpusError: if no query has a relevant candidate.
    """
    settings: dict[str, Setting] = {}
    if positives is not None:
        lists, settings = with_positives(lists, positives), {"positives": positives}
    return _rank(reader, lists, task="candidate_ranking", data=data, settings=settings)


def with_positives(lists: CandidateLists, most: int) -> CandidateLists:
    """Return the lists without the relevant candidates after the first `most` of each query."""
    kept = ~lists.relevant | (np.cumsum(lists.relevant, axis=1) <= most)
    return CandidateLists(lists.texts, lists.queries, np.where(kept, lists.candidates, NONE), lists.relevant & kept)


def _rank(
    reader: Reader,
    lists: CandidateLists,
    *,
    task: str,
    data: str,
    settings: dict[str, Setting],
) -> TaskResult:
    ranked = np.logical_or.reduce(lists.relevant, axis=1)
    if not ranked.any():
        raise CorpusError(
            f"none of the {len(ranked)} queries of {data} has a relevant candidate; expected some. Take more "
            "candidates, or sentences of which several have one intent."
        )
    queries, candidates, relevant = lists.queries[ranked], lists.candidates[ranked], lists.relevant[ranked]
    used = np.union1d(queries, candidates[candidates != NONE])
    encoded = encode_distinct(reader.utterances, [lists.texts[place] for place in used])
    row = np.full(len(lists.texts), NONE)
    row[used] = encoded.rows(lists.texts[place] for place in used)
    units = normalised(encoded.vectors)
    precisions, reciprocals = [], []
    # One query at a time: with about a hundred candidates, one product is as fast as many together.
    for query, offered, wanted in zip(queries, candidates, relevant, strict=True):
        real = offered != NONE
        precision, reciprocal = _judge(units[row[offered[real]]] @ units[row[query]], wanted[real])
        precisions.append(precision)
        reciprocals.append(reciprocal)
    return TaskResult(
        task=task,
        data=data,
        n=len(queries),
        figures={"map": points(float(np.mean(precisions))), "mrr": points(float(np.mean(reciprocals)))},
        settings=settings,
        left_out=int((~ranked).sum()),
    )


def _judge(cosines: NDArray[np.float64], relevant: NDArray[np.bool_]) -> tuple[float, float]:
    """Return average precision and 1 / rank of the first relevant candidate; relevant ones come last among equals."""
    order = np.lexsort((relevant, -np.rint(cosines / COSINE_STEP)))
    ranks = np.flatnonzero(relevant[order]) + 1
    return float((np.arange(1, len(ranks) + 1) / ranks).mean()), 1 / float(ranks[0])


def read_candidate_lists(path: Path) -> CandidateLists:
    """Read DialogueCSE's `select.txt`: tabs between row id, sentence, intent or blank, positive and negative ids.

    Row ids count from 0; the lists hold row ids separated by commas. Every row is a query; a repeated id counts once.

    :raises CorpusError: if a row has too many or too few cells, is out of order, points to itself or to a missing row,
        or has a candidate that is both positive and negative; the message names file and line.
    """
    texts: list[str] = []
    lists: list[tuple[int, list[int], list[int]]] = []
    for number, (row, text, _, positive, negative) in tab_rows(path, COLUMNS):
        if row != str(len(texts)):
            raise CorpusError(
                f"{path}:{number}: found the row id {row!r}, expected {len(texts)}; rows count from 0. Fetch it again."
            )
        if not text:
            raise CorpusError(f"{path}:{number}: the sentence is blank, expected a text. Mend it.")
        texts.append(text)
        lists.append((number, _ids(path, number, positive), _ids(path, number, negative)))
    for row_id, (number, positives, negatives) in enumerate(lists):
        wrong = [other for other in (*positives, *negatives) if other >= len(texts) or other == row_id]
        if wrong := wrong or sorted(set(positives) & set(negatives)):
            raise CorpusError(
                f"{path}:{number}: found the candidate {wrong[0]}, expected ids of other rows, up to {len(texts) - 1}, "
                "each positive or negative. Mend or remove it."
            )
    longest = max(len(positives) + len(negatives) for _, positives, negatives in lists)
    candidates = np.full((len(texts), longest), NONE, dtype=np.int64)
    relevant = np.zeros((len(texts), longest), dtype=bool)
    for row_id, (_, positives, negatives) in enumerate(lists):
        candidates[row_id, : len(positives) + len(negatives)] = [*positives, *negatives]
        relevant[row_id, : len(positives)] = True
    return CandidateLists(tuple(texts), np.arange(len(texts)), candidates, relevant)


def _ids(path: Path, number: int, cell: str) -> list[int]:
    ids = [name.strip() for name in cell.split(",")] if cell else []
    for name in ids:
        if not (name.isascii() and name.isdigit()):
            raise CorpusError(
                f"{path}:{number}: found the candidate {name!r}, expected row ids parted by commas. Mend or remove it."
            )
    return list(dict.fromkeys(int(name) for name in ids))


def bm25_candidates(texts: Sequence[str], queries: Sequence[int], *, n: int, seed: int) -> NDArray[np.int64]:
    """Return the indices of the n texts with the highest BM25 score for each query, without itself, int64 [q, n].

    Texts that share no word with the query are no candidates: missing candidates are -1. Equal scores are ordered at
    random by the seed. Source: Robertson and Zaragoza 2009, in Lucene's variant (Kamphuis et al. 2020).

    :param texts: different texts.
    :param queries: indices of the queries in `texts`.
    """
    import bm25s

    logging.getLogger("bm25s").setLevel(logging.WARNING)
    candidates = np.full((len(queries), n), -1, dtype=np.int64)
    tokens = [bm25_words(text) for text in texts]
    if not any(tokens):
        return candidates
    index = bm25s.BM25(method=METHOD, k1=K1, b=B)
    index.index(tokens, show_progress=False)
    drawn = rng_for(seed, "bm25").permutation(len(texts))
    for row, query in enumerate(queries):
        if not tokens[query]:
            continue
        scores = index.get_scores(tokens[query])
        scores[query] = 0
        sharing = np.flatnonzero(scores > 0)
        if len(sharing) > n:
            # Keep all that tie with the n-th, so that chance decides among equals.
            sharing = sharing[scores[sharing] >= np.partition(scores[sharing], -n)[-n]]
        best = sharing[np.lexsort((drawn[sharing], -scores[sharing]))][:n]
        candidates[row, : len(best)] = best
    return candidates
