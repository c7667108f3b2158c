"""Explain an import: which field of the first records became what, and the recipe that says the same."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import yaml

from conversations.by_recipe.meanings import NOT_USED, fields, meanings, named
from conversations.by_recipe.recipe import Recipe, known_recipes
from conversations.errors import CorpusError
from conversations.guessing.columns import Columns
from conversations.reading import Export
from conversations.words import printable

SHOWN_FIELDS = 40
WIDTH = 56
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
HEAD = """# How this export was read. Other exports of this kind are read with: dial2vec import FILE --recipe THIS_FILE
# The keys are described in docs/recipes.md.
"""


def explanation(export: Export) -> str:
    """Return, for each file, how it is read and the fields of its first records with their meanings."""
    lines: list[str] = []
    for path, file in export.files.items():
        lines += [f"{path}:", *_how(file.recipe), ""]
        for number, values in enumerate(file.first, start=1):
            lines += [f"  record {number}", *_fields(values, file.description.columns, file.recipe), ""]
    return "\n".join(lines).rstrip()


def _how(recipe: Recipe | None) -> Iterator[str]:
    if recipe is None:
        yield "  no recipe fits: the columns were guessed from their names and contents"
        return
    yield f"  read by the recipe {recipe.name}: {recipe.title} ({recipe.source})"
    for key, meaning in MEANINGS.items():
        finders = [finder for finder, _ in recipe.labels] if key == "labels" else [getattr(recipe, key)]
        yield from (f"    {meaning:<26}{finder.text}" for finder in finders if finder)
    for kind, finder in recipe.not_speech:
        yield f"    {'left out, ' + kind:<26}{finder.text}"
    if recipe.lines:
        yield from (f"    {'a turn':<26}{pattern.pattern}" for pattern in recipe.lines.turn)


def _fields(values: dict[str, Any], columns: Columns | None, recipe: Recipe | None) -> Iterator[str]:
    values = recipe.decoded(values) if recipe else values
    found = meanings(values, recipe) if recipe else {}
    known = columns.meanings if columns else {}
    first = dict(reversed([*fields(values)]))
    width = min(max((len(named(path)) for path in first), default=0), WIDTH)
    for path, value in [*reversed(first.items())][:SHOWN_FIELDS]:
        meaning = found.get(path) or known.get(named(path).replace("[]", ""), NOT_USED)
        yield f"    {printable(named(path), WIDTH):<{width}}  {meaning:<26}{printable(repr(value), 60)}"
    if len(first) > SHOWN_FIELDS:
        yield f"    and {len(first) - SHOWN_FIELDS} more fields"


def known_exports() -> str:
    """Return the recipes that come with the package, a line each."""
    recipes = sorted(known_recipes().values(), key=lambda recipe: recipe.title.lower())
    width = max(len(recipe.name) for recipe in recipes)
    return "\n".join(f"{recipe.name:<{width}}  {recipe.title}" for recipe in recipes)


def recipe_text(export: Export) -> str:
    """Return the recipe by which the first file of an export was read.

    :raises CorpusError: if the file is a plain transcript, which has no columns.
    """
    path, file = next(iter(export.files.items()))
    recipe = file.recipe
    if recipe and recipe.name in known_recipes():
        return (files("conversations") / "recipes" / f"{recipe.name}.yaml").read_text(encoding="utf-8")
    if not file.draft:
        raise CorpusError(
            f"{path} is a transcript of `Speaker: text` lines or captions, which need no recipe. Leave --save-recipe "
            "out."
        )
    content = {"title": path.name, "source": "https://", **file.draft}
    return HEAD + yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)
