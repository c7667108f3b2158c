"""A linear model of dialogues by their turns, which also finds the turn that says so.

Multiple-instance learning (Dietterich et al. 1997) with log-mean-exp over the turns (Ramon and De Raedt 2000): a
dialogue has a label if one of its turns says so. A turn is read with the two before it, by weights of each side.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array, vstack
from scipy.special import expit

from conversations.dialogue import Dialogue
from conversations.vocabulary import word_set
from dial2vec.encoder.names import GENERAL, resolve
from dial2vec.encoder.student import StudentEncoder

Floats = NDArray[np.float64]
# Turns before that a turn is read with, and the columns of a token: one per side and place.
BEFORE, SIDES = 2, 2
COLUMNS = SIDES * (BEFORE + 1)
# L2 penalty of each weight, and steps of L-BFGS.
PENALTY, STEPS = 2e-4, 80


class Turns(NamedTuple):
    """Turns of dialogues as counts of word pieces, or weighted by tf-idf.

    :param tokens: float32 [turns, V].
    :param sides: 0 for a customer's turns or the first speaker's, 1 for those of others, int8 [turns].
    :param starts: first turn of each dialogue, and the number of turns at the end, int64 [n + 1].
    """

    tokens: csr_array
    sides: NDArray[np.int8]
    starts: NDArray[np.int64]

    def some(self, rows: NDArray[np.int64]) -> Turns:
        """Return the turns of some dialogues."""
        places, starts = _turns_of(self.starts, rows)
        return Turns(self.tokens[places], self.sides[places], starts)

    def weighted(self, idf: NDArray[np.float32]) -> Turns:
        """Return tf-idf instead of counts; turns have length 1."""
        values = self.tokens.data * idf[self.tokens.indices]
        rows = np.repeat(np.arange(len(self.sides)), np.diff(self.tokens.indptr))
        lengths = np.sqrt(np.bincount(rows, values**2, minlength=len(self.sides)))
        values = (values / lengths[rows]).astype(np.float32)
        tokens = csr_array((values, self.tokens.indices, self.tokens.indptr), shape=self.tokens.shape)
        return self._replace(tokens=tokens)


class TurnReader:
    """Reads the turns of dialogues as counts of the general student's word pieces."""

    def __init__(self) -> None:
        student = StudentEncoder.from_pretrained(resolve(GENERAL))
        self._reader, self._n_tokens = student.reader, len(student.table)
        self._token = student.tokenizer.id_to_token

    def read(self, dialogues: Iterable[Dialogue]) -> Turns:
        """Return the counts of each turn."""
        customers = word_set("speakers", "askers")
        texts, sides, sizes = [], [], [0]
        for dialogue in dialogues:
            speakers = [turn.speaker for turn in dialogue.turns]
            asking = {name for name in speakers if name.lower() in customers} or {speakers[0]}
            sides += [speaker not in asking for speaker in speakers]
            texts += [[turn.text] for turn in dialogue.turns]
            sizes.append(len(speakers))
        ids, lengths = self._reader.read(texts)
        return self._counted(ids, lengths, np.array(sides, dtype=np.int8), np.cumsum(sizes))

    def sentences(self, texts: Sequence[str]) -> Turns:
        """Return each sentence as two dialogues of one turn, one for each side; the first sides come first."""
        ids, lengths = self._reader.read([[text] for text in texts] * SIDES)
        sides = np.repeat(np.arange(SIDES, dtype=np.int8), len(texts))
        return self._counted(ids, lengths, sides, np.arange(len(sides) + 1))

    def word(self, token: int) -> str:
        """Return a word piece by its number."""
        return str(self._token(token))

    def _counted(
        self, ids: NDArray[np.int32], lengths: NDArray[np.int64], sides: NDArray[np.int8], starts: NDArray[np.int64]
    ) -> Turns:
        ends = np.concatenate([[0], np.cumsum(lengths)])
        shape = len(lengths), self._n_tokens
        tokens = csr_array((np.ones(len(ids), dtype=np.float32), ids, ends), shape=shape)
        tokens.sum_duplicates()
        return Turns(tokens, sides, starts)


def rarity(turns: Turns) -> NDArray[np.float32]:
    """Return the inverse document frequency of each token among the turns, float32 [V]."""
    n, v = turns.tokens.shape
    seen = np.bincount(turns.tokens.indices, minlength=v)
    return (np.log((1 + n) / (1 + seen)) + 1).astype(np.float32)


def stacked(parts: Sequence[Turns]) -> Turns:
    """Return the dialogues of several parts, one after the other."""
    ends = np.cumsum([0, *(part.starts[-1] for part in parts)])
    starts = [part.starts[:-1] + end for part, end in zip(parts, ends[:-1], strict=True)]
    tokens = csr_array(vstack([part.tokens for part in parts], format="csr"))
    return Turns(tokens, np.concatenate([part.sides for part in parts]), np.concatenate([*starts, ends[-1:]]))


