"""A project without DVC, for the inbox and what fills it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dial2vec.project import dvc


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in which exports are really read and written, without DVC."""
    for name in ("params.yaml", "dvc.yaml"):
        (tmp_path / name).touch()
    for name in ("restore_data", "add_data"):
        monkeypatch.setattr(dvc, name, lambda root: None)
    return tmp_path
