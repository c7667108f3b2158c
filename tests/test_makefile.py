"""`make` installs into the checkout's own .venv, and empties no folder that is somebody else's."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Stands in for Python: makes the environment that it is asked for as `venv --clear` does, and installs nothing.
PYTHON = """#!/bin/sh
[ "$2" = venv ] || exit 0
mkdir -p .venv && find .venv/ -mindepth 1 -delete
mkdir .venv/bin && cp "$0" .venv/bin/python && touch .venv/pyvenv.cfg
"""


@pytest.fixture
def checkout(tmp_path):
    """A checkout with the Makefile, and what `make install` reads."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    shutil.copy(ROOT / "Makefile", folder)
    for name in ("requirements.lock", "requirements.torch.lock", "requirements.torch-cpu.lock", "pyproject.toml"):
        (folder / name).touch()
    python = tmp_path / "python"
    python.write_text(PYTHON)
    python.chmod(0o755)
    return folder


@pytest.fixture
def shared(tmp_path):
    """An environment of another checkout."""
    folder = tmp_path / "shared"
    folder.mkdir()
    (folder / "installed").write_text("/home/ann/calls\n")
    (folder / "pyvenv.cfg").touch()
    return folder


def make(checkout: Path, target: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", target, f"PYTHON={checkout.parent / 'python'}"],
        cwd=checkout, capture_output=True, text=True, check=False,
    )  # fmt: skip


def holds(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_an_environment_is_made_once_and_again_when_the_lock_changes(checkout):
    assert "Installing" in make(checkout, "install").stdout
    assert (checkout / ".venv" / "installed").read_text() == f"{checkout}\n"
    assert "Installing" not in make(checkout, "install").stdout
    (checkout / ".venv" / "old").touch()
    (checkout / "requirements.lock").write_text("new")
    assert make(checkout, "install").returncode == 0
    assert holds(checkout / ".venv") == ["bin", "installed", "pyvenv.cfg"]


def test_an_installation_that_was_stopped_and_one_that_was_moved_are_made_again(checkout):
    (checkout / ".venv").mkdir()
    (checkout / ".venv" / "pyvenv.cfg").touch()
    assert make(checkout, "install").returncode == 0
    moved = checkout.rename(checkout.with_name("moved"))
    assert "Installing" in make(moved, "install").stdout
    assert (moved / ".venv" / "installed").read_text() == f"{moved}\n"


def test_the_environment_of_another_checkout_is_not_emptied_through_a_link(checkout, shared):
    (checkout / ".venv").symlink_to(shared)
    done = make(checkout, "install")
    assert done.returncode != 0
    assert f"link to {shared}, which was not installed for {checkout} but for /home/ann/calls." in done.stderr
    assert "rm .venv" in done.stderr
    assert holds(shared) == ["installed", "pyvenv.cfg"]


@pytest.mark.parametrize("target", ["shared", "nowhere"])
def test_a_link_that_leads_to_no_environment_of_ours_is_refused(checkout, shared, target):
    (shared / "installed").unlink()
    (shared / "notes").touch()
    (checkout / ".venv").symlink_to(shared.with_name(target))
    assert "Remove the link (rm .venv) and run make again" in make(checkout, "install").stderr
    assert holds(shared) == ["notes", "pyvenv.cfg"]


def test_a_linked_environment_of_this_checkout_is_used(checkout, shared):
    (shared / "installed").write_text(f"{checkout}\n")
    (checkout / ".venv").symlink_to(shared)
    done = make(checkout, "install")
    assert done.returncode == 0, done.stderr
    assert "Installing" not in done.stdout
    assert holds(shared) == ["installed", "pyvenv.cfg"]


def test_a_folder_that_is_no_environment_is_not_emptied(checkout):
    (checkout / ".venv").mkdir()
    (checkout / ".venv" / "thesis.tex").touch()
    done = make(checkout, "install")
    assert done.returncode != 0
    assert f"{checkout}/.venv is no Python environment" in done.stderr
    assert holds(checkout / ".venv") == ["thesis.tex"]


def test_clean_removes_a_link_and_not_what_it_leads_to(checkout, shared):
    (checkout / ".venv").symlink_to(shared)
    assert make(checkout, "clean").returncode == 0
    assert not (checkout / ".venv").is_symlink()
    assert holds(shared) == ["installed", "pyvenv.cfg"]
