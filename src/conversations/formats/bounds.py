"""Bounds of what a file may unpack to: files that say more were made to fill a disk or the memory."""

from __future__ import annotations

from pathlib import Path

from conversations.errors import CorpusError

MOST_BYTES, MOST_RATIO = 4 << 30, 200
SMALL = 100 << 20


def require_bounds(path: Path, size: int) -> None:
    """Raise if the content of a file is far larger than the file.

    :param size: Bytes of the content, unpacked.
    :raises CorpusError: if it is over 4 GiB, or over 100 MiB and 200 times the file.
    """
    packed = max(path.stat().st_size, 1)
    if size > MOST_BYTES or (size > SMALL and size > MOST_RATIO * packed):
        raise CorpusError(
            f"{path} unpacks to over {size / 1e9:.1f} GB from {packed / 1e6:.1f} MB; expected at most "
            f"{MOST_BYTES >> 30} GiB and {MOST_RATIO} times its size. Unpack it yourself if you trust it, and import "
            "the folder."
        )
