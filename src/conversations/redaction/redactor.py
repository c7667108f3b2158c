"""Masks for personal data: e-mail addresses, phone, card and account numbers and the speakers' names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint, entry_points
from itertools import chain, count, islice
from typing import Any

from conversations.dialogue import Dialogue, Quarantined, Turn, Value
from conversations.errors import CorpusError
from conversations.guessing.names import is_role, plain
from conversations.progress import counted
from conversations.redaction.details import COUNTRIES, EMAIL, INTERNATIONAL, Mask, details, known_countries
from conversations.redaction.folding import Folded
from conversations.redaction.names import SpeakerNames, single_words
from conversations.result import ImportResult
from conversations.vocabulary import by_word, word_set
from conversations.words import printable

# Last words of the keys of metadata whose values are masked whole, with the kind of the mask, and words after them.
PERSONAL = by_word("columns", "personal")
FOLLOWING = word_set("columns", "after_personal")
# Entry points of packages: functions that take a text and yield start, end and kind of what is to be masked.
GROUP = "dial2vec.masks"
KIND = re.compile("[A-Z][A-Z_]*")
# Samples of each kind of mask in a report, and the letters shown on each side of one.
SAMPLES, AROUND = 3, 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Masks:
    """Options for masking; e-mail addresses, card numbers and speakers' names are always masked.

    :param names: Further names.
    :param countries: Two-letter codes of the countries whose national phone numbers are masked.
    """

    names: tuple[str, ...] = ()
    countries: tuple[str, ...] = COUNTRIES


def personal_kind(key: str) -> str:
    """Return the kind of mask for all values of a key of the metadata; "" if the key does not name a person."""
    words = plain(key).split("_")
    while len(words) > 1 and words[-1] in FOLLOWING:
        words.pop()
    return PERSONAL.get(words[-1], "")


class Redactor:
    """Masks texts and speakers of one export, and counts its masks.

    :param speakers: Names of the speakers in the export.
    :param names: Further names.
    :param countries: Two-letter codes of the countries whose national phone numbers are masked.
    :param texts: Texts of the export; names are masked in the cases of the languages that they show.
    :raises CorpusError: if a country does not exist.
    """

    def __init__(
        self,
        speakers: Iterable[str],
        *,
        names: Sequence[str] = (),
        countries: Sequence[str] = COUNTRIES,
        texts: Iterable[str] = (),
    ) -> None:
        self.counts: Counter[str] = Counter()
        self._countries = known_countries(countries)
        people = list(dict.fromkeys(name for name in speakers if not is_role(name)))
        kept = {name.casefold() for name in speakers if is_role(name)}
        free = (name for number in count(1) if (name := f"speaker {number}") not in kept)
        self._pseudonyms = dict(zip(people, free, strict=False))
        self._names = SpeakerNames(people, names, texts)
        self._plugged = [_Plugged(point) for point in entry_points(group=GROUP)]

    def text(self, text: str, *, here: Set[str] = frozenset()) -> str:
        """Return a text with its masks.

        :param here: Folded words of names that are masked in small letters too.
        """
        masks: list[Mask] = []
        for mask in self._masks(text, here):
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

    def _masks(self, text: str, here: Set[str]) -> Iterator[Mask]:
        """Yield masks, the more certain kind first: if two overlap, the first one counts."""
        yield from chain.from_iterable(plugged(text) for plugged in self._plugged)
        known = Folded(text)
        for mask in chain(details(known.form, self._countries), self._names.find(known, here)):
            yield Mask(*known.span(mask.start, mask.end), mask.kind)

    def speaker(self, name: str) -> str:
        """Return the pseudonym of a person, the same in the whole export; a role keeps its name."""
        return self._pseudonyms.get(name, name)

    def dialogue(self, dialogue: Dialogue) -> Dialogue:
        """Return a dialogue with masked turns, labels and metadata; its id stays."""
        people = {turn.speaker for turn in dialogue.turns}
        people |= {str(value) for key, value in dialogue.metadata.items() if personal_kind(key) == "NAME"}
        here = {part for name in people if not is_role(name) for part in single_words(name)}
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

    def counts_and_samples(self, dialogues: Sequence[Dialogue]) -> dict[str, dict[str, Any]]:
        """Return how many `times` each kind was masked, and `samples` of the masked texts around it."""
        kinds: dict[str, dict[str, Any]] = {}
        for kind, times in sorted(self.counts.items()):
            masked = (turn.text.split(f"[{kind}]", 1) for dialogue in dialogues for turn in dialogue.turns)
            around = (f"{parts[0][-AROUND:]}[{kind}]{parts[1][:AROUND]}" for parts in masked if len(parts) > 1)
            kinds[kind] = {"times": times, "samples": [printable(sample) for sample in islice(around, SAMPLES)]}
        return kinds

    def report(self, dialogues: Sequence[Dialogue]) -> Iterator[str]:
        """Yield the number of masks of each kind with samples of masked dialogues, as lines for people."""
        kinds = self.counts_and_samples(dialogues)
        masks = ", ".join(f"{each['times']} [{kind}]" for kind, each in kinds.items()) or "nothing"
        yield (
            f"masked       {masks}; speakers with a number for a name: {len(self._pseudonyms)}; national phone "
            f"numbers as in {', '.join(self._countries)}"
        )
        yield from (f"  {sample}" for each in kinds.values() for sample in each["samples"])

    def identifies(self, dialogue_id: str) -> bool:
        """Return whether an id holds personal data; digits alone do not count, because most ids are long numbers."""
        known = Folded(dialogue_id)
        address = EMAIL.search(known.form) or INTERNATIONAL.search(known.form)
        others = chain(
            self._names.find(known, self._names.anywhere), *(plugged(dialogue_id) for plugged in self._plugged)
        )
        return bool(address) or any(True for _ in others)


class _Plugged:
    """The masks of another package. What goes wrong in it stops the import: less would be masked without it."""

    def __init__(self, point: EntryPoint) -> None:
        self.point = point
        with self._said():
            self.mask = point.load()

    def __call__(self, text: str) -> list[Mask]:
        """Return the masks of a text."""
        with self._said():
            masks = [Mask(*mask) for mask in self.mask(text)]
            if not all(0 <= mask.start < mask.end <= len(text) and KIND.fullmatch(mask.kind) for mask in masks):
                raise ValueError(f"found {masks[:3]}; expected spans of the text, and kinds such as ACCOUNT")
        return masks

    @contextmanager
    def _said(self) -> Iterator[None]:
        try:
            yield
        # A package's own code may raise anything.
        except Exception as error:
            package = self.point.dist.name if self.point.dist else self.point.value
            raise CorpusError(
                f"the masks '{self.point.name}' of the package {package} fail ({type(error).__name__}: {error}). Mend "
                "or remove the package; nothing is imported without its masks."
            ) from error


def join_and_mask(result: ImportResult, masks: Masks | None, *, name: str, merge_turns: bool) -> Redactor | None:
    """Join turns and mask personal data in place, as asked; return what masked them, None without masks.

    :param name: Name of the export, as in `redact`.
    """
    if merge_turns:
        result.dialogues[:] = [dialogue.merged() for dialogue in result.dialogues]
    if masks is None:
        return None
    texts = (turn.text for dialogue in result.dialogues for turn in dialogue.turns)
    redactor = Redactor(result.speakers, names=masks.names, countries=masks.countries, texts=texts)
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
