"""A joint corpus through DVC and the registry for real, with the tiny encoder."""

from __future__ import annotations

from pathlib import Path

import pytest

from conversations.files import read_json
from dial2vec.project.dvc import ensure_data
from tests.project.test_dvc import call, changed, make_checkout

pytestmark = pytest.mark.services("dvc")

NAME = "calls+chats"


def test_joint_corpus_is_trained_registered_and_run_again_when_a_part_changes(tmp_path: Path, tiny_folder: str):
    make_checkout(
        tmp_path,
        [NAME],
        encoder={"name": tiny_folder},
        train={"max_dialogues": 8, "batch_size": 2, "checkpoint_steps": 2},
        select={"selection": "last", "max_dialogues": 100, "bootstraps": 2},
        distil={"epochs": 0},
    )
    done = call(tmp_path, "dial2vec", "run")
    assert done.returncode == 0, done.stderr[-2000:]
    # Version 1 is the base encoder.
    assert f"registered as dial2vec-{NAME} version 2" in done.stdout
    assert set(read_json(tmp_path / "artifacts" / NAME / "metrics.json")["parts"]) == {"calls", "chats"}
    assert [line.split()[0] for line in done.stdout.splitlines() if line.startswith("  c")][:4] == [
        *("calls", "calls", "chats", "chats")
    ]
    assert changed(tmp_path) == set()
    with (tmp_path / "data" / "chats" / "calls.jsonl").open("a") as handle:
        handle.write(
            '\n{"dialogue_id": "new", "turns": [{"speaker": "a", "text": "w1"}, {"speaker": "b", "text": "w2"}]}'
        )
    ensure_data(tmp_path, [NAME])
    assert f"validate@{NAME}" in changed(tmp_path)
