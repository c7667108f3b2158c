"""Stream a large JSON object from an archive, with one of its values at a time in memory."""

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

    :param below: Key of the object within the member, or "" for the member itself.
    :raises CorpusError: if the member is damaged, no JSON, or no object with entries, after all earlier entries.
    """
    import ijson

    n_entries = 0
    with open_member(archive, info) as stream:
        blocks = iter(lambda: stream.read(MIB), b"")
        unmarked = chain([next(blocks, b"").removeprefix(codecs.BOM_UTF8)], blocks)
        try:
            # Floats, because with exact numbers ijson 3.6 crashes on 5,000 digits.
            for pair in ijson.kvitems(ijson.from_iter(unmarked), below, use_float=True):
                n_entries += 1
                yield pair
        except (ijson.JSONError, ValueError, RecursionError) as error:
            reason = " ".join(str(error).split()[:12])
            for pair in _all_at_once(archive, info, below=below, after=n_entries, reason=reason):
                n_entries += 1
                yield pair
    if not n_entries and not below:
        where = address(archive, info)
        raise CorpusError(f"{where} is no JSON object with entries, as upstream has it. {fetch_again(where)}")


def _all_at_once(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, *, below: str, after: int, reason: str
) -> Iterator[tuple[str, Any]]:
    """Continue after the entry where ijson stopped, perhaps at `NaN` or a long number, which Python can read."""
    try:
        value = json.loads(read_member(archive, info))
    except (ValueError, RecursionError) as error:
        where = address(archive, info)
        raise CorpusError(f"{where} is not JSON ({reason}). {fetch_again(where)}") from error
    if below:
        value = value.get(below) if isinstance(value, dict) else None
    yield from islice(value.items() if isinstance(value, dict) else (), after, None)
