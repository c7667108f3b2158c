"""Names of groups: the phrase that is near to what a group says, and far from what each other group says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from conversations.dialogue import Dialogue
from dial2vec.collection.clustering.clusters import Cluster
from dial2vec.collection.clustering.partition import Groups, Vectors
from dial2vec.data.languages import languages_of
from dial2vec.data.phrases import LEAST, Mask, Phrases, Speech
from dial2vec.data.terms import LEAST_LIFT, Term, log_odds, names_of
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.names import GENERAL
from dial2vec.encoder.nearest import unit_rows
from dial2vec.encoder.student import StudentEncoder

# A candidate is in this share of a group's dialogues, one with a person's or a place's name in this one; so many of the
# best are compared.
SHARE, SHARE_OF_NAMES, COMPARED = 0.02, 0.3, 150
# Share of its places where a candidate stands by itself, without a word of meaning beside it.
WHOLE = 0.3
# Part of the largest cosine to another group that a score loses, and factor for a single word.
OTHERS, SINGLE = 0.5, 0.8
# A sibling's phrase is left for one of this share of its score. A second phrase of at most two words of meaning follows
# one that fewer dialogues have; it has this share of the best score, and is in this share of dialogues.
FREE, COVERED, SECOND, SECOND_COVERED = 0.85, 0.4, 0.25, 0.1
# Best score below which terms say more than a phrase. Words that share so many letters are one.
CLEAR, STEM = 0.12, 4
UNCLEAR = "Unclear: mostly names"
# Topics of which an area of many has its name.
SHOWN_OF_AREA = 2


@dataclass(frozen=True, slots=True)
class Candidates:
    """Phrases that may name a group, the best first.

    :param cover: share of the group's dialogues with all words of meaning of the phrase, anywhere.
    """

    phrases: NDArray[np.int64]
    scores: NDArray[np.float64]
    cover: NDArray[np.float64]
    units: Vectors


@dataclass(frozen=True, slots=True)
class Namer:
    """Phrases of a sample of dialogues, by which any grouping of them is named.

    :param rows: weighted row of each word in the table of the general student, [vocabulary, d].
    :param has: 1 for each word of a dialogue, [dialogues, vocabulary].
    :param units: vectors of the dialogues, [dialogues, d].
    :param foreign: dialogues in another language than the student's, bool [dialogues].
    """

    phrases: Phrases
    rows: Vectors
    has: csr_array
    units: Vectors
    foreign: Mask

    @classmethod
    def read(cls, dialogues: Iterable[Dialogue]) -> Namer:
        """Read the phrases of dialogues."""
        speech = Speech.read(dialogues)
        words = speech.words
        student = load_encoder(GENERAL)
        assert isinstance(student, StudentEncoder)
        rows, weights = student.word_rows(words.vocabulary)
        said = words.numbers > 0
        ones = np.ones(int(said.sum()), dtype=np.float32)
        shape = (words.n, len(words.vocabulary))
        has = csr_array((ones, (words.dialogues[said], words.numbers[said])), shape=shape)
        has.sum_duplicates()
        units = unit_rows(has @ rows)
        has.data[:] = 1
        foreign = np.array([code not in ("en", "") for code in languages_of(words)], dtype=bool)
        return cls(Phrases.find(speech, weights), rows, has, units, foreign)

    def names(
        self, groups: Groups, terms: Sequence[Sequence[Term]], ids: Sequence[int], kin: Sequence[str] | None = None
    ) -> tuple[list[str], list[bool]]:
        """Return the name of each group, and whether it is unclear.

        :param groups: group of each dialogue, from 0.
        :param terms: terms of each group; they name it if no phrase does.
        :param ids: numbers that tell groups of the same terms apart.
        :param kin: name of what each group is a part of, which parts do not repeat; all are siblings by default.
        """
        names, k = [capital(name) for name in names_of(terms, ids)], len(terms)
        unclear, found = [False] * k, self._candidates(groups, k)
        chosen: dict[str, list[set[str]]] = {}
        for group in np.argsort(-np.bincount(groups, minlength=k), kind="stable"):
            own, inside = found[group], groups == group
            foreign = self.foreign[inside].mean() > 0.5 if inside.any() else True
            if not foreign and len(own.scores) and own.scores[0] >= CLEAR:
                parent = "" if kin is None else kin[group]
                siblings = chosen.setdefault(parent, [_stems(parent.split(", ")[0].split())] if parent else [])
                names[group] = capital(
                    ", ".join(self.phrases.wording(at, inside) for at in self._choose(own, siblings))
                )
            elif not foreign and self._mostly_names(terms[group]):
                names[group], unclear[group] = UNCLEAR, True
        return _told_apart(names, terms, ids), unclear

    def _choose(self, own: Candidates, siblings: list[set[str]]) -> list[int]:
        """Return one or two phrases of a group, and add the first one's words to those of its siblings."""
        texts = self.phrases.speech.words.vocabulary
        stems = [_stems(texts[word] for word in key if word) for key in self.phrases.keys[own.phrases]]
        free = [not any(stem <= other or other <= stem for other in siblings) for stem in stems]
        good = np.flatnonzero(own.scores >= FREE * own.scores[0])
        head = int(next((at for at in good if free[at]), 0))
        siblings.append(stems[head])
        if len(stems[head]) > 1 and own.cover[head] >= COVERED and free[head]:
            return [int(own.phrases[head])]
        value = own.scores * (1 - 0.5 * (own.units @ own.units[head]))
        fits = (own.scores >= SECOND * own.scores[0]) & (own.cover >= SECOND_COVERED)
        fits &= [len(stem) <= 2 and not stem & stems[head] for stem in stems]
        second = [int(own.phrases[np.argmax(np.where(fits, value, -np.inf))])] if fits.any() else []
        return [int(own.phrases[head]), *second]

    def _candidates(self, groups: Groups, k: int) -> list[Candidates]:
        n, phrases = len(groups), self.phrases
        members = csr_array((np.ones(n, dtype=np.float32), (groups, np.arange(n))), shape=(k, n))
        centres = unit_rows(members @ self.units)
        mean = centres.mean(axis=0) if k > 1 else np.zeros_like(centres[0])
        directions = unit_rows(centres - mean)
        counts, everywhere = (members @ phrases.inside).astype(np.int64).tocsr(), np.asarray(phrases.inside.sum(axis=0))
        sizes, names = np.bincount(groups, minlength=k), phrases.speech.names
        found = []
        for group in range(k):
            part = slice(counts.indptr[group], counts.indptr[group + 1])
            at, inside = counts.indices[part].astype(np.int64), counts.data[part]
            outside, size, rest = everywhere[at] - inside, max(sizes[group], 1), max(n - sizes[group], 1)
            share = inside / size
            fits = (inside >= LEAST) & (share >= SHARE) & (share >= LEAST_LIFT * outside / rest)
            fits &= (phrases.whole[at] >= WHOLE) & ((share >= SHARE_OF_NAMES) | ~names[phrases.keys[at]].any(axis=1))
            best = np.argsort(-log_odds(inside[fits], outside[fits], size, rest), kind="stable")[:COMPARED]
            at, share = at[fits][best], share[fits][best]
            keys = phrases.keys[at]
            units = unit_rows(
                unit_rows(self.rows[keys].sum(axis=1) - (keys == 0).sum(axis=1)[:, None] * self.rows[0]) - mean
            )
            cosines = units @ directions.T
            near = cosines[:, group].copy()
            cosines[:, group] = -1 if k > 1 else 0
            cover = self._cover(keys, np.flatnonzero(groups == group))
            gentle = (
                (0.05 + phrases.whole[at]) ** 0.1
                * (0.1 + phrases.told[at]) ** 0.5
                * np.sqrt(np.minimum(1, cover / 0.2))
            )
            single = np.where(phrases.meant[at] == 1, SINGLE, 1)
            scores = (near - OTHERS * cosines.max(axis=1)) * gentle * single * share / (share + SHARE)
            order = np.argsort(-scores, kind="stable")
            found.append(Candidates(at[order], scores[order], cover[order], units[order]))
        return found

    def _cover(self, keys: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the share of dialogues with all words of each phrase."""
        words, places = np.unique(keys, return_inverse=True)
        has = self.has[rows][:, words].toarray() > 0
        has[:, words == 0] = True
        return has[:, places.reshape(keys.shape)].all(axis=2).mean(axis=0) if len(rows) else np.zeros(len(keys))

    def _mostly_names(self, terms: Sequence[Term]) -> bool:
        """Return whether most of the first terms are names of people or places, by their capitals."""
        places = {word: place for place, word in enumerate(self.phrases.speech.words.vocabulary)}
        first = [[places.get(word, 0) for word in term.text.split()] for term in terms[:5]]
        return sum(bool(self.phrases.speech.names[words].any()) for words in first) > len(first) / 2


def area_name(topics: Sequence[Cluster], centres: Vectors) -> str:
    """Name an area by its largest topics that are unlike, "and n more".

    :param centres: centres of the topics.
    """
    # Two of three topics "and 1 more" would be as long as all three.
    most = len(topics) if len(topics) < 4 else SHOWN_OF_AREA
    sizes, alike = np.array([topic.size for topic in topics]), np.asarray(centres @ centres.T)
    unlike, chosen = np.ones(len(topics)), list[int]()
    for _ in range(most):
        value = np.where(unlike > 0, [not topic.unclear for topic in topics] * sizes * unlike, -1)
        chosen.append(int(np.argmax(value)))
        unlike = np.minimum(unlike, 1 - alike[chosen[-1]])
        unlike[chosen] = -1
    if len(topics) == 1:
        return topics[0].name
    first, *rest = (topics[at].name.split(", ")[0] for at in chosen)
    rest = [head if head[1:2].isupper() else head[:1].lower() + head[1:] for head in rest]
    return ", ".join([first, *rest]) + (f" and {len(topics) - most} more" if len(topics) > most else "")


def capital(name: str) -> str:
    """Return a name with a capital first letter."""
    return name[:1].upper() + name[1:]


def _stems(words: Iterable[str]) -> set[str]:
    return {part[:STEM] for word in words for part in word.lower().split("-")}


def _told_apart(names: list[str], terms: Sequence[Sequence[Term]], ids: Sequence[int]) -> list[str]:
    """Add a term that is not in its name, or the id, to a name that another group has."""
    taken: set[str] = set()
    for at, name in enumerate(names):
        others = [term.text for term in terms[at] if term.text not in name.lower()]
        tried = [name, *(f"{name}, {text}" for text in others), f"{name} ({ids[at]})"]
        names[at] = next(text for text in tried if text not in taken)
        taken.add(names[at])
    return names
