"""Repairs to every record of an export before its columns are found."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from dial2vec.data.importing.markup import is_twice_encoded, mended
from dial2vec.data.importing.records import Record
from dial2vec.data.importing.trees import straightened


class Mending:
    """Turns trees of messages into lists, and decodes texts a second time if all of an export were encoded twice."""

    def __init__(self) -> None:
        self._twice_encoded = False
        self._left_out = 0

    def all(self, records: Iterator[Record], *, first: int) -> tuple[list[Record], Iterator[Record]]:
        """Return the first records and the others, repaired.

        :param first: Number of first records that decide whether texts were encoded twice, and whether there are trees.
        """
        sample = list(islice(records, first))
        answers = {is_twice_encoded(record.values) for record in sample if not record.problem} - {None}
        self._twice_encoded = answers == {True}
        objects = any(isinstance(value, dict) for record in sample for value in record.values.values())
        if not (self._twice_encoded or objects):
            return sample, records
        return list(map(self._mended, sample)), map(self._mended, records)

    def _mended(self, record: Record) -> Record:
        values, left_out = straightened(record.values)
        self._left_out += left_out
        return record._replace(values=mended(values) if self._twice_encoded else values)

    def notes(self) -> tuple[str, ...]:
        """Return sentences for the summary."""
        twice = ("its texts were encoded twice, as in `MÃ¼ller`; they are decoded once more",)
        branches = (
            f"messages on other branches of a conversation, such as edited ones, are left out: {self._left_out}",
        )
        return (twice if self._twice_encoded else ()) + (branches if self._left_out else ())
