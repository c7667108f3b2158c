"""benchmarks/gpu_papers.sh, on two tiny corpora and a tiny encoder, where DVC, MLflow and Prefect are absent."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from conversations.dialogue import Dialogue, Turn, write_dialogues
from tests.tiny_models import WORDS

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "gpu_papers.sh"
ABSENT = ("dvc", "mlflow", "prefect")


def talks(name: str, n: int) -> list[Dialogue]:
    rng = random.Random(name)
    return [
        Dialogue(
            f"{name}{number}",
            tuple(Turn("ab"[turn % 2], " ".join(rng.choices(WORDS, k=6))) for turn in range(6)),
            (f"topic{number % 2}",),
        )
        for number in range(n)
    ]


@pytest.fixture
def environment(tmp_path: Path, tiny_folder: str) -> dict[str, str]:
    """A project of two corpora; whatever imports an absent library fails."""
    (tmp_path / "dvc.yaml").touch()
    for name, n in (("calls", 400), ("chats", 60)):
        (tmp_path / "data" / name).mkdir(parents=True)
        write_dialogues(tmp_path / "data" / name / "all.jsonl", talks(name, n))
    settings = {
        "corpora": ["calls", "calls+chats"],
        "encoder": {"name": tiny_folder},
        "train": {"max_dialogues": 20},
        "select": {"bootstraps": 2},
        "evaluate": {"kmeans_runs": 2},
    }
    (tmp_path / "params.yaml").write_text(json.dumps(settings))
    for name in ABSENT:
        (tmp_path / "absent" / name).mkdir(parents=True)
        (tmp_path / "absent" / name / "__init__.py").write_text(f"raise ImportError('{name} is absent')\n")
    small = {"CORPUS": "calls", "JOINT": "calls+chats", "SEEDS": "1", "DIALOGUES": "20", "EPOCHS": "1", "LIMIT": "5"}
    small |= {"BASE": tiny_folder, "MLM": "--mlm-windows 32", "DEVICE": "cpu", "ROWS": "dialaug_paper"}
    return os.environ | small | {"PYTHON": sys.executable, "PYTHONPATH": str(tmp_path / "absent")}


# It starts no service, but takes two minutes.
@pytest.mark.services
def test_the_whole_script_runs_without_tracking_and_a_second_run_computes_nothing(tmp_path, environment):
    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run([SCRIPT], cwd=tmp_path, env=environment, text=True, capture_output=True, check=False)

    first, out = run(), tmp_path / "artifacts" / "gpu_papers"
    logs = {path.stem: path.read_text()[-600:] for path in out.glob("*.log")}
    assert first.returncode == 0, (first.stdout, first.stderr, logs)
    steps = ["splits", "weak-1", "joint", "dialaug_paper", "weak-rate"]
    assert [line.partition(":")[0] for line in first.stdout.splitlines()] == steps
    rows = [json.loads(line)["way"] for line in (out / "weak_start.jsonl").read_text().splitlines()]
    assert "paper's method, last" in rows
    assert "paper's method at a rate of 0.0001, last" in rows
    cells = [json.loads(line) for line in (out / "cells.jsonl").read_text().splitlines()]
    names = {(cell["corpus"], cell["system"].partition("@")[0]) for cell in cells}
    assert names == {("calls+chats", "start"), ("calls+chats", "dse_paper"), ("calls", "dialaug_paper")}
    for cell in cells:
        [records] = cell["task_records"].values()
        assert {record["task"] for record in records} == {"response_selection", "robustness"}
        assert cell["run_id"] == ""
    assert not (tmp_path / ".dvc").exists()
    again = run()
    assert again.stdout.splitlines() == [f"{name}: done before" for name in steps]