class Design(NamedTuple):
    """What `fit_weights` reads: a row per turn, with columns for the tokens of this turn and of those before it.

    :param rows: float64 [turns, columns].
    :param columns: column of each in a model's weights, int64 [columns].
    :param starts: first turn of each dialogue, and the number of turns at the end, int64 [n + 1].
    """

    rows: csr_array
    columns: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, turns: Turns) -> Design:
        """Return the design of weighted turns; columns without a token are left out."""
        numbers = np.arange(turns.starts[-1])
        first = np.repeat(turns.starts[:-1], np.diff(turns.starts))
        parts = []
        for before in range(BEFORE + 1):
            at = numbers[numbers - before >= first]
            spoken = turns.tokens[at - before].tocoo()
            rows = at[spoken.row]
            columns = spoken.col.astype(np.int64) * COLUMNS + _column(turns.sides[rows], before)
            parts.append((spoken.data, rows, columns))
        data, rows, places = map(np.concatenate, zip(*parts, strict=True))
        used, places = np.unique(places, return_inverse=True)
        return cls(csr_array((data.astype(float), (rows, places)), (len(numbers), len(used))), used, turns.starts)

    def some(self, dialogues: NDArray[np.int64]) -> Design:
        """Return the design of some dialogues."""
        places, starts = _turns_of(self.starts, dialogues)
        return self._replace(rows=self.rows[places], starts=starts)


def _turns_of(starts: NDArray[np.int64], dialogues: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of the turns of some dialogues, and the starts among these."""
    sizes = np.diff(starts)[dialogues]
    new = np.concatenate([[0], np.cumsum(sizes)])
    return np.arange(new[-1]) + np.repeat(starts[dialogues] - new[:-1], sizes), new


def _column(sides: NDArray[np.int8], before: int) -> NDArray[np.int64]:
    return sides.astype(np.int64) * (BEFORE + 1) + before


def pooled(spoken: Floats, starts: NDArray[np.int64]) -> Floats:
    """Return the log-mean-exp of the turns' scores of each dialogue, [n, ...]."""
    sizes = np.log(np.diff(starts)).reshape(-1, *(1,) * (spoken.ndim - 1))
    return np.asarray(np.logaddexp.reduceat(spoken, starts[:-1], axis=0) - sizes)


def fit_weights(design: Design, is_so: Floats, begin: Floats | None = None) -> Floats:
    """Fit the weights of one label by penalised logistic loss and L-BFGS.

    :param is_so: 1 for dialogues with the label, else 0, [n].
    :param begin: weights to begin from, as returned; default: zeros.
    :returns: weight of each column of the design, and the bias at the end, float64 [columns + 1].
    """
    rows, turned, sizes = design.rows, csr_array(design.rows.T), np.diff(design.starts)
    signs, n = 2 * is_so - 1, len(is_so)

    def loss(parameters: Floats) -> tuple[float, Floats]:
        spoken = rows @ parameters[:-1]
        most = pooled(spoken, design.starts)
        scores = most + parameters[-1]
        slopes = (expit(scores) - is_so) / n
        # Part of each turn in its dialogue's score.
        parts = np.exp(spoken - np.repeat(most + np.log(sizes), sizes))
        gradient = turned @ (parts * np.repeat(slopes, sizes)) + PENALTY * parameters[:-1]
        value = np.logaddexp(0, -signs * scores).mean() + PENALTY / 2 * parameters[:-1] @ parameters[:-1]
        return value, np.concatenate([gradient, [slopes.sum()]])

    begin = np.zeros(rows.shape[1] + 1) if begin is None else begin
    return np.asarray(minimize(loss, begin, jac=True, method="L-BFGS-B", options={"maxiter": STEPS}).x)


def dialogue_scores(design: Design, parameters: Floats) -> Floats:
    """Return the score of each dialogue by the weights that `fit_weights` returns, float64 [n]."""
    return pooled(design.rows @ parameters[:-1], design.starts) + parameters[-1]


def turn_scores(turns: Turns, table: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the score of each weighted turn by each label, without biases, float32 [turns, labels].

    :param table: weights by token, label and column, float32 [V, labels, COLUMNS].
    """
    n_labels = table.shape[1]
    products = (turns.tokens @ table.reshape(len(table), -1)).reshape(-1, n_labels, COLUMNS)
    numbers = np.arange(len(products))
    first = np.repeat(turns.starts[:-1], np.diff(turns.starts))
    scores = np.zeros((len(products), n_labels), dtype=np.float32)
    for before in range(BEFORE + 1):
        at = numbers[numbers - before >= first]
        scores[at] += products[at - before, :, _column(turns.sides[at], before)]
    return scores
