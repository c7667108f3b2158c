"""The image of the student's server, made and run without a container engine: the Dockerfile's own steps in a folder.

    debootstrap --variant=minbase --include=python3.11,python3.11-venv,ca-certificates bookworm /srv/base
    .venv/bin/python benchmarks/container.py --base /srv/base --student artifacts/demo/student

It stands in for `docker build --target student` and `docker run --read-only`: each stage of the Dockerfile is a layer
of an overlay on the base, RUN is executed in it with chroot, COPY follows .dockerignore. Then the server starts in
there as the image's user without any right, with everything read-only but /tmp, and asks a registry that this script
starts. It prints what the layers weigh, what the server imports, and its answers. Needs root on Linux, the package
index, and a folder with Debian and Python 3.11; it takes three minutes.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
ASKED = {"inputs": [{"turns": [{"speaker": "a", "text": "Hello?"}, {"speaker": "b", "text": "My card is lost."}]}]}
# What pip needs of this machine: where names and packages are found.
HOST_FILES = ("/etc/resolv.conf", "/etc/hosts", "/etc/ssl/certs", "/etc/pip.conf", os.environ.get("PIP_FIND_LINKS", ""))
# Where an image finds programs.
PATH = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


@dataclass
class Stage:
    """A stage of the Dockerfile as far as it was executed."""

    name: str
    root: Path
    layers: list[Path]
    environment: dict[str, str] = field(default_factory=dict)
    folder: str = "/"
    user: str = "0"
    command: dict[str, list[str]] = field(default_factory=dict)


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Yield the Dockerfile's instructions, (word, rest), without comments and with joined lines."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        word, _, rest = line.strip().partition(" ")
        if word:
            yield word, rest.strip()


def context() -> list[str]:
    """Return the files that `COPY . .` takes: those of git that .dockerignore leaves."""
    rules = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and line[0] != "#"]
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()

    def taken(name: str) -> bool:
        kept = True
        for rule in rules:
            pattern = rule.removeprefix("!").removeprefix("**/")
            if fnmatch.fnmatch(name, pattern) or name.startswith(f"{pattern}/") or f"/{pattern}/" in f"/{name}":
                kept = rule.startswith("!")
        return kept

    return [name for name in files if taken(name) and (ROOT / name).is_file()]


class Builder:
    """Executes the stages that a target needs.

    :param base: Folder with the file system that the first FROM stands for.
    :param work: Empty folder for the layers.
    """

    def __init__(self, base: Path, work: Path) -> None:
        self.base, self.work, self.stages = base, work, dict[str, Stage]()
        self.texts: dict[str, list[tuple[str, str]]] = {}
        self.parents: dict[str, str] = {}
        for word, rest in instructions((ROOT / "Dockerfile").read_text()):
            if word == "FROM":
                parent, _, name = rest.partition(" AS ")
                self.texts[name], self.parents[name] = [], parent
            elif self.texts:
                self.texts[name].append((word, rest))

    def build(self, name: str) -> Stage:
        """Execute a stage once, after those that it is made from."""
        if name in self.stages:
            return self.stages[name]
        parent = self.build(self.parents[name]) if self.parents[name] in self.texts else None
        for _, rest in self.texts[name]:
            if found := re.match(r"--from=(\S+)", rest):
                self.build(found[1])
        layer, root = self.work / name / "layer", self.work / name / "root"
        for folder in (layer, root, self.work / name / "work"):
            folder.mkdir(parents=True)
        lower = parent.layers if parent else [self.base]
        options = f"lowerdir={':'.join(map(str, lower))},upperdir={layer},workdir={self.work / name / 'work'}"
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, str(root)], check=True)
        stage = Stage(name, root, [layer, *lower])
        if parent:
            stage.environment, stage.folder, stage.user = dict(parent.environment), parent.folder, parent.user
            stage.command = dict(parent.command)
        self.stages[name] = stage
        for word, rest in self.texts[name]:
            self.execute(stage, word, rest)
        return stage

    def execute(self, stage: Stage, word: str, rest: str) -> None:
        """Execute one instruction."""
        if word == "RUN":
            say(f"{stage.name}: {rest[:100]}")
            with host_files(stage.root):
                inside(stage, ["sh", "-c", rest], check=True)
        elif word == "ENV":
            for pair in shlex.split(rest):
                key, _, value = pair.partition("=")
                stage.environment[key] = value.replace("$PATH", PATH["PATH"])
        elif word == "WORKDIR":
            stage.folder = rest
            (stage.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
        elif word == "USER":
            stage.user = rest
        elif word == "COPY":
            self.copy(stage, rest)
        elif word in ("ENTRYPOINT", "CMD"):
            stage.command[word] = json.loads(rest)
        elif word not in ("EXPOSE", "HEALTHCHECK", "ARG"):
            raise SystemExit(f"Dockerfile: {word} is not known here")

    def copy(self, stage: Stage, rest: str) -> None:
        """Execute COPY: from another stage, or from the files of the context."""
        options = [part for part in rest.split() if part.startswith("--")]
        *sources, target = [part for part in rest.split() if not part.startswith("--")]
        to = stage.root / Path(stage.folder, target).as_posix().lstrip("/")
        if options:
            origin = self.stages[options[0].removeprefix("--from=")].root
            shutil.copytree(origin / sources[0].lstrip("/"), to, symlinks=True)
            return
        for name in context() if sources == ["."] else sources:
            place = to / name if sources == ["."] or target.endswith("/") else to
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, place)


@contextlib.contextmanager
def host_files(root: Path) -> Iterator[None]:
    """Show the files of `HOST_FILES` in a stage while a command of it runs."""
    shown = []
    for name in (name for name in HOST_FILES if name and Path(name).exists()):
        place = root / name.lstrip("/")
        if Path(name).is_dir():
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()
        subprocess.run(["mount", "--bind", name, str(place)], check=True)
        shown.append(place)
    try:
        yield
    finally:
        for place in reversed(shown):
            subprocess.run(["umount", str(place)], check=True)


def inside(stage: Stage, command: list[str], **options: bool) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a stage, in its folder and with its environment."""
    pip = {key: value for key, value in os.environ.items() if key.startswith("PIP_")}
    script = f"cd {shlex.quote(stage.folder)} && exec {shlex.join(command)}"
    return subprocess.run(
        ["chroot", str(stage.root), "sh", "-c", script], env=pip | PATH | stage.environment, check=options["check"]
    )


