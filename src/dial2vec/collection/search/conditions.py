"""Conditions on the metadata of dialogues, such as "channel in phone, chat and csat <= 2"."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from conversations.dialogue import moment_of
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.data.metadata import Kind
from dial2vec.errors import CorpusError, did_you_mean

COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": pc.equal,
    "!=": pc.not_equal,
    "<=": pc.less_equal,
    ">=": pc.greater_equal,
    "<": pc.less,
    ">": pc.greater,
}
# Each of these is the opposite of a sign; a dialogue without the key passes neither.
OPPOSITES = {"!=": "==", "!~": "~", "not in": "in"}
PRESENCE = {"is missing": False, "is present": True}
SIGN = r"==|!=|<=|>=|<|>|!~|~|=|(?<=\s)(?:not\s+in|in)(?=\s)|(?<=\s)is\s+(?:missing|present)(?=\s|$)"
AFTER_KEY = re.compile(rf"\s*({SIGN})\s*(.*)", re.DOTALL)
CONDITION = re.compile(rf"(.+?)\s*({SIGN})\s*(.*)", re.DOTALL)
# A quoted value, or a word that joins two conditions.
JOINT = re.compile(r"""(?<=[\s=~<>,])(?:'[^']*'|"[^"]*")(?=[\s,]|$)|\s+(and|or)\s+""")
LISTED = re.compile(r"""\s*('[^']*'|"[^"]*"|[^,]*?)\s*(?:,|$)""")
# What a collection knows of each dialogue besides its metadata.
COLUMNS: dict[str, Kind] = {"turns": "number", "words": "number", "date": "time"}
LISTS = {"label": "labels", "speaker": "speakers"}
YES, NO = ("true", "yes"), ("false", "no")


@dataclass(frozen=True, slots=True)
class Column:
    """A column that a condition looks at.

    :param values: values; of a list column, those of all lists one after the other.
    :param lists: number of the dialogue of each value, int64, ascending; None if each dialogue has one value.
    """

    key: str
    values: pa.Array
    kind: Kind
    lists: NDArray[np.int64] | None = None


def meets(collection: CollectionFolder, text: str) -> NDArray[np.bool_]:
    """Return a mask of the dialogues that meet a condition, bool [n].

    A condition is a key, a sign and a value. "and" joins conditions, and "or" joins what "and" has joined. The keys are
    those of the metadata, then `turns`, `words`, `date`, `label` and `speaker`, of which one match is enough. A
    dialogue without the key passes only "is missing".

    :raises CorpusError: if the condition cannot be read, or a key or value is unknown.
    """
    keys = (*collection.metadata_kinds, *COLUMNS, *LISTS)
    mask = np.zeros(len(collection), dtype=bool)
    for joined in _split(text, keys):
        both = np.ones(len(collection), dtype=bool)
        for condition in joined:
            both &= _meets(collection, condition, keys)
        mask |= both
    return mask


def keys_of_condition(collection: CollectionFolder, text: str) -> set[str]:
    """Return the keys that a condition names."""
    keys = (*collection.metadata_kinds, *COLUMNS, *LISTS)
    parts = [_of_known_key(condition.strip(), keys) for joined in _split(text, keys) for condition in joined]
    return {part[0] for part in parts if part is not None}


def parsed_moment(date: str) -> datetime:
    """Return an ISO date or time in UTC.

    :raises CorpusError: if it is neither.
    """
    parsed = moment_of(date)
    if parsed is None:
        raise CorpusError(f"{date!r} is no date; expected one such as 2026-03-04, or 2026-03-04T10:15.")
    return parsed


def require_known(value: str, known: Sequence[str], name: str) -> None:
    """Check that some dialogue has a value.

    :raises CorpusError: if none has.
    """
    if value not in known:
        raise CorpusError(f"no dialogue has the {name} {value!r}.{did_you_mean(value, known)} {_listed(known)}.")


def _listed(known: Sequence[str]) -> str:
    return f"There are {len(known)}: {', '.join(known[:8])}{', ...' if len(known) > 8 else ''}"


def _split(text: str, keys: Sequence[str]) -> list[list[str]]:
    """Return the parts joined by "or", each as the conditions joined by "and".

    The words join only if a condition follows: "title == bed and breakfast" is one condition.
    """
    joined, first = [[""]], 0
    for match in JOINT.finditer(text):
        if match[1] and _is_condition(text[match.end() :], keys):
            joined[-1][-1] = text[first : match.start()]
            first = match.end()
            if match[1] == "and":
                joined[-1].append("")
            else:
                joined.append([""])
    joined[-1][-1] = text[first:]
    return joined


def _is_condition(text: str, keys: Sequence[str]) -> bool:
    """Return True if a text starts with a known key and a sign, or with another word and a sign."""
    return _of_known_key(text, keys) is not None or re.match(rf"[^\s=!<>~]+\s*(?:{SIGN})", text) is not None


def _of_known_key(text: str, keys: Sequence[str]) -> tuple[str, str, str] | None:
    """Return key, sign and value; the longest key counts, because keys may hold blanks and signs."""
    for key in sorted(keys, key=len, reverse=True):
        if text.startswith(key) and (match := AFTER_KEY.fullmatch(text, len(key))):
            return key, match[1], match[2]
    return None


