"""The same projects as in memory, in stores of MLflow itself."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest


@pytest.fixture
def root(empty_store: Path, new_root: Path) -> Path:
    """A project with an empty store."""
    return shutil.copytree(empty_store, new_root)


@pytest.fixture
def registered(registered_store: Path, new_root: Path) -> Path:
    """A copy of a project in which the record above was registered."""
    return shutil.copytree(registered_store, new_root)
