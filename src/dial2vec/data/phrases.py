"""Phrases that customers say, such as "check my account balance": candidates for the names of groups, in English."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
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
# What joins a phrase that mostly follows it: a phrase with "not", and any other.
BEFORE_NOT = re.compile(r"(?:do|did|does|is|are|was|were|has|have|had|can|could|will|would)$")
BEFORE = re.compile(rf"how$|{NEGATION.pattern}")
# They belong to the verb before them: "top up", "log out".
PARTICLES = frozenset(["up", "off", "out", "down", "back", "away"])
# Words of a phrase, those that carry meaning, those between, and dialogues that say it.
LONGEST, MEANT, BETWEEN, LEAST = 5, 3, 2, 3
# Weight in the student's table from which a word carries meaning by itself ("want" has 0.40, "find" 0.50), and from
# which it joins a phrase that mostly follows it ("new" has 0.44).
HEAVY, JOINING = 0.48, 0.3
# Share of a word's places inside sentences with a capital, from which on it is a name.
CAPITAL = 0.8
# If the customer has less than this share of the characters, the other side says what it is about.
SILENT = 0.15
# Words before a phrase among which "not" denies it, and share of its places where a word before it joins it.
DENIED, JOINED = 4, 0.5


@dataclass(frozen=True, slots=True)
class Speech:
    """What customers say: words in small letters; punctuation, numbers, addresses and speakers' names are "".

    :param turns: turn of each word, ascending, int32 [m].
    :param written: commonest writing of each word inside sentences, [vocabulary].
    :param names: words that mostly have a capital there, bool [vocabulary].
    """

    words: Words
    turns: NDArray[np.int32]
    written: list[str]
    names: Mask

    @classmethod
    def read(cls, dialogues: Iterable[Dialogue]) -> Speech:
        """Read about 2,000 words of each dialogue."""
        forms, numbers, lengths, ends = {"": 0}, array("i"), array("i"), [0]
        for dialogue in dialogues:
            speakers = {part for turn in dialogue.turns for part in PART.findall(turn.speaker.lower())}
            for text in _customers_turns(dialogue):
                parts = PART.findall(text[: 20 * WORDS]) if len(numbers) - ends[-1] < WORDS else []
                words = (
                    part if part[0].isalpha() and part[-1].isalpha() and part.lower() not in speakers else ""
                    for part in parts
                )  # fmt: skip
                numbers.extend([*(forms.setdefault(word, len(forms)) for word in words), 0])
                lengths.append(len(parts) + 1)
            ends.append(len(numbers))
        places: dict[str, int] = {}
        small = np.array([places.setdefault(form.lower(), len(places)) for form in forms])
        cased = np.array(numbers, dtype=np.int32)
        # At the start of a sentence any word has a capital.
        times = np.bincount(cased[1:][cased[:-1] > 0], minlength=len(forms))
        capital = np.array([form != form.lower() for form in forms])
        share = np.bincount(small, times * capital) / np.maximum(np.bincount(small, times), 1)
        written, listed = [*places], [*forms]
        for form in np.lexsort((~capital, times)):
            written[small[form]] = listed[form]
        owners = np.repeat(np.arange(len(ends) - 1, dtype=np.int32), np.diff(ends))
        turns = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
        return cls(
            Words([*places], small[cased].astype(np.int32), owners, len(ends) - 1), turns, written, share >= CAPITAL
        )


def _customers_turns(dialogue: Dialogue) -> list[str]:
    """Return what the customer says, or all speakers, if none is called a customer or the customer is silent."""
    customers, every = word_set("speakers", "askers"), [turn.text for turn in dialogue.turns]
    own = [turn.text for turn in dialogue.turns if turn.speaker.lower() in customers]
    return own if sum(map(len, own)) > SILENT * sum(map(len, every)) else every


@dataclass(frozen=True, slots=True)
class Phrases:
    """Runs of words with a word of meaning at both ends, or a negation at the start.

    Those with the same words of meaning are one phrase ("change a seat" and "change my seat").

    :param keys: words of meaning and negation of each phrase, 0 between them and after the last, int64 [p, 5].
    :param meant: number of its words of meaning, [p].
    :param inside: 1 for each dialogue with the phrase, [dialogues, p].
    :param whole: share of its places without a word of meaning beside it, on the worse side, and not denied, [p].
    :param told: share of its places in turns that say more, [p].
    :param numbers: phrase at each of its places, ascending, [q].
    :param starts: its first word there, [q].
    :param ends: end of its last word there, [q].
    :param joins: words that join a phrase that mostly follows them, bool [vocabulary].
    """

    speech: Speech
    keys: Places
    meant: Places
    inside: csr_array
    whole: NDArray[np.float64]
    told: NDArray[np.float64]
    numbers: Places
    starts: Places
    ends: Places
    joins: Mask

    @classmethod
    def find(cls, speech: Speech, weights: NDArray[np.float32]) -> Phrases:
        """Find the phrases of at least three dialogues.

        :param weights: weight of each word in the student's table, [vocabulary].
        """
        words, at, common = speech.words, speech.words.numbers.astype(np.int64), common_words(speech.words)
        tests = (NEGATION.match, PARTICLES.__contains__, lambda text: len(text) > 2)
        denying, particles, long = (np.array([bool(test(text)) for text in words.vocabulary]) for test in tests)
        meant = (weights >= HEAVY) & ~common & ~denying
        heavy, denied = meant[at], denying[at]
        lone, opens = heavy & long[at], heavy | denied & np.roll(heavy, -1)
        heavy |= particles[at] & np.roll(heavy, 1)
        codes = np.random.default_rng(1).integers(1, 2**63, len(meant), dtype=np.uint64)
        # All negations are one.
        codes = np.where(denied, np.uint64(1), codes[at]) * (heavy | denied)
        value, starts, ends = (
            np.concatenate(parts) for parts in zip(*_runs(at == 0, heavy, denied, (lone, opens), codes), strict=True)
        )
        _, first, numbers = np.unique(value, return_index=True, return_inverse=True)
        pairs = np.unique(numbers * words.n + words.dialogues[starts])
        often = np.bincount(pairs // words.n, minlength=len(first)) >= LEAST
        columns, pairs = np.cumsum(often) - 1, pairs[often[pairs // words.n]]
        order = np.argsort(numbers, kind="stable")
        order = order[often[numbers[order]]]
        first, p = first[often], int(often.sum())
        span = starts[first, None] + np.arange(LONGEST)
        span = np.where((span < ends[first, None]) & (codes > 0)[np.minimum(span, len(at) - 1)], span, -1)
        keys, n_meant = np.where(span < 0, 0, at[span]), (heavy[span] & (span >= 0)).sum(axis=1)
        inside = csr_array(
            (np.ones(len(pairs), dtype=np.int32), (pairs % words.n, columns[pairs // words.n])), shape=(words.n, p)
        )
        numbers, starts, ends = columns[numbers[order]], starts[order], ends[order]
        said = (
            np.bincount(speech.turns, at > 0)[speech.turns[starts]] >= ends - starts + 2,
            heavy[starts - 1],
            heavy[ends],
            _denied(at == 0, denied, starts),
        )
        told, before, after, no = (
            np.bincount(numbers, mask, p) / np.maximum(np.bincount(numbers, minlength=p), 1) for mask in said
        )
        whole = 1 - np.maximum.reduce([before, after, 2 * no])
        joins = (weights >= JOINING) & ~common
        return cls(speech, keys, n_meant, inside, whole, told, numbers, starts, ends, joins)

    def wording(self, phrase: int, dialogues: Mask) -> str:
        """Return how a phrase is mostly said in some dialogues, with the word that mostly comes before it there."""
        words, texts = self.speech.words, self.speech.words.vocabulary
        own = slice(*np.searchsorted(self.numbers, [phrase, phrase + 1]))
        starts = self.starts[own][dialogues[words.dialogues[self.starts[own]]]]
        lengths = (self.ends - self.starts)[own][dialogues[words.dialogues[self.starts[own]]]]
        said = [tuple(words.numbers[start : start + n].tolist()) for start, n in zip(starts, lengths, strict=True)]
        [(best, times)] = Counter(said).most_common(1)
        before = Counter(
            words.numbers[[start - 1 for start, one in zip(starts, said, strict=True) if one == best]].tolist()
        )
        [(word, most)] = before.most_common(1)
        joins = (BEFORE_NOT if texts[best[0]] == "not" else BEFORE).match(texts[word]) or self.joins[word]
        return " ".join(
            self.speech.written[word] for word in ((word, *best) if most >= JOINED * times and joins else best)
        )


def _runs(
    stop: Mask, heavy: Mask, denied: Mask, begins: tuple[Mask, Mask], codes: NDArray[np.uint64]
) -> Iterator[tuple[NDArray[np.uint64], Places, Places]]:
    """Yield the runs of each length that may be phrases: a number of their words of meaning, starts and ends."""
    stops, many, nots = (np.concatenate([[0], np.cumsum(mask)]) for mask in (stop, heavy, denied))
    for length in range(1, LONGEST + 1):
        starts = np.arange(len(stop) - length + 1)
        ends = starts + length
        n, n_not = many[ends] - many[starts], nots[ends] - nots[starts]
        fits = (
            begins[length > 1][starts]
            & heavy[ends - 1]
            & (stops[ends] == stops[starts])
            & (n <= MEANT)
            & (n_not <= 1)
            & (length - n - n_not <= BETWEEN)
        )
        starts, value = starts[fits], np.zeros(int(fits.sum()), dtype=np.uint64)
        for place in range(length):
            own = codes[starts + place]
            value = np.where(own > 0, value * np.uint64(0x9E3779B97F4A7C15) + own, value)
        yield value, starts, starts + length


def _denied(stop: Mask, denied: Mask, starts: Places) -> Mask:
    """Return whether a negation stands up to four words before a start, in the same sentence."""
    stops, nots = (np.concatenate([[0], np.cumsum(mask)]) for mask in (stop, denied))
    since = np.maximum(starts - DENIED, 0)
    return np.asarray((nots[starts] > nots[since]) & (stops[starts] == stops[since]))
