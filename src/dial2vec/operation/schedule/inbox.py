"""The watched folder: exports in `inbox/<corpus>/` become part of that corpus, and are moved to another folder."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from conversations.files import write_json, write_text
from conversations.redaction import Masks
from conversations.writing import LONGEST_NAME
from dial2vec.errors import CorpusError, Dial2vecError, VersioningError
from dial2vec.operation.schedule.inbox_files import has_changed, is_quiet, move, read_receipt, receipt_of
from dial2vec.operation.schedule.rehearsal import printable_text, rehearse, unexpected_reason, without_quotes
from dial2vec.project.import_export import ImportSettings, import_export

# Folders of the inbox: files that are being imported, that were imported, and that were refused; and their receipts.
TAKEN, IMPORTED, REFUSED, RECEIPTS = ".taken", "imported", "refused", ".receipts"
# Endings that copying programs give to incomplete files.
UNFINISHED = (".tmp", ".part", ".partial", ".crdownload", ".filepart")
# Python's form of a byte in a file name that is not UTF-8.
NO_UTF8 = re.compile("[\udc80-\udcff]")


@dataclass(frozen=True, slots=True)
class Arrival:
    """An export that was taken from the inbox.

    :param name: Name of the file in the inbox's folders.
    :param refused: Reason why the file was refused; "" if it was imported.
    :param dialogues: Number of dialogues imported from it.
    :param set_aside: Number of dialogues set aside, such as those whose id is known already.
    :param note: Sentence for people on a source that could not be read, instead of a file.
    """

    corpus: str
    name: str
    refused: str = ""
    dialogues: int = 0
    set_aside: int = 0
    note: str = ""


def take_in(
    root: Path, inbox: Path, corpora: Sequence[str], *, redact: bool, say: Callable[[str], None]
) -> list[Arrival]:
    """Import every complete file of `inbox/<corpus>/`, and move it to `inbox/imported`, or with a reason to `refused`.

    If this process is killed, the next call continues: a file is first moved to `inbox/.taken`, under a name with the
    first digits of its SHA-256, and a second import of it changes nothing. Files in use, hidden files, links and
    folders stay. A file that grows after it was moved is imported again under the same name, and its dialogues replace
    the earlier ones. An error of one file refuses that file alone. After another error, such as a full disk or a busy
    DVC, the file waits in `inbox/.taken`.

    :param corpora: Corpora of `params.yaml`; files of other folders stay, and are reported.
    :param redact: True if e-mail addresses, phone and card numbers and speakers' names are masked.
    :param say: Function that shows a line to the user.
    :raises Dial2vecError: if the error is not the file's.
    """
    if not inbox.is_dir():
        return []

    def say_printable(line: str) -> None:
        say(printable_text(line))

    for path in _outside_corpora(inbox, corpora):
        say_printable(f"{path} stays in place: expected {inbox.name}/<corpus>/<file>, and a corpus of params.yaml")
    boxes = [_Box(root, inbox, corpus, redact, say_printable) for corpus in corpora]
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
        # A hidden file is an incomplete copy left by a kill; its original is still in the inbox.
        return sorted(self.at(TAKEN, "").glob("[!.]*"))

    def take_changed(self) -> None:
        """Take files again that were written to after they were imported or refused."""
        for receipt in sorted(self.at(RECEIPTS, "").glob("*.json")):
            for folder in (IMPORTED, REFUSED):
                path = self.at(folder, receipt.name.removesuffix(".json"))
                with self._staying(path):
                    if path.is_file() and is_quiet(path) and has_changed(path, receipt):
                        self.say(f"{path} was written to after it was {folder}: it is imported again")
                        _reason(path).unlink(missing_ok=True)
                        move(path, self.at(TAKEN, path.name))

    def take_new(self) -> None:
        """Take the complete files of the corpus's folder."""
        for path in _no_files(self.inbox / self.corpus):
            self.say(f"{path} stays in place: it is {_kind(path)}; expected files in {self.inbox / self.corpus}")
        for path in _whole_files(self.inbox / self.corpus):
            if path.is_symlink():
                self.say(f"{path} stays in place: it is a link; put the file itself there")
                continue
            with self._staying(path):
                move(path, self.at(TAKEN, self._free_name(path)))

    def bring_in(self, path: Path) -> Arrival | None:
        """Import a taken file; None if it waits for the next call."""
        receipt: dict[str, Any] = {}
        with self._staying(path):
            if not is_quiet(path):
                self.say(f"{path.name} waits for the next time: it is being written to")
                return None
            receipt = receipt_of(path)
        if not receipt:
            return None
        arrival = self._import(path)
        # The file has left this folder by the time that somebody reads the reason.
        arrival = replace(arrival, refused=arrival.refused.replace(f"/{TAKEN}/", f"/{REFUSED}/"))
        if receipt_of(path)["sha256"] == receipt["sha256"]:
            self._put(path, receipt, arrival.refused)
            return arrival
        self.say(f"{path.name} was written to while it was read: it is imported again the next time")
        return None if arrival.refused else arrival

    def _import(self, path: Path) -> Arrival:
        reason = rehearse(self.root, path, corpus=self.corpus, redact=self.redact)
        if reason:
            return Arrival(self.corpus, path.name, reason)
        try:
            # A scheduled run's log may be on the server of a team.
            settings = ImportSettings(masks=Masks() if self.redact else None, texts=False)
            result = import_export(self.root, path, corpus=self.corpus, settings=settings, say=self.say)
        except VersioningError:
            raise
        except CorpusError as error:
            return Arrival(self.corpus, path.name, printable_text(str(error)))
        except (Dial2vecError, OSError):
            # Not the file's fault: the rehearsal could read it.
            raise
        except Exception as error:
            return Arrival(self.corpus, path.name, unexpected_reason(path, f"{type(error).__name__}: {error}"))
        return Arrival(self.corpus, path.name, dialogues=len(result.dialogues), set_aside=len(result.quarantine))

    def _put(self, path: Path, receipt: dict[str, Any], refused: str) -> None:
        """Move a file to `imported` or `refused`, and remove its namesake from the other."""
        folder, other = (REFUSED, IMPORTED) if refused else (IMPORTED, REFUSED)
        target, twin = self.at(folder, path.name), self.at(other, path.name)
        if refused:
            write_text(_reason(target), f"{refused}\n")
            self.say(f"{path.name} was refused: {without_quotes(refused)}")
        write_json(self.at(RECEIPTS, f"{path.name}.json"), receipt)
        for old in (twin, _reason(twin)):
            old.unlink(missing_ok=True)
        move(path, target)

    def _free_name(self, path: Path) -> str:
        """Return a name with the first digits of the file's SHA-256: tomorrow's export.csv is another file.

        If a file has the name but other bytes, because it has grown since, the new file gets a number.
        """
        digest = receipt_of(path)["sha256"]
        marks = (f"-{digest[:8]}" + (f"-{number}" if number > 1 else "") for number in count(1))
        names = (_own_name(path.name, mark) for mark in marks)
        return next(name for name in names if self._is_free(name, digest))

    def _is_free(self, name: str, digest: str) -> bool:
        """Return whether no file with other content has this name."""
        files = [self.at(folder, name) for folder in (TAKEN, IMPORTED, REFUSED)]
        receipts = [receipt_of(file) for file in files if file.is_file()]
        receipts.append(read_receipt(self.at(RECEIPTS, f"{name}.json")))
        return all(receipt.get("sha256", digest) == digest for receipt in receipts)

    @contextlib.contextmanager
    def _staying(self, path: Path) -> Iterator[None]:
        """Leave a file in place, with a message, if it cannot be read or moved."""
        try:
            yield
        except FileNotFoundError:
            self.say(f"{path} is gone: somebody else moved it")
        except OSError as error:
            self.say(f"{path} stays in place: {error.strerror}")


