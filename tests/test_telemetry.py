from __future__ import annotations

import subprocess
import sys

import pytest

from dial2vec.telemetry import SWITCHES, switch_off


def test_everything_is_switched_off_where_nothing_was_set(monkeypatch: pytest.MonkeyPatch):
    import os

    for name in SWITCHES:
        monkeypatch.delenv(name, raising=False)
    switch_off()
    assert {name: os.environ.get(name) for name in SWITCHES} == SWITCHES


def test_what_the_user_has_set_stays(monkeypatch: pytest.MonkeyPatch):
    import os

    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "false")
    switch_off()
    assert os.environ["MLFLOW_DISABLE_TELEMETRY"] == "false"


def test_the_libraries_understand_their_switches(monkeypatch: pytest.MonkeyPatch):
    """Each is asked by its own code, without the variables of a CI machine, which would switch it off as well."""
    asked = """
import os
for name in ("CI", "GITHUB_ACTIONS", "PYTEST_CURRENT_TEST", "DVC_TEST"):
    os.environ.pop(name, None)
from dial2vec.telemetry import switch_off
switch_off()
from dvc.analytics import is_enabled
from huggingface_hub import constants as hub
from mlflow.environment_variables import MLFLOW_SERVER_ENABLE_JOB_EXECUTION
from mlflow.telemetry.utils import is_telemetry_disabled
assert not is_enabled()
assert hub.HF_HUB_DISABLE_PROGRESS_BARS and hub.HF_HUB_DISABLE_TELEMETRY and hub.HF_HUB_DISABLE_UPDATE_CHECK
assert MLFLOW_SERVER_ENABLE_JOB_EXECUTION.get() is False
assert is_telemetry_disabled()
"""
    for name in SWITCHES:
        monkeypatch.delenv(name, raising=False)
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
