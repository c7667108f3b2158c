"""Calls of DVC by the shell command and the flow: bring data, version data, run stages, push."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from dial2vec.config import parts_of
from dial2vec.data.corpora.demo import write_demo
from dial2vec.data.corpora.joint import write_digests
from dial2vec.errors import CorpusError, Dial2vecError, VersioningError, require_module
from dial2vec.params import load_operation
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.pipeline.dvc_records import (
    add_was_cut,
    adding,
    data_is_from_elsewhere,
    mend,
    note_data,
    require_no_conflict,
)
from dial2vec.pipeline.free_space import disk_hint
from dial2vec.processes import ending_with
from dial2vec.project.dvc_cache import set_aside_damaged
from dial2vec.project.new import do_without_git, write_code_hashes

STAGES = ("validate", "prepare", "sample", "train", "select", "distil", "evaluate", "register")


# DVC and the stage have printed why; of a killed stage only that it "exited with -9".
ABOVE = "the reason is above (-9 is a kill, mostly because memory ran out); `dial2vec run` goes on from there"
# Commands that may wait for a remote, and the status of one that took too long.
REMOTE, TIMED_OUT = ("push", "fetch"), 124
# Commands that bring files from DVC's cache.
RESTORE = ("repro", "checkout")
log = logging.getLogger(__name__)


def dvc(root: Path, *arguments: str) -> None:
    """Run a DVC command in the project; its output goes to the terminal.

    :raises Dial2vecError: if it fails; DVC or the stage has printed why.
    """
    done = _run_dvc(root, *arguments, quiet=False)
    if done.returncode:
        raise Dial2vecError(_failure(root, arguments[0], done.returncode, ABOVE))


def dvc_lines(root: Path, *arguments: str) -> Iterator[str]:
    """Run a DVC command and yield its output line by line.

    :raises Dial2vecError: if it fails, with its last line of output.
    """
    with _started(root, arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        last = ""
        for line in process.stdout or ():
            # A progress bar rewrites its line; only its last state belongs in the log.
            line = line.rstrip().rsplit("\r", 1)[-1]
            if line:
                last = last if line.startswith("ERROR: failed to reproduce") else line
                yield line
    if process.returncode:
        raise Dial2vecError(_failure(root, arguments[0], process.returncode, last))


def _failure(root: Path, command: str, status: int, reason: str) -> str:
    if status < 0:
        reason = f"killed by signal {-status}, perhaps because memory ran out; `dial2vec run` continues from there"
    return f"`dvc {command}` stopped with status {status}: {reason}.{disk_hint(root)}"


def stage_environment() -> dict[str, str]:
    """Return the environment for DVC: this Python's folder first in PATH, whether or not .venv is activated."""
    return os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"}


def ensure_data(root: Path, corpora: Sequence[str]) -> None:
    """Bring missing raw data of the corpora from DVC's storage, or generate it for `demo`.

    For each joint corpus `a+b`, the folder of its name gets digests of the data of its parts, so that its stages run
    again if one of them changes.

    :raises CorpusError: if a corpus has no data, with the commands that bring it.
    """
    single = list(dict.fromkeys(part for name in corpora for part in parts_of(name)))
    absent = [name for name in single if not Artifacts(root, name).data.is_dir()]
    if absent:
        restore_data(root)
    for name in absent:
        folder = Artifacts(root, name).data
        if folder.is_dir():
            continue
        if name != "demo":
            raise CorpusError(
                f"there is no data of corpus '{name}' in {folder}. Run `dial2vec fetch {name}` for a public corpus, "
                f"`dial2vec import FILE --name {name}` for your own export, or put JSON Lines there and run "
                f"`dial2vec add {name}`."
            )
        write_demo(folder)
        add_data(root)
    joint = {name: parts_of(name) for name in corpora if len(parts_of(name)) > 1}
    if [name for name, parts in joint.items() if write_digests(Artifacts(root, name).data, parts)]:
        add_data(root)


def restore_data(root: Path) -> None:
    """Restore each corpus that data.dvc lists and `data/` lacks; existing folders are never touched.

    :raises MissingExtraError: if DVC is not installed.
    """
    require_module("dvc")
    recorded = sorted(_recorded(root))
    absent = [name for name in recorded if not Artifacts(root, name).data.is_dir()]
    for name in absent:
        _run_dvc(root, "pull", f"data/{name}")
    if absent == recorded and all(Artifacts(root, name).data.is_dir() for name in recorded):
        note_data(root)


def add_data(root: Path) -> None:
    """Version `data/` with DVC, which writes its hash to data.dvc.

    :raises VersioningError: if data.dvc lists a corpus that is missing, because adding would drop it silently; or if
        DVC fails, with its last line.
    """
    lost = [name for name in sorted(_recorded(root)) if not Artifacts(root, name).data.is_dir()]
    if lost:
        raise VersioningError(
            f"{root / 'data.dvc'} lists data ({', '.join(lost)}) that is neither in data/ nor in DVC's storage; "
            "versioning data/ now would drop it. Fetch it again, or delete data.dvc to start over."
        )
    with adding(root):
        added = _run_dvc(root, "add", "data")
        if added.returncode:
            raise VersioningError(_failure(root, "add", added.returncode, _reason(added)))
    note_data(root)


