"""A small project with splits: 110 dialogues train, 50 are dev, 20 test; two topics with words of their own."""

from __future__ import annotations

import json

import pytest

from dial2vec.dialogue import write_dialogues
from dial2vec.params import settings_from_dict
from dial2vec.pipeline.artifacts import Artifacts
from research.tables.small import talk


@pytest.fixture
def project(tmp_path, tiny_folder):
    artifacts = Artifacts(tmp_path, "calls")
    artifacts.splits.mkdir(parents=True)
    for split, numbers in (("train", range(110)), ("dev", range(110, 160)), ("test", range(160, 180))):
        write_dialogues(artifacts.split(split), [talk(number) for number in numbers])
    artifacts.split_report.write_text(json.dumps({"split_sizes": {"train": 110, "dev": 50, "test": 20}}))
    settings = settings_from_dict(
        {"corpora": ["calls"], "encoder": {"name": tiny_folder}, "evaluate": {"kmeans_runs": 2}}
    )
    return tmp_path, settings
