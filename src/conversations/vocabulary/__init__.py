"""The words by which exports are understood, as data: a YAML file per subject, to which a word is added without Python.

A list may be parted, by language for example; its parts count as one list.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Any

import yaml


@cache
def word_lists(subject: str) -> dict[str, Any]:
    """Return the content of a file, in which every value is a text, also `no` and `1`."""
    text = (files(__package__) / f"{subject}.yaml").read_text(encoding="utf-8")
    content: dict[str, Any] = yaml.load(text, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader))
    return content


def word_list(subject: str, *keys: str) -> tuple[str, ...]:
    """Return the words of a list in their order.

    :param keys: Keys that lead to the list.
    """
    value: Any = word_lists(subject)
    for key in keys:
        value = value[key]
    parts = value.values() if isinstance(value, dict) else [value]
    return tuple(dict.fromkeys(word for part in parts for word in part))


def word_set(subject: str, *keys: str) -> frozenset[str]:
    """Return the words of a list."""
    return frozenset(word_list(subject, *keys))


def by_word(subject: str, *keys: str) -> dict[str, str]:
    """Return the part of a list in which each word stands."""
    value: Any = word_lists(subject)
    for key in keys:
        value = value[key]
    return {word: name for name, part in value.items() for word in part}


@cache
def patterns(part: str) -> dict[str, re.Pattern[str]]:
    """Return the regular expressions of a part of `patterns.yaml` by their names."""
    own = word_lists("patterns")[part]
    known = word_lists("patterns")["texts"] | own

    def whole(value: str | list[str]) -> str:
        text = value if isinstance(value, str) else f"(?:{'|'.join(value)})"
        return re.sub(r"\{([a-z_]+)\}", lambda match: whole(known[match[1]]), text)

    return {name: re.compile(whole(value)) for name, value in own.items()}
