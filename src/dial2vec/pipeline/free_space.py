"""Free space on the disks of a project: looked at before work, and named after a failure."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from dial2vec.errors import Dial2vecError

# Folders that a run writes to; each may be a link to another disk.
WRITTEN = ("artifacts", ".dvc", "mlruns", "data", ".prefect")
# Bytes; one checkpoint takes more.
LITTLE_SPACE = 100_000_000


def require_space(root: Path, least_gb: float) -> None:
    """Raise if a disk of the project has too little space for a run.

    :param least_gb: Free space that each disk needs, in GB of 10^9 bytes; 0 accepts any.
    :raises Dial2vecError: naming the folder and its free space.
    """
    for folder, free in _free(root):
        if free < least_gb * 1e9:
            raise Dial2vecError(
                f"the disk of {folder} has {free / 1e9:.1f} GB left; expected at least {least_gb:g} GB "
                "(schedule.min_free_gb in operation.yaml), so nothing was begun. Free some space."
            )


def disk_hint(root: Path) -> str:
    """Return a hint if a project folder's disk is full, "" otherwise; DVC and libraries often do not say so."""
    for folder, free in _free(root):
        if free < LITTLE_SPACE:
            return f" {folder} has {free / 1e6:.0f} MB left, which may be why: free some space and run again."
    return ""


@contextlib.contextmanager
def naming_full_disk(root: Path) -> Iterator[None]:
    """Turn any error of a library into one sentence if a disk of the project is full.

    :raises Dial2vecError: with the first line of the error, and the folder whose disk is full.
    """
    try:
        yield
    except Dial2vecError:
        raise
    except Exception as error:
        if not (hint := disk_hint(root)):
            raise
        line = (str(error).strip().splitlines() or ["no reason given"])[0].rstrip(".")
        raise Dial2vecError(f"{type(error).__name__}: {line}.{hint}") from error


def _free(root: Path) -> Iterator[tuple[Path, int]]:
    for folder in (*(root / name for name in WRITTEN), root):
        if folder.is_dir():
            yield folder, shutil.disk_usage(folder).free
