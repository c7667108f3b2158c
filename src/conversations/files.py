"""Atomic writes, and errors of reading and writing as one sentence."""

from __future__ import annotations

import contextlib
import errno
import gzip
import hashlib
import io
import json
import os
import re
import secrets
import shutil
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from conversations.errors import ArtifactError, ConversationError, CorpusError

REFUSED_WRITES = {
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT),
    *(errno.ENOTDIR, errno.EISDIR, errno.EEXIST),
}
# Name of a temporary path of `atomic_path`, and in it that of the file.
TEMPORARY = re.compile(r"^\.(.+)\.\d+-[0-9a-f]{8}\.tmp$")
# Files of dialogues in JSON Lines.
ENDINGS = (".jsonl", ".jsonl.gz")
# Key of a record's own checksum.
CHECKSUM = "checksum"
DIALOGUES = "a JSON Lines file of dialogues"


@contextlib.contextmanager
def atomic_path(path: Path, *, within: Path | None = None) -> Iterator[Path]:
    """Yield a temporary path beside `path` for a new file or folder, and rename it to `path` on success.

    After an error the temporary path is removed and the old content stays. A killed process leaves its temporary path.

    :param within: folder of the temporary path, on the same file system; None means the folder of `path`.
    :raises ConversationError: if the folder cannot be written to.
    """
    # Several machines may write to one folder, and their process ids may be equal.
    own = f"{os.getpid()}-{secrets.token_hex(4)}"
    temporary, old = ((within or path.parent) / f".{path.name}.{own}.{end}" for end in ("tmp", "old"))
    try:
        with write_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            yield temporary
            if temporary.is_dir() and path.is_dir():
                path.rename(old)
            temporary.replace(path)
    finally:
        if old.is_dir() and not path.exists():
            old.rename(path)
        for left in (temporary, old):
            with contextlib.suppress(OSError):
                shutil.rmtree(left) if left.is_dir() else left.unlink()


@contextlib.contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Turn a refused write (no permission, disk full, read-only) into one sentence that names the path."""
    try:
        yield
    except OSError as error:
        # A folder such as /proc takes no new file and says that there is none; other missing files are not this one.
        own = error.errno == errno.ENOENT and path.name in str(error.filename)
        if error.errno not in REFUSED_WRITES and not own:
            raise
        named = path.with_name(TEMPORARY.sub(r"\1", path.name))
        raise ConversationError(
            f"cannot write {named}: {error.strerror}. Choose another path, or check permissions and free space."
        ) from error


def write_text(path: Path, text: str) -> None:
    """Write a text, atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: object) -> None:
    """Write `value` as indented JSON, atomically."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def write_checked_json(path: Path, record: Mapping[str, object]) -> None:
    """Write a record with its own checksum, by which `read_json` notices damage that leaves it JSON."""
    write_json(path, {**record, CHECKSUM: _checksum(record)})


def _checksum(record: Mapping[str, object]) -> str:
    return hashlib.md5(json.dumps({**record}).encode(), usedforsecurity=False).hexdigest()


def read_json(path: Path) -> Any:
    """Read a JSON file that an earlier stage wrote.

    :raises ArtifactError: if it is missing, incomplete, or does not match the checksum that it was written with.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(value, dict) and (expected := value.pop(CHECKSUM, None)) not in (None, _checksum(value)):
            raise ValueError(f"its content has the MD5 {_checksum(value)[:8]}; expected {str(expected)[:8]}")
        return value
    except FileNotFoundError as error:
        raise ArtifactError(f"{path} does not exist; an earlier stage writes it. Run `dial2vec run`.") from error
    except ValueError as error:
        raise ArtifactError(f"{path} is not complete JSON ({error}). Delete it and run `dial2vec run`.") from error


def write_json_lines(path: Path, records: Iterable[object]) -> int:
    """Write records as JSON Lines, atomically, and return their number."""
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8") as handle:
        lines = (handle.write(json.dumps(record, ensure_ascii=False) + "\n") for record in records)
        return sum(1 for _ in lines)


def sha256_of(path: Path) -> bytes:
    """Return the SHA-256 of a file."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").digest()


def transcript_files(folder: Path) -> list[Path]:
    """Return the transcripts in `folder`, sorted by name, without hidden files."""
    return sorted(
        path
        for path in folder.glob("*")
        if path.name.lower().endswith(ENDINGS) and not path.name.startswith(".") and path.is_file()
    )


def numbered_lines(path: Path, expected: str = DIALOGUES) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line that is not blank, of a text file that may be gzipped."""
    with reading_errors(path, expected), _open_text(path) as handle:
        for number, line in enumerate(handle, start=1):
            if line.strip():
                yield number, line


@contextlib.contextmanager
def reading_errors(path: Path, expected: str = DIALOGUES) -> Iterator[None]:
    """Turn any error while a file is read into a CorpusError of one sentence."""
    try:
        yield
    except FileNotFoundError as error:
        raise CorpusError(f"{path} does not exist; expected {expected}. Check the path.") from error
    except IsADirectoryError as error:
        raise CorpusError(
            f"{path} cannot be read: it is a folder; expected {expected}. Name one of its files."
        ) from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise CorpusError(f"{path} is not a whole gzip file ({error}). Fetch or export it again.") from error
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"{path} is not UTF-8 (byte {error.start} of a block: {error.reason}). Save it as UTF-8."
        ) from error
    except OSError as error:
        raise CorpusError(f"{path} cannot be read: {error.strerror}. Check the path and its permissions.") from error


def _open_text(path: Path) -> io.TextIOWrapper:
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig")  # type: ignore[return-value]
    return path.open(encoding="utf-8-sig")
