"""What is masked in an export, and masking it."""

from __future__ import annotations

from dataclasses import dataclass

from conversations.reading import Export
from conversations.redaction import COUNTRIES, Redactor, redact
from conversations.writing import Places


@dataclass(frozen=True, slots=True, kw_only=True)
class Masks:
    """Options for masking; e-mail addresses, card numbers and speakers' names are always masked.

    :param names: Further names.
    :param countries: Two-letter codes of the countries whose national phone numbers are masked.
    """

    names: tuple[str, ...] = ()
    countries: tuple[str, ...] = COUNTRIES


def join_and_mask(export: Export, places: Places, masks: Masks | None, *, merge_turns: bool) -> Redactor | None:
    """Join turns and mask personal data in place, as asked; return what masked them, None without masks."""
    if merge_turns:
        export.result.dialogues[:] = [dialogue.merged() for dialogue in export.result.dialogues]
    if masks is None:
        return None
    redactor = Redactor(export.result.speakers, names=masks.names, countries=masks.countries)
    redact(export.result, redactor, name=places.name)
    return redactor
