"""The wheel holds all files of the package, and its command works in an empty folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from dial2vec.project.new import project_files

ROOT = Path(__file__).parents[1]
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
# Needs no network: setuptools is installed here.
BUILD = ("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    if subprocess.run([*PIP, "--version"], capture_output=True, check=False).returncode:
        pytest.skip("pip is not installed here")
    source = tmp_path_factory.mktemp("source")
    template = (ROOT / "src" / "dial2vec" / "project" / "template.txt").read_text().split()
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE", *template):
        (source / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    done = subprocess.run([*PIP, *BUILD, source / "dist", source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [path] = (source / "dist").glob("dial2vec-*.whl")
    return path


def test_the_wheel_holds_every_file_of_the_packages(wheel):
    files = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*") if path.is_file()}
    files = {name for name in files if "__pycache__" not in name and ".egg-info" not in name}
    assert {Path(name).suffix for name in files} >= {".py", ".html", ".css", ".js", ".json"}
    assert files - set(zipfile.ZipFile(wheel).namelist()) == set()


def test_the_command_of_the_wheel_works_in_an_empty_folder(wheel, tmp_path):
    installed, empty = tmp_path / "installed", tmp_path / "empty"
    empty.mkdir()
    subprocess.run([*PIP, "install", "--no-deps", "--no-index", "--target", installed, wheel], check=True)
    (empty / "calls.csv").write_text("call_id,speaker,text\nc,a,Hello\nc,b,Hi\n")
    # Before the checkout, which may be on the path as well.
    environment = os.environ | {"PYTHONPATH": str(installed)}

    def run(*command: str | Path) -> str:
        done = subprocess.run(command, cwd=empty, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert Path(run(sys.executable, "-c", "import dial2vec; print(dial2vec.__file__)")).is_relative_to(installed)
    assert "look" in run(sys.executable, installed / "bin" / "dial2vec", "--help")
    run(sys.executable, installed / "bin" / "dial2vec", "import", "calls.csv", "--output", "calls.jsonl")
    assert (empty / "calls.jsonl").is_file()
    run(sys.executable, installed / "bin" / "dial2vec", "new", "calls")
    assert {name: (empty / "calls" / name).read_text() for name, _ in project_files("calls")} == dict(
        project_files("calls")
    )
