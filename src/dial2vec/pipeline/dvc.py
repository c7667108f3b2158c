"""Running DVC over the stages: data at hand, `dvc repro`, results as a table. For the shell command and the flow."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from dial2vec.data.corpora.demo import write_demo
from dial2vec.errors import CorpusError, Dial2vecError, VersioningError
from dial2vec.files import ending_with
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.pipeline.dvc_records import add_was_cut, adding, data_is_from_elsewhere, mend, note_data

STAGES = ("validate", "prepare", "sample", "train", "select", "evaluate", "register")
# Less than one checkpoint takes.
LITTLE_ROOM = 100_000_000


def dvc(root: Path, *arguments: str) -> None:
    """Run a DVC command in the project, its output going to the terminal.

    :raises Dial2vecError: when it fails; DVC and the stage have said why by then.
    """
    mend(root)
    command = [sys.executable, "-m", "dvc", *arguments]
    with_us = ending_with(os.getpid())
    done = subprocess.run(command, cwd=root, env=stage_environment(), preexec_fn=with_us, check=False)
    if done.returncode:
        raise Dial2vecError(_ending(root, arguments[0], done.returncode, "the reason stands above"))


def dvc_lines(root: Path, *arguments: str) -> Iterator[str]:
    """Run a DVC command and yield its output line by line.

    :raises Dial2vecError: when it fails, with its last line.
    """
    mend(root)
    command = [sys.executable, "-m", "dvc", *arguments]
    with subprocess.Popen(
        command,
        cwd=root,
        env=stage_environment(),
        preexec_fn=ending_with(os.getpid()),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        last = ""
        for line in process.stdout or ():
            # A progress bar rewrites its line: only its last state is a line of the log.
            line = line.rstrip().rsplit("\r", 1)[-1]
            if line:
                last = last if line.startswith("ERROR: failed to reproduce") else line
                yield line
    if process.returncode:
        raise Dial2vecError(_ending(root, arguments[0], process.returncode, last))


def _ending(root: Path, command: str, status: int, reason: str) -> str:
    if status < 0:
        reason = f"killed by signal {-status}, perhaps for lack of memory; `make run` goes on from there"
    return f"`dvc {command}` stopped with status {status}: {reason}.{_full(root)}"


def _full(root: Path) -> str:
    """Name a folder without room, which is told in many ways, or in none."""
    for name in ("artifacts", ".dvc", "mlruns", "data"):
        folder = root / name
        if folder.is_dir() and (free := shutil.disk_usage(folder).free) < LITTLE_ROOM:
            return f" {folder} has {free / 1e6:.0f} MB left, which may be why: make room, and run again."
    return ""


def stage_environment() -> dict[str, str]:
    """Return the environment for DVC: this Python's folder first in PATH, whether or not it is activated."""
    return os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"}


def ensure_data(root: Path, corpora: Sequence[str]) -> None:
    """Make the raw data of the corpora present: from DVC's storage, or, for `demo`, by generating it.

    :raises CorpusError: for a corpus whose data is nowhere, with the command that brings it.
    """
    absent = [name for name in corpora if not Artifacts(root, name).data.is_dir()]
    if absent:
        restore_data(root)
    for name in absent:
        folder = Artifacts(root, name).data
        if folder.is_dir():
            continue
        if name != "demo":
            raise CorpusError(
                f"there is no data of corpus '{name}' in {folder}. Run `dial2vec fetch {name}`, or `dial2vec import "
                f"FILE --name {name}` for an export of your own, or put "
                f"transcripts there as JSON Lines and run `dial2vec add {name}`."
            )
        write_demo(folder)
        add_data(root)


def restore_data(root: Path) -> None:
    """Bring back each corpus that data.dvc lists and `data/` lacks; one that is there is never touched."""
    recorded = sorted(_recorded(root))
    absent = [name for name in recorded if not Artifacts(root, name).data.is_dir()]
    for name in absent:
        _quiet_dvc(root, "pull", f"data/{name}")
    if absent == recorded and all(Artifacts(root, name).data.is_dir() for name in recorded):
        note_data(root)


