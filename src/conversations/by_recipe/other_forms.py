"""Records of another form than most of a file, as in training sets that were put together from several sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from conversations.by_recipe.recipe import Recipe
from conversations.formats.records import Record


class OtherForms:
    """Sets records aside in which a recipe finds no dialogue, and whose names no record has that the recipe fits.

    :param records: These records by the names in them.
    """

    def __init__(self, recipe: Recipe, sample: Sequence[dict[str, Any]]) -> None:
        self._recipe = recipe
        self._known = {frozenset(values) for values in sample if recipe.fits(values)}
        self.records: dict[frozenset[str], list[Record]] = {}

    def without(self, records: Iterable[Record]) -> Iterator[Record]:
        """Yield the records of the recipe's own form."""
        for record in records:
            form = frozenset(record.values)
            if record.problem or form in self._known or self._is_own(record.values):
                yield record
            else:
                self.records.setdefault(form, []).append(record)

    def _is_own(self, values: dict[str, Any]) -> bool:
        recipe = self._recipe
        values = recipe.decoded(values)
        return bool(
            (recipe.skip and recipe.skip(values)) or recipe.fits(values) or (recipe.turns or recipe.fits)(values)
        )
