"""Files of the inbox: has the writer finished, has a file changed since its receipt, and how it is moved."""

from __future__ import annotations

import contextlib
import errno
import shutil
import time
from pathlib import Path
from typing import Any

from conversations.files import atomic_path, read_json, sha256_of, write_errors, write_json
from dial2vec.errors import ArtifactError

# A file written to within this time may be incomplete.
QUIET_SECONDS = 30


def is_quiet(path: Path) -> bool:
    """Return whether nobody has written to a file recently; a modification time in the future counts as old."""
    with contextlib.suppress(FileNotFoundError):
        return abs(time.time() - path.stat().st_mtime) >= QUIET_SECONDS
    return False


def receipt_of(path: Path) -> dict[str, Any]:
    """Return size, modification time and SHA-256 of a file."""
    before = _size_and_time(path)
    return before | {"sha256": sha256_of(path).hex()}


def read_receipt(path: Path) -> dict[str, Any]:
    """Return a stored receipt; {} if it is missing or damaged."""
    with contextlib.suppress(ArtifactError):
        if isinstance(receipt := read_json(path), dict):
            return receipt
    return {}


def has_changed(path: Path, receipt: Path) -> bool:
    """Return whether a file differs from its receipt; the file is read only if its size or time does."""
    before = read_receipt(receipt)
    if before.items() >= _size_and_time(path).items():
        return False
    now = receipt_of(path)
    if now["sha256"] != before.get("sha256"):
        return True
    write_json(receipt, now)
    return False


def move(path: Path, target: Path) -> None:
    """Move a file, also to another disk."""
    with write_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            path.replace(target)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            with atomic_path(target) as temporary:
                before = None
                # Copy again if the file has grown meanwhile.
                while before != (before := _size_and_time(path)):
                    shutil.copy2(path, temporary)
            path.unlink()


def _size_and_time(path: Path) -> dict[str, Any]:
    stat = path.stat()
    return {"size": stat.st_size, "modified": stat.st_mtime_ns}
