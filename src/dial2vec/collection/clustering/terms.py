"""Names of clusters: terms that are frequent in a cluster and rare elsewhere."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from dial2vec.data.words import UNSPACED
from dial2vec.dialogue import Dialogue

TOKEN = re.compile(f"[{UNSPACED}]|[^\\W\\d_{UNSPACED}]+(?:['’][^\\W\\d_{UNSPACED}]+)*")
# Largest number of dialogues that are read, of words per dialogue (a long meeting has every word), and of all words.
READ, WORDS, READ_WORDS = 20_000, 2000, 4_000_000
# A term needs this share of the cluster's dialogues, and this ratio to its share of other dialogues.
LEAST_SHARE, LEAST_LIFT = 0.05, 1.5
# A word is dropped if this share of its dialogues has it in one pair of words, which says more.
IN_PAIR = 0.75
# A pair is dropped if this share of other dialogues has one of its words ("the beast").
COMMON = 0.25
NAMED_BY, SHOWN = 3, 10
# "she" is the most characteristic word of a cluster about a woman, and says nothing.
PRONOUNS = frozenset(["he", "him", "his", "she", "her", "hers", "they", "them", "their", "theirs"])


@dataclass(frozen=True, slots=True)
class Term:
    """A word, or two consecutive words.

    :param weight: log-odds of the term in the cluster against other dialogues, in standard deviations.
    :param share: share of the cluster's dialogues that have the term, in (0, 1].
    """

    text: str
    weight: float
    share: float


def terms_of(dialogue: Dialogue) -> set[str]:
    """Return the words and the pairs of consecutive words of a dialogue, in lower case, without its speakers' names.

    Words have at least 2 letters. Numbers and English third-person pronouns do not count.
    """
    names = {word for turn in dialogue.turns for word in TOKEN.findall(turn.speaker.lower())}
    terms: set[str] = set()
    left = WORDS
    for turn in dialogue.turns:
        words = [word for word in TOKEN.findall(turn.text.lower())[:left] if word not in names]
        left -= len(words)
        terms.update(word for word in words if len(word) > 1 and not _is_pronoun(word))
        terms.update(_pair(*two) for two in pairwise(words) if two[0] != two[1] and not any(map(_is_pronoun, two)))
        if left <= 0:
            break
    return terms


def _is_pronoun(word: str) -> bool:
    return re.split("['’]", word)[0] in PRONOUNS


def _pair(first: str, second: str) -> str:
    # No blank between words of scripts that write none.
    return (
        first + second if len(first) == len(second) == 1 and re.match(f"[{UNSPACED}]", first) else f"{first} {second}"
    )


def characteristic_terms(dialogues: Iterable[Dialogue], groups: Sequence[int], k: int) -> list[list[Term]]:
    """Return at most ten terms of each of k clusters, the most characteristic first.

    Terms are ranked by log-odds of their dialogue counts, with all dialogues as the prior (Monroe, Colaresi and Quinn
    2008, section 3.5.1). So words that all clusters use ("yeah", "okay") weigh nothing, in any language. Only one of
    several terms with the same words is kept ("credit card" and "credit", "flight" and "flights").

    :param groups: cluster of each dialogue, from 0.
    """
    return terms_by_group([terms_of(dialogue) for dialogue in dialogues], groups, k)


def terms_by_group(terms: Sequence[set[str]], groups: Sequence[int], k: int) -> list[list[Term]]:
    """Return the same as `characteristic_terms`, from the results of `terms_of`."""
    counts, vocabulary = _counts(terms, groups, k)
    sizes = np.bincount(np.asarray(groups, dtype=int), minlength=k)
    return [_best(counts, vocabulary, sizes, cluster) for cluster in range(k)]


def _counts(terms: Sequence[set[str]], groups: Sequence[int], k: int) -> tuple[NDArray[np.int64], list[str]]:
    """Return the number of dialogues of each cluster with each term, [k, vocabulary], and the vocabulary."""
    everywhere = Counter(term for own in terms for term in own)
    vocabulary = sorted(term for term, count in everywhere.items() if count > 1)
    places = {term: place for place, term in enumerate(vocabulary)}
    at = [(group, places[term]) for group, own in zip(groups, terms, strict=True) for term in own if term in places]
    rows, columns = np.array(at, dtype=np.int64).reshape(-1, 2).T
    counts = csr_array((np.ones(len(rows), dtype=np.int64), (rows, columns)), shape=(k, len(vocabulary)))
    return counts.toarray(), vocabulary


def _best(counts: NDArray[np.int64], vocabulary: list[str], sizes: NDArray[np.int64], cluster: int) -> list[Term]:
    inside, outside = counts[cluster], counts.sum(axis=0) - counts[cluster]
    n_inside, n_outside = max(1, sizes[cluster]), max(1, sizes.sum() - sizes[cluster])
    weights = log_odds(inside, outside, int(n_inside), int(n_outside))
    share, elsewhere = inside / n_inside, outside / n_outside
    fits = (share >= LEAST_SHARE) & (share >= LEAST_LIFT * elsewhere) & (weights > 0) & (inside > 1)
    fitting = [int(place) for place in np.lexsort((np.array(vocabulary), -weights)) if fits[place]]
    common = {vocabulary[place] for place in np.flatnonzero(elsewhere > COMMON)}
    fitting = [place for place in fitting if " " not in vocabulary[place] or not common & {*vocabulary[place].split()}]
    in_pairs = _mostly_in_pairs(vocabulary, inside, fitting)
    order = [place for place in fitting if vocabulary[place] not in in_pairs]
    kept: list[Term] = []
    for place in order:
        term = Term(vocabulary[place], float(weights[place]), float(share[place]))
        if not any(_says_the_same(term.text, other.text) for other in kept):
            kept.append(term)
        if len(kept) == SHOWN:
            break
    return kept


def _mostly_in_pairs(vocabulary: list[str], inside: NDArray[np.int64], fitting: Sequence[int]) -> set[str]:
    """Return the words that occur mostly in one pair of words."""
    words: set[str] = set()
    counts = {vocabulary[place]: int(inside[place]) for place in fitting}
    for pair, count in counts.items():
        words.update(word for word in pair.split() if word != pair and count >= IN_PAIR * counts.get(word, count + 1))
    return words


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


def _says_the_same(text: str, other: str) -> bool:
    first, second = ({_singular(word) for word in words.split()} for words in (text, other))
    return first <= second or second <= first


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def names_of(terms: Sequence[Sequence[Term]], ids: Sequence[int]) -> list[str]:
    """Name each cluster by its first three terms; by more terms, or its id, if the name is taken."""
    names: list[str] = []
    for number, own in zip(ids, terms, strict=True):
        texts = [term.text for term in own]
        name = ", ".join(texts[:NAMED_BY]) or f"cluster {number}"
        for more in range(NAMED_BY + 1, len(texts) + 1):
            if name not in names:
                break
            name = ", ".join(texts[:more])
        names.append(name if name not in names else f"{name} ({number})")
    return names
