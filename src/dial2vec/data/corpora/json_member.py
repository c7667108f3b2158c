"""Streaming a large JSON object out of an archive, so that one of its values at a time is in memory."""

from __future__ import annotations

import codecs
import json
import zipfile
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from dial2vec.data.corpora.archive import MIB, address, fetch_again, open_member, read_member
from dial2vec.errors import CorpusError


def entries(archive: zipfile.ZipFile, info: zipfile.ZipInfo, *, below: str = "") -> Iterator[tuple[str, Any]]:
    """Yield key and value of each entry of a JSON object.

    :param below: the key under which the member has the object, if it has it; empty for the member itself.
    :raises CorpusError: when the member is damaged, no JSON, or itself no object with entries; what came before has
        been yielded by then.
    """
    import ijson

    n_found = 0
    with open_member(archive, info) as stream:
        blocks = iter(lambda: stream.read(MIB), b"")
        unmarked = chain([next(blocks, b"").removeprefix(codecs.BOM_UTF8)], blocks)
        try:
            # Without exact numbers, with which ijson 3.6 crashes on 5,000 digits.
            for pair in ijson.kvitems(ijson.from_iter(unmarked), below, use_float=True):
                n_found += 1
                yield pair
        except (ijson.JSONError, ValueError, RecursionError) as error:
            reason = " ".join(str(error).split()[:12])
            for pair in _all_at_once(archive, info, below=below, after=n_found, reason=reason):
                n_found += 1
                yield pair
    if not n_found and not below:
        where = address(archive, info)
        raise CorpusError(f"{where} is no JSON object with entries, as upstream has it. {fetch_again(where)}")


def _all_at_once(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, *, below: str, after: int, reason: str
) -> Iterator[tuple[str, Any]]:
    """Go on behind the entry where ijson stopped, perhaps at `NaN` or a long number: Python writes and reads them."""
    try:
        found = json.loads(read_member(archive, info))
    except (ValueError, RecursionError) as error:
        where = address(archive, info)
        raise CorpusError(f"{where} is not JSON ({reason}). {fetch_again(where)}") from error
    if below:
        found = found.get(below) if isinstance(found, dict) else None
    yield from islice(found.items() if isinstance(found, dict) else (), after, None)
