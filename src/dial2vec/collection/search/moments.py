"""Moments: dialogues found by single turns. Cosines of turns, and words of turns and of dialogues, weighed together.

Each signal is measured in standard deviations from its mean over the collection, so that a signal that singles out one
dialogue counts more than in a fusion by rank (docs/search.md has the figures).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conversations.progress import bar_to, waiting
from dial2vec.collection.collection_folder import CollectionFolder, sampled
from dial2vec.collection.search.calibration import calibrate
from dial2vec.collection.search.turns import TurnVectors, has_untrained, open_turns, update_turns
from dial2vec.collection.search.words import WordIndex, bm25_words, open_words, update_words
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.names import GENERAL
from dial2vec.encoder.nearest import unit_rows
from dial2vec.encoder.protocol import Encoder

# Weights of the words of turns and of dialogues beside the cosine of turns, and of words beside the vectors of themes.
TURN_WORDS, DIALOGUE_WORDS, THEME_WORDS = 0.3, 0.35, 0.1
# Turns up to which all are compared. Beyond, those of the best dialogues by the signs of the vectors and by each other
# signal, and of a sample.
ALL_TURNS, BEST, SAMPLE = 1_000_000, 2_000, 2_000
# Place of the dialogue that the best is compared with, and the number of turns that are few: those of a page of hits.
RIVAL, FEW = 10, 10
# Ways to ask for conversations and names of topics, and sentences as they are said: what the former have in common
# and the latter have not tells a question for a theme.
SUBJECTS = (
    "conversations on this topic", "dialogues about something", "what people say about it",
    "calls that deal with a subject", "somebody talks about a theme", "anything related to that",
    "discussions of an issue", "customers who ask about something", "cars and motorcycles",
    "problems with the delivery", "cooking and recipes", "cheap holidays by the sea", "exams at school",
    "politics and elections", "diets and exercise", "novels and their authors",
)  # fmt: skip
SENTENCES = (
    "I told him that it was too late", "she said she would call back on Monday", "do you know when it opens",
    "it did not work when I tried it again", "he never really wanted to do that", "my brother bought one yesterday",
    "let me check that for you", "yes, I think so too",
)  # fmt: skip
# Fitted by logistic regression on questions for turns and for topics of four collections, by MiniLM and by the general
# student; `benchmarks/studies/find.py --fit` fits again, and judges on collections left out (docs/search.md).
GAP, LENGTH, ABOUT, AGREEMENT, SHARED, QUOTED = 0.27, 2.51, -0.93, -0.74, 2.55, 2.2
LEVEL = -3.05
# Largest weight of the themes, and the weight below which they are left out.
MOST, LEAST = 10.0, 0.01


@dataclass(frozen=True, slots=True)
class Scored:
    """Scores of dialogues for a question.

    :param rows: rows of the dialogues, best first, int64 [m].
    :param scores: score of each, by which they are ordered, float32 [m].
    :param themes: weight of the themes in the scores, in [0, 10] (`weight_of_themes`).
    :param turn: cosine of the nearest turn.
    :param theme: cosine of the nearest dialogue.
    :param vector: vector of the question, read as a turn, float32 [d].
    """

    rows: NDArray[np.int64]
    scores: NDArray[np.float32]
    themes: float
    turn: float
    theme: float
    vector: NDArray[np.float32]


class Moments:
    """Turns and words of a collection, open for questions.

    :param collection: collection whose turns were indexed.
    :param general: vectors of the dialogues by the general student; None if there are none.
    """

    def __init__(
        self, collection: CollectionFolder, turns: TurnVectors, words: WordIndex, general: TurnVectors | None = None
    ) -> None:
        self.collection, self.turns, self.words, self.general = collection, turns, words, general
        # Reads texts in place of the encoder of the turns, which is loaded when it is asked.
        self.read: Callable[[list[str]], NDArray[np.float32]] | None = None
        self._sample = sampled(len(collection), SAMPLE, 1)

    @cached_property
    def _subjects(self) -> tuple[NDArray[np.float32], float, float]:
        """Mean vector of `SUBJECTS` less that of `SENTENCES`, and mean and spread of the turns' products with it."""
        units = self._units([*SUBJECTS, *SENTENCES])
        direction = units[: len(SUBJECTS)].mean(0) - units[len(SUBJECTS) :].mean(0)
        products = self.turns.cosines(direction[None], sampled(self.turns.record.turns, SAMPLE, 1))
        return direction, float(products.mean()), max(float(products.std()), 1e-6)

    def _about(self, vector: NDArray[np.float32]) -> float:
        subjects, mean, spread = self._subjects
        return (float(vector @ subjects) - mean) / spread

    def _matched(self, query: str) -> tuple[float, bool]:
        """Return the largest share of the query's words in one turn, and if one to ten turns have them all."""
        n, matches = len(set(bm25_words(query))), self.words.matches(query)
        return float(matches.max()) / max(n, 1), n > 1 and 0 < int((matches == n).sum()) <= FEW

    def vector(self, query: str) -> NDArray[np.float32]:
        """Return the vector of a question, read as a turn, float32 [d]."""
        return self._units([query])[0]

    def _units(self, texts: list[str]) -> NDArray[np.float32]:
        return unit_rows((self.read or self.turns.encoder.encode_utterances)(texts)).astype(np.float32)

    def score(
        self,
        query: str,
        themes: NDArray[np.float32],
        *,
        rows: NDArray[np.int64] | None,
        auto: bool,
        exact: bool = False,
    ) -> Scored:
        """Return the scores of the dialogues that may be hits.

        :param themes: cosine of the question with each dialogue of the collection, float32 [n].
        :param rows: rows that may be hits, ascending; None is all.
        :param auto: True to add the themes with the weight that suits the question; False for moments alone.
        :param exact: compare the turns of all dialogues even if there are many.
        """
        among, vector = np.arange(len(self.collection)) if rows is None else rows, self.vector(query)
        if not len(among):
            return Scored(among, np.zeros(0, dtype=np.float32), 0.0, -1.0, -1.0, vector)
        whole = _z(themes, themes)
        if auto and self.general is not None:
            other = self.general.cosines(unit_rows(self.general.encoder.encode_utterances([query])))[:, 0]
            whole = _z(both := whole + _z(other, other), both)
        in_turns = np.maximum.reduceat(self.words.of_turns(query), self.turns.starts[:-1])
        in_all = self.words.of_dialogues(query)
        if self.turns.record.turns <= ALL_TURNS or exact:
            read = np.arange(len(self.collection)) if rows is None else np.union1d(among, self._sample)
            sample = read if rows is None else self._sample
        else:
            among = _best(among, (in_turns, in_all, whole, self.turns.agreement(vector)))
            read, sample = np.union1d(among, self._sample), self._sample
        cosines = self.cosines(vector, read)
        at, of_sample = np.searchsorted(read, among), np.searchsorted(read, sample)
        z_all = _z(in_all[read], in_all)
        scores = _z(cosines, cosines[of_sample]) + TURN_WORDS * _z(in_turns[read], in_turns) + DIALOGUE_WORDS * z_all
        scores /= max(float(scores[of_sample].std()), 1e-6)
        turn, theme, weight = float(cosines[at].max()), float(themes[among].max()), 0.0
        if auto:
            best = at[np.argsort(-scores[at], kind="stable")[:RIVAL]]
            gap, words = float(scores[best[0]] - scores[best[-1]]), bm25_words(query)
            agreement = float(whole[read[best]].mean())
            signs = Signs(gap, len(words), self._about(vector), agreement, *self._matched(query))
            weight = weight_of_themes(signs)
        if weight:
            both = whole[read] + THEME_WORDS * z_all
            scores += weight * _z(both, both[of_sample])
        order = np.lexsort((among, -scores[at]))
        return Scored(among[order], scores[at][order].astype(np.float32), weight, turn, theme, vector)

    def cosines(self, vector: NDArray[np.float32], rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the cosine of the nearest turn of each of these dialogues, float32 [rows].

        :param vector: `vector` of a question.
        """
        if len(rows) == len(self.collection):
            return np.maximum.reduceat(self.turns.cosines(vector[None])[:, 0], self.turns.starts[:-1])
        turns, begins = self.turns.of_dialogues(rows)
        return np.maximum.reduceat(self.turns.cosines(vector[None], turns)[:, 0], begins)

    def of_turns(self, vector: NDArray[np.float32], row: int) -> NDArray[np.float32]:
        """Return the cosine of a question with each turn of a dialogue, float32 [turns]."""
        turns = np.arange(self.turns.starts[row], self.turns.starts[row + 1])
        return self.turns.cosines(vector[None], turns)[:, 0]


def open_moments(collection: CollectionFolder) -> Moments | None:
    """Return the moments of a collection; None if its turns were not indexed."""
    turns, words = open_turns(collection), open_words(collection)
    if turns is None or words is None:
        return None
    return Moments(collection, turns, words, open_turns(collection, "themes"))


def how_to_get_turns(collection: CollectionFolder) -> str:
    """Return what is missing in a collection whose turns were not indexed, and the command that adds it."""
    folder = collection.folder
    return (
        f"{folder} has no vectors of its turns, which moments need. Run `dial2vec index {folder / 'dialogues.jsonl'} "
        f"--output {folder}`, and search again."
    )


def update_moments(
    collection: CollectionFolder, encoder: Encoder, *, batch_size: int = 32, progress: bool = True
) -> None:
    """Bring vectors and words of the turns up to date; a killed run resumes.

    :param batch_size: turns per batch.
    """
    if not len(collection):
        return
    update_turns(collection, encoder, batch_size=batch_size, progress=progress)
    if has_untrained(collection):
        update_turns(collection, load_encoder(GENERAL), progress=progress, read="themes")
    with bar_to(len(collection), "words", unit="dialogue", shown=progress) as bar:
        update_words(collection, done=bar.update)
    if (moments := open_moments(collection)) is not None:
        with waiting("asking random questions") if progress else nullcontext():
            calibrate(collection, encoder, moments.turns, moments.words)


def _best(among: NDArray[np.int64], signals: tuple[NDArray[Any], ...]) -> NDArray[np.int64]:
    best = [among[np.argpartition(-signal[among], min(BEST, len(among)) - 1)[:BEST]] for signal in signals]
    return np.unique(np.concatenate(best))


def _z(values: NDArray[np.float32], of: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray((values - of.mean()) / max(float(of.std()), 1e-6), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Signs:
    """What tells a question for a moment from one for a theme.

    :param gap: distance of the best and the tenth dialogue by moments, in standard deviations: large if one stands out.
    :param words: number of words of the question.
    :param about: nearness of the question to `SUBJECTS` rather than `SENTENCES`, in standard deviations from turns.
    :param agreement: mean place of the ten best dialogues by moments among the themes, in standard deviations.
    :param shared: largest share of the words of the question in one turn, in [0, 1].
    :param quoted: True if the question has several words, and one to ten turns have all of them.
    """

    gap: float
    words: int
    about: float
    agreement: float
    shared: float
    quoted: bool


def weight_of_themes(signs: Signs) -> float:
    """Return the weight of the themes beside the moments' weight of 1, in [0, 10]; 0 leaves the themes out.

    It rises with the odds of a question for a theme, so that a doubtful question gets something of both.
    """
    logit = LEVEL + GAP * signs.gap + LENGTH * math.log(max(1, signs.words))
    logit += ABOUT * signs.about + AGREEMENT * signs.agreement + SHARED * signs.shared + QUOTED * signs.quoted
    weight = math.exp(min(-logit, math.log(MOST)))
    return weight if weight >= LEAST else 0.0
