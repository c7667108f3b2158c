"""Masks for personal data: e-mail addresses, phone numbers, card numbers and the speakers' names.

`phonenumbers`, Google's rules for every country, finds phone numbers: it needs no other package, is imported in 0.1 s
and never uses the network. Two larger packages were tried. presidio-analyzer 2.2.366 brings spaCy (392 MB), and its
e-mail recognizer asks the network for a list of domains. scrubadub 2.0.1 (413 MB) leaves the domain of an address and
misses a card number with spaces. Both could add names found by a language model, which has to be downloaded.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, pairwise
from typing import NamedTuple

from conversations.dialogue import Dialogue, Quarantined, Turn, Value
from conversations.errors import CorpusError, did_you_mean
from conversations.guessing.names import is_role, plain
from conversations.progress import counted
from conversations.result import ImportResult
from conversations.vocabulary import by_word, word_set

COUNTRIES = ("US", "GB")
EMAIL = re.compile(r"[^\s@<>()\[\],;:\"]{1,64}@[^\s@<>()\[\],;:\"]{1,255}\.[^\W\d_]{2,24}")
# 13 to 19 digits, at most one blank or dash between two; the first digit is one of card issuers.
CARD = re.compile(r"(?<![\w+])[2-6](?:[ -]?\d){12,18}(?![\w])")
# Visa; Mastercard and Maestro; Mastercard; American Express; Diners; JCB; Discover and UnionPay.
ISSUERS = re.compile(
    r"4\d{12}(?:\d{3}){0,2}|5[0-8]\d{14}|2[2-7]\d{14}|3[47]\d{13}|3[0689]\d{12,17}|35\d{14,17}|6\d{15,18}", re.ASCII
)
# A number that begins with + is a phone number, even if no network has assigned it.
INTERNATIONAL = re.compile(r"(?<![\w+])\+\d(?:[ ()./-]{0,2}\d){6,14}(?!\d)")
SEVEN_DIGITS = re.compile(r"(?:\d\D{0,3}){6}\d")
WORD = re.compile(r"[^\W_]+")
# Scripts without blanks between words: names are found inside the text.
UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,}")
# Last words of the keys of metadata whose values are masked whole, with the kind of the mask, and words after them.
PERSONAL = by_word("columns", "personal")
FOLLOWING = word_set("columns", "after_personal")
SHORTEST_PART = 3
WIDEST_GAP = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Masks:
    """Options for masking; e-mail addresses, card numbers and speakers' names are always masked.

    :param names: Further names.
    :param countries: Two-letter codes of the countries whose national phone numbers are masked.
    """

    names: tuple[str, ...] = ()
    countries: tuple[str, ...] = COUNTRIES


class Mask(NamedTuple):
    """A span of a text that is masked as `[KIND]`."""

    start: int
    end: int
    kind: str


def is_card(number: str) -> bool:
    """Return whether a number, also one in groups, has the issuer digits and the check digit of a payment card."""
    digits = re.sub(r"\D", "", number)
    return bool(ISSUERS.fullmatch(digits)) and passes_luhn(digits)


def passes_luhn(digits: str) -> bool:
    """Return whether the last digit is the check digit of the others, as on every payment card (ISO/IEC 7812)."""
    doubled = [int(digit) * (1 + at % 2) for at, digit in enumerate(reversed(digits))]
    return sum(number - 9 if number > 9 else number for number in doubled) % 10 == 0


def personal_kind(key: str) -> str:
    """Return the kind of mask for all values of a key of the metadata; "" if the key does not name a person."""
    words = plain(key).split("_")
    while len(words) > 1 and words[-1] in FOLLOWING:
        words.pop()
    return PERSONAL.get(words[-1], "")


def _words(name: str) -> tuple[str, ...]:
    return tuple(word.group().casefold() for word in WORD.finditer(name.split("@")[0]))


def _parts(name: str) -> set[str]:
    """Return the words of a name that people may use alone: Anna and Lee for "Dr Anna Lee (Agent)"."""
    words = _words(name)
    named = {word for word in words if not word.isdecimal() and not is_role(word)}
    return {word for word in named if len(word) >= SHORTEST_PART or len(named) == 1}


def _known_countries(countries: Sequence[str]) -> Sequence[str]:
    from phonenumbers import SUPPORTED_REGIONS

    for country in countries:
        if country not in SUPPORTED_REGIONS:
            raise CorpusError(
                f"{country!r} (--phone-country) is no country with phone numbers."
                f"{did_you_mean(country.upper(), SUPPORTED_REGIONS)} Expected two capital letters such as US, GB or DE."
            )
    return countries


class Redactor:
    """Masks texts and speakers of one export, and counts its masks.

    A whole name is masked in capital and small letters. A single word of a name in small letters is masked only in the
    dialogues of that person: a customer called Bill must not mask "bill" in all other dialogues.

    :param speakers: Names of the speakers in the export.
    :param names: Further names.
    :param countries: Two-letter codes of the countries whose national phone numbers are masked.
    :raises CorpusError: if a country does not exist.
    """

    def __init__(
        self, speakers: Iterable[str], *, names: Sequence[str] = (), countries: Sequence[str] = COUNTRIES
    ) -> None:
        self.counts: Counter[str] = Counter()
        self._countries = _known_countries(countries)
        people = list(dict.fromkeys(name for name in speakers if not is_role(name)))
        kept = {name.casefold() for name in speakers if is_role(name)}
        free = (name for number in count(1) if (name := f"speaker {number}") not in kept)
        self._pseudonyms = dict(zip(people, free, strict=False))
        self._anywhere = {part for name in people for part in _parts(name)}
        self._always = {_words(name)[0] for name in names if len(_words(name)) == 1}
        self._phrases: dict[str, list[tuple[str, ...]]] = {}
        # "Lee, Anna" is called Anna Lee.
        turned = [" ".join(reversed(name.split(",", 1))) for name in people if "," in name]
        for name in (*people, *turned, *names):
            words = _words(name)
            if len(words) > 1 and not is_role(name) and not all(word.isdecimal() for word in words):
                self._phrases.setdefault(words[0], []).append(words)
        for phrases in self._phrases.values():
            phrases.sort(key=len, reverse=True)
        unspaced = sorted(
            {part for name in (*people, *names) for part in UNSPACED.findall(name)}, key=len, reverse=True
        )
        self._unspaced = re.compile("|".join(map(re.escape, unspaced))) if unspaced else None

    def text(self, text: str, *, here: Iterable[str] = ()) -> str:
        """Return a text with its masks.

        :param here: Words of names that are masked in small letters too.
        """
        masks: list[Mask] = []
        for mask in self._masks(text, set(here)):
            if all(mask.end <= other.start or mask.start >= other.end for other in masks):
                masks.append(mask)
        if not masks:
            return text
        self.counts.update(mask.kind for mask in masks)
        parts, at = [], 0
        for mask in sorted(masks):
            parts += [text[at : mask.start], f"[{mask.kind}]"]
            at = mask.end
        return "".join((*parts, text[at:]))

    def _masks(self, text: str, here: set[str]) -> Iterator[Mask]:
        """Yield masks, the more certain kind first: if two overlap, the first one counts."""
        if "@" in text:
            yield from (Mask(*match.span(), "EMAIL") for match in EMAIL.finditer(text))
        if SEVEN_DIGITS.search(text):
            yield from self._numbers(text)
        yield from self._names(text, here)

    def _numbers(self, text: str) -> Iterator[Mask]:
        from phonenumbers import PhoneNumberMatcher

        masks = [Mask(*match.span(), "CARD") for match in CARD.finditer(text) if is_card(match.group())]
        masks += [Mask(*match.span(), "PHONE") for match in INTERNATIONAL.finditer(text)]
        for country in self._countries:
            # Masked spans are blanked out first: often no number is left, and the slow search is skipped.
            for mask in masks:
                text = text[: mask.start] + "x" * (mask.end - mask.start) + text[mask.end :]
            if SEVEN_DIGITS.search(text):
                masks += [Mask(match.start, match.end, "PHONE") for match in PhoneNumberMatcher(text, country)]
        yield from masks

    def _names(self, text: str, here: set[str]) -> Iterator[Mask]:
        words = list(WORD.finditer(text))
        folded = [word.group().casefold() for word in words]
        for at, word in enumerate(folded):
            for phrase in self._phrases.get(word, ()):
                last = at + len(phrase) - 1
                if tuple(folded[at : last + 1]) == phrase and _close(words[at : last + 1]):
                    yield Mask(words[at].start(), words[last].end(), "NAME")
                    break
        for match, word in zip(words, folded, strict=True):
            capital = word in self._anywhere and not match.group().islower()
            if capital or word in self._always or word in here:
                yield Mask(*match.span(), "NAME")
        if self._unspaced:
            yield from (Mask(*match.span(), "NAME") for match in self._unspaced.finditer(text))

    def speaker(self, name: str) -> str:
        """Return the pseudonym of a person, the same in the whole export; a role keeps its name."""
        return self._pseudonyms.get(name, name)

    def dialogue(self, dialogue: Dialogue) -> Dialogue:
        """Return a dialogue with masked turns, labels and metadata; its id stays."""
        people = [turn.speaker for turn in dialogue.turns]
        people += [str(value) for key, value in dialogue.metadata.items() if personal_kind(key) == "NAME"]
        here = {part for name in people if not is_role(name) for part in _parts(name)}
        turns = tuple(Turn(self.speaker(turn.speaker), self.text(turn.text, here=here)) for turn in dialogue.turns)
        labels = tuple(sorted({self.text(label) for label in dialogue.labels}))
        metadata = {key: self._fact(key, value, here) for key, value in dialogue.metadata.items()}
        return replace(dialogue, turns=turns, labels=labels, metadata=metadata)

    def _fact(self, key: str, value: Value, here: set[str]) -> Value:
        """Return a value of the metadata, masked whole if its key names a person; a role and true or false stay."""
        if isinstance(value, bool) or (isinstance(value, str) and is_role(value)):
            return value
        if kind := personal_kind(key):
            self.counts[kind] += 1
            return f"[{kind}]"
        if isinstance(value, float):
            return value
        masked = self.text(str(value), here=here)
        return value if masked == str(value) else masked

    def report(self) -> str:
        """Return the number of masks of each kind, as a line for people."""
        masks = ", ".join(f"{number} [{kind}]" for kind, number in sorted(self.counts.items())) or "nothing"
        return (
            f"masked       {masks}; speakers with a number for a name: {len(self._pseudonyms)}; national phone "
            f"numbers as in {', '.join(self._countries)}"
        )

    def identifies(self, dialogue_id: str) -> bool:
        """Return whether an id holds personal data; digits alone do not count, because most ids are long numbers."""
        address = bool(EMAIL.search(dialogue_id) or INTERNATIONAL.search(dialogue_id))
        return address or any(True for _ in self._names(dialogue_id, self._anywhere))


def _close(words: Sequence[re.Match[str]]) -> bool:
    """Return whether at most `WIDEST_GAP` characters separate the words."""
    return all(after.start() - before.end() <= WIDEST_GAP for before, after in pairwise(words))


def join_and_mask(result: ImportResult, masks: Masks | None, *, name: str, merge_turns: bool) -> Redactor | None:
    """Join turns and mask personal data in place, as asked; return what masked them, None without masks.

    :param name: Name of the export, as in `redact`.
    """
    if merge_turns:
        result.dialogues[:] = [dialogue.merged() for dialogue in result.dialogues]
    if masks is None:
        return None
    redactor = Redactor(result.speakers, names=masks.names, countries=masks.countries)
    redact(result, redactor, name=name)
    return redactor


def redact(result: ImportResult, redactor: Redactor, *, name: str) -> None:
    """Mask the dialogues of an export, and ids and reasons of its quarantine, in place.

    :param name: Name of the export; ids with personal data become `name-1`, `name-2`, ...
    """
    shown = redactor.text(name)
    taken = {dialogue.dialogue_id for dialogue in result.dialogues}
    for at, dialogue in enumerate(counted(result.dialogues, "dialogues masked")):
        masked = redactor.dialogue(dialogue)
        if redactor.identifies(dialogue.dialogue_id):
            numbers = (f"{shown}-{number}" for number in count(at + 1))
            new = next(number for number in numbers if number not in taken)
            taken.add(new)
            masked = replace(masked, dialogue_id=new)
        result.dialogues[at] = masked
    result.quarantine[:] = [
        Quarantined(record.origin, redactor.text(record.dialogue_id), redactor.text(record.reason))
        for record in result.quarantine
    ]
