"""Repairs to every record of an export before its columns are found."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from dial2vec.data.importing.markup import is_twice_encoded, mended
from dial2vec.data.importing.records import Record


class Mending:
    """Decodes texts a second time if all of an export were encoded twice."""

    def __init__(self) -> None:
        self._twice_encoded = False

    def all(self, records: Iterator[Record], *, first: int) -> tuple[list[Record], Iterator[Record]]:
        """Return the first records and the others, repaired.

        :param first: Number of first records that decide whether texts were encoded twice.
        """
        sample = list(islice(records, first))
        answers = {is_twice_encoded(record.values) for record in sample if not record.problem} - {None}
        self._twice_encoded = answers == {True}
        return (list(map(_mended, sample)), map(_mended, records)) if self._twice_encoded else (sample, records)

    def notes(self) -> tuple[str, ...]:
        """Return sentences for the summary."""
        note = "its texts were encoded twice, as in `MÃ¼ller`; they are decoded once more"
        return (note,) if self._twice_encoded else ()


def _mended(record: Record) -> Record:
    return record._replace(values=mended(record.values))
