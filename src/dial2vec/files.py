"""Atomic writes, the project's root, and locks on folders and on the checkout."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import errno
import fcntl
import gc
import gzip
import hashlib
import io
import json
import os
import secrets
import shutil
import signal
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dial2vec.errors import ArtifactError, BusyError, CorpusError, Dial2vecError
from dial2vec.telemetry import switch_off

LOCK_OWNER = "DIAL2VEC_LOCK_OWNER"
PR_SET_PDEATHSIG = 1
REFUSED_WRITES = {
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT),
    *(errno.ENOTDIR, errno.EISDIR, errno.EEXIST),
}


def find_root(start: Path | None = None) -> Path:
    """Return the nearest folder at or above `start` (default: here) with `params.yaml` and `dvc.yaml`.

    :raises Dial2vecError: if no folder has both, or MLflow's database could not be opened in it.
    """
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / "params.yaml").is_file() and (folder / "dvc.yaml").is_file():
            _check_name(folder)
            return folder
    raise Dial2vecError(
        f"no project at or above {here}: expected params.yaml and dvc.yaml. Change into one, or make one: "
        "dial2vec new FOLDER."
    )


def _check_name(folder: Path) -> None:
    """Raise if MLflow's database cannot be opened in a folder of this name; otherwise a training fails at its end."""
    name = str(folder)
    odd = "a question mark" if "?" in name else "a line break" if "\n" in name else ""
    if odd or ("'" in name and '"' in name):
        raise Dial2vecError(
            f"the path of the project, {name!r}, has {odd or 'both kinds of quotes'}; MLflow's database cannot be "
            "opened there. Rename the folder."
        )


@contextlib.contextmanager
def atomic_path(path: Path, *, within: Path | None = None) -> Iterator[Path]:
    """Yield a temporary path beside `path` for a new file or folder, and rename it to `path` on success.

    After an error the temporary path is removed and the old content stays. A killed process leaves its temporary path.

    :param within: folder of the temporary path, on the same file system; None means the folder of `path`.
    :raises Dial2vecError: if the folder cannot be written to.
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
        if error.errno not in REFUSED_WRITES:
            raise
        raise Dial2vecError(
            f"cannot write {path}: {error.strerror}. Choose another path, or check permissions and free space."
        ) from error


def write_json(path: Path, value: object) -> None:
    """Write `value` as indented JSON, atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_json(path: Path) -> Any:
    """Read a JSON file that an earlier stage wrote.

    :raises ArtifactError: if it is missing or incomplete.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ArtifactError(f"{path} does not exist; an earlier stage writes it. Run `make run`.") from error
    except ValueError as error:
        raise ArtifactError(f"{path} is not complete JSON ({error}). Delete it and run `make run`.") from error


def claim(folder: Path, fingerprint: str) -> bool:
    """Return whether a folder has this fingerprint already; if not, empty it and note the fingerprint."""
    owner = folder / "fingerprint.json"
    with contextlib.suppress(ArtifactError):
        if read_json(owner) == fingerprint:
            return True
    shutil.rmtree(folder, ignore_errors=True)
    write_json(owner, fingerprint)
    return False


def code_hash() -> str:
    """Return a hash of this package's code; results of other code must not be reused."""
    package = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(f"{path.relative_to(package)}\n".encode() + path.read_bytes())
    return digest.hexdigest()


@contextlib.contextmanager
def folder_lock(folder: Path, doing: str) -> Iterator[None]:
    """Make a folder and lock it against other writing processes; the lock of a killed process is free at once.

    :param doing: words for the error of other processes, such as "adds dialogues to".
    :raises BusyError: if another process holds the lock.
    """
    with write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        handle = (folder / ".lock").open("a")
    with handle:
        if not _try(handle):
            raise BusyError(f"another process {doing} {folder}. Wait until it ends, or stop it; then try again.")
        yield


@contextlib.contextmanager
def checkout_lock(root: Path, doing: str, *, patience: float = 10.0) -> Iterator[None]:
    """Lock the checkout at `root`: only one retraining or stage runs at a time, across processes.

    A stage started *by* the holder passes, because the holder's pid is in the environment. The lock of a killed process
    is free at once, because the kernel drops it with the process.

    :param doing: words for the error of other processes, such as "train of demo".
    :param patience: seconds to wait for the holder; the default suffices for a holder that is about to end.
    :raises BusyError: naming the holder, its pid and what it does.
    """
    path = root / "artifacts" / ".lock"
    with write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = path.open("a+")
    with handle:
        # The lock is tried first: a free lock has no holder, even if the environment still names one.
        if _try(handle) or not _is_our_holder(handle):
            _take(handle, root, patience)
            handle.truncate(0)
            handle.write(json.dumps({"pid": os.getpid(), "doing": doing, "since": time.strftime("%H:%M:%S")}))
            handle.flush()
            before = os.environ.get(LOCK_OWNER)
            os.environ[LOCK_OWNER] = str(os.getpid())
            try:
                yield
            finally:
                os.environ.pop(LOCK_OWNER)
                if before is not None:
                    os.environ[LOCK_OWNER] = before
        else:
            yield


def _is_our_holder(handle: Any) -> bool:
    return str(_holder(handle).get("pid", "")) == os.environ.get(LOCK_OWNER)


def _take(handle: Any, root: Path, patience: float) -> None:
    deadline = time.monotonic() + patience
    while not _try(handle):
        if time.monotonic() > deadline:
            holder = _holder(handle)
            raise BusyError(
                f"another process is at work in {root}: {holder.get('doing', 'something')} (pid "
                f"{holder.get('pid', '?')}, since {holder.get('since', '?')}). Wait until it ends, or stop it; then "
                "try again."
            )
        time.sleep(0.2)


def _try(handle: Any) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(handle: Any) -> dict[str, Any]:
    handle.seek(0)
    with contextlib.suppress(ValueError):
        return dict(json.loads(handle.read()))
    return {}


def ending_with(parent: int) -> Callable[[], None]:
    """Return a function for `preexec_fn` that ends the calling process if its parent is killed.

    Otherwise a killed `dvc repro` leaves its stage running, and the next one collides with it. Works only on Linux.

    :param parent: pid of the parent; if the caller's parent is another process by then, the caller ends at once.
    """
    # Loaded here: the function may run between fork and exec, where a lock held by another thread is never freed.
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None

    def end_with_parent() -> None:
        if libc is not None:
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
            if os.getppid() != parent:
                os._exit(1)

    return end_with_parent


def collect_rarely() -> None:
    """Look for garbage rarely, and not at all when this process ends.

    Libraries bring a million objects, hardly any of them garbage: looking through these took half of the time in which
    a command starts and ends.
    """
    gc.set_threshold(10_000)
    atexit.register(gc.freeze)


def begin_worker(parent: int) -> None:
    """Begin a process of a pool, before its first work imports libraries; it ends with its parent.

    :param parent: pid of the process that made the pool.
    """
    switch_off()
    ending_with(parent)()
    collect_rarely()


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line that is not blank, of a text file that may be gzipped."""
    with reading_errors(path), _open_text(path) as handle:
        for number, line in enumerate(handle, start=1):
            if line.strip():
                yield number, line


@contextlib.contextmanager
def reading_errors(path: Path) -> Iterator[None]:
    """Turn any error while a file of dialogues is read into a CorpusError of one sentence."""
    try:
        yield
    except FileNotFoundError as error:
        raise CorpusError(f"{path} does not exist; expected a JSON Lines file of dialogues. Check the path.") from error
    except IsADirectoryError as error:
        raise CorpusError(f"{path} is a folder; expected a file of dialogues. Name one of its files.") from error
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
