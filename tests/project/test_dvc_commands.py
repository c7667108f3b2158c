"""DVC's own commands in a project: experiments, plots, conflicts and a remote that does not answer."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from conversations.files import write_json
from dial2vec.errors import VersioningError
from dial2vec.project.dvc import dvc_status, push
from dial2vec.project.new import make_project

pytestmark = pytest.mark.services("dvc")

ROOT = Path(__file__).parents[2]
# The code of the stage: it notes which Python has run it, and needs this package.
STAGE = """\
import sys
from pathlib import Path
import dial2vec
Path("artifacts").mkdir(exist_ok=True)
Path("artifacts/metrics.json").write_text('{"map": %s}' % Path("params.yaml").read_text().split()[-1])
Path("artifacts/loss.csv").write_text("step,loss\\n0,2\\n1,1\\n")
"""


def call(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command without this Python in PATH."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DVC_")}
    author = {f"GIT_{who}_{what}": "x@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    variables = clean | author | {"PATH": "/usr/bin:/bin", "DVC_NO_ANALYTICS": "1"}
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)


def dvc(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    done = call(folder, ".venv/bin/python", "-m", "dvc", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def project_once(tmp_path_factory):
    """A project in git with one stage, whose command begins as those of dvc.yaml do."""
    folder = tmp_path_factory.mktemp("project")
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
    commands = {stage["cmd"].partition(" -m ")[0] for stage in stages.values()}
    [python] = commands
    (folder / ".venv").symlink_to(sys.prefix)
    (folder / "stage.py").write_text(STAGE)
    (folder / "params.yaml").write_text("seed: 1\n")
    metrics, loss = {"artifacts/metrics.json": {"cache": False}}, {"artifacts/loss.csv": {"x": "step", "y": "loss"}}
    stage = {
        "cmd": f"{python} stage.py",
        "deps": ["stage.py", ".code/train"],
        "params": ["seed"],
        "metrics": [metrics],
        "plots": [loss],
    }
    (folder / "dvc.yaml").write_text(yaml.safe_dump({"stages": {"train": stage}}))
    # As in a project of `dial2vec new`, the hash of the code is not in git.
    (folder / ".gitignore").write_text(".venv\n/.code/\n")
    (folder / ".code").mkdir()
    (folder / ".code" / "train").write_text("hash")
    assert call(folder, "git", "init", "--quiet").returncode == 0
    dvc(folder, "init", "--quiet")
    dvc(folder, "repro", "--quiet")
    call(folder, "git", "add", ".")
    assert call(folder, "git", "commit", "--quiet", "-m", "start").returncode == 0
    return folder


@pytest.fixture
def project(project_once, tmp_path):
    """A copy of it."""
    return shutil.copytree(project_once, tmp_path, symlinks=True, dirs_exist_ok=True)


def test_an_experiment_runs_in_a_folder_of_its_own(project):
    dvc(project, "exp", "run", "--temp", "--copy-paths", ".code", "--set-param", "seed=2")
    assert ",2,2," in dvc(project, "exp", "show", "--csv").stdout.replace("2.0", "2")
    assert (project / "params.yaml").read_text() == "seed: 1\n"


def test_experiments_run_from_the_queue_if_dvc_is_in_path(project):
    dvc(project, "exp", "run", "--queue", "--copy-paths", ".code", "--set-param", "seed=3")
    # DVC starts its worker by the name `dvc`; the worker keeps the output open.
    path = f"PATH={project / '.venv' / 'bin'}:$PATH"
    assert call(project, "sh", "-c", f"{path} .venv/bin/python -m dvc queue start > started 2>&1").returncode == 0
    deadline = time.monotonic() + 300
    while "Success" not in (status := dvc(project, "queue", "status").stdout):
        assert "Failed" not in status
        assert time.monotonic() < deadline, status
        time.sleep(1)
    assert ",3,3," in dvc(project, "exp", "show", "--csv").stdout.replace("3.0", "3")


def test_plots_are_shown(project):
    assert "index.html" in dvc(project, "plots", "show").stdout
    assert "loss" in (project / "dvc_plots" / "index.html").read_text()


def test_an_interrupted_gc_loses_nothing_that_is_needed(project):
    (project / "params.yaml").write_text("seed: 2\n")
    dvc(project, "repro", "--quiet")
    command = [".venv/bin/python", "-m", "dvc", "gc", "--workspace", "--force"]
    with subprocess.Popen(command, cwd=project, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as collecting:
        time.sleep(1.5)
        collecting.kill()
    dvc(project, "gc", "--workspace", "--force")
    (project / "artifacts" / "loss.csv").unlink()
    dvc(project, "checkout")
    assert (project / "artifacts" / "loss.csv").is_file()
    assert "up to date" in dvc(project, "status").stdout


def test_a_new_project_ignores_the_pages_of_plots(tmp_path):
    make_project(tmp_path / "calls")
    assert "/dvc_plots/" in (tmp_path / "calls" / ".gitignore").read_text().splitlines()


@pytest.mark.parametrize("name", ["dvc.lock", "data.dvc"])
def test_a_conflict_is_named_with_its_line_and_the_way_out(tmp_path, name):
    (tmp_path / name).write_text("a: 1\n<<<<<<< HEAD\nb: 1\n=======\nb: 2\n>>>>>>> theirs\n")
    with pytest.raises(VersioningError, match=rf"{name}, line 2, has git's conflict marks.*git checkout --ours {name}"):
        dvc_status(tmp_path, [])


def test_a_remote_that_does_not_answer_is_one_sentence_after_the_limit(tmp_path):
    (tmp_path / ".venv").symlink_to(sys.prefix)
    dvc(tmp_path, "init", "--no-scm", "--quiet")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a").write_text("a")
    dvc(tmp_path, "add", "--quiet", "data")
    write_json(tmp_path / "operation.yaml", {"schedule": {"remote_minutes": 0.1}})
    with socket.create_server(("127.0.0.1", 0)) as silent:
        dvc(tmp_path, "remote", "add", "--default", "far", f"http://127.0.0.1:{silent.getsockname()[1]}")
        began = time.monotonic()
        said = push(tmp_path, [])
    assert said.startswith("nothing was pushed: `dvc push` took longer than 0.1 minutes and was ended")
    assert time.monotonic() - began < 60
