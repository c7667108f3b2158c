"""What a recipe makes of each field of a record: what of the dialogue changes if the field has another value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from conversations.by_recipe.recipe import Recipe
from conversations.by_recipe.recipe_records import RecordReader, names_in
from conversations.formats.records import Record

UNSAID = "mark of non-speech"
NOT_USED = "not used"
OF_TURNS = ("text", "speaker")
DEPTH = 16
# Number of first records whose fields are tried, and of the records that are tried for one field.
SHOWN = 30
TRIED = 3
# Number of keys from which on an object of objects has ids for keys.
MANY = 3
# Number of characters from which on a value is a long text.
LONG = 40
Path = tuple[str, ...]
EACH = "[]"


def meanings(values: dict[str, Any], recipe: Recipe) -> dict[Path, str]:
    """Return the meaning of each field that is not blank, by its path; `EACH` stands for all items of a list."""
    values = _shortened(values, recipe)
    before = _parts(values, recipe)
    effects: dict[Path, str | None] = {}
    for path in dict.fromkeys(path for path, value in fields_of(values) if value not in (None, "", [], {})):
        after = _parts(_with(values, path), recipe)
        effects[path] = next((meaning for meaning in before if before[meaning] != after[meaning]), None)
    lists = {_list_of(path) for path, meaning in effects.items() if meaning in OF_TURNS}
    return {path: meaning or _by_rule(path, recipe, lists) for path, meaning in effects.items()}


def _list_of(path: Path) -> Path | None:
    """Return the path of the outermost list that a field is in; None for none."""
    return path[: path.index(EACH)] if EACH in path else None


def _by_rule(path: Path, recipe: Recipe, lists: Collection[Path | None]) -> str:
    """Return the meaning of a field that decides only by certain values, or stands back behind another.

    :param lists: lists that hold turns; what a rule says of a turn holds for no other list.
    """
    whole = recipe.turns is not None and (EACH not in path or (bool(lists) and _list_of(path) not in lists))
    rules = [finder for _, finder in recipe.not_speech if not whole or "_record" in finder.text]
    marks = recipe.marks.columns if recipe.marks else ()
    if path[-1] in {*marks, *(name for rule in rules for name in names_in(rule.text))}:
        return UNSAID
    tree = (recipe.branch.id, recipe.branch.parent, recipe.branch.last) if recipe.branch else ()
    orders = [recipe.date, *tree] if whole else [recipe.time, recipe.day, recipe.date, *tree]
    names = {name for finder in orders if finder for name in names_in(finder.text)}
    return "order of turns" if path[-1] in names else NOT_USED


def unused(sample: Sequence[dict[str, Any]], recipe: Recipe) -> tuple[str, ...]:
    """Return the fields of the first records of which nothing is kept, those with long texts first."""
    tried: dict[Path, int] = {}
    used, long = set[Path](), set[Path]()
    for values in map(recipe.decoded, sample[:SHOWN]):
        new = {path for path, _ in fields_of(values) if path not in used and tried.get(path, 0) < TRIED}
        if not new or not _parts(values, recipe)["text"]:
            continue
        for path, meaning in meanings(values, recipe).items():
            tried[path] = tried.get(path, 0) + 1
            if meaning != NOT_USED:
                used.add(path)
        long |= {path for path, value in fields_of(values) if isinstance(value, str) and len(value) >= LONG}
    left = [path for path in tried if path not in used]
    return tuple(map(named, sorted(left, key=lambda path: path not in long)))


def fields_around(outlined: Any, under: Sequence[str] | None) -> tuple[str, ...]:
    """Return the fields of a JSON file that are not below the keys that lead to its records."""
    if not under or under[0] in ("*", "**"):
        around = outlined.items() if under and under[0] == "**" else ()
        return tuple(name for name, value in around if not isinstance(value, dict | list))
    paths = dict.fromkeys(path for path, value in fields_of(outlined) if value not in (None, "", [], {}))
    return tuple(named(path) for path in paths if path[: len(under)] != tuple(under))


def fields_of(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield path and value of each field; a field of several items comes several times."""
    if isinstance(value, dict) and value and len(path) < DEPTH:
        for key, inner in value.items():
            yield from fields_of(inner, (*path, EACH if _has_ids(value) else key))
    elif isinstance(value, list) and value and len(path) < DEPTH:
        for inner in value:
            yield from fields_of(inner, (*path, EACH))
    else:
        yield path, value


def named(path: Path) -> str:
    """Return a path as people write it: `turns[].text`."""
    return "".join(key if key == EACH else f".{key}" for key in path).removeprefix(".")


def _shortened(value: Any, recipe: Recipe) -> Any:
    """Return a value with lists of which two items of each form are left, without those that were not said."""
    if isinstance(value, dict):
        return {key: _shortened(inner, recipe) for key, inner in value.items()}
    if not isinstance(value, list):
        return value
    forms = Counter[Any]()
    kept = []
    for item in value:
        if isinstance(item, dict) and any(finder(item) for _, finder in recipe.not_speech):
            continue
        # Names that occur in few items, such as `edited`, are tried, too.
        form = frozenset(path for path, _ in fields_of(item))
        forms[form] += 1
        if forms[form] < TRIED:
            kept.append(_shortened(item, recipe))
    return kept


def _has_ids(value: dict[str, Any]) -> bool:
    inner = [names for names in value.values() if isinstance(names, dict)]
    # Objects below ids are alike; "inputs" and "outputs" are not.
    return len(inner) == len(value) >= MANY and bool(set.intersection(*map(set, inner)))


def _parts(values: dict[str, Any], recipe: Recipe) -> dict[str, Any]:
    """Return what a recipe makes of a record, by meaning."""
    reader = RecordReader(recipe, name="")
    read = [record.values for record in reader.read([Record(1, values)])]
    plain = read[0] if read else {}
    turns = plain.get("turns", read) or []
    every = [
        *plain.get("first", []),
        *(turns if isinstance(turns, list) else [{"text": turns}]),
        *plain.get("last", []),
    ]
    return {
        UNSAID: (len(every), reader.left_out, reader.skipped, [turn.get("kind") for turn in every]),
        "dialogue id": plain.get("id"),
        "text": [turn.get("text") for turn in every],
        "speaker": [turn.get("speaker") for turn in every],
        "order of turns": [(turn.get("time"), plain.get("version")) for turn in every],
        "label": plain.get("labels"),
        "metadata": plain.get("metadata"),
        "start of the dialogue": plain.get("date"),
    }


def _other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int | float) else "\u2042"


def _with(value: Any, path: Path) -> Any:
    """Return a copy of a value in which the fields of a path have other values."""
    if not path:
        return _other(value)
    key, *rest = path
    inner = tuple(rest)
    if key == EACH and isinstance(value, list):
        return [_with(item, inner) for item in value]
    if key == EACH and isinstance(value, dict):
        return {name: _with(item, inner) for name, item in value.items()}
    return value | {key: _with(value[key], inner)} if isinstance(value, dict) and key in value else value
