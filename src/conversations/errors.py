"""Errors of reading: each message says what was found, where, what was expected and what to do next."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from typing import Any

# Number of keys that an error names.
N_KEYS = 5


class ConversationError(Exception):
    """Base of all errors that a command prints as one line, without a traceback."""


class CorpusError(ConversationError):
    """A corpus or an export does not exist, its files are missing or damaged, or it has no usable dialogue.

    :param reader: Reader of the file that is refused, which knows how far it was read; None for other errors.
    """

    reader: Any = None


class ArtifactError(ConversationError):
    """A file that an earlier step writes is missing, incomplete or from other settings."""


def did_you_mean(name: str, valid: Iterable[str]) -> str:
    """Return `" Did you mean 'x'?"` for the closest valid name, or "" if none is close.

    >>> did_you_mean("learning_rat", ["learning_rate", "epochs"])
    " Did you mean 'learning_rate'?"
    """
    close = difflib.get_close_matches(name, list(valid), n=1)
    return f" Did you mean '{close[0]}'?" if close else ""


def described(value: object) -> str:
    """Describe a JSON value: `a number (3)`, `a list`, `null`."""
    if value is None:
        return "null"
    if isinstance(value, bool | int | float):
        return f"{'a boolean' if isinstance(value, bool) else 'a number'} ({json.dumps(value)})"
    if isinstance(value, str):
        # The text of a dialogue belongs in no error, because errors go to logs.
        return f"the string {value!r}" if len(value) <= 40 else f"a string of {len(value)} characters"
    if isinstance(value, dict):
        return f"an object with {described_keys(value)}"
    return "a list"


def described_keys(value: dict[str, Any]) -> str:
    """List the first keys of an object."""
    shown = ", ".join(repr(key[:40]) for key in list(value)[:N_KEYS])
    return f"{shown} and {len(value) - N_KEYS} more" if len(value) > N_KEYS else shown or "no keys"
