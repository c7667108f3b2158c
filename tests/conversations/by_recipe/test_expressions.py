"""Expressions as functions find what the interpreter of JMESPath finds."""

from __future__ import annotations

from itertools import product

import jmespath
import pytest
from jmespath.exceptions import JMESPathError

from conversations.by_recipe.expressions import _function

VALUES = [
    None,
    5,
    "text",
    {},
    {"a": "", "b": {"c": "x"}, "n": 0},
    {"a": "x", "b": {"c": ""}, "l": [{"t": "x", "v": 1}, {"t": "y", "v": None}, "z"]},
    {"a": ["x", "y"], "b": None, "l": [], "n": True},
]
EXPRESSIONS = [
    "a",
    "b.c",
    "a || b.c || n",
    "a && b.c",
    "!a && b",
    "!(b.c)",
    "a == 'x'",
    "b.c != 'x'",
    "n == `0`",
    "n == `true`",
    "contains(['x', 'y'], a)",
    "contains([`true`, `1`, 'x'], n || a)",
    "contains(a, 'x')",
    'contains(`["x"]`, a)',
    "l[?t == 'x'].v",
    "l[?t].t | [0]",
    "l[?v && t != 'y']",
    "(a || b) | type(@)",
    "type(a) == 'string' && a || l[].t",
    "[a, b.c][?@]",
    "{who: a, what: b}",
    "b | c || @",
    "contains(keys(@), 'a')",
    "keys(b)[0]",
    "not_null(b.c, n, a)",
    "[a, n, l][-1]",
    "[type(a), type(n), type(l), type(b), type(@)]",
    "[a, l[].t][]",
    "l[].[t, v]",
    "l[*].t[0]",
    "contains(a, 'xy') || contains(l[].t, 'x')",
]


@pytest.mark.parametrize(("text", "value"), [*product(EXPRESSIONS, VALUES)], ids=str)
def test_an_expression_finds_the_same_as_the_interpreter(text, value):
    try:
        expected = jmespath.search(text, value)
    except JMESPathError as error:
        with pytest.raises(type(error)):
            _function(jmespath.compile(text).parsed)(value)
    else:
        found = _function(jmespath.compile(text).parsed)(value)
        assert (type(found), found) == (type(expected), expected)