def pull_data(root: Path) -> str:
    """Pull the version of `data/` that data.dvc names; return why that failed, "" if it did not.

    Pulls only if data.dvc came by git from somebody else. If this checkout wrote data.dvc, differences in `data/` are
    changes made here, and they stay. If `data/` has files that are in no version, nothing is pulled or removed.
    """
    mend(root)
    if add_was_cut(root):
        # data/ is newer than data.dvc; pulling the older version would remove the new files.
        add_data(root)
    if not data_is_from_elsewhere(root):
        return ""
    done = _run_dvc(root, "pull", "data.dvc")
    if done.returncode:
        return f"nothing was pulled: {_reason(done)}"
    note_data(root)
    return ""


def push(root: Path, outputs: Sequence[str]) -> str:
    """Push versions to DVC's remote; return why that failed, "" if it did not.

    :param outputs: DVC targets, such as data.dvc; empty means everything.
    """
    done = _run_dvc(root, "push", *outputs)
    return "" if done.returncode == 0 else f"nothing was pushed: {_reason(done)}"


def dvc_status(root: Path, stages: Sequence[str]) -> set[str]:
    """Return the inputs, outputs and settings of some stages that have changed since the stages ran.

    :raises Dial2vecError: if DVC fails.
    """
    done = _run_dvc(root, "status", "--json", *stages)
    if done.returncode:
        raise Dial2vecError(_failure(root, "status", done.returncode, _reason(done)))
    changed: set[str] = set()
    for changes in json.loads(done.stdout or "{}").values():
        for change in changes:
            if not isinstance(change, dict):
                # Such as "changed command".
                changed.add(str(change))
                continue
            for entries in change.values():
                for path, state in entries.items():
                    changed |= set(state) if isinstance(state, dict) else {path}
    return changed


def _reason(done: subprocess.CompletedProcess[str]) -> str:
    output = done.stderr.partition("Having any troubles?")[0]
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    # An error may have several lines: what went wrong, then what to do.
    last = max((at for at, line in enumerate(lines) if line.startswith("ERROR: ")), default=len(lines) - 1)
    return " ".join(lines[last:]).removeprefix("ERROR: ").rstrip(".") or "it gave no reason"


def _recorded(root: Path) -> set[str]:
    """Return the names of the corpora that data.dvc lists.

    :raises VersioningError: if DVC has lost the listing, with its reason.
    """
    mend(root)
    path = root / "data.dvc"
    return set(_listed(root, path.read_bytes())) if path.is_file() else set()


@lru_cache(maxsize=1)
def _listed(root: Path, _: bytes) -> tuple[str, ...]:
    """Return the names that this content of data.dvc lists; asked once, as DVC takes a second to start."""
    listing = _run_dvc(root, "list", ".", "data", "--dvc-only")
    if listing.returncode:
        raise VersioningError(
            f"DVC cannot tell what {root / 'data.dvc'} lists: {_reason(listing)}. Versioning data/ now would drop "
            "listed corpora that are missing here. Restore DVC's storage, or delete data.dvc to start over."
        )
    return tuple(listing.stdout.split())


def _run_dvc(root: Path, *arguments: str, quiet: bool = True) -> subprocess.CompletedProcess[str]:
    if arguments[0] == "pull":
        # In two steps, so that what came damaged is noticed before it takes the place of anything.
        fetched = _run_dvc(root, "fetch", *arguments[1:], quiet=quiet)
        return fetched if fetched.returncode else _run_dvc(root, "checkout", *arguments[1:], quiet=quiet)
    pipe = subprocess.PIPE if quiet else None
    minutes = load_operation(root / "operation.yaml").schedule.remote_minutes if arguments[0] in REMOTE else None
    with _started(root, arguments, stdout=pipe, stderr=pipe) as process:
        try:
            output, errors = process.communicate(timeout=minutes and minutes * 60)
        except subprocess.TimeoutExpired:
            process.kill()
            return subprocess.CompletedProcess(
                arguments,
                TIMED_OUT,
                "",
                f"ERROR: `dvc {arguments[0]}` took longer than {minutes:g} minutes and was ended; does the remote "
                "answer? schedule.remote_minutes of operation.yaml is the limit",
            )
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(arguments, process.returncode, output or "", errors or "")


def _started(root: Path, arguments: Sequence[str], *, stdout: int | None, stderr: int | None) -> subprocess.Popen[str]:
    """Start a DVC command in a project that is ready for it; it ends with this process."""
    require_module("dvc")
    do_without_git(root)
    write_code_hashes(root)
    require_no_conflict(root)
    mend(root)
    if arguments[0] in RESTORE:
        bring_whole_objects(root)
    return subprocess.Popen(
        [sys.executable, "-m", "dvc", *arguments],
        cwd=root,
        env=stage_environment(),
        preexec_fn=ending_with(os.getpid()),
        stdout=stdout,
        stderr=stderr,
        text=True,
    )


def bring_whole_objects(root: Path) -> None:
    """Set damaged objects of DVC's cache aside, say so, and fetch them if there is a remote."""
    if sentences := set_aside_damaged(root):
        _run_dvc(root, "fetch")
        for sentence in [*sentences, *set_aside_damaged(root)]:
            log.warning(sentence)


def targets(corpora: Sequence[str], stages: Sequence[str] = STAGES) -> list[str]:
    """Return DVC's names of the stages, corpus by corpus."""
    return [f"{stage}@{corpus}" for corpus in corpora for stage in stages]
