"""Names of people in folded texts, in the cases of the languages that an export shows."""

from __future__ import annotations

import operator
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import lru_cache
from itertools import chain, islice, pairwise
from typing import Any

from conversations.guessing.names import is_role
from conversations.redaction.details import Mask
from conversations.redaction.folding import Folded, folded
from conversations.vocabulary import word_lists

WORD = re.compile(r"[^\W_]+")
# Scripts without blanks between words: names are found inside the text.
UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,}")
# German names may be written without their dots.
UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
SHORTEST_PART, SHORTEST_STEM, LONGEST_ENDING = 3, 2, 4
WIDEST_GAP = 3
# Texts that are read to know the languages, and the share of their words from which a language counts.
READ, SHARE = 5000, 0.002


def words_of(name: str) -> tuple[str, ...]:
    """Return the folded words of a name, or of what stands before the @ of an address."""
    return tuple(WORD.findall(folded(name.split("@")[0])))


def single_words(name: str) -> set[str]:
    """Return the words of a name that people may use alone: anna and lee for "Dr Anna Lee (Agent)"."""
    named = {word for word in words_of(name) if not word.isdecimal() and not is_role(word)}
    return {word for word in named if len(word) >= SHORTEST_PART or len(named) == 1}


class SpeakerNames:
    """Finds the names of people in texts.

    :param people: Names of the speakers that are no roles.
    :param named: Further names, which are found in small letters too.
    :param texts: Texts of the export, which show its languages.
    """

    def __init__(self, people: Sequence[str], named: Sequence[str], texts: Iterable[str]) -> None:
        # "Lee, Anna" is called Anna Lee.
        turned = [" ".join(reversed(name.split(",", 1))) for name in people if "," in name]
        self.anywhere = {part for name in people for form in _forms(name) for part in single_words(form)}
        self._always = {words_of(name)[0] for name in named if len(words_of(name)) == 1}
        self._phrases: dict[str, list[tuple[str, ...]]] = {}
        for name in chain.from_iterable(map(_forms, (*people, *turned, *named))):
            words = words_of(name)
            if len(words) > 1 and not is_role(name) and not all(word.isdecimal() for word in words):
                self._phrases.setdefault(words[0], []).append(words)
        phrases = [words for alike in self._phrases.values() for words in alike]
        self._known = self.anywhere.union(self._always, *phrases)
        unspaced = {folded(part) for name in (*people, *named) for part in UNSPACED.findall(name)}
        self._unspaced = (
            re.compile("|".join(map(re.escape, sorted(unspaced, key=len, reverse=True)))) if unspaced else None
        )
        self._stems: dict[str, list[tuple[str, frozenset[str]]]] = {}
        for language in _spoken(texts):
            endings, stems = frozenset(language["endings"]), language.get("stems", {})
            letters = re.compile(f"[{language.get('letters', 'a-z')}]+")
            for word in filter(letters.fullmatch, self._known):
                short = (word.removesuffix(end) + new for end, new in stems.items() if word.endswith(end))
                for stem in {word, *(stem for stem in short if len(stem) >= SHORTEST_STEM)}:
                    self._stems.setdefault(stem, []).append((word, endings))
        self._meant = lru_cache(1 << 16)(self._names_meant)

    def _names_meant(self, word: str) -> frozenset[str]:
        """Return the words of names of which a word may be a form."""
        cuts = range(max(SHORTEST_STEM, len(word) - LONGEST_ENDING), len(word)) if self._stems else ()
        cases = [name for at in cuts for name, endings in self._stems.get(word[:at], ()) if word[at:] in endings]
        return frozenset([*cases, *({word} & self._known)])

    def find(self, text: Folded, here: Set[str]) -> Iterator[Mask]:
        """Yield masks of the form of a text.

        A whole name is found in capital and small letters, a single word of one in small letters only `here`: a
        customer called Bill must not mask "bill" in all other dialogues.

        :param here: Folded words of names that are found in small letters too.
        """
        form = text.form
        if self._unspaced:
            yield from (Mask(*match.span(), "NAME") for match in self._unspaced.finditer(form))
        plain = WORD.findall(form)
        if here.isdisjoint(plain) and not any(map(self._meant, plain)):
            return
        words = list(WORD.finditer(form))
        meant = [self._meant(word[0]) for word in words]
        for at, names in enumerate(meant):
            for phrase in sorted(
                (each for name in names for each in self._phrases.get(name, ())), key=len, reverse=True
            ):
                part = words[at : at + len(phrase)]
                if _close(part) and all(map(operator.contains, meant[at:], phrase)) and len(part) == len(phrase):
                    yield Mask(part[0].start(), part[-1].end(), "NAME")
                    break
        for word, names in zip(words, meant, strict=True):
            sure = word[0] in here or not (self._always | here).isdisjoint(names)
            if sure or not (self.anywhere.isdisjoint(names) or text.is_small(*word.span())):
                yield Mask(*word.span(), "NAME")


def _forms(name: str) -> set[str]:
    """Return a name as it is, and with ae for ä."""
    name = unicodedata.normalize("NFC", name)
    return {name, name.casefold().translate(UMLAUTS)}


def _close(words: Sequence[re.Match[str]]) -> bool:
    """Return whether at most `WIDEST_GAP` characters separate the words."""
    return all(after.start() - before.end() <= WIDEST_GAP for before, after in pairwise(words))


def _spoken(texts: Iterable[str]) -> list[dict[str, Any]]:
    """Return what `endings.yaml` says of the languages that some texts show."""
    counts = Counter(word for text in islice(texts, READ) for word in WORD.findall(folded(text)))
    least = SHARE * counts.total()
    languages = word_lists("endings").values()
    return [each for each in languages if "letters" in each or sum(counts[word] for word in each["words"]) > least]
