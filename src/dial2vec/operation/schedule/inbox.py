"""The watched folder: exports put into `inbox/<corpus>/` become part of that corpus and are moved aside."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from dial2vec.data.importing.options import Options
from dial2vec.data.importing.writing import LONGEST_NAME
from dial2vec.errors import ArtifactError, CorpusError, Dial2vecError, VersioningError
from dial2vec.files import atomic_path, ending_with, read_json, write_errors, write_json
from dial2vec.pipeline.import_export import Masks, import_export

# Folders within the inbox: files at work, done, and refused, and a record of each done or refused file.
TAKEN, IMPORTED, REFUSED, RECEIPTS = ".taken", "imported", "refused", ".receipts"
# A file that was written to within so many seconds may not be whole yet.
QUIET_SECONDS = 30
# Endings of what a copying program has not finished.
UNFINISHED = (".tmp", ".part", ".partial", ".crdownload", ".filepart")
# Half of the memory: a file of 12 KB can unpack to 6 GB. Libraries alone reserve addresses for over 1 GB.
MOST_MEMORY = max(4 << 30, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
# Python's form of a byte of a file name that is not UTF-8.
NO_UTF8 = re.compile("[\udc80-\udcff]")


@dataclass(frozen=True, slots=True)
class Arrival:
    """An export that was taken from the inbox.

    :param corpus: Name of the corpus.
    :param name: Name of the file in the inbox's folders.
    :param refused: Reason why it was refused; "" if it was imported.
    :param dialogues: Number of dialogues imported from it.
    :param aside: Number of dialogues set aside, such as those whose id is known already.
    """

    corpus: str
    name: str
    refused: str = ""
    dialogues: int = 0
    aside: int = 0


def take_in(
    root: Path, inbox: Path, corpora: Sequence[str], *, redact: bool, say: Callable[[str], None]
) -> list[Arrival]:
    """Import every whole file of `inbox/<corpus>/`, and move it to `inbox/imported` or, with its reason, `refused`.

    Killed at any moment, the next call goes on: a file is first moved to `inbox/.taken`, under a name with the first
    digits of its SHA-256, and importing it again changes nothing. Files in use, hidden ones, links and folders stay.
    A file that its writer goes on with, also after it was moved, is imported again under the same name: its dialogues
    replace those of the first part. An error of one file refuses that file alone. Other errors, such as a full disk or
    a busy DVC, refuse none: the file waits in `inbox/.taken`.

    :param corpora: Corpora of `params.yaml`; files of other folders stay, and are named.
    :param redact: True if e-mail addresses, phone and card numbers and speakers' names are masked.
    :param say: Function that shows a line to the user.
    :raises Dial2vecError: if something other than a file is at fault.
    """
    if not inbox.is_dir():
        return []

    def tell(line: str) -> None:
        say(_printable(line))

    for stranger in _strangers(inbox, corpora):
        tell(f"{stranger} stays in place: expected {inbox.name}/<corpus>/<file>, and a corpus of params.yaml")
    boxes = [_Box(root, inbox, corpus, redact, tell) for corpus in corpora]
    for box in boxes:
        box.take_changed()
        box.take_new()
    return [arrival for box in boxes for path in box.taken() if (arrival := box.bring_in(path))]


@dataclass(frozen=True, slots=True)
class _Box:
    """The inbox of one corpus."""

    root: Path
    inbox: Path
    corpus: str
    redact: bool
    say: Callable[[str], None]

    def at(self, folder: str, name: str) -> Path:
        return self.inbox / folder / self.corpus / name

    def taken(self) -> list[Path]:
        # A hidden file there is a copy that was cut by a kill; its original is still in the inbox.
        return sorted(self.at(TAKEN, "").glob("[!.]*"))

    def take_changed(self) -> None:
        """Take imported and refused files again whose writer has gone on with them."""
        for receipt in sorted(self.at(RECEIPTS, "").glob("*.json")):
            for folder in (IMPORTED, REFUSED):
                path = self.at(folder, receipt.name.removesuffix(".json"))
                with self._staying(path):
                    if path.is_file() and _is_quiet(path) and _has_changed(path, receipt):
                        self.say(f"{path} was written to after it was {folder}: it is imported again")
                        _reason(path).unlink(missing_ok=True)
                        _move(path, self.at(TAKEN, path.name))

    def take_new(self) -> None:
        """Take the whole files of the corpus's folder."""
        # Names that earlier versions of this package took and could not import.
        stuck = [path for path in self.taken() if _own_name(path.name, "") != path.name]
        for path in [*_whole_files(self.inbox / self.corpus), *stuck]:
            if path.is_symlink():
                self.say(f"{path} stays in place: it is a link; put the file itself there")
                continue
            with self._staying(path):
                _move(path, self.at(TAKEN, self._free_name(path)))

    def bring_in(self, path: Path) -> Arrival | None:
        """Import a taken file; None if it waits for the next call."""
        before = None
        with self._staying(path):
            if _is_quiet(path):
                before = _receipt_of(path)
            else:
                self.say(f"{path.name} waits for the next time: it is being written to")
        if before is None:
            return None
        arrival = self._import(path)
        if _receipt_of(path)["sha256"] == before["sha256"]:
            self._put(path, before, arrival.refused)
            return arrival
        self.say(f"{path.name} was written to while it was read: it is imported again the next time")
        return None if arrival.refused else arrival

    def _import(self, path: Path) -> Arrival:
        reason = rehearse(self.root, path, corpus=self.corpus, redact=self.redact)
        if reason:
            return Arrival(self.corpus, path.name, reason)
        try:
            outcome = import_export(
                self.root,
                path,
                corpus=self.corpus,
                options=Options(),
                masks=Masks() if self.redact else None,
                merge_turns=False,
                dry_run=False,
                replace=False,
                say=self.say,
            )
        except VersioningError:
            raise
        except CorpusError as error:
            return Arrival(self.corpus, path.name, _printable(str(error)))
        except (Dial2vecError, OSError):
            # Not the file's: it could be read a moment ago.
            raise
        except Exception as error:
            return Arrival(self.corpus, path.name, _unforeseen(path, f"{type(error).__name__}: {error}"))
        return Arrival(self.corpus, path.name, dialogues=len(outcome.dialogues), aside=len(outcome.quarantine))

    def _put(self, path: Path, receipt: dict[str, Any], refused: str) -> None:
        """Move a file to the folder where it belongs; the same name never lies in both."""
        folder, other = (REFUSED, IMPORTED) if refused else (IMPORTED, REFUSED)
        target, twin = self.at(folder, path.name), self.at(other, path.name)
        if refused:
            with atomic_path(_reason(target)) as temporary:
                temporary.write_text(f"{refused}\n", encoding="utf-8")
            self.say(f"{path.name} was refused: {refused}")
        write_json(self.at(RECEIPTS, f"{path.name}.json"), receipt)
        for old in (twin, _reason(twin)):
            old.unlink(missing_ok=True)
        _move(path, target)

    def _free_name(self, path: Path) -> str:
        """Return a name with the first digits of the file's SHA-256: tomorrow's export.csv is another file.

        A file that began with the same bytes and has grown since keeps its name, and this one gets a number.
        """
        digest = _receipt_of(path)["sha256"]
        marks = (f"-{digest[:8]}" + (f"-{number}" if number > 1 else "") for number in count(1))
        names = (_own_name(path.name, mark) for mark in marks)
        return next(name for name in names if self._is_free(name, digest))

    def _is_free(self, name: str, digest: str) -> bool:
        """Return whether no file of other content has this name."""
        files = [self.at(folder, name) for folder in (TAKEN, IMPORTED, REFUSED)]
        receipts = [_receipt_of(file) for file in files if file.is_file()]
        receipts.append(_read_receipt(self.at(RECEIPTS, f"{name}.json")))
        return all(receipt.get("sha256", digest) == digest for receipt in receipts)

    @contextlib.contextmanager
    def _staying(self, path: Path) -> Iterator[None]:
        """Leave a file that cannot be read or moved in place, and say so."""
        try:
            yield
        except FileNotFoundError:
            self.say(f"{path} is gone: somebody else moved it")
        except OSError as error:
            self.say(f"{path} stays in place: {error.strerror}")


