"""Rows and turns that the user chooses by conditions, and columns inside nested values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from jmespath.exceptions import JMESPathError

from dial2vec.data.importing.by_recipe.recipe import Finder
from dial2vec.data.importing.files.records import Record
from dial2vec.data.importing.options import Options
from dial2vec.errors import CorpusError

# A value on the right of a comparison, as people write it: JMESPath wants `true` and 'text'.
BARE = re.compile(
    r"(==|!=|<=|>=|<|>)\s*(true|false|null|-?\d+(?:\.\d+)?|\"[^\"]*\"|[A-Za-z][\w-]*)(?=\s*(?:$|[)&|\]]))"
)
# A comparison as people write it, whose column may have blanks or letters of any language: "Comment Is Public = no".
SIMPLE = re.compile(
    r"\s*(\"[^\"]+\"|[^\s\"'`()\[\]&|=!<>.][^\"'`()\[\]&|=!<>.]*?)\s*(==?|!=)\s*([^\s\"'`()\[\]&|=!<>][^\"'`()\[\]&|=!<>]*?|'[^']*'|\"[^\"]*\")\s*"
)
# A column in double quotes, or a bare one.
COLUMN = re.compile(r'"([^"]+)"|([A-Za-z_]\w*)')
PATH = re.compile(r"[\w$-]+(?:\[[^\]]*\]|\.[\w$-]+)+")


def condition(text: str, *, option: str) -> Finder:
    """Return a condition such as `public == true`, `type == note` or `contains(tags, 'vip')`.

    :param option: Name of the option, for the error.
    :raises CorpusError: if the text is no condition.
    """

    def written(match: re.Match[str]) -> str:
        value = match[2]
        if value in ("true", "false", "null") or re.fullmatch(r"-?\d+(?:\.\d+)?", value):
            return f"{match[1]} `{value}`"
        return f"{match[1]} '{value.strip(chr(34))}'"

    if simple := SIMPLE.fullmatch(text):
        column, sign, value = simple[1].strip('"'), "!=" if simple[2] == "!=" else "==", simple[3].strip("'\"")
        literal = value in ("true", "false", "null") or re.fullmatch(r"-?\d+(?:\.\d+)?", value)
        return _finder(
            f'"{column}" {sign} ' + (f"`{value}`" if literal and simple[3] == value else f"'{value}'"), text, option
        )
    return _finder(BARE.sub(written, text), text, option)


def _finder(expression: str, text: str, option: str) -> Finder:
    try:
        return Finder(expression)
    except JMESPathError as error:
        reason = " ".join(str(error).split())
        raise CorpusError(
            f"{text!r} ({option}) is no expression ({reason[:120]}); expected one such as 'public == true' or "
            f"from.user.name. Correct {option}."
        ) from error


class Selection:
    """Applies `--where` and `--drop`, and finds columns that are named by a path.

    A condition that names a column of the rows chooses rows, any other one turns inside records.

    :raises CorpusError: if an expression is broken.
    """

    def __init__(self, options: Options) -> None:
        self._wanted = [condition(text, option="--where") for text in options.where]
        self._unwanted = [condition(text, option="--drop") for text in options.drop]
        names = [options.dialogue_id, options.speaker, options.text, options.time, options.turns, *options.labels]
        self._paths = {name: _finder(name, name, name) for name in names if name and PATH.fullmatch(name)}
        self.dropped = 0

    def apply(self, records: Iterable[Record]) -> Iterator[Record]:
        """Yield the chosen records, with a column for each path."""
        if not (self._wanted or self._unwanted or self._paths):
            yield from records
            return
        for record in records:
            values = record.values
            if record.problem or not isinstance(values, dict):
                yield record
            elif self._is_chosen(values, rows=True):
                yield record._replace(values=self._with_paths(self._chosen_turns(values)))
            else:
                self.dropped += 1

    def _is_chosen(self, values: dict[str, Any], *, rows: bool) -> bool:
        """Return whether a row or a turn meets the conditions that are about it."""
        wanted = [finder for finder in self._wanted if _is_about(finder, values) or not rows]
        unwanted = [finder for finder in self._unwanted if _is_about(finder, values) or not rows]
        return all(_holds(finder, values) for finder in wanted) and not any(_holds(f, values) for f in unwanted)

    def _chosen_turns(self, values: dict[str, Any]) -> dict[str, Any]:
        conditions = [finder for finder in (*self._wanted, *self._unwanted) if not _is_about(finder, values)]
        if not conditions:
            return values
        chosen = {}
        for name, value in values.items():
            if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
                kept = [item for item in value if self._is_chosen(item, rows=False)]
                self.dropped += len(value) - len(kept)
                chosen[name] = kept
        return values | chosen

    def _with_paths(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return a record with a column named like each path; in turns the columns inside them."""
        columns = {name: value for name, finder in self._paths.items() if (value := finder(values)) is not None}
        lists = {**{name: value for name, value in values.items() if isinstance(value, list)}, **columns}
        for name, value in lists.items():
            if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
                columns[name] = [self._with_paths_of_turn(item) for item in value]
        return values | columns if columns else values

    def _with_paths_of_turn(self, turn: dict[str, Any]) -> dict[str, Any]:
        columns = {name: value for name, finder in self._paths.items() if (value := finder(turn)) is not None}
        return turn | columns if columns else turn


def _is_about(finder: Finder, values: dict[str, Any]) -> bool:
    """Return whether an expression names a key of these values."""
    names = COLUMN.findall(re.sub(r"'[^']*'|`[^`]*`", "", finder.text))
    return any((quoted or bare) in values for quoted, bare in names)


def _holds(finder: Finder, values: dict[str, Any]) -> bool:
    value = finder(values)
    # Cells of tables are texts: "true" is true.
    if value is None or value is False:
        return _as_text(finder, values)
    return bool(value)


def _as_text(finder: Finder, values: dict[str, Any]) -> bool:
    """Return whether a comparison with a bare value holds for the cell's text: "True" == true."""
    match = re.fullmatch(r"\s*\"?([^\"`=!]+?)\"?\s*(==|!=)\s*`([^`]+)`\s*", finder.text)
    if not match or not isinstance(cell := values.get(match[1]), str):
        return False
    return (cell.strip().lower() == match[3].lower()) == (match[2] == "==")
