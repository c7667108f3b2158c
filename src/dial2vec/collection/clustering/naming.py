"""Names of groups: the phrase that is near to what a group says, and far from what each other group says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from conversations.dialogue import Dialogue
from dial2vec.collection.clustering.clusters import Cluster
from dial2vec.collection.clustering.partition import Groups, Vectors
from dial2vec.data.languages import languages_of
from dial2vec.data.phrases import LEAST, Mask, Phrases, Speech
from dial2vec.data.terms import LEAST_LIFT, Term, names_of
from dial2vec.encoder.names import GENERAL, resolve
from dial2vec.encoder.nearest import unit_rows
from dial2vec.encoder.student import StudentEncoder

# Share of a group's dialogues that say a candidate, and one with a name, and share at which a score is half.
SHARE, SHARE_OF_NAMES, RARE = 0.02, 0.3, 0.03
# Share of its places where a candidate stands by itself, without a word of meaning beside it.
WHOLE = 0.3
# Part of the largest cosine to another group that a score loses, and factor for a single word.
OTHERS, SINGLE = 0.5, 0.8
# A phrase that says the same as a sibling's gives way to one of this share of its score. If it gives not, is a single
# word, or is in fewer dialogues, a second one follows, of a share of the best score and in a share of the dialogues.
FREE, COVERED, SECOND, LEAST_SECOND = 0.85, 0.6, 0.25, 0.05
# Best score from which a phrase is a name. Words that begin with the same letters count as one.
CLEAR, STEM = 0.12, 4
# Name of a group that people and places tell from others, and number of topics that name an area of many.
UNCLEAR, OF_AREA = "Unclear: mostly names", 2


class Candidates(NamedTuple):
    """Phrases that may name a group, the best first, with the share of its dialogues that say them."""

    phrases: NDArray[np.int64]
    scores: NDArray[np.float64]
    shares: NDArray[np.float64]
    units: Vectors


@dataclass(frozen=True, slots=True)
class Namer:
    """Phrases of a sample of dialogues, by which any grouping of them is named.

    :param rows: row of each word in the table of the general student, times its weight, [vocabulary, d].
    :param units: vectors of the dialogues, [dialogues, d].
    :param foreign: dialogues in another language than the student's, bool [dialogues].
    """

    phrases: Phrases
    rows: Vectors
    units: Vectors
    foreign: Mask

    @classmethod
    def read(cls, dialogues: Iterable[Dialogue]) -> Namer:
        """Read the phrases of dialogues."""
        speech = Speech.read(dialogues)
        words = speech.words
        rows, weights = StudentEncoder.from_pretrained(resolve(GENERAL)).word_rows(words.vocabulary)
        inside = words.numbers > 0
        places, shape = (words.dialogues[inside], words.numbers[inside]), (words.n, len(rows))
        units = unit_rows(csr_array((np.ones(len(places[0]), dtype=np.float32), places), shape=shape) @ rows)
        foreign = np.array([code not in ("en", "") for code in languages_of(words)], dtype=bool)
        return cls(Phrases.find(speech, weights), rows, units, foreign)

    def names(
        self, groups: Groups, terms: Sequence[Sequence[Term]], ids: Sequence[int], wholes: Sequence[str] | None = None
    ) -> tuple[list[str], list[bool]]:
        """Return the name of each group, and whether it is unclear.

        :param groups: group of each dialogue, from 0.
        :param terms: terms of each group, which name it if no phrase does.
        :param ids: numbers of the groups, which tell names apart.
        :param wholes: name of what each group is a part of; its parts are siblings. None if all groups are.
        """
        names, k = [""] * len(terms), len(terms)
        unclear, chosen = [False] * k, dict[str, list[set[str]]]()
        candidates = self._candidates(groups, k)
        for group in np.argsort(-np.bincount(groups, minlength=k), kind="stable"):
            own, inside, whole = candidates[group], groups == group, wholes[group] if wholes else ""
            siblings = chosen.setdefault(whole, [_stems(whole.split(", ")[0])] if whole else [])
            if not inside.any() or self.foreign[inside].mean() > 0.5:
                continue
            if len(own.scores) and own.scores[0] >= CLEAR:
                names[group] = ", ".join(self.phrases.wording(at, inside) for at in self._choose(own, siblings))
            elif self._of_names(terms[group]):
                names[group], unclear[group] = UNCLEAR, True
        return names_of(terms, ids, names), unclear

    def _choose(self, own: Candidates, siblings: list[set[str]]) -> list[int]:
        """Return one or two phrases of a group; the words of the first one join those of its siblings."""
        texts = self.phrases.speech.words.vocabulary
        stems = [_stems(" ".join(texts[word] for word in key)) for key in self.phrases.keys[own.phrases]]
        free = [not any(stem <= other or other <= stem for other in siblings) for stem in stems]
        head = next((at for at in np.flatnonzero(own.scores >= FREE * own.scores[0]) if free[at]), 0)
        siblings.append(stems[head])
        second = (own.scores >= SECOND * own.scores[0]) & (own.shares >= LEAST_SECOND)
        second &= [len(stem) <= 2 and not stem & stems[head] for stem in stems]
        if not second.any() or (len(stems[head]) > 1 and own.shares[head] >= COVERED and free[head]):
            return [int(own.phrases[head])]
        value = np.where(second, own.scores * (1 - 0.5 * (own.units @ own.units[head])), 0)
        return [int(own.phrases[head]), int(own.phrases[np.argmax(value)])]

    def _candidates(self, groups: Groups, k: int) -> list[Candidates]:
        n, phrases, sizes = len(groups), self.phrases, np.bincount(groups, minlength=k)
        members = csr_array((np.ones(n, dtype=np.float32), (groups, np.arange(n))), shape=(k, n))
        centres = unit_rows(members @ self.units)
        mean = centres.mean(axis=0) * (k > 1)
        directions = unit_rows(centres - mean)
        counts = (members @ phrases.inside).astype(np.int64).tocsr()
        everywhere = np.asarray(counts.sum(axis=0))
        named = np.asarray(phrases.speech.names[phrases.keys].any(axis=1)).astype(int)
        candidates = []
        for group, size in enumerate(sizes):
            [at], inside = counts[[group]].nonzero()[1:], counts[[group]].data
            share, outside = inside / max(size, 1), everywhere[at] - inside
            fits: Mask = (
                (inside >= LEAST) & (phrases.whole[at] >= WHOLE) & (share * max(n - size, 1) >= LEAST_LIFT * outside)
            )
            fits &= share >= np.array([SHARE, SHARE_OF_NAMES])[named[at]]
            at, share = at[fits], share[fits]
            units = unit_rows(unit_rows(self.rows[phrases.keys[at]].sum(axis=1)) - mean)
            near = units @ directions.T
            other = np.delete(near, group, axis=1).max(axis=1, initial=-1) if k > 1 else 0
            scores = (near[:, group] - OTHERS * other) * np.where(phrases.meant[at] == 1, SINGLE, 1) * share
            scores *= (0.05 + phrases.whole[at]) ** 0.1 / (share + RARE)
            order = np.argsort(-scores, kind="stable")
            candidates.append(Candidates(*(values[order] for values in (at, scores, share, units))))
        return candidates

    def _of_names(self, terms: Sequence[Term]) -> bool:
        """Return whether most of the first terms are names of people or places, by their capitals."""
        speech, texts = self.phrases.speech, [set(term.text.split()) for term in terms[:5]]
        names = {word for word, name in zip(speech.words.vocabulary, speech.names, strict=True) if name}
        return sum(bool(words & names) for words in texts) > len(texts) / 2


def area_name(topics: Sequence[Cluster], centres: Vectors) -> str:
    """Name an area by its largest topics that are unlike, "and n more"."""
    if len(topics) == 1:
        return topics[0].name
    # Two of three "and 1 more" would be as long as all three.
    most = len(topics) if len(topics) < 4 else OF_AREA
    value, chosen = np.array([topic.size * (not topic.unclear) for topic in topics], dtype=float), list[int]()
    while len(chosen) < most:
        chosen.append(int(np.argmax(value)))
        value *= 1 - centres @ centres[chosen[-1]]
        value[chosen] = -1
    heads = [topics[at].name.split(", ")[0] for at in chosen]
    # Not "ATM".
    rest = [head[:1].lower() + head[1:] if head[1:2].islower() else head for head in heads[1:]]
    return ", ".join([heads[0], *rest]) + (f" and {len(topics) - most} more" if len(topics) > most else "")


def _stems(text: str) -> set[str]:
    return {word[:STEM] for word in text.lower().replace("-", " ").split()}
