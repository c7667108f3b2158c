"""What a cluster is called: the terms that its dialogues have and others have not."""

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
# Dialogues that are read for names, and of each so many words: one long meeting has them all.
READ, WORDS = 20_000, 2000
# A term names a cluster that has it in so many of its dialogues, and so many times as often as the others have it.
LEAST_SHARE, LEAST_LIFT = 0.05, 1.5
IN_PAIR = 0.75
# A pair with a word that so many dialogues of other clusters have ("the beast") says no more than the other word.
COMMON = 0.25
NAMED_BY, SHOWN = 3, 10
# Words of dialogues that are read for names, together.
READ_WORDS = 4_000_000
# Where a cluster is about a woman, "she" is its most characteristic word, and says nothing.
PRONOUNS = frozenset(["he", "him", "his", "she", "her", "hers", "they", "them", "their", "theirs"])


@dataclass(frozen=True, slots=True)
class Term:
    """A word, or two that follow each other.

    :param weight: log-odds of a dialogue of the cluster against others, in standard deviations.
    :param share: of the cluster's dialogues that have it, in (0, 1].
    """

    text: str
    weight: float
    share: float


def terms_of(dialogue: Dialogue) -> set[str]:
    """Return the words of a dialogue, in small letters, and the pairs of them; not the names of its speakers.

    Each counts once, however often it is said. Words are of two letters at least; numbers are none, nor are English
    pronouns of the third person.
    """
    names = {word for turn in dialogue.turns for word in TOKEN.findall(turn.speaker.lower())}
    found: set[str] = set()
    left = WORDS
    for turn in dialogue.turns:
        words = [word for word in TOKEN.findall(turn.text.lower())[:left] if word not in names]
        left -= len(words)
        found.update(word for word in words if len(word) > 1 and not _is_pronoun(word))
        found.update(_pair(*two) for two in pairwise(words) if two[0] != two[1] and not any(map(_is_pronoun, two)))
        if left <= 0:
            break
    return found


def _is_pronoun(word: str) -> bool:
    return re.split("['’]", word)[0] in PRONOUNS


def _pair(first: str, second: str) -> str:
    # Scripts that write no blank get none.
    return (
        first + second if len(first) == len(second) == 1 and re.match(f"[{UNSPACED}]", first) else f"{first} {second}"
    )


def characteristic_terms(dialogues: Iterable[Dialogue], groups: Sequence[int], k: int) -> list[list[Term]]:
    """Return the terms of each of k clusters, the most characteristic first, at most ten, possibly none.

    Counted are dialogues, and compared by log-odds with all dialogues as the prior (Monroe, Colaresi and Quinn 2008,
    section 3.5.1), so that words which all use ("yeah", "okay") weigh nothing, in any language. Of terms that say the
    same ("credit card" and "credit", "flight" and "flights") one is kept.

    :param groups: cluster of each dialogue, from 0.
    """
    counts, vocabulary = _counts([terms_of(dialogue) for dialogue in dialogues], groups, k)
    sizes = np.bincount(np.asarray(groups, dtype=int), minlength=k)
    return [_best(counts, vocabulary, sizes, cluster) for cluster in range(k)]


def _counts(found: Sequence[set[str]], groups: Sequence[int], k: int) -> tuple[NDArray[np.int64], list[str]]:
    """Return how many dialogues of each cluster have each term, [k, terms], and the terms."""
    everywhere = Counter(term for terms in found for term in terms)
    vocabulary = sorted(term for term, count in everywhere.items() if count > 1)
    places = {term: place for place, term in enumerate(vocabulary)}
    at = [(group, places[term]) for group, terms in zip(groups, found, strict=True) for term in terms if term in places]
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
    """Return the words that are mostly said in one pair, which says more."""
    found: set[str] = set()
    counts = {vocabulary[place]: int(inside[place]) for place in fitting}
    for pair, count in counts.items():
        found.update(word for word in pair.split() if word != pair and count >= IN_PAIR * counts.get(word, count + 1))
    return found


def log_odds(
    inside: NDArray[np.int64], outside: NDArray[np.int64], n_inside: int, n_outside: int
) -> NDArray[np.float64]:
    """Return the log-odds ratio of each term with an informative Dirichlet prior, in standard deviations, [terms].

    The prior is a tenth of all dialogues, with the shares that terms have in all (Monroe et al. 2008, eq. 16 and 22).

    :param inside: dialogues of the cluster that have each term.
    :param outside: other dialogues that have it.
    :param n_inside: dialogues of the cluster.
    :param n_outside: other dialogues.
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


def _says_the_same(one: str, other: str) -> bool:
    first, second = ({_singular(word) for word in text.split()} for text in (one, other))
    return first <= second or second <= first


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def names_of(terms: Sequence[Sequence[Term]], ids: Sequence[int]) -> list[str]:
    """Return a name for each cluster: its first three terms, and more where another cluster had the same."""
    names: list[str] = []
    for number, found in zip(ids, terms, strict=True):
        texts = [term.text for term in found]
        name = ", ".join(texts[:NAMED_BY]) or f"cluster {number}"
        for more in range(NAMED_BY + 1, len(texts) + 1):
            if name not in names:
                break
            name = ", ".join(texts[:more])
        names.append(name if name not in names else f"{name} ({number})")
    return names
