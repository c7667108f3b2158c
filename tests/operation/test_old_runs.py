from __future__ import annotations

import subprocess
import sys

import pytest

from dial2vec.operation.schedule.runs import remove_old_runs

pytestmark = pytest.mark.services("prefect")

# In a process of its own: Prefect reads its environment while it is imported.
PRUNING = """
import os, sys
from pathlib import Path
from dial2vec.operation.pages import use_prefect
root = Path(sys.argv[1])
use_prefect(root)
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.settings import PREFECT_API_URL
from prefect.testing.utilities import prefect_test_harness
import pytest

from dial2vec.operation.schedule.runs import remove_old_runs

@flow
def night():
    pass

def runs():
    with get_client(sync_client=True) as client:
        return len(client.read_flow_runs())

with prefect_test_harness(server_startup_timeout=240):
    os.environ["PREFECT_API_URL"] = PREFECT_API_URL.value()
    night()
    night()
    print(remove_old_runs(root, 30, dry_run=False), runs())
    print(remove_old_runs(root, 0, dry_run=True), runs())
    print(remove_old_runs(root, 0, dry_run=False), runs())
"""


def test_without_a_running_server_no_run_is_touched_and_none_is_started(tmp_path, monkeypatch):
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    said = remove_old_runs(tmp_path, 30, dry_run=False)
    assert said == "Prefect's runs are left alone: only a running schedule can remove them."
    assert list(tmp_path.iterdir()) == []


def test_runs_that_ended_long_ago_leave_a_real_server(tmp_path):
    done = subprocess.run([sys.executable, "-c", PRUNING, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        "Prefect: 0 runs that ended more than 30 days ago 2",
        "Prefect: 2 runs that ended more than 0 days ago 2",
        "Prefect: 2 runs that ended more than 0 days ago 0",
    ], done.stderr
