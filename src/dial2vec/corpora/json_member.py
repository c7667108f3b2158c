"""Streaming a large JSON object out of an archive, so that one of its values at a time is in memory."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from typing import Any

from dial2vec.corpora.archive import address, open_member
from dial2vec.errors import CorpusError


def entries(archive: zipfile.ZipFile, info: zipfile.ZipInfo, *, below: str = "") -> Iterator[tuple[str, Any]]:
    """Yield key and value of each entry of a JSON object.

    :param below: the key under which the member has the object, if it has it; empty for the member itself.
    :raises CorpusError: when the member is damaged, no JSON, or itself no object with entries; what came before has
        been yielded by then.
    """
    import ijson

    with open_member(archive, info) as stream:
        # So a number of too many digits is an error; with exact numbers, ijson 3.6 crashes on 5,000 digits.
        pairs = ijson.kvitems(stream, below, use_float=True)
        found = bool(below)
        while True:
            try:
                pair = next(pairs, None)
            except (ijson.JSONError, ValueError, RecursionError) as error:
                reason = " ".join(str(error).split()[:12])
                raise CorpusError(
                    f"{address(archive, info)} is not JSON ({reason}). Fetch the archive again."
                ) from error
            if pair is None:
                break
            found = True
            yield pair
    if not found:
        raise CorpusError(
            f"{address(archive, info)} is no JSON object with entries, as upstream has it. Fetch the archive again."
        )
