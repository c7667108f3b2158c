"""Phrases that customers say, such as "check my account balance": candidates for the names of groups, in English."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from conversations.dialogue import Dialogue
from conversations.vocabulary import word_set
from dial2vec.data.function_words import WORDS, Words
from dial2vec.data.languages import common_words

Mask = NDArray[np.bool_]
Places = NDArray[np.int64]
# An address or a code, a word, and any other character, at which a phrase ends.
PART = re.compile(r"\S*(?:[@\d]|://|www\.)\S*|[^\W\d_]+(?:['’-][^\W\d_]+)*|\S")
NEGATION = re.compile(r"(?:not|no|never|cannot|without|(?:can|do|did|does|wo|is|was|has|have)nt|\w+n['’]t)$")
# Words that join what comes after them: before "not", and before any phrase.
AUXILIARY = re.compile(r"(?:do|did|does|is|are|was|were|has|have|had|can|could|will|would)$")
BEFORE = re.compile(rf"how$|{NEGATION.pattern}")
# Words that belong to the verb before them if this share of its places has them: "top up", "log out".
PARTICLES, BOUND = frozenset(["up", "off", "out", "down", "back", "away"]), 0.4
# A phrase has so many words, of which so many carry meaning and so many stand between them, in so many dialogues.
LONGEST, MEANT, BETWEEN, LEAST = 5, 3, 2, 3
# Weight in the student's table below which a word carries no meaning by itself: "want" has 0.40, "find" 0.50.
LIGHT = 0.48
# So many words of meaning are numbered in so many bits, that four of them make one number.
BITS, MOST = 15, 2**15 - 8
# Share of a word's places inside sentences with a capital, from which on it is a name.
CAPITAL = 0.8
# If the customer has less than this share of the characters, the other side says what it is about.
SILENT = 0.15
# Number of words before a phrase in which "not" denies it, and share of its places where a word before it joins it.
DENIED, JOINED = 4, 0.5


@dataclass(frozen=True, slots=True)
class Speech:
    """Words of the customers, or of all speakers, if nobody is called a customer.

    :param words: words in small letters; punctuation, numbers, addresses and speakers' names are "", the first one.
    :param turns: turn of each word, ascending, int32 [m].
    :param written: commonest writing of each word inside sentences, [vocabulary].
    :param names: words that are written with a capital there, bool [vocabulary].
    """

    words: Words
    turns: NDArray[np.int32]
    written: list[str]
    names: Mask

    @classmethod
    def read(cls, dialogues: Iterable[Dialogue]) -> Speech:
        """Read about 2,000 words of each dialogue."""
        forms, numbers, turns, ends, n_turns = {"": 0}, array("i"), array("i"), [0], 0
        for dialogue in dialogues:
            speakers = {part for turn in dialogue.turns for part in PART.findall(turn.speaker.lower())}
            for text in _customers_turns(dialogue):
                if len(numbers) - ends[-1] < WORDS:
                    parts = PART.findall(text[: 20 * WORDS])
                    known = (
                        part[0].isalpha() and part[-1].isalpha() and part.lower() not in speakers for part in parts
                    )
                    own = [forms.setdefault(part, len(forms)) if word else 0 for part, word in zip(parts, known)]
                    numbers.extend([*own, 0])
                    turns.extend([n_turns] * (len(own) + 1))
                    n_turns += 1
            ends.append(len(numbers))
        owners = np.repeat(np.arange(len(ends) - 1, dtype=np.int32), np.diff(ends))
        places: dict[str, int] = {}
        small = np.array([places.setdefault(form.lower(), len(places)) for form in forms])
        cased = np.frombuffer(numbers, dtype=np.int32)
        # At the start of a sentence any word has a capital.
        times = np.bincount(cased[1:][cased[:-1] > 0], minlength=len(forms))
        capital = np.array([form != form.lower() for form in forms])
        share = np.bincount(small, times * capital) / np.maximum(np.bincount(small, times), 1)
        order = np.argsort(times, kind="stable")
        commonest = dict(zip(small[order].tolist(), np.array([*forms], dtype=object)[order], strict=True))
        written = [commonest[place] if share[place] > 0.5 else word for word, place in places.items()]
        words = Words([*places], small[cased].astype(np.int32), owners, len(ends) - 1)
        return cls(words, np.frombuffer(turns, dtype=np.int32), written, share >= CAPITAL)


def _customers_turns(dialogue: Dialogue) -> list[str]:
    """Return what the customer says, or all speakers, if none is called a customer or the customer is silent."""
    customers, every = word_set("speakers", "askers"), [turn.text for turn in dialogue.turns]
    own = [turn.text for turn in dialogue.turns if turn.speaker.lower() in customers]
    return own if sum(map(len, own)) > SILENT * sum(map(len, every)) else every


@dataclass(frozen=True, slots=True)
class Phrases:
    """Runs of words that begin and end with a word of meaning, or begin with a negation.

    Phrases with the same words of meaning are one ("change a seat" and "change my seat").

    :param keys: words of meaning of each phrase, places in the vocabulary, 0 before the first one, int64 [p, 4].
    :param meant: number of its words of meaning without the negation, [p].
    :param inside: 1 for each dialogue with the phrase, int32 [dialogues, p].
    :param whole: share of its places with no word of meaning beside it, on the worse side, and not denied, [p].
    :param told: share of its places in turns that say more than the phrase, [p].
    :param numbers: phrase at each place, ascending, [q].
    :param starts: place of its first word among the words, [q].
    :param ends: place after its last word, [q].
    """

    speech: Speech
    joins: Mask
    keys: Places
    meant: Places
    inside: csr_array
    whole: NDArray[np.float64]
    told: NDArray[np.float64]
    numbers: Places
    starts: Places
    ends: Places

    @classmethod
    def find(cls, speech: Speech, weights: NDArray[np.float32]) -> Phrases:
        """Find the phrases of at least three dialogues.

        :param weights: weight of each word in the student's table, [vocabulary].
        """
        words, texts = speech.words, speech.words.vocabulary
        denies = np.array([bool(NEGATION.match(text)) for text in texts])
        meant = (weights >= LIGHT) & ~common_words(words) & ~denies
        meant[0] = False
        at = words.numbers.astype(np.int64)
        heavy = meant[at] | _bound(at, meant, texts)
        codes, coded = _codes(at, heavy, denies, words)
        value, starts, ends = _runs(at, heavy & (codes > 0), denies[at], codes, heavy & (codes == 0), texts)
        unique, numbers = np.unique(value, return_inverse=True)
        owners = words.dialogues[starts]
        inside = csr_array((np.ones(len(owners), dtype=np.int32), (owners, numbers)), shape=(words.n, len(unique)))
        inside.sum_duplicates()
        inside.data[:] = 1
        often = np.asarray(inside.sum(axis=0)).ravel() >= LEAST
        order = np.argsort(numbers, kind="stable")
        order = order[often[numbers[order]]]
        numbers, starts, ends = (np.cumsum(often) - 1)[numbers[order]], starts[order], ends[order]
        parts = (unique[often, None] >> (BITS * np.arange(3, -1, -1))) & (2**BITS - 1)
        keys = coded[parts]
        lengths, p = np.bincount(speech.turns, at > 0), len(keys)
        n = np.maximum(np.bincount(numbers, minlength=p), 1)
        before, after = np.append(heavy, False)[starts - 1], np.append(heavy, False)[ends]
        beside = np.maximum(np.bincount(numbers, before, p), np.bincount(numbers, after, p))
        whole = 1 - np.maximum(beside, 2 * np.bincount(numbers, _denied(at, denies, starts), p)) / n
        told = np.bincount(numbers, lengths[speech.turns[starts]] >= ends - starts + 2, p) / n
        return cls(
            speech,
            (weights >= 0.3) & ~common_words(words),
            keys,
            (parts > 1).sum(axis=1),
            inside[:, np.flatnonzero(often)],
            whole,
            told,
            numbers,
            starts,
            ends,
        )

    def wording(self, phrase: int, dialogues: Mask) -> str:
        """Return how a phrase is mostly said in some dialogues, with the word that mostly comes before it there."""
        words, texts = self.speech.words, self.speech.words.vocabulary
        own = slice(*np.searchsorted(self.numbers, [phrase, phrase + 1]))
        places = [
            (start, tuple(words.numbers[start:end].tolist()))
            for start, end in zip(self.starts[own], self.ends[own], strict=True) if dialogues[words.dialogues[start]]
        ]  # fmt: skip
        [(best, times)] = Counter(said for _, said in places).most_common(1)
        [(before, most)] = Counter(int(words.numbers[start - 1]) for start, said in places if said == best).most_common(
            1
        )
        joins = (AUXILIARY if texts[best[0]] == "not" else BEFORE).match(texts[before]) or self.joins[before]
        if before and most >= JOINED * times and joins:
            best = (before, *best)
        return " ".join(self.speech.written[word] for word in best)


def _bound(at: Places, meant: Mask, texts: list[str]) -> Mask:
    """Return which places have a particle that belongs to the word before it."""
    particle = np.array([text in PARTICLES for text in texts])
    follows = np.concatenate([[False], particle[at[1:]] & meant[at[:-1]]])
    places = np.flatnonzero(follows)
    _, pairs, times = np.unique(at[places - 1] * len(texts) + at[places], return_inverse=True, return_counts=True)
    follows[places] = times[pairs] >= BOUND * np.bincount(at)[at[places - 1]]
    return follows


def _codes(at: Places, heavy: Mask, denies: Mask, words: Words) -> tuple[Places, Places]:
    """Return a number for the word of meaning or the negation at each place, else 0, and the word of each number."""
    n, size = words.n, len(words.vocabulary)
    spread = np.bincount(np.unique(at[heavy] * n + words.dialogues[heavy]) // max(n, 1), minlength=size)
    often = np.argsort(-spread, kind="stable")[: min(MOST, int((spread >= LEAST).sum()))]
    code = np.zeros(size, dtype=np.int64)
    code[often] = np.arange(2, len(often) + 2)
    # All negations are one.
    code[denies] = 1
    return np.where(heavy | denies[at], code[at], 0), np.concatenate([[0, int(np.argmax(denies))], often])


def _runs(at: Places, heavy: Mask, denied: Mask, codes: Places, rare: Mask, texts: list[str]) -> tuple[Places, ...]:
    """Return the number, the start and the end of each run of words that may be a phrase."""
    short = np.array([len(text) < 3 for text in texts])
    particle = np.array([text in PARTICLES for text in texts])
    stops = np.concatenate([[0], np.cumsum((at == 0) | rare)])
    many, nots = (np.concatenate([[0], np.cumsum(mask)]) for mask in (heavy, denied))
    found = []
    for length in range(1, LONGEST + 1):
        starts = np.arange(len(at) - length + 1)
        ends = starts + length
        n, n_not = many[ends] - many[starts], nots[ends] - nots[starts]
        fits = (
            (heavy | (denied & np.append(heavy[1:], False)))[starts]
            & heavy[ends - 1]
            & ~particle[at[starts]]
            & (stops[ends] == stops[starts])
        )
        fits &= (n <= MEANT) & (n_not <= 1) & (length - n - n_not <= BETWEEN) if length > 1 else ~short[at[starts]]
        starts = starts[fits]
        value = np.zeros(len(starts), dtype=np.int64)
        for place in range(length):
            own = codes[starts + place]
            value = np.where(own > 0, (value << BITS) | own, value)
        found.append((value, starts, starts + length))
    return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))


def _denied(at: Places, denies: Mask, starts: Places) -> Mask:
    """Return whether a negation stands up to four words before a start, in the same sentence."""
    stops, nots = (np.concatenate([[0], np.cumsum(mask)]) for mask in (at == 0, denies[at]))
    since = np.maximum(starts - DENIED, 0)
    return np.asarray((nots[starts] > nots[since]) & (stops[starts] == stops[since]))
