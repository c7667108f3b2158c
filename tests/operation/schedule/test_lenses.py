"""A lens is a registered model of a real MLflow server: a version when it has learnt anew, and a champion."""

from __future__ import annotations

import random

import pytest

from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.lenses import LensLabel, lens
from dial2vec.encoder.loading import load_encoder
from dial2vec.operation.schedule.lenses import log_lenses
from dial2vec.registry.tracking import damaged_versions
from tests.collection.lenses.made import calls
from tests.collection.made import indexed
from tests.operation.schedule.test_topics import client as client
from tests.students import tiny_student

pytestmark = pytest.mark.services("mlflow")

ENDS = [LensLabel("booked"), LensLabel("failed")]
MODEL = "dial2vec-help_desk-lens-end"


def test_each_time_it_learns_it_is_a_version_and_a_worse_one_is_not_the_champion(client, tmp_path):
    tiny_student().save_pretrained(tmp_path / "student")
    dialogues, ends = calls(120)
    folder = tmp_path / "help-desk"
    collection = CollectionFolder(indexed(folder, dialogues, load_encoder(tmp_path / "student")).folder)
    assert log_lenses(tmp_path, collection) == []

    lens(collection, "end", ENDS, dict(list(ends.items())[:60]))
    assert log_lenses(tmp_path, collection) == [f"{MODEL} version 1 is the champion."]
    assert log_lenses(tmp_path, collection) == []
    [version] = client.search_model_versions(f"name = '{MODEL}'")
    run = client.get_run(version.run_id)
    assert run.data.metrics["booked.auroc"] > 0.9
    assert run.data.params == {"examples": "60", "labels": "booked, failed"}
    assert {file.path for file in client.list_artifacts(run.info.run_id)} == {"end.safetensors", "record.json"}

    known = list(ends.items())
    shuffled = random.Random(0).sample([label for _, label in known], len(known))
    lens(collection, "end", ENDS, dict(zip(ends, shuffled, strict=True)))
    [sentence] = log_lenses(tmp_path, collection)
    assert sentence == f"{MODEL} version 2 tells booked, failed clearly worse, so that version 1 stays the champion."
    assert client.get_model_version_by_alias(MODEL, "champion").version == "1"

    lens(collection, "end", ENDS, ends)
    assert log_lenses(tmp_path, collection) == [f"{MODEL} version 3 is the champion."]
    assert damaged_versions(tmp_path) == []
