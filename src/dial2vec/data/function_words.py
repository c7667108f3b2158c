"""Words of dialogues in their order, and those among them that only hold sentences together, in any language."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from conversations.words import UNSPACED

# A run of katakana, a character of a script without blanks, or letters that no digit touches ("8th", "mp3").
TOKEN = re.compile(
    f"[\u30a1-\u30fa\u30fc]+|[{UNSPACED}]"
    f"|(?<![^\\W{UNSPACED}])[^\\W\\d_{UNSPACED}]++(?:['’][^\\W\\d_{UNSPACED}]++)*+(?!\\d)"
)
# Largest number of words of a dialogue that are read: a long meeting has every word.
WORDS = 2000
# A word is judged if it is in this many dialogues and in this share of them; fewer than 50 such words show nothing.
LEAST_DIALOGUES, LEAST_SHARE, FEWEST, MOST = 3, 0.005, 50, 4000
# Neighbouring words that are told apart, words with the most similar neighbours, and neighbours drawn for variety.
CONTEXTS, SIMILAR, DRAWN = 200, 10, 30
# Sum of five signals in standard deviations, the one of similar words twice, from which a word counts.
CUT = 4.0


@dataclass(frozen=True, slots=True)
class Words:
    """The words of dialogues, in lower case and in their order, without numbers and without the speakers' names.

    :param vocabulary: each word once; the first entry is "", which stands between turns.
    :param numbers: places in the vocabulary, int32 [m].
    :param dialogues: dialogue of each of them, ascending from 0, int32 [m].
    :param n: number of dialogues.
    """

    vocabulary: list[str]
    numbers: NDArray[np.int32]
    dialogues: NDArray[np.int32]
    n: int

    @classmethod
    def read(cls, dialogues: Iterable[Dialogue]) -> Words:
        """Read at most 2,000 words of each dialogue."""
        places: dict[str, int] = {"": 0}
        numbers, lengths = array("i"), array("i")
        for dialogue in dialogues:
            before = len(numbers)
            speakers = {word for turn in dialogue.turns for word in TOKEN.findall(turn.speaker.lower())}
            left = WORDS
            for turn in dialogue.turns:
                spoken = TOKEN.findall(turn.text.lower())[:left]
                left -= len(spoken)
                numbers.append(0)
                numbers.extend(0 if word in speakers else places.setdefault(word, len(places)) for word in spoken)
                if left <= 0:
                    break
            numbers.append(0)
            lengths.append(len(numbers) - before)
        owners = np.repeat(np.arange(len(lengths), dtype=np.int32), np.frombuffer(lengths, dtype=np.int32))
        return cls(list(places), np.frombuffer(numbers, dtype=np.int32), owners, len(lengths))


def function_words(words: Words) -> NDArray[np.bool_]:
    """Return which words of the vocabulary are function words or phrases of every talk, bool [vocabulary].

    No list of words is used. A function word is frequent, is spread evenly over dialogues (a word of a topic comes in
    bunches: Church and Gale 1995), has many different words on either side, is short (Zipf 1935), and the words that
    have the same neighbours as it are frequent and even, too. In English, "from" is found by its likeness to "in" and
    "to". If fewer than 50 words are frequent enough to be judged, none is found.
    """
    chosen = np.zeros(len(words.vocabulary), dtype=bool)
    counts = np.bincount(words.numbers, minlength=len(chosen)).astype(np.float64)
    counts[0] = 0
    spread = _dialogues_of(words)
    judged = np.flatnonzero(spread >= max(LEAST_DIALOGUES, LEAST_SHARE * words.n))
    if len(judged) < FEWEST:
        return chosen
    judged = np.sort(judged[np.argsort(-counts[judged], kind="stable")[:MOST]])
    rate = counts[judged] / counts.sum()
    lengths = np.bincount(words.dialogues[words.numbers > 0], minlength=words.n)
    even = spread[judged] / _by_chance(rate, lengths)
    frequent_and_even = _standard(np.log(rate)) + _standard(even)
    similar = frequent_and_even[_similar(words, counts, judged)].mean(axis=1)
    short = np.array([-len(words.vocabulary[place]) for place in judged], dtype=np.float64)
    scores = frequent_and_even + 2 * _standard(similar) + _standard(_variety(words, counts)[judged]) + _standard(short)
    chosen[judged[scores > CUT]] = True
    return chosen


def _dialogues_of(words: Words) -> NDArray[np.int64]:
    """Return the number of dialogues with each word, [vocabulary]; 0 for the border of turns."""
    own = np.unique(words.numbers.astype(np.int64) * words.n + words.dialogues)
    spread = np.bincount(own // words.n, minlength=len(words.vocabulary))
    spread[0] = 0
    return spread


def _by_chance(rate: NDArray[np.float64], lengths: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the number of dialogues that each word would be in if it came at its rate everywhere."""
    sizes, times = np.unique(lengths, return_counts=True)
    return np.asarray((1 - np.exp(-rate[:, None] * sizes)) @ times)


def _similar(words: Words, counts: NDArray[np.float64], judged: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places among the judged words of the ten words with the most similar neighbours, [judged, 10]."""
    kinds = np.full(len(counts), CONTEXTS + 1)
    kinds[0] = CONTEXTS
    most = np.argsort(-counts, kind="stable")[:CONTEXTS]
    most = most[counts[most] > 0]
    kinds[most] = np.arange(len(most))
    places = np.full(len(counts), -1)
    places[judged] = np.arange(len(judged))
    width = CONTEXTS + 2
    table = np.zeros(len(judged) * 2 * width)
    before, after = words.numbers[:-1], words.numbers[1:]
    for word, neighbour, offset in ((before, after, width), (after, before, 0)):
        inside = places[word] >= 0
        cells = places[word[inside]] * 2 * width + offset + kinds[neighbour[inside]]
        table += np.bincount(cells, minlength=len(table))
    seen = table.reshape(len(judged), 2 * width)
    # Positive pointwise mutual information with each neighbour.
    expected = seen.sum(axis=1, keepdims=True) * seen.sum(axis=0) / seen.sum()
    information = np.log(np.maximum(seen, 1e-9) / np.maximum(expected, 1e-9)).clip(min=0).astype(np.float32)
    information /= np.maximum(np.linalg.norm(information, axis=1, keepdims=True), 1e-9)
    cosines = information @ information.T
    np.fill_diagonal(cosines, -1)
    return np.argsort(-cosines, axis=1, kind="stable")[:, :SIMILAR]


def _variety(words: Words, counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the expected shares of different words among 30 neighbours before and after each word, multiplied."""
    before, after = words.numbers[:-1].astype(np.int64), words.numbers[1:].astype(np.int64)
    size, product = len(counts), np.ones(len(counts))
    for word, neighbour in ((before, after), (after, before)):
        pairs, times = np.unique(word * size + neighbour, return_counts=True)
        own = pairs // size
        share = times / np.maximum(counts[own], 1)
        different = 1 - (1 - share.clip(max=1)) ** DRAWN
        product *= np.bincount(own, different, minlength=size) / DRAWN
    return product


def _standard(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray((values - values.mean()) / max(float(values.std()), 1e-9))
