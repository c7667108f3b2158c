"""Phrases that customers say, such as "check my account balance": candidates for the names of groups, in English."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from conversations.dialogue import Dialogue
from conversations.vocabulary import word_set
from dial2vec.data.function_words import WORDS, Words
from dial2vec.data.languages import common_words

Mask = NDArray[np.bool_]
Places = NDArray[np.int64]
# A word; or an address, a code or another character, at which a phrase ends.
PART = re.compile(r"\S*(?:[@\d]|://|www\.)\S*|([^\W\d_]+(?:['’-][^\W\d_]+)*)|\S")
NOT = re.compile(r"(?:not|no|never|cannot|without|(?:can|do|did|does|wo|is|was|has|have)nt|\w+n['’]t)$")
# What joins a phrase that mostly follows it: one that begins with "not", and any other.
BEFORE_NOT = re.compile(r"(?:do|did|does|is|are|was|were|has|have|had|can|could|will|would)$")
BEFORE = re.compile(rf"(?:how|new|first|more)$|{NOT.pattern}")
# They belong to the verb before them: "top up", "log out".
PARTICLES = frozenset(["up", "off", "out", "down", "back", "away"])
# Words of a phrase, those of meaning, those between them, and dialogues that say it.
LONGEST, MEANT, BETWEEN, LEAST = 5, 3, 2, 3
# Weight in the student's table from which a word has meaning by itself: "want" has 0.40, "find" 0.50.
HEAVY = 0.48
# A name has a capital at this share of its places inside sentences.
CAPITAL = 0.8
# If the customer has less than this share of the characters, the other side says what it is about.
SILENT = 0.15
# Words before a phrase among which "not" denies it, and share of its places that have the same word before them.
DENIED, JOINED = 4, 0.5


class Speech(NamedTuple):
    """Words of customers in small letters, how each is mostly written, and whether it is a name.

    Punctuation, numbers, addresses and the speakers' names are "".
    """

    words: Words
    written: list[str]
    names: Mask

    @classmethod
    def read(cls, dialogues: Iterable[Dialogue]) -> Speech:
        """Read about 2,000 words of each dialogue."""
        forms, numbers, ends = {"": 0}, array("i"), [0]
        for dialogue in dialogues:
            left_out = {part for turn in dialogue.turns for part in PART.findall(turn.speaker.lower())}
            text = " . ".join(_customers_turns(dialogue))
            words = ("" if word.lower() in left_out else word for word in PART.findall(text[: 10 * WORDS]))
            numbers.extend(forms.setdefault(word, len(forms)) for word in words)
            numbers.append(0)
            ends.append(len(numbers))
        places: dict[str, int] = {}
        small = np.array([places.setdefault(form.lower(), len(places)) for form in forms])
        cased, written, listed = np.array(numbers, dtype=np.int32), [*places], [*forms]
        # At the start of a sentence any word has a capital.
        times = np.bincount(cased[1:][cased[:-1] > 0], minlength=len(forms))
        capital = np.array([form != form.lower() for form in forms])
        share = np.bincount(small, times * capital) / np.maximum(np.bincount(small, times), 1)
        for form in np.lexsort((~capital, times)):
            written[small[form]] = listed[form]
        owners = np.repeat(np.arange(len(ends) - 1, dtype=np.int32), np.diff(ends))
        return cls(Words([*places], small[cased].astype(np.int32), owners, len(ends) - 1), written, share >= CAPITAL)


def _customers_turns(dialogue: Dialogue) -> list[str]:
    """Return what the customer says, or all speakers, if none is called a customer or the customer is silent."""
    customers, every = word_set("speakers", "askers"), [turn.text for turn in dialogue.turns]
    own = [turn.text for turn in dialogue.turns if turn.speaker.lower() in customers]
    return own if sum(map(len, own)) > SILENT * sum(map(len, every)) else every


@dataclass(frozen=True, slots=True)
class Phrases:
    """Runs of words with a word of meaning at both ends, or "not" before the first one.

    Those with the same words of meaning are one phrase ("change a seat" and "change my seat").

    :param keys: words of meaning and "not" of each phrase, and 0 for others, int64 [p, 5].
    :param meant: number of its words of meaning, [p].
    :param inside: 1 for each dialogue with the phrase, [dialogues, p].
    :param whole: share of its places without a word of meaning beside it, on the worse side, and not denied, [p].
    :param numbers: phrase at each place, ascending, [q].
    :param starts: first word at each place, [q].
    :param ends: end of the last word at each place, [q].
    """

    speech: Speech
    keys: Places
    meant: Places
    inside: csr_array
    whole: NDArray[np.float64]
    numbers: Places
    starts: Places
    ends: Places

    @classmethod
    def find(cls, speech: Speech, weights: NDArray[np.float32]) -> Phrases:
        """Find the phrases of at least three dialogues.

        :param weights: weight of each word in the student's table, [vocabulary].
        """
        words, at = speech.words, speech.words.numbers.astype(np.int64)
        tests = (NOT.match, PARTICLES.__contains__, lambda text: len(text) > 2)
        no, particle, long = (np.array([bool(test(text)) for text in words.vocabulary])[at] for test in tests)
        heavy = ((weights >= HEAVY) & ~common_words(words))[at] & ~no
        begins = heavy & long, heavy | no & np.roll(heavy, -1)
        heavy |= particle & np.roll(heavy, 1)
        stops, many, nots = (np.concatenate([[0], np.cumsum(mask)]) for mask in (at == 0, heavy, no))
        codes = np.random.default_rng(1).integers(1, 2**63, len(weights), dtype=np.uint64)
        # All negations are one.
        codes = np.where(no, np.uint64(1), codes[at]) * (heavy | no)
        value, starts, ends = _runs(heavy, begins, codes, many, nots, stops)
        _, numbers = np.unique(value, return_inverse=True)
        pairs = np.unique(numbers * words.n + words.dialogues[starts])
        often = np.bincount(pairs // max(words.n, 1), minlength=1) >= LEAST
        order = np.argsort(numbers, kind="stable")
        order = order[often[numbers[order]]]
        numbers, starts, ends = (np.cumsum(often) - 1)[numbers[order]], starts[order], ends[order]
        _, first, times = np.unique(numbers, return_index=True, return_counts=True)
        span = np.minimum(starts[first, None] + np.arange(LONGEST), ends[first, None] - 1)
        kept = (codes > 0)[span] & np.diff(span, axis=1, prepend=-1).astype(bool)
        inside = csr_array((np.ones(len(numbers)), (words.dialogues[starts], numbers)), shape=(words.n, len(first)))
        inside.data = np.minimum(inside.data, 1)
        stop, last_no = (
            np.maximum.accumulate(np.where(mask, np.arange(len(at)), -9))[starts - 1] for mask in (at == 0, no)
        )
        denied = (last_no > stop) & (last_no >= starts - DENIED)
        neighbours = [np.bincount(numbers, mask) for mask in (heavy[starts - 1], heavy[ends], 2 * denied)]
        whole = 1 - np.max(neighbours, axis=0) / times
        meant = (kept & heavy[span]).sum(axis=1)
        return cls(speech, at[span] * kept, meant, inside, whole, numbers, starts, ends)

    def wording(self, phrase: int, dialogues: Mask) -> str:
        """Return how a phrase is mostly said in some dialogues, with the word that mostly comes before it there."""
        words, texts = self.speech.words, self.speech.words.vocabulary
        own = np.arange(*np.searchsorted(self.numbers, [phrase, phrase + 1]))
        own = own[dialogues[words.dialogues[self.starts[own]]]]
        wordings = [tuple(words.numbers[self.starts[at] - 1 : self.ends[at]].tolist()) for at in own]
        [(best, times)] = Counter(wording[1:] for wording in wordings).most_common(1)
        [(before, most)] = Counter(wording[0] for wording in wordings if wording[1:] == best).most_common(1)
        joins = (BEFORE_NOT if texts[best[0]] == "not" else BEFORE).match(texts[before])
        joined = (before, *best) if joins and most >= JOINED * times else best
        return " ".join(self.speech.written[word] for word in joined)


def _runs(
    heavy: Mask, begins: tuple[Mask, Mask], codes: NDArray[np.uint64], *totals: Places
) -> tuple[NDArray[np.uint64], Places, Places]:
    """Return a number of the words of meaning of each run that may be a phrase, its start and its end.

    :param begins: places where a single word may stand, and where a longer phrase may begin.
    :param totals: words of meaning, negations and borders before each place.
    """
    runs = []
    for length in range(1, LONGEST + 1):
        starts = np.arange(len(heavy) - length + 1)
        n, n_not, n_stops = (total[starts + length] - total[starts] for total in totals)
        fits = begins[length > 1][starts] & heavy[starts + length - 1] & (n_stops == 0)
        starts = starts[fits & (n <= MEANT) & (n_not <= 1) & (length - n - n_not <= BETWEEN)]
        value = np.zeros(len(starts), dtype=np.uint64)
        for own in (codes[starts + place] for place in range(length)):
            value = np.where(own > 0, value * np.uint64(0x9E3779B97F4A7C15) + own, value)
        runs.append((value, starts, starts + length))
    value, starts, ends = (np.concatenate(parts) for parts in zip(*runs, strict=True))
    return value, starts, ends
