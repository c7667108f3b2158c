"""What is measured of a split, and with how many clusters."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from conversations.dialogue import Dialogue, Turn, dialogue_writer, read_dialogues
from conversations.files import read_json
from dial2vec.config import Evaluate, Settings
from dial2vec.params import load_settings
from dial2vec.pipeline.evaluate import evaluate
from dial2vec.pipeline.prepare import prepare
from dial2vec.pipeline.scoring import measured_dialogues, scoring
from dial2vec.pipeline.validate import validate
from tests.pipeline.projects import change, run


@pytest.fixture
def split(tmp_path):
    """Thirty dialogues, every third of them without a label."""
    path = tmp_path / "test.jsonl"
    with dialogue_writer(path) as write:
        for number in range(30):
            labels = () if number % 3 == 0 else (f"topic{number % 2}",)
            write(Dialogue(f"d{number:02}", (Turn("a", "hello"), Turn("b", "hi")), labels=labels))
    return path


def drawn(path, **options):
    seed = options.pop("seed", 42)
    settings = replace(Settings(), seed=seed, evaluate=Evaluate(**options))
    return [dialogue.dialogue_id for dialogue in measured_dialogues(path, settings)]


@pytest.mark.parametrize("most", [None, 20, 10_000])
def test_all_dialogues_are_measured_if_there_are_no_more_with_a_label_than_may_be(split, most):
    assert drawn(split, max_dialogues=most) == [f"d{number:02}" for number in range(30)]


def test_of_more_so_many_with_a_label_are_drawn_by_the_seed_in_their_order(split):
    first = drawn(split, max_dialogues=12)
    assert len(set(first)) == 12
    assert first == sorted(first)
    assert not {f"d{number:02}" for number in range(0, 30, 3)} & set(first)
    assert first == drawn(split, max_dialogues=12)
    assert first != drawn(split, max_dialogues=12, seed=43)
    # A larger sample holds the smaller one, so that figures of both have most dialogues in common.
    assert set(first) < set(drawn(split, max_dialogues=15))


def test_of_a_large_split_so_many_dialogues_are_measured_and_the_report_says_so(small_run):
    change(small_run, "evaluate", max_dialogues=12)
    artifacts, [said] = run(small_run, evaluate)
    sizes = {name: len(list(read_dialogues(artifacts.split(name)))) for name in ("dev", "test")}
    sentence = f"easured on 12 of {sizes['dev']} of dev and 12 of {sizes['test']} of test, drawn by the seed"
    assert sentence in said
    assert sentence in artifacts.report.read_text()
    assert read_json(artifacts.metrics)["split_sizes"]["test"] == sizes["test"]


def test_clusters_of_the_whole_corpus_are_as_many_as_all_splits_have_labels(project):
    change(project, "evaluate", clusters="corpus", kmeans="release")
    artifacts, _ = run(project, validate, prepare)
    written = read_json(artifacts.split_report)
    written["labels"] = {"train": {"a": 9, "b": 1}, "dev": {"c": 1}, "test": {"a": 2}}
    artifacts.split_report.write_text(json.dumps(written))
    found = scoring(artifacts, load_settings(project / "params.yaml"))
    assert found == {"runs": 2, "seed": 42, "way": "release", "n_clusters": 3}
    change(project, "evaluate", clusters="split")
    assert scoring(artifacts, load_settings(project / "params.yaml"))["n_clusters"] is None
