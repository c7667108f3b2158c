"""Explain an import: which field of the first records became what, and which were left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dial2vec.data.importing.columns import Columns
from dial2vec.data.importing.reading import Description, Export
from dial2vec.data.importing.recipe import Recipe, known_recipes
from dial2vec.data.words import printable

DEPTH = 4
SHOWN_FIELDS = 40
# Meanings by key of a recipe, as the summary of guessed columns names them.
MEANINGS = {
    "id": "dialogue id",
    "turns": "turns",
    "speaker": "speaker",
    "text": "text",
    "time": "order of turns",
    "date": "start of the dialogue",
    "labels": "label",
}


def explanation(export: Export) -> str:
    """Return, for each file, how it is read and the fields of its first records with their meanings."""
    lines: list[str] = []
    for path, description in export.descriptions.items():
        lines += [f"{path}:", *_how(description, export.recipes.get(path)), ""]
        for number, values in enumerate(export.first.get(path, ()), start=1):
            lines += [f"  record {number}", *_fields(values, description, export.recipes.get(path)), ""]
    return "\n".join(lines).rstrip()


def _how(description: Description, recipe: Recipe | None) -> Iterator[str]:
    if recipe is None:
        yield "  no recipe fits: the columns were guessed from their names and contents"
        return
    yield f"  read by the recipe {recipe.name}: {recipe.title} ({recipe.source})"
    for key, meaning in MEANINGS.items():
        if finder := getattr(recipe, key):
            yield f"    {meaning:<22}{finder.text}"
    for kind, finder in recipe.not_speech:
        yield f"    {'left out, ' + kind:<22}{finder.text}"
    if recipe.lines:
        yield from (f"    {'a turn':<22}{pattern.pattern}" for pattern in recipe.lines.turn)


def _fields(values: dict[str, Any], description: Description, recipe: Recipe | None) -> Iterator[str]:
    fields = list(_flat(values, ""))
    width = min(max((len(name) for name, _ in fields), default=0), 48)
    for name, value in fields[:SHOWN_FIELDS]:
        meaning = _meaning(name, description.columns, recipe)
        yield f"    {printable(name, 48):<{width}}  {meaning:<22}{printable(repr(value), 60)}"
    if len(fields) > SHOWN_FIELDS:
        yield f"    and {len(fields) - SHOWN_FIELDS} more fields"


def _flat(value: Any, name: str, depth: int = DEPTH) -> Iterator[tuple[str, Any]]:
    """Yield path and value of each field; of a list only the first item, as `turns[0].text`."""
    if isinstance(value, dict) and value and depth:
        for key, inner in value.items():
            yield from _flat(inner, f"{name}.{key}" if name else str(key), depth - 1)
    elif isinstance(value, list) and value and depth:
        yield from _flat(value[0], f"{name}[0]", depth - 1)
    else:
        yield name, value


def _meaning(name: str, columns: Columns | None, recipe: Recipe | None) -> str:
    bare = re.sub(r"\[0\]", "", name)
    if recipe is not None:
        last = bare.rsplit(".", 1)[-1]
        for key, meaning in MEANINGS.items():
            finder = getattr(recipe, key)
            if finder and re.search(rf"(?<![\w']){re.escape(last)}(?![\w'])", finder.text):
                return meaning
        if any(re.search(rf"(?<![\w']){re.escape(last)}(?![\w'])", finder.text) for _, finder in recipe.not_speech):
            return "tells what is no speech"
        return "not used"
    return columns.meanings.get(bare, "not used") if columns else "not used"


def known_exports() -> str:
    """Return the recipes that come with the package, a line each."""
    recipes = sorted(known_recipes().values(), key=lambda recipe: recipe.title.lower())
    width = max(len(recipe.name) for recipe in recipes)
    return "\n".join(f"{recipe.name:<{width}}  {recipe.title}" for recipe in recipes)
