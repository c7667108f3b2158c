"""A project in a folder of one's own, made from the files of dial2vec's repository, which is such a project too.

Three things differ. The stages run `python`, which is the one that runs `dial2vec`, because `dial2vec.project.dvc` puts
it first in PATH; an absolute path would change dvc.lock on every machine. A stage depends on `.code/<stage>`, a hash of
its files in the installed package, instead of on files of the source. The figures of public corpora are left out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path

import yaml

from conversations.files import write_errors, write_text
from dial2vec.errors import Dial2vecError

SOURCE = Path(__file__).parents[2]
# Hashes of the installed code, one file per stage; written before each call of DVC.
CODE = ".code"
NO_GIT = "# Written by dial2vec, because this folder is in no git repository.\n[core]\n    no_scm = true\n"
# Targets of the Makefile that use a project; the others develop dial2vec.
TARGETS = ("help", "run", "retrain", "schedule", "mlflow", "prefect")


def make_project(folder: Path) -> list[Path]:
    """Make a folder a project whose corpus has the folder's name, and return the files written.

    :param folder: New folder, or one without these files.
    :raises Dial2vecError: if one of the files exists, or the folder cannot be written to.
    """
    corpus = re.sub(r"[^A-Za-z0-9]+", "_", folder.resolve().name).strip("_") or "calls"
    contents = dict(project_files(corpus))
    if existing := [name for name in contents if (folder / name).exists()]:
        raise Dial2vecError(
            f"{folder} has {existing[0]} already; expected a new folder, or one without the files of a project. "
            "Name another folder."
        )
    with write_errors(folder):
        (folder / "data").mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            write_text(folder / name, content)
    return [folder / name for name in contents]


def project_files(corpus: str) -> Iterator[tuple[str, str]]:
    """Yield name and content of each file of a new project."""
    for name in files("dial2vec.project").joinpath("template.txt").read_text(encoding="utf-8").split():
        content = _template(name)
        if name == "params.yaml":
            content = re.sub(r"^corpora: \[demo\] ", f"corpora: [{corpus}] ", content, flags=re.MULTILINE)
        elif name == "dvc.yaml":
            content = _for_installed_code(content)
        elif name == "Makefile":
            content = _makefile(content)
        elif name == ".gitignore":
            content += f"# Written by dial2vec.\n/{CODE}/\n"
        yield name, content


def template_path(name: str) -> Path:
    """Return a file of the repository: its copy in the installed package, else that of the checkout."""
    copy = SOURCE / "dial2vec" / "project" / "template" / name
    return copy if copy.is_file() else SOURCE.parent / name


@cache
def _template(name: str) -> str:
    return template_path(name).read_text(encoding="utf-8")


def _for_installed_code(dvc_yaml: str) -> str:
    lines, stage = [], ""
    own_python = re.sub(r"cmd: '\"\$DVC_ROOT/\.venv/bin/python\" (.*)'", r"cmd: python \1", dvc_yaml)
    # The figures after the stages are committed in the repository only.
    for line in own_python.partition("\n# Figures of")[0].splitlines(keepends=True):
        stage = match[1] if (match := re.match(r"  (\w+):$", line)) else stage
        if not line.startswith("      - src/"):
            lines.append(line)
        elif lines[-1] != (own := f"      - {CODE}/{stage}\n"):
            lines.append(own)
    own_head = f"Each\n# depends on a hash of dial2vec's code in {CODE}/."
    return re.sub(r"A stage always runs .venv's Python\.\n# .*", own_head, "".join(lines))


def _makefile(makefile: str) -> str:
    """Return the targets of the repository's Makefile that use a project."""
    blocks = re.findall(r"^([a-z]+):.*?(  ## .*\n(?:\t.*\n)+)", makefile, re.MULTILINE)
    chosen = {target: rest for target, rest in blocks if target in TARGETS}
    text = "\n".join(f"{target}:{chosen[target]}" for target in TARGETS)
    text = text.replace("$(BIN)/dial2vec", "$(PYTHON) -m dial2vec.cli").replace("$(BIN)/python", "$(PYTHON)")
    return (
        "# `make help` lists the targets. PYTHON is the one in which dial2vec is installed.\nPYTHON ?= python\n\n"
        f".PHONY: {' '.join(TARGETS)}\n.DEFAULT_GOAL := help\n\n{text}"
    )


def write_code_hashes(root: Path) -> None:
    """Write the hashes that the stages of a project of `make_project` depend on; other projects stay as they are."""
    path = root / "dvc.yaml"
    if not path.is_file() or f"- {CODE}/" not in path.read_text(encoding="utf-8"):
        return
    for stage, block in yaml.safe_load(_template("dvc.yaml"))["stages"].items():
        digest, own = hashlib.sha256(), root / CODE / stage
        for dependency in (name for name in block["deps"] if name.startswith("src/")):
            place = SOURCE / dependency.removeprefix("src/")
            for file in sorted(place.rglob("*")) if place.is_dir() else [place]:
                if file.is_file() and "__pycache__" not in file.parts:
                    digest.update(f"{file.relative_to(SOURCE)}\n".encode() + file.read_bytes())
        if not own.is_file() or own.read_text() != digest.hexdigest():
            write_text(own, digest.hexdigest())


def do_without_git(root: Path) -> None:
    """Tell DVC in `.dvc/config.local` if a project is in no git repository, and take this back if it is in one.

    A file with other content stays as it is.
    """
    path = root / ".dvc" / "config.local"
    in_git = any((folder / ".git").exists() for folder in (root, *root.parents))
    if in_git and path.is_file() and path.read_text(encoding="utf-8") == NO_GIT:
        path.unlink()
        return
    config = path.with_name("config")
    if not in_git and config.is_file() and not path.exists() and "no_scm" not in config.read_text(encoding="utf-8"):
        write_text(path, NO_GIT)
