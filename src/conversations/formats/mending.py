"""Repairs to every record of an export before its columns are found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice

from conversations.formats.markup import is_twice_encoded, mended
from conversations.formats.records import Record

# "Agent: Hello\\nCustomer: Hi" in a cell: programs write a line break as two characters.
ESCAPED = re.compile(r"\\n\W{0,3}\w[^\\:\n]{0,40}:")
BREAK = re.compile(r"(?:\\r)?\\n")


class Mending:
    """Decodes texts a second time if all of an export were encoded twice, and line breaks written as two characters."""

    def __init__(self) -> None:
        self._twice_encoded = False
        self._escaped: tuple[str, ...] = ()

    def all(self, records: Iterator[Record], *, first: int) -> tuple[list[Record], Iterator[Record]]:
        """Return the first records and the others, repaired.

        :param first: Number of first records that decide whether texts were encoded twice.
        """
        sample = list(islice(records, first))
        answers = {is_twice_encoded(record.values) for record in sample if not record.problem} - {None}
        self._twice_encoded = answers == {True}
        if self._twice_encoded:
            sample, records = list(map(_mended, sample)), map(_mended, records)
        self._escaped = _escaped_columns([record.values for record in sample if not record.problem])
        if self._escaped:
            sample, records = list(map(self._with_breaks, sample)), map(self._with_breaks, records)
        return sample, records

    def _with_breaks(self, record: Record) -> Record:
        texts = ((name, record.values.get(name)) for name in self._escaped)
        return record._replace(
            values=record.values | {name: BREAK.sub("\n", text) for name, text in texts if isinstance(text, str)}
        )

    def notes(self) -> tuple[str, ...]:
        """Return sentences for the summary."""
        note = "its texts were encoded twice, as in `MÃ¼ller`; they are decoded once more"
        breaks = "line breaks were written as \\n in " + ", ".join(map(repr, self._escaped))
        return ((note,) if self._twice_encoded else ()) + ((breaks,) if self._escaped else ())


def _mended(record: Record) -> Record:
    return record._replace(values=mended(record.values))


def _escaped_columns(sample: Sequence[dict[str, object]]) -> tuple[str, ...]:
    """Return the columns in which most texts hold lines with speakers, and no text has a line break."""
    names = dict.fromkeys(chain.from_iterable(sample))
    texts = {name: [text for values in sample if isinstance(text := values.get(name), str) and text] for name in names}
    return tuple(
        name
        for name, cells in texts.items()
        if 2 * sum(bool(ESCAPED.search(text)) for text in cells) > len(cells)
        and not any("\n" in t for t in cells)
        and not any(text.lstrip()[:1] in ("[", "{") and text.rstrip()[-1:] in ("]", "}") for text in cells)
    )
