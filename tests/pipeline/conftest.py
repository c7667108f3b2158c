"""Projects to run stages in: new ones, and copies of those that were trained once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from conversations.files import write_json

from .projects import TO_THE_FIGURES, enlarge, make_project, run


def _run_once(folder: Path) -> None:
    _, said = run(folder, *TO_THE_FIGURES)
    write_json(folder / "said.json", said)


@pytest.fixture(scope="session")
def small_once(made_once, tiny_folder) -> Path:
    """A project after `TO_THE_FIGURES`, and what the stages said in said.json."""
    return made_once("small", lambda folder: _run_once(make_project(folder, tiny_folder)))


@pytest.fixture(scope="session")
def large_once(made_once, tiny_folder) -> Path:
    """The same with 300 dialogues, the default method and the default choice."""

    def make(folder: Path) -> None:
        enlarge(make_project(folder, tiny_folder))
        _run_once(folder)

    return made_once("large", make)


@pytest.fixture
def small_run(small_once, tmp_path) -> Path:
    return shutil.copytree(small_once, tmp_path, dirs_exist_ok=True)


@pytest.fixture
def large_run(large_once, tmp_path) -> Path:
    return shutil.copytree(large_once, tmp_path, dirs_exist_ok=True)


@pytest.fixture
def project(tmp_path, tiny_folder) -> Path:
    return make_project(tmp_path, tiny_folder)


@pytest.fixture
def larger(project) -> Path:
    enlarge(project)
    return project