def _meets(collection: CollectionFolder, condition: str, keys: Sequence[str]) -> NDArray[np.bool_]:
    text = condition.strip()
    parts = _of_known_key(text, keys)
    match = None if parts else CONDITION.fullmatch(text)
    if match is not None:
        raise CorpusError(
            f"no dialogue of {collection.folder} has metadata {match[1]!r}.{did_you_mean(match[1], keys)} "
            f"{_listed(list(collection.metadata_kinds))}. Name one of these keys, or leave --where out."
        )
    if parts is None:
        raise CorpusError(
            f"found the condition {condition!r} (--where); expected a key, one of {' '.join(COMPARISONS)} ~ !~ in and "
            'a value, or "is missing" or "is present", such as --where "channel == phone".'
        )
    key, sign, value = parts
    sign = "==" if sign == "=" else " ".join(sign.split())
    column = _column(collection, key)
    if sign in PRESENCE:
        return _dialogues(column, column.values.is_valid(), len(collection)) == PRESENCE[sign]
    opposite = OPPOSITES.get(sign)
    passes = _dialogues(column, _passes(column, opposite or sign, value), len(collection))
    if opposite is None:
        return passes
    return _dialogues(column, column.values.is_valid(), len(collection)) & ~passes


def _column(collection: CollectionFolder, key: str) -> Column:
    kinds = collection.metadata_kinds
    if key in kinds:
        return Column(key, collection.metadata(key), kinds[key].kind)
    if key in COLUMNS:
        return Column(key, collection.rows[key].combine_chunks(), COLUMNS[key])
    lists = collection.rows[LISTS[key]].combine_chunks()
    return Column(key, pc.list_flatten(lists), "category", pc.list_parent_indices(lists).to_numpy())


def _dialogues(column: Column, values: pa.Array, n: int) -> NDArray[np.bool_]:
    """Return which dialogues have a value that passes; null does not pass."""
    passing = np.asarray(pc.fill_null(values, False).to_numpy(zero_copy_only=False), dtype=bool)
    if column.lists is None:
        return passing
    mask = np.zeros(n, dtype=bool)
    mask[column.lists[passing]] = True
    return mask


def _passes(column: Column, sign: str, value: str) -> pa.Array:
    if sign == "~":
        return pc.match_substring(column.values.cast(pa.string()), _unquoted(value), ignore_case=True)
    if sign != "in":
        return _compared(column, sign, value)
    low, dots, high = value.partition("..")
    if dots and column.kind in ("number", "time"):
        return pc.and_(_compared(column, ">=", low.strip()), _compared(column, "<=", high.strip()))
    wanted = [match[1] for match in LISTED.finditer(value) if match[1]]
    if not wanted:
        raise CorpusError(f"{column.key!r} (--where) needs values after 'in', such as a, b; found none. Name some.")
    masks = [_compared(column, "==", each) for each in wanted]
    passing = masks[0]
    for mask in masks[1:]:
        passing = pc.or_(passing, mask)
    return passing


def _compared(column: Column, sign: str, value: str) -> pa.Array:
    value = _unquoted(value)
    if column.kind == "time":
        return _compared_time(column.values, sign, value)
    if column.kind == "number":
        return _compared_number(column, sign, value)
    if sign != "==":
        raise CorpusError(f"{column.key!r} (--where) holds texts, which {sign!r} does not compare. Use == or !=.")
    texts = column.values.cast(pa.string())
    if column.kind == "category":
        if pa.types.is_boolean(column.values.type):
            value = next((words[0] for words in (YES, NO) if value.lower() in words), value)
        require_known(value, texts.unique().drop_null().to_pylist(), column.key)
    return pc.equal(texts, value)


def _compared_time(values: pa.Array, sign: str, value: str) -> pa.Array:
    """Compare times; a date without a time of day is the whole day."""
    first = parsed_moment(value)
    # The end of a day that is the last one of the calendar does not exist.
    day = _is_day(value) and first.year < datetime.max.year
    last = first + timedelta(days=1) if day else first
    start, end = (pa.scalar(at).cast(values.type) for at in (first, last))
    if sign == "==":
        return pc.and_(pc.greater_equal(values, start), pc.less(values, end)) if day else pc.equal(values, start)
    if day and sign in ("<=", ">"):
        return pc.less(values, end) if sign == "<=" else pc.greater_equal(values, end)
    return COMPARISONS[sign](values, start)


def _is_day(value: str) -> bool:
    """Return True for a date without a time of day, such as 2026-03-04, 20260304 or 2026-W10-3."""
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return True


def _compared_number(column: Column, sign: str, value: str) -> pa.Array:
    """Compare numbers; whole ones exactly, because a float does not hold all digits of a long id."""
    values = column.values
    if pa.types.is_integer(values.type):
        with suppress(ValueError, OverflowError):
            return COMPARISONS[sign](values, pa.scalar(int(value), values.type))
    return COMPARISONS[sign](values.cast(pa.float64(), safe=False), _number(column.key, value))


def _number(key: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise CorpusError(f"{key!r} (--where) holds numbers, found {value!r}; expected one, such as 3.5.") from None


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value
