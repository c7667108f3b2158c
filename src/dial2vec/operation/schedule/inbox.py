"""The watched folder: exports put into `inbox/<corpus>/` become part of that corpus and are moved aside."""

from __future__ import annotations

import errno
import hashlib
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dial2vec.data.importing.options import Options
from dial2vec.errors import CorpusError, VersioningError
from dial2vec.files import atomic_path, write_errors
from dial2vec.pipeline.import_export import Masks, import_export

# Folders within the inbox, for what is at work, done, and of no use.
TAKEN, IMPORTED, REFUSED = ".taken", "imported", "refused"
# A file that was written to within so many seconds may not be whole yet.
QUIET_SECONDS = 30
# Endings of what a copying program has not finished.
UNFINISHED = (".tmp", ".part", ".partial", ".crdownload", ".filepart")


@dataclass(frozen=True, slots=True)
class Arrival:
    """An export that was taken from the inbox.

    :param corpus: of the folder it lay in.
    :param name: of the file.
    :param refused: why it could not be used; empty when it was imported.
    :param dialogues: how many it brought.
    :param aside: how many of it were set aside, such as those whose id is known already.
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
    What is no fault of the file, such as a full disk or a busy DVC, refuses none: it waits in `inbox/.taken`.

    :param corpora: those that may grow; files of others stay, and are named.
    :param redact: whether e-mail addresses, phone and card numbers and speakers' names are masked.
    :param say: shows lines to the user.
    :raises Dial2vecError: when something but a file is at fault.
    """
    if not inbox.is_dir():
        return []
    for stranger in _strangers(inbox, corpora):
        say(f"{stranger} stays where it is: expected {inbox.name}/<corpus>/<file>, and a corpus of params.yaml")
    for corpus in corpora:
        for path in _whole_files(inbox / corpus):
            if path.is_symlink():
                say(f"{path} stays where it is: it is a link; put the file itself there")
                continue
            _move(path, inbox / TAKEN / corpus / _own_name(path))
    found = []
    for corpus in corpora:
        for path in sorted((inbox / TAKEN / corpus).glob("*")):
            found.append(_import(root, inbox, corpus, path, redact=redact, say=say))
    return found


def _import(root: Path, inbox: Path, corpus: str, path: Path, *, redact: bool, say: Callable[[str], None]) -> Arrival:
    try:
        outcome = import_export(
            root,
            path,
            corpus=corpus,
            options=Options(),
            masks=Masks() if redact else None,
            merge_turns=False,
            dry_run=False,
            replace=False,
            say=say,
        )
    except VersioningError:
        raise
    except CorpusError as error:
        target = inbox / REFUSED / corpus / path.name
        with atomic_path(target.with_name(f"{target.name}.reason.txt")) as temporary:
            temporary.write_text(f"{error}\n", encoding="utf-8")
        _move(path, target)
        say(f"{path.name} was refused: {error}")
        return Arrival(corpus, path.name, str(error))
    _move(path, inbox / IMPORTED / corpus / path.name)
    return Arrival(corpus, path.name, dialogues=len(outcome.dialogues), aside=len(outcome.quarantine))


def _whole_files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.glob("*")):
        hidden = path.name.startswith((".", "~")) or path.suffix.lower() in UNFINISHED
        if path.is_file() and not hidden and abs(time.time() - path.stat().st_mtime) >= QUIET_SECONDS:
            yield path


def _strangers(inbox: Path, corpora: Sequence[str]) -> Iterator[Path]:
    """Yield what lies in the inbox and in no corpus's folder."""
    known = {IMPORTED, REFUSED, *corpora}
    for path in sorted(inbox.glob("*")):
        if (path.is_file() or path.name not in known) and not path.name.startswith("."):
            yield path


def _own_name(path: Path) -> str:
    """Return the file's name with the first digits of its SHA-256, so that tomorrow's export.csv is another file."""
    with path.open("rb") as handle:
        digest = hashlib.file_digest(handle, "sha256").hexdigest()[:8]
    first, dot, rest = path.name.partition(".")
    return f"{first}-{digest}{dot}{rest}"


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
                shutil.copy2(path, temporary)
            path.unlink()