def place_of(folder: Path, name: str) -> Path:
    """Return where a file of a corpus's folder of the inbox is by now, under a name with a digest, or its first place.

    :param name: Name of the file without its ending, .jsonl.
    """
    own, taken = folder / f"{name}.jsonl", (folder.parent / place / folder.name for place in (TAKEN, IMPORTED, REFUSED))
    later = (path for place in taken for path in place.glob(f"{name}-*.jsonl"))
    return own if own.exists() else next(later, own)


def _whole_files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.glob("*")):
        hidden = path.name.startswith((".", "~")) or path.suffix.lower() in UNFINISHED
        if path.is_file() and not hidden and is_quiet(path):
            yield path


def _no_files(folder: Path) -> Iterator[Path]:
    """Yield what can be no export: folders, named pipes, sockets, devices and links to nothing; never opened."""
    for path in sorted(folder.glob("*")):
        if not path.name.startswith(".") and not path.is_file():
            yield path


def _kind(path: Path) -> str:
    kinds = {
        "a folder": path.is_dir,
        "a named pipe": path.is_fifo,
        "a socket": path.is_socket,
        "a link to a missing file": path.is_symlink,
    }
    return next((name for name, applies in kinds.items() if applies()), "a device")


def _outside_corpora(inbox: Path, corpora: Sequence[str]) -> Iterator[Path]:
    """Yield the files and folders of the inbox that belong to no corpus."""
    known = {IMPORTED, REFUSED, *corpora}
    for path in sorted(inbox.glob("*")):
        if (path.is_file() or path.name not in known) and not path.name.startswith("."):
            yield path


def _own_name(name: str, mark: str) -> str:
    """Return a UTF-8 name of at most `LONGEST_NAME` bytes, with `mark` before its endings."""
    name = NO_UTF8.sub(lambda byte: f"_x{ord(byte[0]) - 0xDC00:02x}", name)
    first, dot, rest = name.partition(".")
    if len(f"{name}{mark}".encode()) > LONGEST_NAME:
        endings = Path(name).suffixes[-2:]
        dot, rest = "", "".join(ending for ending in endings if len(ending.encode()) <= len(".parquet"))
        first = name.removesuffix(rest).encode()[: LONGEST_NAME - len(f"{mark}{rest}".encode())].decode(errors="ignore")
    return f"{first}{mark}{dot}{rest}"


def _reason(path: Path) -> Path:
    return path.with_name(f"{path.name}.reason.txt")
