"""Response selection: find a turn by its context, among turns drawn at random."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from dial2vec.draws import rng_for, stable_hash
from dial2vec.errors import CorpusError
from dial2vec.evaluation.distribution import normalised
from dial2vec.evaluation.ranking import stepped
from dial2vec_papers.tasks.encoding import (
    Context,
    Encoded,
    Reader,
    Similarity,
    Spoken,
    encode_distinct,
    spoken_turns,
)
from dial2vec_papers.tasks.records import Setting, TaskResult, points, timed

# Role of the answering speaker: 0 spoke first, 1 second.
ANSWERING = 1
# Ranks k of recall@k: Zhou et al. 2022 print all three, Poddar et al. 2022 the first.
TOP = (1, 3, 10)
# Vector components of candidates per block: 32 MiB of float64, with about four copies.
CELLS = 1 << 22


@dataclass(frozen=True, slots=True)
class Queries:
    """Turns to be found, each with its context and its candidates.

    :param names: dialogue id and turn number of each turn, sorted.
    :param contexts: the turns before each turn, in order.
    :param responses: different texts of all candidates.
    :param candidates: indices into `responses`, int64 [q, 1 + negatives]; the true turn comes first.
    """

    names: tuple[tuple[str, int], ...]
    contexts: tuple[Context, ...]
    responses: tuple[str, ...]
    candidates: NDArray[np.int64]

    @property
    def answers(self) -> list[Context]:
        """The candidates with their speaker, as `Reader.contexts` encodes them; in the order of `responses`."""
        return [(Spoken(text, ANSWERING),) for text in self.responses]


@timed("numpy")
def select_responses(
    reader: Reader,
    dialogues: Iterable[Dialogue],
    *,
    data: str,
    negatives: int = 50,
    top: Sequence[int] = TOP,
    turns: int | None = None,
    limit: int | None = None,
    seed: int,
) -> TaskResult:
    """Rank each turn of the second speaker, and such turns from other dialogues, by similarity to its context.

    Figures in points, higher is better, means over the turns: "recall_at_1" and so on, the share whose true turn is
    among the first k, in [0, 100], 100 k / (1 + negatives) by chance; "mrr", the mean of 1 / rank, in (0, 100]. Among
    equally similar candidates the true one comes last, so equal vectors find nothing. `draw_queries` draws candidates.
    With 99 negatives this is the top-1/3/10 of 100 of Zhou et al. 2022 (DSE), section 4.2; with one turn, too, its
    queries of a single utterance; with 50 negatives, and a reader that compares by "dot", the Recall@1 of 51 and MRR of
    Poddar et al. 2022 (DialAug); with 9, its Recall@1 of 10.

    :param reader: system under test; its similarity ranks the candidates.
    :param negatives: number of candidates besides the true one; at least 1.
    :param top: ranks k of "recall_at_k".
    :param turns: number of last turns of a context that are read, at least 1; None is all.
    :param limit: largest number of ranked turns, drawn by the seed; None ranks all.
    :raises CorpusError: if no turn can be ranked, or there are too few other turns.
    """
    queries = draw_queries(dialogues, negatives=negatives, limit=limit, seed=seed, data=data)
    read = [context[-(turns or len(context)) :] for context in queries.contexts]
    contexts = encode_distinct(reader.answered, read)
    responses = encode_distinct(reader.contexts, queries.answers)
    ranks = ranks_of_responses(contexts, responses, queries, read, similarity=reader.similarity)
    settings: dict[str, Setting] = {"negatives": negatives, "limit": limit, "seed": seed}
    settings |= {} if turns is None else {"turns": turns}
    return TaskResult(
        task="response_selection",
        data=data,
        n=len(ranks),
        figures=ranking_figures(ranks, top),
        settings=settings | {"similarity": reader.similarity},
        cut=count_cut(reader, read),
    )


def ranks_among(negatives: int) -> list[int]:
    """Return the ranks of `TOP` that say something: one above the number of negatives is always reached."""
    return [rank for rank in TOP if rank <= negatives]


def draw_queries(
    dialogues: Iterable[Dialogue], *, negatives: int = 50, limit: int | None = None, seed: int, data: str
) -> Queries:
    """Draw the queries: every turn of the second speaker that has a turn before it, with its negatives.

    Negatives are drawn uniformly, each at most once, from the second speakers' turns in all other dialogues, except
    turns with the same text as the true one: no encoder could tell them apart. The draw depends only on the seed, the
    name of the turn and these turns, not on their order or the limit.

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
        names=tuple(pool.names[place] for place in asked),
        contexts=tuple(pool.contexts[place] for place in asked),
        responses=tuple(pool.distinct[text] for text in used),
        candidates=candidates.reshape(drawn.shape),
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
    """Return the rank of each query's true turn among its candidates, from 1, int64 [q].

    :param read: context of each query, perhaps perturbed.
    """
    offered = responses.rows(queries.answers)[queries.candidates]
    return ranks_of_first(contexts.vectors[contexts.rows(read)], responses.vectors, offered, similarity=similarity)


def ranks_of_first(
    asked: NDArray[np.float32], vectors: NDArray[np.float32], offered: NDArray[np.int64], *, similarity: Similarity
) -> NDArray[np.int64]:
    """Return the rank of the first candidate of each query, from 1, int64 [q]; the worst rank among equals.

    :param asked: vectors of the queries, [q, d], or with "poly" their vectors by code in one row, [q, m d].
    :param vectors: vectors of all candidates, [u, d].
    :param offered: rows of each query's candidates, [q, c].
    """
    ranks = np.empty(len(asked), dtype=np.int64)
    # Divided by the greatest length, dot products lie in [-1, 1] like cosines, and can be rounded like them.
    longest = float(np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64).max(initial=0))) or 1.0
    block = max(1, CELLS // max(1, offered.shape[1] * vectors.shape[1]))
    for start in range(0, len(asked), block):
        some = slice(start, start + block)
        candidates = vectors[offered[some]].astype(np.float64)
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
        ranks[some] = (scores >= scores[:, :1]).sum(axis=1)
    return ranks


def _poly_scores(asked: NDArray[np.float32], candidates: NDArray[np.float64], longest: float) -> NDArray[np.float64]:
    """Return the scores of `dial2vec.encoder.papers.codes.poly_scores`, divided by the greatest possible, [q, c]."""
    by_code = asked.astype(np.float64).reshape(len(asked), -1, candidates.shape[2])
    products = candidates @ by_code.transpose(0, 2, 1)
    weights = np.exp(products - products.max(axis=2, keepdims=True))
    scores = (weights * products).sum(axis=2) / weights.sum(axis=2)
    reach: NDArray[np.float64] = np.sqrt((by_code**2).sum(axis=2).max(axis=1)) * longest
    return scores / np.where(reach > 0, reach, 1)[:, None]


def ranking_figures(ranks: NDArray[np.int64], top: Sequence[int]) -> dict[str, float]:
    """Return "recall_at_k" for each k and "mrr" of ranks from 1, in points, as `select_responses` defines them."""
    shares = {f"recall_at_{k}": points(float((ranks <= k).mean())) for k in top}
    return shares | {"mrr": points(float((1 / ranks).mean()))}
