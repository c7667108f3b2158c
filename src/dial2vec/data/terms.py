"""Names of clusters: terms that are frequent in a cluster and rare elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from conversations.dialogue import Dialogue
from conversations.words import UNSPACED
from dial2vec.data.function_words import Words, function_words
from dial2vec.data.languages import common_words

# Largest number of dialogues that are read, and of all words.
READ, READ_WORDS = 20_000, 4_000_000
# A term needs this share of the cluster's dialogues, and this ratio to its share of other dialogues.
LEAST_SHARE, LEAST_LIFT = 0.05, 1.5
# A word is dropped if this share of its dialogues has it in one pair of words, which says more.
IN_PAIR = 0.75
# A pair is dropped if this share of other dialogues has one of its words ("the beast").
COMMON = 0.25
# Largest number of pairs of characters that are joined.
JOINED = 100
NAMED_BY, SHOWN = 3, 10
# Two characters are a word if they follow each other in this share of their occurrences (geometric mean).
BOUND = 0.3


@dataclass(frozen=True, slots=True)
class Term:
    """A word, or two consecutive words.

    :param weight: log-odds of the term in the cluster against other dialogues, in standard deviations.
    :param share: share of the cluster's dialogues that have the term, in (0, 1].
    """

    text: str
    weight: float
    share: float


@dataclass(frozen=True, slots=True)
class Terms:
    """The words and the pairs of consecutive words of dialogues, in lower case.

    Words have at least 2 letters. Numbers, names of the speakers, function words that the dialogues show to be such
    (`function_words`), and the commonest words of their languages (`common_words`) do not count; nor do pairs with one
    of them. In scripts without blanks a pair counts if it is a word.

    :param texts: terms of at least two dialogues, sorted.
    :param inside: 1 for each dialogue with the term, int32 [dialogues, terms].
    :param triples: three consecutive words of a script without blanks whose pairs both count.
    """

    texts: list[str]
    inside: csr_array
    triples: frozenset[str]

    @classmethod
    def read(cls, dialogues: Iterable[Dialogue]) -> Terms:
        """Read the terms of dialogues."""
        words = Words.read(dialogues)
        vocabulary, size = words.vocabulary, len(words.vocabulary)
        kept = ~(function_words(words) | common_words(words))
        kept[0] = False
        alone = kept & np.array([len(word) > 1 for word in vocabulary])
        before, after = words.numbers[:-1].astype(np.int64), words.numbers[1:]
        unspaced = np.array([bool(re.match(f"[{UNSPACED}]", word)) for word in vocabulary])
        together = _counted_pairs(words, kept, unspaced) & (before != after)
        # A word is its place; a pair is size * its first word + its second word, which is larger.
        single = alone[words.numbers]
        codes = np.concatenate([words.numbers[single], (before * size + after)[together]])
        owners = np.concatenate([words.dialogues[single], words.dialogues[:-1][together]])
        # Each term once per dialogue.
        numbers, codes = np.unique(codes, return_inverse=True)
        pairs = np.unique(codes.astype(np.int64) * max(1, words.n) + owners)
        columns, rows = pairs // max(1, words.n), pairs % max(1, words.n)
        frequent = np.bincount(columns, minlength=len(numbers)) > 1
        texts = {int(at): _text(vocabulary, int(numbers[at])) for at in np.flatnonzero(frequent)}
        order = sorted(texts, key=texts.__getitem__)
        places = np.full(len(numbers), -1)
        places[order] = np.arange(len(order))
        inside = places[columns] >= 0
        rows, columns = rows[inside], places[columns[inside]]
        counts = csr_array((np.ones(len(rows), dtype=np.int32), (rows, columns)), shape=(words.n, len(order)))
        starts = np.flatnonzero(together[:-1] & together[1:] & unspaced[before[:-1]] & unspaced[after[1:]])
        triples = np.unique(words.numbers[starts[:, None] + np.arange(3)], axis=0)
        joined = frozenset("".join(vocabulary[place] for place in triple) for triple in triples)
        return cls([texts[at] for at in order], counts, joined)

    def of(self, groups: Sequence[int] | NDArray[np.int32], k: int) -> list[list[Term]]:
        """Return the same as `characteristic_terms`.

        :param groups: cluster of each dialogue, from 0.
        """
        own = np.asarray(groups, dtype=np.int64)
        members = csr_array((np.ones(len(own), dtype=np.int32), (own, np.arange(len(own)))), shape=(k, len(own)))
        counts, sizes = (members @ self.inside).toarray(), np.bincount(own, minlength=k)
        everywhere = counts.sum(axis=0)
        return [_best(self, counts[at], everywhere, int(sizes[at]), len(own)) for at in range(k)]


def _text(vocabulary: list[str], code: int) -> str:
    first, second = divmod(code, len(vocabulary))
    if not first:
        return vocabulary[second]
    before, after = vocabulary[first], vocabulary[second]
    # No blank between words of scripts that write none.
    unspaced = re.match(f"[{UNSPACED}]", before) and re.match(f"[{UNSPACED}]", after)
    return before + after if unspaced else f"{before} {after}"


def _counted_pairs(words: Words, kept: NDArray[np.bool_], unspaced: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which pairs of consecutive words count, bool [m - 1].

    A pair of words counts if both are kept. Two characters of a script without blanks count if they mostly stand
    together, because characters of function words are in other words, too; one of them has to be kept.
    """
    before, after = words.numbers[:-1].astype(np.int64), words.numbers[1:].astype(np.int64)
    count = kept[before] & kept[after]
    places = np.flatnonzero(unspaced[before] & unspaced[after])
    single = np.bincount(words.numbers, minlength=len(kept))
    _, pairs, times = np.unique(before[places] * len(kept) + after[places], return_inverse=True, return_counts=True)
    share = times[pairs] / np.sqrt(single[before[places]] * single[after[places]])
    count[places] = (share > BOUND) & (kept[before[places]] | kept[after[places]])
    return count


