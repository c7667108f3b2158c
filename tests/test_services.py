"""Services that tests start are named by their marks."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.services import SERVICES, is_installed, only


@pytest.mark.parametrize(
    ("service", "command"),
    [
        ("chromium", ["/usr/bin/chromium", "--headless"]),
        ("dvc", [sys.executable, "-m", "dvc", "status"]),
        ("dvc", ".venv/bin/dvc status"),
        ("prefect", [sys.executable, "-m", "uvicorn", "--factory", "prefect.server.api.server:create_app"]),
        ("torch", [sys.executable, "-m", "torch.distributed.run", "script.py"]),
    ],
)
def test_a_service_that_no_mark_names_is_not_started(service, command):
    with only(SERVICES.keys() - {service}), pytest.raises(pytest.fail.Exception, match=f'services."{service}"'):
        subprocess.Popen(command)


def test_a_service_that_is_not_there_is_not_installed(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("tests.services.find_spec", lambda name: None)
    assert not any(map(is_installed, SERVICES))