def rehearse(root: Path, path: Path, *, corpus: str, redact: bool) -> str:
    """Read an export in a process of its own, and return why it cannot be used; "" if it can.

    A file that takes all memory, or crashes a library, ends only that process.

    :param redact: True if personal data is masked.
    :raises Dial2vecError: if somebody stopped that process.
    """
    command = [sys.executable, "-m", "dial2vec.cli", "import", str(path.absolute()), "--name", corpus, "--dry-run"]
    with_us = ending_with(os.getpid())

    def within_bounds() -> None:
        with_us()
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))

    done = subprocess.run(
        command + ["--redact"] * redact,
        cwd=root,
        env=os.environ | {"PYTHONIOENCODING": "utf-8:backslashreplace"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        # Signals to the group of this process are not for it: the file would be refused for them.
        start_new_session=True,
        preexec_fn=within_bounds,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    last = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
    if done.returncode == 0:
        return ""
    if -done.returncode in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        raise Dial2vecError(f"the import of {path.name} was stopped. It goes on at the next retraining.")
    return last.removeprefix("Error: ") if last.startswith("Error: ") else _unforeseen(path, last)


def _unforeseen(path: Path, reason: str) -> str:
    return _printable(
        f"{path.name} cannot be imported: reading it ended with {reason}. Expected an export that can be read within "
        f"{MOST_MEMORY >> 30} GB of memory. Split it, or export it again."
    )


def _printable(text: str) -> str:
    """Return text that any log and any JSON can hold: bytes that are no character are escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


def _is_quiet(path: Path) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return abs(time.time() - path.stat().st_mtime) >= QUIET_SECONDS
    return False


def _whole_files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.glob("*")):
        hidden = path.name.startswith((".", "~")) or path.suffix.lower() in UNFINISHED
        if path.is_file() and not hidden and _is_quiet(path):
            yield path


def _strangers(inbox: Path, corpora: Sequence[str]) -> Iterator[Path]:
    """Yield what lies in the inbox and in no corpus's folder."""
    known = {IMPORTED, REFUSED, *corpora}
    for path in sorted(inbox.glob("*")):
        if (path.is_file() or path.name not in known) and not path.name.startswith("."):
            yield path


def _own_name(name: str, mark: str) -> str:
    """Return a UTF-8 name of at most `LONGEST_NAME` bytes with a mark before its endings."""
    name = NO_UTF8.sub(lambda byte: f"_x{ord(byte[0]) - 0xDC00:02x}", name)
    first, dot, rest = name.partition(".")
    if len(f"{name}{mark}".encode()) > LONGEST_NAME:
        endings = Path(name).suffixes[-2:]
        dot, rest = "", "".join(ending for ending in endings if len(ending.encode()) <= len(".parquet"))
        first = name.removesuffix(rest).encode()[: LONGEST_NAME - len(f"{mark}{rest}".encode())].decode(errors="ignore")
    return f"{first}{mark}{dot}{rest}"


def _reason(path: Path) -> Path:
    return path.with_name(f"{path.name}.reason.txt")


def _size_and_time(path: Path) -> dict[str, Any]:
    stat = path.stat()
    return {"size": stat.st_size, "modified": stat.st_mtime_ns}


def _receipt_of(path: Path) -> dict[str, Any]:
    """Return size, time and SHA-256 of a file."""
    seen = _size_and_time(path)
    with path.open("rb") as handle:
        return seen | {"sha256": hashlib.file_digest(handle, "sha256").hexdigest()}


def _read_receipt(path: Path) -> dict[str, Any]:
    with contextlib.suppress(ArtifactError):
        if isinstance(receipt := read_json(path), dict):
            return receipt
    return {}


def _has_changed(path: Path, receipt: Path) -> bool:
    """Return whether a file differs from its receipt; it is read only if its size or time does."""
    before = _read_receipt(receipt)
    if before.items() >= _size_and_time(path).items():
        return False
    now = _receipt_of(path)
    if now["sha256"] != before.get("sha256"):
        return True
    write_json(receipt, now)
    return False


def _move(path: Path, target: Path) -> None:
    with write_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            path.replace(target)
        except OSError as error:
            # A folder of the inbox may be another disk.
            if error.errno != errno.EXDEV:
                raise
            with atomic_path(target) as temporary:
                seen = None
                # Again, if the file has grown meanwhile.
                while seen != (seen := _size_and_time(path)):
                    shutil.copy2(path, temporary)
            path.unlink()
