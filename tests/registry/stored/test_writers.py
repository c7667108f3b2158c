"""Several processes make a store and write to it at once."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dial2vec.registry.store import open_store

WRITERS, RUNS, STEPS = 4, 2, 50
SCRIPT = """
import sys
from pathlib import Path
from dial2vec.registry.tracking import log_run
root, writer = Path(sys.argv[1]), sys.argv[2]
for number in range(int(sys.argv[3])):
    course = [{"step": step, "loss": float(step)} for step in range(int(sys.argv[4]))]
    params = {f"setting.{n}": n for n in range(30)}
    log_run(root, area="benchmark", name=f"{writer} {number}", params=params, metrics={"map": float(writer)},
            tags={"writer": writer}, record={"writer": writer}, course=course)
"""


@pytest.mark.services("mlflow")
def test_writers_at_once_make_one_store_and_lose_nothing(new_root):
    command = [sys.executable, "-c", SCRIPT, str(new_root)]
    started = [
        subprocess.Popen([*command, str(writer), str(RUNS), str(STEPS)], stderr=subprocess.PIPE, text=True)
        for writer in range(WRITERS)
    ]
    outcomes = [(process.communicate()[1], process.returncode) for process in started]
    assert outcomes == [("", 0)] * WRITERS
    client = open_store(new_root)
    assert len(client.search_experiments(filter_string="name = 'dial2vec-benchmark'")) == 1
    experiment = client.get_experiment_by_name("dial2vec-benchmark").experiment_id
    runs = client.search_runs([experiment])
    assert len(runs) == WRITERS * RUNS
    for run in runs:
        assert run.info.status == "FINISHED"
        assert len(run.data.params) == 30
        assert run.data.metrics["map"] == float(run.data.tags["writer"])
        assert len(client.get_metric_history(run.info.run_id, "course.loss")) == STEPS
        assert [entry.path for entry in client.list_artifacts(run.info.run_id)] == ["record.json"]
