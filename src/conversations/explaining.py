"""Explain an import: which field of the first records became what, and the recipe that says the same."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import yaml

from conversations.by_recipe.recipe import Recipe, known_recipes
from conversations.by_recipe.recipe_records import RecordReader
from conversations.errors import CorpusError
from conversations.formats.records import Record
from conversations.guessing.columns import Columns
from conversations.reading import Export
from conversations.words import printable

DEPTH = 6
SHOWN_FIELDS = 40
WIDTH = 56
UNSAID = "mark of non-speech"
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
    fields = list(_flat(values))
    effects = _effects(values, recipe) if recipe else {}
    known = columns.meanings if columns else {}
    width = min(max((len(_named(path)) for path, _ in fields), default=0), WIDTH)
    for path, value in fields[:SHOWN_FIELDS]:
        name = _named(path)
        meaning = effects.get(path) or known.get(name.replace("[0]", ""), "not used")
        yield f"    {printable(name, WIDTH):<{width}}  {meaning:<26}{printable(repr(value), 60)}"
    if len(fields) > SHOWN_FIELDS:
        yield f"    and {len(fields) - SHOWN_FIELDS} more fields"


def _effects(values: dict[str, Any], recipe: Recipe) -> dict[tuple[str | int, ...], str]:
    """Return the meaning of each field of a record: what of its dialogue changes if the field has another value."""
    before = _parts(values, recipe)
    meanings = {}
    for path, value in _flat(values):
        after = _parts(_with(values, path, _other(value)), recipe)
        meanings[path] = next((meaning for meaning in before if before[meaning] != after[meaning]), "not used")
    return meanings


def _parts(values: dict[str, Any], recipe: Recipe) -> dict[str, Any]:
    """Return what a recipe makes of a record, by meaning."""
    reader = RecordReader(recipe, name="")
    plain = next(iter(reader.read([Record(1, values)])), Record(1, {})).values
    turns = plain.get("turns", [plain])
    return {
        UNSAID: (len(turns), reader.left_out),
        "dialogue id": plain.get("id"),
        "text": [turn.get("text") for turn in turns],
        "speaker": [turn.get("speaker") for turn in turns],
        "order of turns": [turn.get("time") for turn in turns],
        "label": plain.get("labels"),
        "metadata": plain.get("metadata"),
        "start of the dialogue": plain.get("date"),
    }


def _other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int | float) else "\u2042"


def _with(values: Any, path: tuple[str | int, ...], value: Any) -> Any:
    """Return a copy of a record in which the field of a path has another value."""
    if not path:
        return value
    key, *rest = path
    changed = _with(values[key], tuple(rest), value)
    return [changed, *values[1:]] if key == 0 and isinstance(values, list) else values | {key: changed}


def _flat(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield path and value of each field; of a list only the first item."""
    if isinstance(value, dict) and value and len(path) < DEPTH:
        for key, inner in value.items():
            yield from _flat(inner, (*path, key))
    elif isinstance(value, list) and value and len(path) < DEPTH:
        yield from _flat(value[0], (*path, 0))
    else:
        yield path, value


def _named(path: tuple[str | int, ...]) -> str:
    """Return a path as people write it: `turns[0].text`."""
    return "".join("[0]" if key == 0 else f".{key}" for key in path).removeprefix(".")


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