def characteristic_terms(dialogues: Iterable[Dialogue], groups: Sequence[int], k: int) -> list[list[Term]]:
    """Return at most ten terms of each of k clusters, the most characteristic first.

    Terms are ranked by log-odds of their dialogue counts, with all dialogues as the prior (Monroe, Colaresi and Quinn
    2008, section 3.5.1). So words that all clusters use ("yeah", "okay") weigh nothing, in any language. Only one of
    several terms with the same words is kept ("credit card" and "credit", "flight" and "flights").

    :param groups: cluster of each dialogue, from 0.
    """
    return Terms.read(dialogues).of(groups, k)


def _best(terms: Terms, inside: NDArray[np.int64], everywhere: NDArray[np.int64], size: int, n: int) -> list[Term]:
    """Return the terms of a cluster of `size` among n dialogues."""
    texts = terms.texts
    outside, n_inside, n_outside = everywhere - inside, max(1, size), max(1, n - size)
    weights = log_odds(inside, outside, n_inside, n_outside)
    share, elsewhere = inside / n_inside, outside / n_outside
    fits = (share >= LEAST_SHARE) & (share >= LEAST_LIFT * elsewhere) & (weights > 0) & (inside > 1)
    fitting = np.flatnonzero(fits)
    # Texts are sorted, so terms of equal weight are, too.
    order = [int(place) for place in fitting[np.argsort(-weights[fitting], kind="stable")]]
    common = {texts[place] for place in np.flatnonzero(elsewhere > COMMON)}
    order = [place for place in order if " " not in texts[place] or not common & {*texts[place].split()}]
    counts = {texts[place]: int(inside[place]) for place in order}
    in_pairs, longer = _mostly_in_pairs(counts), _joined(counts, terms.triples)
    kept: list[Term] = []
    for place in order:
        term = Term(longer.get(texts[place], texts[place]), float(weights[place]), float(share[place]))
        if term.text not in in_pairs and not any(says_the_same(term.text, other.text) for other in kept):
            kept.append(term)
        if len(kept) == SHOWN:
            break
    return kept