def add_data(root: Path) -> None:
    """Version `data/` by DVC: its hash goes to data.dvc.

    :raises VersioningError: when data.dvc lists a corpus that is not there: adding would drop it without a word; or
        when DVC fails, with its last line.
    """
    lost = [name for name in sorted(_recorded(root)) if not Artifacts(root, name).data.is_dir()]
    if lost:
        raise VersioningError(
            f"{root / 'data.dvc'} lists data ({', '.join(lost)}) that is neither in data/ nor in DVC's storage; "
            "versioning data/ now would drop it. Fetch it again, or delete data.dvc to begin anew."
        )
    with adding(root):
        added = _quiet_dvc(root, "add", "data")
        if added.returncode:
            raise VersioningError(_ending(root, "add", added.returncode, _last_words(added)))
    note_data(root)


def pull_data(root: Path) -> str:
    """Bring the version of `data/` that data.dvc names from DVC's storage, and return why not, "" for nothing.

    Somebody else may have versioned new data, and data.dvc came by git. A data.dvc that this checkout wrote itself is
    not pulled: what differs from it was added or taken out here, and is to stay so. Files that no version holds are
    never removed: then nothing is pulled.
    """
    mend(root)
    if add_was_cut(root):
        # What is in data/ is in DVC's storage by now, perhaps, and pulling the older version would take it away.
        add_data(root)
    if not data_is_from_elsewhere(root):
        return ""
    done = _quiet_dvc(root, "pull", "data.dvc")
    if done.returncode:
        return f"nothing was pulled: {_last_words(done)}"
    note_data(root)
    return ""


def push(root: Path, what: Sequence[str]) -> str:
    """Bring versions to DVC's storage, and return why not, "" for nothing.

    :param what: targets of DVC, such as data.dvc; none is everything.
    """
    done = _quiet_dvc(root, "push", *what)
    return "" if done.returncode == 0 else f"nothing was pushed: {_last_words(done)}"


def dvc_status(root: Path, stages: Sequence[str]) -> set[str]:
    """Return what has changed, of inputs, outputs and settings of some stages, since they ran.

    :raises Dial2vecError: when DVC fails.
    """
    done = _quiet_dvc(root, "status", "--json", *stages)
    if done.returncode:
        raise Dial2vecError(_ending(root, "status", done.returncode, _last_words(done)))
    found: set[str] = set()
    for changes in json.loads(done.stdout or "{}").values():
        for change in changes:
            if not isinstance(change, dict):
                # Such as "changed command".
                found.add(str(change))
                continue
            for entries in change.values():
                for path, state in entries.items():
                    found |= set(state) if isinstance(state, dict) else {path}
    return found


def _last_words(done: subprocess.CompletedProcess[str]) -> str:
    said = done.stderr.partition("Having any troubles?")[0]
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    # An error may be of several lines: what went wrong, then what to do.
    last = max((at for at, line in enumerate(lines) if line.startswith("ERROR: ")), default=len(lines) - 1)
    return " ".join(lines[last:]).removeprefix("ERROR: ").rstrip(".") or "it gave no reason"


def _recorded(root: Path) -> set[str]:
    """Return the names of the corpora that data.dvc lists.

    :raises VersioningError: when DVC has lost the listing, with its reason.
    """
    if not (root / "data.dvc").is_file():
        return set()
    listing = _quiet_dvc(root, "list", ".", "data", "--dvc-only")
    if listing.returncode:
        raise VersioningError(
            f"DVC cannot tell what {root / 'data.dvc'} lists: {_last_words(listing)}. Versioning data/ now would drop "
            "what is not in it. Bring DVC's storage back, or delete data.dvc to begin anew."
        )
    return set(listing.stdout.split())


def _quiet_dvc(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    mend(root)
    command = [sys.executable, "-m", "dvc", *arguments]
    with_us, environment = ending_with(os.getpid()), stage_environment()
    return subprocess.run(
        command, cwd=root, env=environment, preexec_fn=with_us, capture_output=True, text=True, check=False
    )


def targets(corpora: Sequence[str], stages: Sequence[str] = STAGES) -> list[str]:
    """Return DVC's names of the stages of some corpora, corpus by corpus."""
    return [f"{stage}@{corpus}" for corpus in corpora for stage in stages]
