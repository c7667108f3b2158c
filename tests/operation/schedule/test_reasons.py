from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from conversations.dialogue import write_dialogues
from conversations.files import write_json
from dial2vec.operation.schedule import reasons
from dial2vec.operation.schedule.reasons import reason_to_train
from dial2vec.params import operation_from_dict, settings_from_dict
from dial2vec.pipeline.artifacts import Artifacts
from tests.conftest import make_dialogue

SETTINGS = settings_from_dict({"corpora": ["calls"]})
OPERATION = operation_from_dict({"schedule": {"min_new_share": 0.1}})
DIALOGUES = [make_dialogue(f"d{n}", f"a: w{n}", "b: w1") for n in range(50)]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A corpus of the first 40 dialogues, trained to the end; its data has changed since."""
    artifacts = Artifacts(tmp_path, "calls")
    write_dialogues(artifacts.dialogues, DIALOGUES[:40])
    write_dialogues(artifacts.data / "a.jsonl", DIALOGUES[:40])
    artifacts.model.mkdir()
    write_json(artifacts.registration, {})
    changes(monkeypatch, "data/calls")
    return tmp_path


def changes(monkeypatch: pytest.MonkeyPatch, *changed: str) -> None:
    monkeypatch.setattr(reasons, "dvc_status", lambda root, stages: set(changed))


def add(root: Path, dialogues: list) -> None:
    write_dialogues(Artifacts(root, "calls").data / "b.jsonl", dialogues)


def test_what_is_not_registered_is_trained(root):
    Artifacts(root, "calls").registration.unlink()
    assert reason_to_train(root, "calls", SETTINGS, OPERATION) == reasons.Reason(
        True, "its model is not in the registry"
    )


def test_what_was_never_trained_is_trained(root):
    Artifacts(root, "calls").model.rmdir()
    assert reason_to_train(root, "calls", SETTINGS, OPERATION) == reasons.Reason(
        True, "it was never trained here to the end"
    )


def test_without_a_change_nothing_is_trained(root, monkeypatch):
    changes(monkeypatch)
    assert reason_to_train(root, "calls", SETTINGS, OPERATION) == reasons.Reason(False, "nothing has changed")


def test_changed_settings_are_a_reason(root, monkeypatch):
    changes(monkeypatch, "data/calls", "train.epochs", "seed", "src/a.py", "src/b.py")
    assert reason_to_train(root, "calls", SETTINGS, OPERATION) == reasons.Reason(
        True, "seed, src/a.py, src/b.py and 1 more changed"
    )


def test_enough_new_dialogues_are_a_reason(root):
    add(root, DIALOGUES[40:44])
    reason = reason_to_train(root, "calls", SETTINGS, OPERATION)
    assert reason.train
    assert reason.words == "enough new data: 4 new dialogues, 10.0 % of those it was trained on"


def test_too_few_are_none_unless_they_differ(root):
    add(root, DIALOGUES[40:43])
    reason = reason_to_train(root, "calls", SETTINGS, OPERATION)
    assert not reason.train
    assert reason.words.startswith("too little new data: 3 new dialogues, 7.5 % of those it was trained on")


def test_dialogues_that_were_taken_out_are_a_reason(root):
    write_dialogues(Artifacts(root, "calls").data / "a.jsonl", DIALOGUES[:38])
    reason = reason_to_train(root, "calls", SETTINGS, OPERATION)
    assert reason == reasons.Reason(True, "2 dialogues that it was trained on were taken out or changed")


def test_what_was_set_aside_before_is_not_new(root):
    add(root, DIALOGUES[40:45])
    Artifacts(root, "calls").quarantine.write_text('{"dialogue_id": "d40"}\n{"dialogue_id": "d41"}\n')
    assert "3 new dialogues" in reason_to_train(root, "calls", SETTINGS, OPERATION).words


def test_the_same_file_under_another_name_is_nothing_new(root):
    (Artifacts(root, "calls").data / "a.jsonl").rename(Artifacts(root, "calls").data / "c.jsonl")
    assert "0 new dialogues" in reason_to_train(root, "calls", SETTINGS, OPERATION).words


@pytest.mark.parametrize("alarm", [False, True])
def test_few_new_dialogues_are_a_reason_when_they_differ(root, monkeypatch, alarm):
    compared = []

    def drift(new: list, artifacts: Artifacts, settings: object, operation: object) -> SimpleNamespace:
        compared.append([dialogue.dialogue_id for dialogue in new])
        return SimpleNamespace(alarm=alarm, verdict="far away 30 %.")

    monkeypatch.setattr(reasons, "_drift", drift)
    few = operation_from_dict({"schedule": {"min_new_share": 0.5}, "drift": {"min_dialogues": 10}})
    add(root, DIALOGUES[40:49])
    assert "and fewer than 50 %" in reason_to_train(root, "calls", SETTINGS, few).words
    assert compared == []
    add(root, DIALOGUES[40:50])
    reason = reason_to_train(root, "calls", SETTINGS, few)
    assert compared == [[f"d{n}" for n in range(40, 50)]]
    assert reason.train == alarm
    assert ("drift: 10 new dialogues" in reason.words) == alarm
    assert ("which are like those" in reason.words) != alarm