@contextlib.contextmanager
def registry(student: Path, folder: Path, port: int) -> Iterator[str]:
    """Serve a registry by MLflow's server, with one version of a student under the alias champion; yield its URL."""
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "mlflow", "server", "--port", str(port), "--workers", "1"]
    stores = ["--backend-store-uri", f"sqlite:///{folder}/mlflow.db", "--artifacts-destination", str(folder / "files")]
    with (folder / "mlflow.log").open("w") as log:
        server = subprocess.Popen([*command, *stores], stdout=log, stderr=log)
    try:
        wait(f"{url}/health", seconds=180)
        from mlflow import MlflowClient

        client, name = MlflowClient(url), "dial2vec-demo-small"
        run = client.create_run("0")
        about = {"flavors": {"python_function": {"artifacts": {"encoder": {"path": "encoder"}}}}}
        client.log_text(run.info.run_id, yaml.safe_dump(about), "model/MLmodel")
        client.log_artifacts(run.info.run_id, str(student), "model/encoder")
        client.create_registered_model(name)
        version = client.create_model_version(name, f"{run.info.artifact_uri}/model", run.info.run_id)
        client.set_registered_model_alias(name, "champion", version.version)
        yield url
    finally:
        server.terminate()
        server.wait()


def wait(url: str, *, seconds: float) -> float:
    """Wait until an address answers with 200, and return how long that took in seconds."""
    start = time.monotonic()
    while time.monotonic() < start + seconds:
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5):
            return time.monotonic() - start
        time.sleep(0.2)
    raise SystemExit(f"{url} did not answer within {seconds} seconds")


@contextlib.contextmanager
def served(stage: Stage, port: int, url: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run the image as `docker run --read-only --tmpfs /tmp --cap-drop ALL` would."""
    command = [*stage.command["ENTRYPOINT"], *stage.command["CMD"], "--port", str(port)]
    root, user = stage.root, stage.user
    rights = f"--reuid {user} --regid {user} --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all"
    start = f"cd {stage.folder} && exec {shlex.join(command)}"
    script = " && ".join(
        (
            f"mount --bind {root} {root}",
            f"mount -o remount,ro,bind {root}",
            f"mount -t tmpfs tmpfs {root}/tmp",
            f"mount -t proc proc {root}/proc",
            f"exec chroot {root} setpriv {rights} sh -c {shlex.quote(start)}",
        )
    )
    process = subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", script], env=PATH | stage.environment | {"MLFLOW_TRACKING_URI": url}
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def size(folder: Path) -> float:
    """Return the size of a folder in MB (10^6 bytes)."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink()) / 1e6


def mapped() -> list[str]:
    """Return the packages of which the server's processes have libraries in memory."""
    found: set[str] = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if "/opt/dial2vec/bin/python" in (process / "cmdline").read_text():
                found |= set(re.findall(r"/opt/dial2vec/\S+/site-packages/(\w+)", (process / "maps").read_text()))
    return sorted(found)


def build(base: Path, work: Path) -> Stage:
    """Execute the Dockerfile up to the stage `student`, and report what the image weighs."""
    builder = Builder(base, work)
    stage = builder.build("student")
    own = [builder.stages[part].layers[0] for part in ("base", "server", "student")]
    say(f"layers of the image: {sum(map(size, own)):.0f} MB on a base of {size(base):.0f} MB")
    return stage


def ask(process: subprocess.Popen[bytes]) -> None:
    """Ask a served image, and report its answers, its rights and its libraries."""
    say(f"ready after {wait('http://127.0.0.1:5671/readyz', seconds=120):.1f} s")
    request = urllib.request.Request(
        "http://127.0.0.1:5671/invocations", json.dumps(ASKED).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        say(f"/invocations: {answer.status}, {len(json.load(answer)['predictions'][0])} numbers")
    status = Path(f"/proc/{process.pid}/status").read_text()
    say("; ".join(re.findall(r"(?:Uid|CapEff|CapBnd|NoNewPrivs):.*", status)))
    say(f"libraries in memory: {', '.join(mapped())}")


def main() -> None:
    """Build, run, ask and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", type=Path, required=True, help="folder with Debian and Python 3.11")
    parser.add_argument("--student", type=Path, required=True, help="folder of a student")
    parser.add_argument("--work", type=Path, help="new folder for the layers; default: a temporary one")
    options = parser.parse_args()
    if os.environ.get("DIAL2VEC_CONTAINER") != "1":
        # Mounts of this process end with it.
        os.execvpe(
            "unshare", ["unshare", "--mount", sys.executable, *sys.argv], os.environ | {"DIAL2VEC_CONTAINER": "1"}
        )
    work = Path(tempfile.mkdtemp(dir=options.work))
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4g", "tmpfs", str(work)], check=True)
    try:
        stage = build(options.base.resolve(), work)
        with registry(options.student, work, 5071) as url, served(stage, 5671, url) as process:
            ask(process)
    finally:
        subprocess.run(["umount", "--recursive", "--lazy", str(work)], check=False)
        work.rmdir()


if __name__ == "__main__":
    main()
