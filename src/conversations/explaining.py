"""Explain an import: which field of the first records became what, and the recipe that says the same."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import yaml

from conversations.by_recipe.expressions import Finder
from conversations.by_recipe.known import known_recipes, text_of_recipe
from conversations.by_recipe.meanings import NOT_USED, fields_of, meanings, named
from conversations.by_recipe.recipe import Recipe, keys_in, recipe_from_keys
from conversations.errors import CorpusError
from conversations.guessing.columns import Columns
from conversations.guessing.names import by_name
from conversations.one_file import NO_RECIPE, FileReader
from conversations.options import NamedColumns, Options
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
LIKELY = ("turns", "speaker", "text", "time", "id", "label")
# Keys of a recipe that the columns of an export, or those that the user names, may change.
CHANGING = ("has", "id", "turns", "speaker", "text", "time", "date", "labels", "last", "versions")
# Options that a recipe holds, and how the others are spelled if not by their names.
HELD = ("recipe", *(item.name for item in fields(NamedColumns)))
SPELLED = {"blank_speaker": "speaker-of-blank", "header": "no-header"}
HEAD = """# How this export was read. Others of its kind are read with: dial2vec import FILE --recipe THIS_FILE{options}
# The keys are described in docs/recipes.md.
"""


def explanation(export: Export) -> str:
    """Return, for each file, how it is read and the fields of its first records with their meanings."""
    lines: list[str] = []
    for path, file in export.files.items():
        lines += [f"{path}:", *_how(file), "", *_records(file), *_expressions(file.recipe)]
    return "\n".join(lines).rstrip()


def refusal(error: CorpusError) -> str:
    """Return how far a refused file was read: its format, and the fields of its first records; "" if it was not."""
    if error.reader is None or not error.reader.description.format:
        return ""
    how = error.reader.description
    parts = ", ".join(filter(None, (how.format, how.encoding, how.delimiter and f"delimiter {how.delimiter}")))
    return "\n".join([f"{error.reader.path.name}: {parts}; refused", "", *_records(error.reader)]).rstrip()


def _likely(name: str) -> str:
    """Return the meaning that a field of a refused file has by its name."""
    return next((f"{meaning} by its name" for meaning in LIKELY if by_name(meaning, [name])), NOT_USED)


def _records(file: FileReader) -> Iterator[str]:
    for number, values in enumerate(file.first, start=1):
        yield f"  record {number}"
        yield from _fields(values, file.description.columns, file.recipe)
        yield ""


def _how(file: FileReader) -> Iterator[str]:
    if recipe := file.recipe:
        yield f"  read by the recipe {recipe.name}: {recipe.title} ({recipe.source})"
    elif file.first:
        yield "  no recipe fits: the columns were guessed from their names and contents"
    else:
        yield f"  no recipe fits: it was read as {file.description.format}, by the names in front of what is said"


def _expressions(recipe: Recipe | None) -> Iterator[str]:
    if recipe is None:
        return
    yield "  the recipe, whose expressions are JMESPath:" if recipe.has else "  the patterns of the recipe:"
    for key, meaning in MEANINGS.items():
        finders = [finder for finder, _ in recipe.labels] if key == "labels" else [getattr(recipe, key)]
        yield from (f"    {meaning:<26}{finder.text}" for finder in finders if finder)
    for kind, finder in recipe.not_speech:
        yield f"    {'left out, ' + kind:<26}{finder.text}"
    if recipe.lines:
        yield from (f"    {'a turn':<26}{pattern.pattern}" for pattern in recipe.lines.turn)


def _fields(values: dict[str, Any], columns: Columns | None, recipe: Recipe | None) -> Iterator[str]:
    values = recipe.decoded(values) if recipe else values
    effects = meanings(values, recipe) if recipe else {}
    known = columns.meanings if columns else {}
    first = dict(reversed([*fields_of(values)]))
    width = min(max((len(named(path)) for path in first), default=0), WIDTH)
    for path, value in [*reversed(first.items())][:SHOWN_FIELDS]:
        meaning = effects.get(path) or known.get(named(path).replace("[]", ""))
        meaning = meaning or (NOT_USED if recipe or columns else _likely(path[-1]))
        yield f"    {printable(named(path), WIDTH):<{width}}  {meaning:<26}{printable(repr(value), 60)}"
    if len(first) > SHOWN_FIELDS:
        yield f"    and {len(first) - SHOWN_FIELDS} more fields"


def known_exports() -> str:
    """Return the recipes that come with the package, a line each."""
    recipes = sorted(known_recipes().values(), key=lambda recipe: recipe.title.lower())
    width = max(len(recipe.name) for recipe in recipes)
    return "\n".join(f"{recipe.name:<{width}}  {recipe.title}" for recipe in recipes)


def recipe_text(export: Export) -> str:
    """Return the recipe by which the first file of an export was read, with the columns that the user named.

    :raises CorpusError: if the file is a plain transcript, which has no columns.
    """
    path, file = next(iter(export.files.items()))
    recipe = file.recipe
    if recipe and not file.draft:
        text = text_of_recipe(file.options.recipe if file.options.recipe not in (None, NO_RECIPE) else recipe.name)
        content = keys_in(text, where=recipe.name)
        changed = _changed(recipe, recipe_from_keys(content, recipe.name, where=recipe.name))
        if not changed and not _further(file.options):
            return text
        content = {key: value for key, value in (content | changed).items() if key != "examples"}
    elif file.draft:
        content = {"title": path.name, "source": "https://", **file.draft}
    else:
        raise CorpusError(
            f"{path} is a transcript of `Speaker: text` lines or captions, which need no recipe. Leave --save-recipe "
            "out."
        )
    head = HEAD.format(options=_further(file.options))
    return head + yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)


def _changed(recipe: Recipe, known: Recipe) -> dict[str, Any]:
    """Return the keys of a recipe that are not those of its file, since the export or the user has others."""
    changed = {}
    for key in CHANGING:
        own, before = ([finder.text for finder in _finders(getattr(each, key))] for each in (recipe, known))
        if own != before:
            changed[key] = own if key in ("labels", "has", "versions") else own[0]
    return changed | ({"order": recipe.order} if recipe.order != known.order else {})


def _finders(value: Any) -> list[Finder]:
    """Return the expressions of a key: one, several, or those of labels."""
    several = value if isinstance(value, tuple) else (value,) if value else ()
    return [item[0] if isinstance(item, tuple) else item for item in several]


def _further(options: Options) -> str:
    """Return the options that a recipe does not hold, as they are given on the command line."""
    given = ""
    for item in fields(options):
        value = getattr(options, item.name)
        if value == item.default or item.name in HELD:
            continue
        name = f" --{SPELLED.get(item.name, item.name)}"
        if item.name == "keep":
            given += f"{name} {','.join(value)}"
        elif isinstance(value, tuple):
            given += "".join(f"{name} {shlex.quote(text)}" for text in value)
        else:
            given += name if isinstance(value, bool) else f"{name} {shlex.quote(str(value))}"
    return given
