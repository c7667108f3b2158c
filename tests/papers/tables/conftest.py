"""A small project with an empty store and splits of two topics: 110 dialogues train, 50 are dev, 20 are test."""

from __future__ import annotations

import json
import shutil

import pytest

from conversations.dialogue import write_dialogues
from dial2vec.params import settings_from_dict
from dial2vec.pipeline.artifacts import Artifacts
from tests.papers.tables.small import talk


@pytest.fixture
def project(tmp_path, tiny_folder, empty_store):
    shutil.copytree(empty_store, tmp_path, dirs_exist_ok=True)
    artifacts = Artifacts(tmp_path, "calls")
    artifacts.splits.mkdir(parents=True)
    for split, numbers in (("train", range(110)), ("dev", range(110, 160)), ("test", range(160, 180))):
        write_dialogues(artifacts.split(split), [talk(number) for number in numbers])
    artifacts.split_report.write_text(json.dumps({"split_sizes": {"train": 110, "dev": 50, "test": 20}}))
    settings = settings_from_dict(
        {
            "corpora": ["calls"],
            "encoder": {"name": tiny_folder},
            "select": {"bootstraps": 2},
            "evaluate": {"kmeans_runs": 2},
        }
    )
    return tmp_path, settings
