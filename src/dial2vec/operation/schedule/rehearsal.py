"""Reading an export in a separate process first, because one that takes all memory ends only that process."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from dial2vec.errors import Dial2vecError
from dial2vec.processes import ending_with

# Half of the memory: a file of 12 KB can unpack to 6 GB. Libraries alone reserve addresses for over 1 GB.
MOST_MEMORY = max(4 << 30, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
# Seconds; an export of many GB takes minutes.
LONGEST_READING = 3600


def rehearse(root: Path, path: Path, *, corpus: str, redact: bool) -> str:
    """Return why an export cannot be imported, found by a dry run in a separate process; "" if it can.

    :param redact: True if personal data is masked.
    :raises Dial2vecError: if somebody stopped that process.
    """
    command = [sys.executable, "-m", "dial2vec.cli", "import", str(path.absolute()), "--name", corpus, "--dry-run"]
    end_with_parent = ending_with(os.getpid())

    def limit_memory() -> None:
        end_with_parent()
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))

    try:
        done = _read(root, command + ["--redact"] * redact, limit_memory)
    except subprocess.TimeoutExpired:
        return printable_text(
            f"{path.name} cannot be imported: reading it took longer than {LONGEST_READING / 60:g} minutes and was "
            "ended. Split it, or export it again."
        )
    if done.returncode == 0:
        return ""
    if -done.returncode in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        raise Dial2vecError(f"the import of {path.name} was stopped. It goes on at the next retraining.")
    last = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
    return last.removeprefix("Error: ") if last.startswith("Error: ") else unexpected_reason(path, last)


def _read(root: Path, command: list[str], limit_memory: Callable[[], None]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=root,
        env=os.environ | {"PYTHONIOENCODING": "utf-8:backslashreplace"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        # Without its own session the child would get this group's signals, and its file would be refused.
        start_new_session=True,
        preexec_fn=limit_memory,
        encoding="utf-8",
        errors="replace",
        check=False,
        timeout=LONGEST_READING,
    )


def unexpected_reason(path: Path, reason: str) -> str:
    """Return a sentence for a failure that is not one of our errors."""
    return printable_text(
        f"{path.name} cannot be imported: reading it ended with {reason}. Expected an export that can be read within "
        f"{MOST_MEMORY >> 30} GB of memory. Split it, or export it again."
    )


def printable_text(text: str) -> str:
    """Return text that any log and JSON can hold: bytes that are not UTF-8 are escaped."""
    return text.encode("utf-8", "backslashreplace").decode()
