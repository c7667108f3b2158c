"""Response selection: find a response by its context, among turns drawn at random or among given candidates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue, Turn
from dial2vec.draws import rng_for, stable_hash
from dial2vec.errors import CorpusError
from dial2vec.evaluation.distribution import normalised
from dial2vec.evaluation.ranking import stepped
from dial2vec_papers.corpora.response_queries import ResponseQuery
from dial2vec_papers.tasks.encoding import Context, Encoded, Reader, Similarity, Spoken, encode_distinct, spoken_turns
from dial2vec_papers.tasks.records import Setting, TaskResult, points, timed

# Role of the answering speaker: 0 spoke first, 1 second.
ANSWERING = 1
# Ranks k of recall@k: Zhou et al. 2022 print all three, Poddar et al. 2022 the first.
TOP = (1, 3, 10)
# Vector components of candidates per block: 32 MiB of float64, with about four copies.
CELLS = 1 << 22


@dataclass(frozen=True, slots=True)
class Queries:
    """Responses to be found, each with its context and its candidates.

    :param data: name of the data.
    :param names: dialogue id and turn number of each query, or its id and the length of its context.
    :param contexts: the turns before each response, in order.
    :param answers: different candidates with their speakers, as `Reader.contexts` encodes them.
    :param candidates: indices into `answers`, int64 [q, c], the right ones first; -1 where a query has fewer than c.
    :param n_right: number of right candidates of each query, at least 1, int64 [q].
    :param settings: settings of the draw that influence the figures.
    :param left_out: number of queries without a wrong candidate.
    """

    data: str
    names: tuple[tuple[str, int], ...]
    contexts: tuple[Context, ...]
    answers: tuple[Context, ...]
    candidates: NDArray[np.int64]
    n_right: NDArray[np.int64]
    settings: dict[str, Setting]
    left_out: int = 0


@timed("numpy")
def select_responses(
    reader: Reader, queries: Queries, *, top: Sequence[int] = TOP, turns: int | None = None
) -> TaskResult:
    """Rank the candidates of each query by similarity to its context.

    Figures in points, higher is better, means over the queries: "recall_at_1" and so on, the share whose right
    candidate is among the first k, in [0, 100], 100 k / c by chance; "mrr", the mean of 1 / rank, in (0, 100]. Among
    equally similar candidates the right one comes last, so equal vectors find nothing; of several right ones the most
    similar counts. With 99 drawn negatives this is the top-1/3/10 of 100 of Zhou et al. 2022 (DSE), section 4.2; with
    one turn, too, its queries of a single utterance; with 50, and a reader that compares by "dot", the Recall@1 of 51
    and MRR of Poddar et al. 2022 (DialAug); with 9, its Recall@1 of 10. With given candidates it is what both papers
    measure on corpora that have them.

    :param reader: system under test; its similarity ranks the candidates.
    :param top: ranks k of "recall_at_k"; those that every query reaches are left out.
    :param turns: number of last turns of a context that are read, at least 1; None is all.
    """
    read = [context[-(turns or len(context)) :] for context in queries.contexts]
    contexts = encode_distinct(reader.answered, read)
    responses = encode_distinct(reader.contexts, queries.answers)
    ranks = ranks_of_responses(contexts, responses, queries, read, similarity=reader.similarity)
    settings: dict[str, Setting] = {} if turns is None else {"turns": turns}
    return TaskResult(
        task="response_selection",
        data=queries.data,
        n=len(ranks),
        figures=ranking_figures(ranks, queries, top),
        settings=queries.settings | settings | {"similarity": reader.similarity},
        left_out=queries.left_out,
        cut=count_cut(reader, read),
    )


def draw_queries(
    dialogues: Iterable[Dialogue], *, negatives: int = 50, limit: int | None = None, seed: int, data: str
) -> Queries:
    """Draw the queries: every turn of the second speaker that has a turn before it, with its negatives.

    Negatives are drawn uniformly, each at most once, from the second speakers' turns in all other dialogues, except
    turns with the same text as the true one: no encoder could tell them apart. The draw depends only on the seed, the
    name of the turn and these turns, not on their order or the limit.

    :param negatives: number of candidates besides the true one; at least 1.
    :param limit: largest number of queries, drawn by the seed; None takes all.
    :raises CorpusError: if no such turn answers another, or there are too few other turns.
    """
    pool = _Pool.of(dialogues)
    asked = [place for place, (_, turn) in enumerate(pool.names) if turn > 0]
    if not asked:
        raise CorpusError(
            f"{data} has no turn of a second speaker that answers another turn; expected dialogues of two speakers at "
            "least. Take another corpus."
        )
    if limit is not None and limit < len(asked):
        asked = sorted(sorted(asked, key=lambda place: stable_hash(seed, "query", *pool.names[place]))[:limit])
    drawn = np.array([[place, *pool.negatives(place, negatives, seed=seed, data=data)] for place in asked])
    used, candidates = np.unique(pool.texts[drawn], return_inverse=True)
    return Queries(
        data=data,
        names=tuple(pool.names[place] for place in asked),
        contexts=tuple(pool.contexts[place] for place in asked),
        answers=tuple((Spoken(pool.distinct[text], ANSWERING),) for text in used),
        candidates=candidates.reshape(drawn.shape),
        n_right=np.ones(len(asked), dtype=np.int64),
        settings={"negatives": negatives, "limit": limit, "seed": seed},
    )


def given_queries(queries: Iterable[ResponseQuery], *, limit: int | None = None, seed: int, data: str) -> Queries:
    """Return queries with their own candidates.

    Each text counts once, and a wrong candidate with the text of a right one is dropped: no encoder could tell them
    apart. An unknown speaker counts as the second.

    :param limit: largest number of queries, drawn by the seed; None takes all.
    :raises CorpusError: if no query has a wrong candidate.
    """
    asked = sorted(queries, key=lambda query: stable_hash(seed, "query", query.query_id))[:limit]
    numbers: dict[Spoken, int] = {}
    names, contexts, n_right, rows = [], [], [], []
    for query in asked:
        spoken = spoken_turns(Dialogue(query.query_id, (*query.context, Turn(query.speaker, ""))))
        role = spoken[-1].role if query.speaker else ANSWERING
        right = dict.fromkeys(query.responses[place] for place in query.correct)
        offered = list(right | dict.fromkeys(query.responses))
        if len(offered) > len(right):
            names.append((query.query_id, len(query.context)))
            contexts.append(spoken[:-1])
            n_right.append(len(right))
            rows.append([numbers.setdefault(Spoken(text, role), len(numbers)) for text in offered])
    if not rows:
        raise CorpusError(f"{data} has no query with a wrong candidate; expected at least one. Write it again.")
    widest = max(map(len, rows))
    return Queries(
        data=data,
        names=tuple(names),
        contexts=tuple(contexts),
        answers=tuple((answer,) for answer in numbers),
        candidates=np.array([row + [-1] * (widest - len(row)) for row in rows]),
        n_right=np.array(n_right),
        settings={"given": widest, "limit": limit, "seed": seed},
        left_out=len(asked) - len(rows),
    )


@dataclass(frozen=True, slots=True)
class _Pool:
    """The turns of the second speakers.

    :param names: dialogue id and turn number of each turn, sorted.
    :param distinct: different texts, sorted.
    :param texts: text of each turn, as an index into `distinct`.
    :param owners: dialogue of each turn, as a number.
    """

    names: list[tuple[str, int]]
    contexts: list[Context]
    distinct: list[str]
    texts: NDArray[np.int64]
    owners: NDArray[np.int64]

    @classmethod
    def of(cls, dialogues: Iterable[Dialogue]) -> _Pool:
        names, contexts, spoken = [], [], []
        for dialogue in sorted(dialogues, key=lambda dialogue: dialogue.dialogue_id):
            turns = spoken_turns(dialogue)
            for place, turn in enumerate(turns):
                if turn.role == ANSWERING:
                    names.append((dialogue.dialogue_id, place))
                    contexts.append(turns[:place])
                    spoken.append(turn.text)
        distinct = sorted(set(spoken))
        code = {text: number for number, text in enumerate(distinct)}
        owners = np.unique(np.array([name for name, _ in names], dtype=object), return_inverse=True)[1]
        return cls(names, contexts, distinct, np.array([code[text] for text in spoken], dtype=np.int64), owners)

    def negatives(self, place: int, n: int, *, seed: int, data: str) -> NDArray[np.int64]:
        """Draw n negatives for the turn at `place`, int64 [n]."""
        barred = (self.owners == self.owners[place]) | (self.texts == self.texts[place])
        n_barred = int(barred.sum())
        if len(barred) - n_barred < n:
            name, turn = self.names[place]
            raise CorpusError(
                f"{data} has {len(barred) - n_barred} other turns to stand against turn {turn + 1} of dialogue "
                f"{name!r}; expected {n} with another text in other dialogues. Take fewer negatives or more dialogues."
            )
        rng = rng_for(seed, "negatives", *self.names[place])
        # Enough that at least n are not barred; the first n of these are uniform, like the whole order.
        order = rng.choice(len(barred), size=n + n_barred, replace=False)
        return order[~barred[order]][:n]


def count_cut(reader: Reader, contexts: Iterable[Context]) -> int | None:
    """Return the number of different contexts that are cut; None if the reader does not tell."""
    return None if reader.count_cut is None else reader.count_cut(sorted(set(contexts)))


def ranks_of_responses(
    contexts: Encoded[Context],
    responses: Encoded[Context],
    queries: Queries,
    read: Sequence[Context],
    *,
    similarity: Similarity,
) -> NDArray[np.int64]:
    """Return the rank of each query's best right candidate among its wrong ones, from 1, int64 [q].

    :param read: context of each query, perhaps perturbed.
    """
    asked, answers = contexts.vectors[contexts.rows(read)], responses.rows(queries.answers)
    rows = np.where(queries.candidates < 0, -1, answers[queries.candidates])
    return ranks_of_first(asked, responses.vectors, rows, n_right=queries.n_right, similarity=similarity)


def ranks_of_first(
    asked: NDArray[np.float32],
    vectors: NDArray[np.float32],
    rows: NDArray[np.int64],
    *,
    n_right: NDArray[np.int64],
    similarity: Similarity,
) -> NDArray[np.int64]:
    """Return the rank of each query's best right candidate among its wrong ones, from 1; the worst among equals.

    :param asked: vectors of the queries, [q, d], or with "poly" their vectors by code in one row, [q, m d].
    :param vectors: vectors of all candidates, [u, d].
    :param rows: row in `vectors` of each candidate of a query, the right ones first, [q, c]; -1 is no candidate.
    :param n_right: number of right candidates of each query, [q].
    :return: int64 [q].
    """
    ranks = np.empty(len(asked), dtype=np.int64)
    # Divided by the greatest length, dot products lie in [-1, 1] like cosines, and can be rounded like them.
    longest = float(np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64).max(initial=0))) or 1.0
    block = max(1, CELLS // max(1, rows.shape[1] * vectors.shape[1]))
    for start in range(0, len(asked), block):
        some = slice(start, start + block)
        candidates = vectors[rows[some]].astype(np.float64)
        if similarity == "poly":
            scores = _poly_scores(asked[some], candidates, longest)
        else:
            if similarity == "dot":
                candidates /= longest
            else:
                candidates = normalised(candidates.reshape(-1, vectors.shape[1])).reshape(candidates.shape)
            # The length of a query does not change the order of its candidates.
            scores = np.einsum("qd,qcd->qc", normalised(asked[some]), candidates)
        scores = stepped(scores)
        scores[rows[some] < 0] = -np.inf
        right = np.arange(scores.shape[1]) < n_right[some, None]
        best = np.where(right, scores, -np.inf).max(axis=1, keepdims=True)
        ranks[some] = 1 + (~right & (scores >= best)).sum(axis=1)
    return ranks


def _poly_scores(asked: NDArray[np.float32], candidates: NDArray[np.float64], longest: float) -> NDArray[np.float64]:
    """Return the scores of `dial2vec.encoder.papers.codes.poly_scores`, divided by the greatest possible, [q, c]."""
    by_code = asked.astype(np.float64).reshape(len(asked), -1, candidates.shape[2])
    products = candidates @ by_code.transpose(0, 2, 1)
    weights = np.exp(products - products.max(axis=2, keepdims=True))
    scores = (weights * products).sum(axis=2) / weights.sum(axis=2)
    reach: NDArray[np.float64] = np.sqrt((by_code**2).sum(axis=2).max(axis=1)) * longest
    return scores / np.where(reach > 0, reach, 1)[:, None]


def ranking_figures(ranks: NDArray[np.int64], queries: Queries, top: Sequence[int]) -> dict[str, float]:
    """Return "recall_at_k" for each k that a query can miss, and "mrr" of ranks from 1, in points."""
    most = queries.candidates.shape[1]
    shares = {f"recall_at_{k}": points(float((ranks <= k).mean())) for k in top if k < most}
    return shares | {"mrr": points(float((1 / ranks).mean()))}
