"""SECURITY.md: what it claims is shown by tests that exist."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROWS = [line for line in (ROOT / "SECURITY.md").read_text().splitlines() if line.startswith("| ")][1:]
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


@pytest.mark.parametrize("row", ROWS, ids=[" from ".join(row.split(" | ")[:2]).strip("| ") for row in ROWS])
def test_each_claim_names_tests_that_exist(row):
    named = TEST.findall(row)
    assert named or "no protection" in row
    for file, name in named:
        tree = ast.parse((ROOT / file).read_text())
        assert name in {one.name for one in tree.body if isinstance(one, ast.FunctionDef)}, f"{file}::{name}"


@pytest.mark.parametrize(
    "name",
    [
        "data/calls/dialogues.jsonl",
        "inbox/calls/monday.csv",
        "mlruns/mlflow.db",
        ".prefect/secret",
        ".env",
        "calls.look/x",
    ],
)
def test_git_holds_no_data_and_no_secret(name):
    assert subprocess.run(["git", "check-ignore", "--quiet", name], cwd=ROOT, check=False).returncode == 0


def test_actions_are_pinned_by_their_commits():
    workflows = [path.read_text() for path in (ROOT / ".github").rglob("*.yml") if "uses:" in path.read_text()]
    # Those of this repository begin with a dot.
    for used in re.findall(r"uses:\s*([^.\s]\S*)", "\n".join(workflows)):
        assert re.search(r"@[0-9a-f]{40}$", used), used
