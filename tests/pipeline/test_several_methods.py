"""Stages train and select with several methods, whose candidates compete."""

from __future__ import annotations

import pytest
import torch
from safetensors.torch import load_file

from conversations.files import read_json
from dial2vec.config import Settings
from dial2vec.errors import SettingsError
from dial2vec.params import settings_from_dict
from dial2vec.pipeline.select import select
from dial2vec.pipeline.train import train_encoder
from dial2vec.training.candidates import read_candidates
from dial2vec.training.methods.dial2vec import SelfGuidedSet
from tests.pipeline.projects import READY, change, enlarge, run

BOTH = ["neighbours", "dial2vec"]


@pytest.fixture
def alone(project):
    """The weights of the paper's candidate that trained alone, by their names."""
    enlarge(project)
    change(project, "train", method="dial2vec")
    artifacts, _ = run(project, *READY, train_encoder)
    last = read_candidates(artifacts.candidates)[-1]
    return load_file(artifacts.candidates / last.weights)


def test_candidates_of_each_method_compete_and_their_names_tell_it(project, alone):
    change(project, "train", method=BOTH)
    artifacts, said = run(project, train_encoder, select)
    assert [part.split(":")[0] for part in said[0].split("; ") if ":" in part] == BOTH
    candidates = read_candidates(artifacts.candidates)
    assert [one.name for one in candidates].count("start") == 1
    assert {one.name.split()[0] for one in candidates[1:]} == set(BOTH)
    last = load_file(artifacts.candidates / candidates[-1].weights)
    assert all(torch.equal(last[name], weights) for name, weights in alone.items())
    training, selection = read_json(artifacts.training), read_json(artifacts.selection)
    assert training["methods"] == BOTH
    assert len({entry["step"] for entry in training["history"]}) == len(training["history"]) == training["steps"]
    assert [one["name"] for one in selection["candidates"]] == [one.name for one in candidates]
    assert all(one["criteria"] for one in selection["candidates"])
    assert not artifacts.checkpoints.exists()


def test_a_kill_in_the_second_method_keeps_the_first(project, alone, monkeypatch):
    change(project, "train", method=BOTH)
    real = SelfGuidedSet.loss
    monkeypatch.setattr(SelfGuidedSet, "loss", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        run(project, train_encoder)
    monkeypatch.setattr(SelfGuidedSet, "loss", real)
    (sentence,) = run(project, train_encoder)[1]
    assert "10 steps over 40 dialogues (resumed from step 10); dial2vec: " in sentence


def test_auto_trains_the_papers_method_too_where_a_gpu_is():
    train = Settings().train
    assert train.method == "auto"
    assert train.methods(gpu=True) == ("neighbours", "dial2vec")
    assert train.methods(gpu=False) == ("neighbours",)


@pytest.mark.parametrize("names", [[], ["auto"], ["dial2vec", "dial2vec"]])
def test_a_list_of_methods_without_sense_is_refused(names):
    with pytest.raises(SettingsError, match=r"train\.method: found \[.*\]; expected auto or methods"):
        settings_from_dict({"train": {"method": names}})


def test_each_method_of_a_list_is_checked():
    raw = {"encoder": {"hierarchy": "hssa"}, "train": {"method": ["neighbours", "dse"]}}
    with pytest.raises(SettingsError, match="which method dse does not train"):
        settings_from_dict(raw)
