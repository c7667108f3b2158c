"""Masks for personal data: e-mail addresses, phone, card and account numbers and the speakers' names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain, count

from conversations.dialogue import Dialogue, Quarantined, Turn, Value
from conversations.guessing.names import is_role, plain
from conversations.progress import counted
from conversations.redaction.details import COUNTRIES, EMAIL, INTERNATIONAL, Mask, details, known_countries
from conversations.redaction.folding import Folded
from conversations.redaction.names import SpeakerNames, single_words
from conversations.result import ImportResult
from conversations.vocabulary import by_word, word_set

# Last words of the keys of metadata whose values are masked whole, with the kind of the mask, and words after them.
PERSONAL = by_word("columns", "personal")
FOLLOWING = word_set("columns", "after_personal")


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

    :param speakers: SpeakerNames of the speakers in the export.
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

    def report(self) -> str:
        """Return the number of masks of each kind, as a line for people."""
        masks = ", ".join(f"{number} [{kind}]" for kind, number in sorted(self.counts.items())) or "nothing"
        return (
            f"masked       {masks}; speakers with a number for a name: {len(self._pseudonyms)}; national phone "
            f"numbers as in {', '.join(self._countries)}"
        )

    def identifies(self, dialogue_id: str) -> bool:
        """Return whether an id holds personal data; digits alone do not count, because most ids are long numbers."""
        known = Folded(dialogue_id)
        address = EMAIL.search(known.form) or INTERNATIONAL.search(known.form)
        return bool(address) or any(True for _ in self._names.find(known, self._names.anywhere))


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
