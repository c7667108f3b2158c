"""Filters on the dialogues of a collection: label, date, speaker and metadata."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.data.metadata import Kind
from dial2vec.dialogue import moment_of
from dial2vec.errors import CorpusError, did_you_mean

CONDITION = re.compile(r"\s*(.+?)\s*(==|!=|<=|>=|<|>)\s*(.*?)\s*", re.DOTALL)
COMPARISONS = {
    "==": pc.equal,
    "!=": pc.not_equal,
    "<=": pc.less_equal,
    ">=": pc.greater_equal,
    "<": pc.less,
    ">": pc.greater,
}


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions that a dialogue must meet.

    :param labels: accepted labels, of which the dialogue has at least one; () accepts all.
    :param speakers: accepted speakers, of whom at least one speaks; () accepts all.
    :param after: earliest start, an ISO date or time, in UTC unless it has a zone; None accepts all.
    :param before: end of the accepted period, exclusive, like `after`.
    :param where: conditions on the metadata, such as "channel == phone" or "csat <= 2"; all must hold. A dialogue
        without the key does not pass.
    """

    labels: tuple[str, ...] = ()
    speakers: tuple[str, ...] = ()
    after: str | None = None
    before: str | None = None
    where: tuple[str, ...] = ()

    def rows(self, collection: CollectionFolder) -> NDArray[np.int64] | None:
        """Return the rows that pass, ascending, int64 [m]; None if there is no condition.

        :raises CorpusError: if a label, speaker or key is unknown, a date or condition is invalid, or no dialogue has a
            date.
        """
        if self == Filters():
            return None
        keep = np.ones(len(collection), dtype=bool)
        for name, wanted in (("labels", self.labels), ("speakers", self.speakers)):
            if wanted:
                keep &= _has(collection.rows[name], name.removesuffix("s"), wanted, len(collection))
        dates = collection.rows["date"]
        for date, passes in ((self.after, pc.greater_equal), (self.before, pc.less)):
            if date is not None:
                if dates.null_count == len(dates):
                    raise CorpusError(f"no dialogue of {collection.folder} has a date. Leave --after and --before out.")
                keep &= pc.fill_null(passes(dates, pa.scalar(_moment(date), dates.type)), False).to_numpy()
        for condition in self.where:
            keep &= _meets(collection, condition)
        return np.flatnonzero(keep)


def _has(column: pa.ChunkedArray, name: str, wanted: Sequence[str], n: int) -> NDArray[np.bool_]:
    """Return a mask of the lists that contain one of these values."""
    lists = column.combine_chunks()
    values = pc.list_flatten(lists)
    known = pc.unique(values).to_pylist()
    for value in wanted:
        _require_known(value, known, name)
    mask = np.zeros(n, dtype=bool)
    mask[pc.list_parent_indices(lists).filter(pc.is_in(values, pa.array(wanted))).to_numpy()] = True
    return mask


def _require_known(value: str, known: Sequence[str], name: str) -> None:
    if value not in known:
        raise CorpusError(f"no dialogue has the {name} {value!r}.{did_you_mean(value, known)} {_listed(known)}.")


def _listed(known: Sequence[str]) -> str:
    return f"There are {len(known)}: {', '.join(known[:8])}{', ...' if len(known) > 8 else ''}"


def _meets(collection: CollectionFolder, condition: str) -> NDArray[np.bool_]:
    """Return a mask of the dialogues whose metadata meet a condition."""
    match = CONDITION.fullmatch(condition)
    if not match:
        raise CorpusError(
            f"found the condition {condition!r} (--where); expected a key, one of {' '.join(COMPARISONS)} and a value, "
            'such as --where "channel == phone".'
        )
    key, sign, value = match.groups()
    value = value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value
    kinds = collection.metadata_kinds
    if key not in kinds:
        raise CorpusError(
            f"no dialogue of {collection.folder} has metadata {key!r}.{did_you_mean(key, kinds)} "
            f"{_listed(list(kinds))}. Name one of these keys, or leave --where out."
        )
    column, wanted = collection.metadata(key), _operand(key, kinds[key].kind, sign, value)
    if kinds[key].kind == "category":
        column = column.cast(pa.string())
        _require_known(value, column.unique().drop_null().to_pylist(), key)
    return np.asarray(COMPARISONS[sign](column, wanted).fill_null(False).to_numpy(zero_copy_only=False))


def _operand(key: str, kind: Kind, sign: str, value: str) -> float | datetime | str:
    """Return the value of a condition in the type of its key."""
    if kind == "time":
        return _moment(value)
    if kind == "number":
        try:
            return float(value)
        except ValueError:
            raise CorpusError(f"{key!r} (--where) holds numbers, found {value!r}; expected one, such as 3.5.") from None
    if sign not in ("==", "!="):
        raise CorpusError(f"{key!r} (--where) holds texts, which {sign!r} does not compare. Use == or !=.")
    return value


def _moment(date: str) -> datetime:
    moment = moment_of(date)
    if moment is None:
        raise CorpusError(f"{date!r} is no date; expected one such as 2026-03-04, or 2026-03-04T10:15.")
    return moment
