"""Recognise the recipe of an export by its first records or lines."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from conversations.by_recipe.expressions import Finder, of_column
from conversations.by_recipe.known import known_recipes
from conversations.by_recipe.meanings import unused
from conversations.by_recipe.recipe import Recipe
from conversations.by_recipe.recipe_lines import find_text_recipe
from conversations.formats.records import BY_ID, DEPTH, below_ids, each_of, lists_in
from conversations.guessing.columns import FINER
from conversations.guessing.evidence import changes, date_column, finer_id, id_column, rows_by, time_column, versions
from conversations.guessing.exchanges import ANSWERS, CLOSING
from conversations.guessing.names import columns_in, plain
from conversations.guessing.unfolding import dialogue_object
from conversations.guessing.voices import voices
from conversations.values.cells import as_name
from conversations.values.times import unread

SHOWN = 30
# Columns that hold what the expressions of speaker and text find.
SAID_BY, TEXT = "_said_by", "_text"
# Names of answers beside a list of messages.
BESIDE = ANSWERS | {"result", "reply", "prediction"}
# Keys that lead to no records.
NOWHERE = ("",)


def record_recipes() -> list[Recipe]:
    """Return the recipes for records that come with the package."""
    return [recipe for recipe in known_recipes().values() if recipe.has]


def recipe_of_lines(head: str) -> Recipe | None:
    """Return the recipe that explains the first lines of a text; None if there is none."""
    return find_text_recipe(head, [recipe for recipe in known_recipes().values() if not recipe.has])


def recipe_of_records(sample: Sequence[dict[str, Any]], recipes: Iterable[Recipe] | None = None) -> Recipe | None:
    """Return the recipe that asks for most and that at least half of the first records fit; None if there is none."""
    known = list(record_recipes() if recipes is None else recipes)
    first = sample[:SHOWN]
    return _best(first, known) or (_of_rows_inside(first, known) if recipes is None else None)


class Recognised:
    """Recipes of earlier files of a folder, by the paths in their records: files with the same paths are alike."""

    def __init__(self) -> None:
        self._recipes: dict[frozenset[str], Recipe] = {}
        self._places: dict[frozenset[str], tuple[str, ...] | None] = {}
        self._unused: dict[tuple[str, frozenset[str]], tuple[str, ...]] = {}

    def of_records(self, sample: Sequence[dict[str, Any]]) -> Recipe | None:
        """Return the recipe of records, as `recipe_of_records` does, but try that of records alike first."""
        paths = frozenset(_paths_in(sample[:SHOWN]))
        if (known := self._recipes.get(paths)) and all(map(known.fits, sample[:SHOWN])):
            return known
        if recipe := recipe_of_records(sample):
            self._recipes[paths] = recipe
        return recipe

    def of_json(self, outlined: Any) -> tuple[str, ...] | None:
        """Return the keys that lead to the records of a JSON file; `NOWHERE` if no recipe finds any."""
        paths = frozenset(_paths_in(outlined))
        if paths not in self._places:
            recognised = recipe_of_json(outlined)
            self._places[paths] = recognised[1] if recognised else NOWHERE
        return self._places[paths]

    def unused(self, sample: Sequence[dict[str, Any]], recipe: Recipe) -> tuple[str, ...]:
        """Return the fields of records of which a recipe keeps nothing, once for records alike."""
        form = recipe.name, frozenset(_paths_in(sample[:SHOWN]))
        if not recipe.name or form not in self._unused:
            self._unused[form] = unused(sample, recipe)
        return self._unused[form]


def _paths_in(value: Any, path: str = "") -> Iterator[str]:
    """Yield the paths of the names in a value, such as `[].messages[].role`."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield f"{path}.{key}"
            yield from _paths_in(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from _paths_in(inner, f"{path}[]")


def completed(recipe: Recipe, sample: Sequence[dict[str, Any]]) -> tuple[Recipe, tuple[str, ...]]:
    """Return a recipe with the columns that say by their names what its own expressions do not find, and notes.

    Tools that share a form have further columns of their own.
    """
    notes: tuple[str, ...] = ()
    if not (recipe.branch or recipe.lines):
        recipe = _with_id(recipe, sample)
        if name := _finer_id(recipe, sample):
            recipe = replace(recipe, id=Finder(f"{of_column(name)} || {of_column(_id_column(recipe, sample) or '')}"))
            notes = (FINER.format(of_column(name)),)
        recipe = _with_order(_with_versions(_with_answer(recipe, sample), sample), sample)
    return _with_speaker(_with_date(recipe, sample), sample), notes


def _with_id(recipe: Recipe, sample: Sequence[dict[str, Any]]) -> Recipe:
    rows = not recipe.turns
    if recipe.request or (rows and not recipe.id) or any(recipe.id(values) for values in sample if recipe.id):
        return recipe
    # The id of a tool's call is none of the dialogue.
    sample = [row for row in sample if not (rows and any(finder(row) for _, finder in recipe.not_speech))]
    names = columns_in(sample)
    name = id_column("id", sample, names, repeating=rows)
    name = name or (None if rows else id_column("own id", sample, names, repeating=False))
    if not name and (around := dialogue_object(sample)):
        return replace(recipe, id=Finder(f"{json.dumps(around)}.id"))
    return replace(recipe, id=Finder(json.dumps(name))) if name else recipe


def _id_column(recipe: Recipe, sample: Sequence[dict[str, Any]]) -> str | None:
    columns = recipe.id.text.replace('"', "").split(" || ") if recipe.id else []
    return next((name for name in columns if any(values.get(name) for values in sample)), None)


def _finer_id(recipe: Recipe, sample: Sequence[dict[str, Any]]) -> str | None:
    """Return the column with the ids of dialogues inside those that the recipe's own id tells, such as chats."""
    own = _id_column(recipe, sample)
    if recipe.turns or not recipe.speaker:
        return None
    rows = [values | {SAID_BY: recipe.speaker(values)} for values in sample]
    return finer_id(rows, [name for name in columns_in(sample) if name != own], own, SAID_BY)


def _with_answer(recipe: Recipe, sample: Sequence[dict[str, Any]]) -> Recipe:
    """Return a recipe of lists that end with a question with the answer that stands beside the list."""
    if not recipe.turns:
        return recipe
    asks = Finder(f"contains(['user', 'human'], ({recipe.turns.text})[-1].role)")
    asking = [values for values in map(recipe.decoded, sample[:SHOWN]) if asks(values)]
    if not asking or 2 * len(asking) < len(sample[:SHOWN]):
        return recipe
    names = [name for name in columns_in(asking) if plain(name) in BESIDE]
    texts = [_answer(name) for name in names if not isinstance(asking[0].get(name), list)]
    turns = next((text for text in texts if any(map(Finder(text), asking))), None)
    last = f"({recipe.last.text}) || " if recipe.last else ""
    return replace(recipe, last=Finder(f"{last}{asks.text} && {turns}")) if turns else recipe


def _with_versions(recipe: Recipe, sample: Sequence[dict[str, Any]]) -> Recipe:
    if recipe.versions or recipe.join is not None or recipe.parts or not recipe.speaker:
        return recipe
    groups = [
        [turn | {SAID_BY: recipe.speaker(turn), TEXT: recipe.text(turn) if recipe.text else ""} for turn in group]
        for group in _turns_by_dialogue(recipe, sample)
    ]
    pair = versions(groups, columns_in(turn for group in groups for turn in group), SAID_BY, TEXT)
    return replace(recipe, versions=tuple(Finder(of_column(name)) for name in pair)) if pair else recipe


def _with_order(recipe: Recipe, sample: Sequence[dict[str, Any]]) -> Recipe:
    if recipe.join is not None or recipe.alternate:
        return recipe
    groups = _turns_by_dialogue(recipe, sample)
    turns = [turn for group in groups for turn in group]
    name = None if recipe.time and any(map(recipe.time, turns)) else time_column(groups, columns_in(turns))
    if not name or not changes(groups, name) or any(unread(map(as_name, (turn.get(name) for turn in turns)))):
        return recipe
    return replace(recipe, time=Finder(json.dumps(name)), order="time")


def _with_date(recipe: Recipe, sample: Sequence[dict[str, Any]]) -> Recipe:
    if not recipe.turns or recipe.time or (recipe.date and any(map(recipe.date, sample))):
        return recipe
    name = date_column(sample, columns_in(sample))
    return replace(recipe, date=Finder(of_column(name))) if name else recipe


def _with_speaker(recipe: Recipe, sample: Sequence[dict[str, Any]]) -> Recipe:
    """Return a recipe of rows with another column of the speakers, if its first ones name the same in all dialogues.

    Some programs write the name of the contact in each row, and a flag for the side.
    """
    columns = recipe.speaker.text.split(" || ") if recipe.speaker else []
    if recipe.turns or recipe.lines or len(columns) < 2 or not all(column.isidentifier() for column in columns):
        return recipe
    groups = _rows_by_id(recipe, sample)
    speakers = [[{"speaker": recipe.speaker(values)} for values in group] for group in groups if recipe.speaker]
    if changes(speakers, "speaker") or all(len(group) < 2 for group in groups):
        return recipe
    first = next((at for at, column in enumerate(columns) if voices(groups, column).good), 0)
    return replace(recipe, speaker=Finder(" || ".join(columns[first:]))) if first else recipe


def _turns_by_dialogue(recipe: Recipe, sample: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    if not recipe.turns:
        return _rows_by_id(recipe, sample)
    lists = [turns for values in sample[:SHOWN] if isinstance(turns := recipe.turns(values), list)]
    return [[turn for turn in turns if isinstance(turn, dict)] for turns in lists]


def _rows_by_id(recipe: Recipe, sample: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    return rows_by(sample, lambda values: str(recipe.id(values)) if recipe.id else "")


def _best(first: Sequence[dict[str, Any]], recipes: Iterable[Recipe]) -> Recipe | None:
    fitting = [recipe for recipe in recipes if first and 2 * sum(map(recipe.fits, first)) >= len(first)]
    return max(fitting, key=lambda recipe: len(recipe.has), default=None)


def _of_rows_inside(first: Sequence[dict[str, Any]], recipes: Iterable[Recipe]) -> Recipe | None:
    """Return the recipe of rows that stand in a list of each record, as scripts save the messages of each ticket."""
    rowwise = [recipe for recipe in recipes if not recipe.turns and not recipe.lines and not recipe.branch]
    for place in islice(dict.fromkeys(place for values in first for place in _inner_lists(values)), SHOWN):
        lists = (items for values in first if isinstance(items := Finder(place)(values), list))
        rows = [row for items in lists for row in items if isinstance(row, dict)]
        if recipe := _best(rows[:SHOWN], rowwise):
            own = f" || ({place}[0] | {recipe.id.text})" if recipe.id else ""
            turns = Finder(_and_answer(place, recipe, first))
            own_id = Finder(f"conversation_id || ticket_id || id{own}")
            return replace(recipe, has=(turns,), turns=turns, id=own_id)
    return None


def _and_answer(place: str, recipe: Recipe, first: Sequence[dict[str, Any]]) -> str:
    """Return the expression for a list of messages and the answer outside the list, as tracing tools save it."""
    names = (name for values in first for name in values if plain(name) in CLOSING)
    if not (recipe.speaker and "role" in recipe.speaker.text and (name := next(names, None))):
        return place
    return f"{place} && [{place}, {_answer(name)}][][]"


def _answer(name: str) -> str:
    """Return the expression for the turns of an answer: a text, a message, or what a provider returns."""
    return f"messages({json.dumps(name)}, 'assistant')[].{{role: role, content: text}}"


def _inner_lists(values: dict[str, Any]) -> Iterator[str]:
    """Yield the expressions that lead to lists in a record, also `messages.data`."""
    for key, value in values.items():
        inner = value if isinstance(value, dict) else {}
        if isinstance(value, list):
            yield json.dumps(key)
        yield from (f"{json.dumps(key)}.{json.dumps(name)}" for name, items in inner.items() if isinstance(items, list))


def recipe_of_json(
    outlined: Any, recipes: Iterable[Recipe] | None = None
) -> tuple[Recipe, tuple[str, ...] | None] | None:
    """Return the recipe of a JSON file, and the keys that lead to its records, for `read_json_records`.

    Of several places the one whose recipe asks for most counts, and of equal ones the outermost.
    """
    recipes = list(record_recipes() if recipes is None else recipes)
    best: tuple[Recipe, tuple[str, ...] | None] | None = None
    places = _places(outlined)
    for keys, sample in [*places, *_only_objects(outlined, recipes)]:
        recipe = recipe_of_records(sample, recipes)
        if recipe and (best is None or len(recipe.has) > len(best[0].has)):
            best = recipe, keys
    if best is None:
        rowwise = ((_of_rows_inside(sample[:SHOWN], recipes), keys) for keys, sample in places)
        return next(((recipe, keys) for recipe, keys in rowwise if recipe), None)
    recipe, keys = best
    if not keys or keys == BY_ID:
        return best
    lists = {place: items for place, items in lists_in(outlined).items() if items}
    if recipe.turns:
        # Such as the lists "train" and "test".
        fitting = [place for place, items in lists.items() if recipe_of_records(items, [recipe])]
        return recipe, each_of([place for place in fitting if len(place) == len(keys)]) if keys in fitting else keys
    # Several lists of the same kind of turns: the keys above them are ids.
    alike = [place for place, items in lists.items() if keys in lists and items[0].keys() == lists[keys][0].keys()]
    if len(keys) == 1:
        return None if len(alike) > 1 else best
    alike = [place for place in alike if len(place) == len(keys)]
    return (recipe, below_ids(alike)) if len(alike) > 1 else best


def _only_objects(outlined: Any, recipes: list[Recipe]) -> Iterator[tuple[tuple[str, ...], list[dict[str, Any]]]]:
    """Yield the objects inside others, as in {"data": {"call": {...}}}, that are the only ones of their recipes."""
    by_recipe: dict[Recipe, list[tuple[tuple[str, ...], dict[str, Any]]]] = {}
    for keys, value in _objects_in(outlined, ()):
        recipe = recipe_of_records([value], recipes)
        # An object around another one that fits, too, comes first.
        if recipe and not any(keys[: len(outer)] == outer for outer, _ in by_recipe.get(recipe, ())):
            by_recipe.setdefault(recipe, []).append((keys, value))
    yield from ((keys, [value]) for places in by_recipe.values() if len(places) == 1 for keys, value in places)


def _objects_in(value: Any, keys: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    inside = value if isinstance(value, dict) and len(keys) < DEPTH else {}
    # Many objects have ids for keys: none of them is the only one of its kind.
    few = sum(isinstance(inner, dict) for inner in inside.values()) <= SHOWN
    for key, inner in inside.items() if few else ():
        if isinstance(inner, dict):
            yield (*keys, key), inner
            yield from _objects_in(inner, (*keys, key))


def _different(lists: dict[tuple[str, ...], list[dict[str, Any]]]) -> dict[tuple[str, ...], list[dict[str, Any]]]:
    """Return a few lists of each kind: below thousands of ids they are alike."""
    kinds = Counter[tuple[int, frozenset[str]]]()
    few = {}
    for place, items in lists.items():
        kind = len(place), frozenset(items[0] if items else ())
        kinds[kind] += 1
        if kinds[kind] <= SHOWN:
            few[place] = items
    return few


def _places(outlined: Any) -> list[tuple[tuple[str, ...] | None, list[dict[str, Any]]]]:
    """Return where records may be, from the outside in, with the first of them."""
    places: list[tuple[tuple[str, ...] | None, list[dict[str, Any]]]] = []
    if isinstance(outlined, dict):
        places.append((None, [outlined]))
        if outlined and all(isinstance(value, dict) for value in outlined.values()):
            places.append((BY_ID, [{"dialogue_id": key} | value for key, value in outlined.items()]))
    places += sorted(_different(lists_in(outlined)).items(), key=lambda place: len(place[0] or ()))
    if isinstance(outlined, list) and (whole := [{"turns": item} for item in outlined if isinstance(item, list)]):
        places.append(((), whole))
    return places
