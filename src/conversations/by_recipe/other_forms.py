"""Records of another form than most of a file, as in training sets that were put together from several sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from conversations.by_recipe.recipe import Recipe
from conversations.formats.records import Record


def without_others(
    records: Iterable[Record],
    recipe: Recipe,
    sample: Sequence[dict[str, Any]],
    others: dict[frozenset[str], list[Record]],
) -> Iterator[Record]:
    """Yield the records of a recipe's own form.

    :param others: Gets the other records, by the names in them.
    """
    known = {frozenset(values) for values in sample if recipe.fits(values)}
    ways = [way for way in (recipe.skip, recipe.fits, recipe.turns) if way]
    for record in records:
        form = frozenset(record.values)
        if record.problem or form in known or any(way(recipe.decoded(record.values)) for way in ways):
            yield record
        else:
            others.setdefault(form, []).append(record)