def _mostly_in_pairs(counts: dict[str, int]) -> set[str]:
    """Return the words that occur mostly in one pair of words."""
    words: set[str] = set()
    for pair, count in counts.items():
        words.update(word for word in pair.split() if word != pair and count >= IN_PAIR * counts.get(word, count + 1))
    return words


def _joined(counts: dict[str, int], triples: frozenset[str]) -> dict[str, str]:
    """Join pairs of characters that overlap and are about as frequent (請求 and 求書), and return the text of each."""
    pairs = [text for text in counts if len(text) == 2 and re.match(f"[{UNSPACED}]{{2}}", text)][:JOINED]
    longer: dict[str, str] = {}
    for pair in pairs:
        text, parts = pair, [pair]
        for other in (*pairs, *reversed(pairs)) if pair not in longer else ():
            alike = min(counts[pair], counts[other]) >= IN_PAIR * max(counts[pair], counts[other])
            after = other[0] == text[-1] and text[-2:] + other[1] in triples
            before = other[1] == text[0] and other[0] + text[:2] in triples
            if alike and other not in parts and (after or before):
                text = text + other[1] if after else other[0] + text
                parts.append(other)
        longer |= {part: text for part in parts if part not in longer}
    return longer


def log_odds(
    inside: NDArray[np.int64], outside: NDArray[np.int64], n_inside: int, n_outside: int
) -> NDArray[np.float64]:
    """Return the log-odds ratio of each term with an informative Dirichlet prior, in standard deviations, [terms].

    The prior is a tenth of all dialogues, with the terms' shares in all dialogues (Monroe et al. 2008, eq. 16 and 22).

    :param inside: number of the cluster's dialogues with each term.
    :param outside: number of other dialogues with each term.
    :param n_inside: number of the cluster's dialogues.
    :param n_outside: number of other dialogues.
    """
    n = n_inside + n_outside
    prior = 0.1 * (inside + outside)
    strength = 0.1 * n
    odds = [
        np.log((count + prior) / np.maximum(size + strength - count - prior, 0.5))
        for count, size in ((inside, n_inside), (outside, n_outside))
    ]
    variance = 1 / (inside + prior) + 1 / (outside + prior)
    return np.asarray((odds[0] - odds[1]) / np.sqrt(variance))


def says_the_same(text: str, other: str) -> bool:
    """Return True if one of two terms says no more than the other, such as "card" and "credit cards"."""
    first, second = ({singular(word) for word in words.split()} for words in (text, other))
    unspaced = re.match(f"[{UNSPACED}]", text) and (text in other or other in text)
    return bool(unspaced) or first <= second or second <= first


def singular(word: str) -> str:
    """Return an English word without the ending of the plural."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def names_of(terms: Sequence[Sequence[Term]], ids: Sequence[int], phrases: Sequence[str] = ()) -> list[str]:
    """Name each cluster by its first three terms; by more terms, or its number, if the name is taken.

    :param phrases: phrase that names each cluster instead, with a capital; its terms do if it is empty.
    """
    names: list[str] = []
    for number, own, phrase in zip(ids, terms, phrases or [""] * len(ids), strict=True):
        texts = [term.text for term in own if term.text not in phrase.lower()]
        parts = [phrase, *texts] if phrase else [", ".join(texts[:NAMED_BY]) or "No words in common", *texts[NAMED_BY:]]
        tried = [", ".join(parts[:n]) for n in range(1, len(parts) + 1)]
        if phrases:
            tried = [name[:1].upper() + name[1:] for name in tried]
        names.append(next((name for name in tried if name not in names), f"{tried[-1]} ({number})"))
    return names
