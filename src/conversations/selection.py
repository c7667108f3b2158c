"""Rows and turns that the user chooses by conditions, and columns inside nested values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from jmespath.exceptions import JMESPathError

from conversations.by_recipe.expressions import PATH, Finder
from conversations.errors import CorpusError
from conversations.formats.records import Record
from conversations.options import Options

# A value on the right of a comparison, as people write it: JMESPath wants `true` and 'text'.
BARE = re.compile(
    r"(==|!=|<=|>=|<|>)\s*(true|false|null|-?\d+(?:\.\d+)?|\"[^\"]*\"|[A-Za-z][\w-]*)(?=\s*(?:$|[)&|\]]))"
)
# A comparison as people write it, whose column may have blanks or letters of any language: "Comment Is Public = no".
BARE_COLUMN = r"[^\s\"'`()\[\]&|=!<>.][^\"'`()\[\]&|=!<>.]*?"
BARE_VALUE = r"[^\s\"'`()\[\]&|=!<>][^\"'`()\[\]&|=!<>]*?"
SIMPLE = re.compile(rf"\s*(\"[^\"]+\"|{BARE_COLUMN})\s*(==?|!=|<=|>=|<|>)\s*({BARE_VALUE}|'[^']*'|\"[^\"]*\")\s*")
# A column in double quotes, or a bare one.
COLUMN = re.compile(r'"([^"]+)"|([A-Za-z_]\w*)')


def condition(text: str, *, option: str) -> Finder:
    """Return a condition such as `public == true`, `type == note` or `contains(tags, 'vip')`.

    :param option: Name of the option, for the error.
    :raises CorpusError: if the text is no condition.
    """
    if simple := SIMPLE.fullmatch(text):
        column, sign = simple[1].strip('"'), "==" if simple[2] == "=" else simple[2]
        return _finder(f'"{column}" {sign} {_value(simple[3])}', text, option)
    return _finder(BARE.sub(lambda match: f"{match[1]} {_value(match[2])}", text), text, option)


def _value(text: str) -> str:
    """Return a value as JMESPath writes it: a number or truth value in backticks, a text in single quotes."""
    if text in ("true", "false", "null") or re.fullmatch(r"-?\d+(?:\.\d+)?", text):
        return f"`{text}`"
    return "'{}'".format(text.strip("'\""))


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
        names = chain.from_iterable(options.named.values())
        self._paths = {name: _finder(name, name, name) for name in names if PATH.fullmatch(name)}
        # Names that are paths, not columns that are called so.
        self.paths: set[str] = set()
        self.dropped = 0
        # Conditions that named no key so far, as the user wrote them.
        texts = [f"{text!r} (--where)" for text in options.where] + [f"{text!r} (--drop)" for text in options.drop]
        self.unused = dict(zip((*self._wanted, *self._unwanted), texts, strict=True))

    def apply(self, records: Iterable[Record]) -> Iterator[Record]:
        """Yield the chosen records, with a column for each path."""
        if not (self._wanted or self._unwanted or self._paths):
            yield from records
            return
        for record in records:
            values = record.values
            if record.problem or not isinstance(values, dict):
                yield record
            elif self._is_chosen(values, about := {finder for finder in self._all if _is_about(finder, values)}):
                chosen = self._chosen_turns(values, set(self._all) - about)
                yield record._replace(values=self._with_paths(chosen))
            else:
                self.dropped += 1

    @property
    def _all(self) -> list[Finder]:
        return [*self._wanted, *self._unwanted]

    def _is_chosen(self, values: dict[str, Any], conditions: set[Finder]) -> bool:
        """Return whether a row or a turn meets these conditions."""
        for finder in conditions:
            self.unused.pop(finder, None)
        return all(_holds(finder, values) != (finder in self._unwanted) for finder in conditions)

    def _chosen_turns(self, values: dict[str, Any], conditions: set[Finder]) -> dict[str, Any]:
        """Return a record without the turns that miss a condition; lists in which no item has its key stay."""
        if not conditions:
            return values
        chosen: dict[str, Any] = {}
        for name, value in values.items():
            if isinstance(value, dict):
                chosen[name] = self._chosen_turns(value, conditions)
            elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
                about = {finder for finder in conditions if any(_is_about(finder, item) for item in value)}
                kept = [item for item in value if self._is_chosen(item, about)]
                self.dropped += len(value) - len(kept)
                chosen[name] = [self._chosen_turns(item, conditions - about) for item in kept]
        return values | chosen

    def _with_paths(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return a record with a column named like each path; in turns the columns inside them."""
        columns = self._found(values)
        lists = {**{name: value for name, value in values.items() if isinstance(value, list)}, **columns}
        for name, value in lists.items():
            if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
                columns[name] = [item | self._found(item) for item in value]
        return values | columns if columns else values

    def _found(self, values: dict[str, Any]) -> dict[str, Any]:
        columns = {name: value for name, finder in self._paths.items() if (value := finder(values)) is not None}
        self.paths |= columns.keys()
        return columns


@lru_cache(maxsize=256)
def _names(expression: str) -> frozenset[str]:
    """Return the words of an expression that may be keys."""
    names = COLUMN.findall(re.sub(r"'[^']*'|`[^`]*`", "", expression))
    return frozenset(quoted or bare for quoted, bare in names)


@lru_cache(maxsize=256)
def _compared(expression: str) -> tuple[str, ...]:
    """Return the keys that an expression compares with a number or a truth value."""
    names = re.findall(COLUMN.pattern + r"\s*(?:==|!=|<=|>=|<|>)\s*`", expression)
    return tuple(quoted or bare for quoted, bare in names)


def _is_about(finder: Finder, values: dict[str, Any]) -> bool:
    """Return whether an expression names a key of these values."""
    return not _names(finder.text).isdisjoint(values)


def _holds(finder: Finder, values: dict[str, Any]) -> bool:
    # Cells of tables are texts: "True" is true, and "4" is 4.
    plain = {name: _plain(text) for name in _compared(finder.text) if isinstance(text := values.get(name), str)}
    return bool(finder(values | plain if plain else values))


def _plain(text: str) -> Any:
    """Return the number or truth value that a text spells; other texts unchanged."""
    bare = text.strip().lower()
    if bare in ("true", "false"):
        return bare == "true"
    return float(bare) if re.fullmatch(r"-?\d+(?:\.\d+)?", bare) else text


def require_used(selections: Sequence[Selection], source: Path, columns: Sequence[str]) -> None:
    """Raise if a condition is about no row and no turn of all files: it may be misspelt, and would choose nothing.

    :param selections: Selections of the files that were read.
    :param columns: Names of the columns that are there, for the error.
    :raises CorpusError: if there is such a condition.
    """
    unused = [set(selection.unused.values()) for selection in selections]
    if unused and (idle := set.intersection(*unused)):
        known = (
            f"expected one of {', '.join(map(repr, columns[:12]))}. Correct it, or" if columns else "it has none. So"
        )
        raise CorpusError(f"{min(idle)} names no column of {source}; {known} leave it out.")
