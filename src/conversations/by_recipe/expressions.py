"""JMESPath expressions as Python functions: ten times as fast as the interpreter, which still reads what is rare."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from types import UnionType
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError, JMESPathTypeError
from jmespath.functions import Functions, signature
from jmespath.visitor import TreeInterpreter

from conversations.values.cells import unpacked
from conversations.values.messages import exchange, messages

Find = Callable[[Any], Any]


class RecipeFunctions(Functions):  # type: ignore[misc]
    """The functions of JMESPath, one for JSON that is stored as text, and two for messages of models."""

    @signature({"types": []})  # type: ignore[untyped-decorator]
    def _func_parse_json(self, text: Any) -> Any:
        return unpacked(text) if isinstance(text, str) else None

    @signature({"types": []}, {"types": ["string"]})  # type: ignore[untyped-decorator]
    def _func_messages(self, value: Any, role: str) -> list[dict[str, str]]:
        return messages(value, role)

    @signature({"types": []}, {"types": []}, {"types": ["string"]})  # type: ignore[untyped-decorator]
    def _func_exchange(self, asked: Any, answered: Any, answerer: str) -> Any:
        return exchange(asked, answered, answerer)


INTERPRETER = TreeInterpreter(jmespath.Options(custom_functions=RecipeFunctions()))
# Types of JMESPath, in the order in which they are tried: True is an int, too.
TYPES: dict[type | UnionType, str] = {
    bool: "boolean",
    str: "string",
    dict: "object",
    list: "array",
    int | float: "number",
}


# A path into nested values, as users name a column.
PATH = re.compile(r"[\w$-]+(?:\[[^\]]*\]|\.[\w$-]+)+")


def of_column(name: str) -> str:
    """Return the expression that finds a column by its name, whatever characters the name has."""
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else json.dumps(name, ensure_ascii=False)


def is_false(value: Any) -> bool:
    """Return whether a value counts as missing; 0 does not."""
    return value is None or value is False or (isinstance(value, str | list | dict) and not value)


class Finder:
    """A JMESPath expression.

    :param find: Returns what the expression finds in a value; None if it finds nothing.
    """

    __slots__ = ("find", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        parsed = jmespath.compile(text).parsed
        # The name of a column and nothing else never fails.
        self.find = _function(parsed) if parsed["type"] == "field" else _careful(_function(parsed))

    def __call__(self, value: Any) -> Any:
        """Return what the expression finds in a value; None if it finds nothing."""
        return self.find(value)


def _careful(find: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def find_or_none(value: Any) -> Any:
        try:
            return find(value)
        except (JMESPathError, TypeError, RecursionError):
            # A function meets another type than in the records that the recipe is for.
            return None

    return find_or_none


def _function(node: dict[str, Any]) -> Find:
    build = BUILDERS.get(node["type"])
    return (build(node) if build else None) or (lambda value: INTERPRETER.visit(node, value))


def _field(node: dict[str, Any]) -> Find:
    name = node["value"]
    return lambda value: value.get(name) if isinstance(value, dict) else None


def _chain(node: dict[str, Any]) -> Find:
    steps = [_function(child) for child in node["children"]]

    def find(value: Any) -> Any:
        for step in steps:
            value = step(value)
        return value

    return find


def _or(node: dict[str, Any]) -> Find:
    left, right = map(_function, node["children"])
    return lambda value: right(value) if is_false(first := left(value)) else first


def _and(node: dict[str, Any]) -> Find:
    left, right = map(_function, node["children"])
    return lambda value: first if is_false(first := left(value)) else right(value)


def _not(node: dict[str, Any]) -> Find:
    inner = _function(node["children"][0])
    return lambda value: is_false(inner(value))


def _comparator(node: dict[str, Any]) -> Find | None:
    """Compare with a text; numbers and booleans have rules of their own."""
    left, right = node["children"]
    if node["value"] not in ("eq", "ne") or right["type"] != "literal" or not isinstance(right["value"], str):
        return None
    inner, text, same = _function(left), right["value"], node["value"] == "eq"
    return lambda value: (inner(value) == text) is same


def _call(node: dict[str, Any]) -> Find | None:
    """Return `contains`, `keys` and `type`; a value of another type is an error, as in the interpreter."""
    name, (first, *rest) = node["value"], map(_function, node["children"])
    if name == "type":
        return lambda value: next((kind for types, kind in TYPES.items() if isinstance(first(value), types)), "null")
    if name == "keys":
        return lambda value: list(_of_type(first(value), dict))
    if name == "not_null":
        finders = [first, *rest]
        return lambda value: next((result for find in finders if (result := find(value)) is not None), None)
    if name != "contains":
        return None
    inner, among = rest[0], node["children"][0]
    if among["type"] == "multi_select_list" and all(child["type"] == "literal" for child in among["children"]):
        known = [child["value"] for child in among["children"]]
        return lambda value: inner(value) in (known if value is not None else _of_type(None, list))
    return lambda value: inner(value) in _of_type(first(value), list | str)


def _of_type(value: Any, types: type | UnionType) -> Any:
    if not isinstance(value, types):
        raise JMESPathTypeError("", value, "", [])
    return value


def _projection(node: dict[str, Any]) -> Find:
    """Return a projection; a filter has a condition, too."""
    left, right, *conditions = map(_function, node["children"])

    def find(value: Any) -> Any:
        items = left(value)
        if not isinstance(items, list):
            return None
        for condition in conditions:
            items = [item for item in items if not is_false(condition(item))]
        return [item for item in map(right, items) if item is not None]

    return find


def _flatten(node: dict[str, Any]) -> Find:
    inner = _function(node["children"][0])

    def find(value: Any) -> Any:
        items = inner(value)
        if not isinstance(items, list):
            return None
        return [part for item in items for part in (item if isinstance(item, list) else [item])]

    return find


def _list(node: dict[str, Any]) -> Find:
    finders = [_function(child) for child in node["children"]]
    return lambda value: None if value is None else [find(value) for find in finders]


def _index(node: dict[str, Any]) -> Find:
    at = node["value"]
    return lambda value: value[at] if isinstance(value, list) and -len(value) <= at < len(value) else None


BUILDERS: dict[str, Callable[[dict[str, Any]], Find | None]] = {
    "field": _field,
    "subexpression": _chain,
    "pipe": _chain,
    "or_expression": _or,
    "and_expression": _and,
    "not_expression": _not,
    "comparator": _comparator,
    "function_expression": _call,
    "filter_projection": _projection,
    "projection": _projection,
    "flatten": _flatten,
    "multi_select_list": _list,
    "index_expression": _chain,
    "index": _index,
    "literal": lambda node: lambda value: node["value"],
    "current": lambda node: lambda value: value,
    "identity": lambda node: lambda value: value,
}
