"""Several corpora in one training, from raw files to the figures."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
import yaml

from conversations.dialogue import read_dialogues
from conversations.files import read_json
from dial2vec.config import part_of
from dial2vec.encoder.loading import load_encoder
from dial2vec.errors import ValidationError
from dial2vec.evaluation.measure import measure
from dial2vec.params import load_settings
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.pipeline.prepare import prepare
from dial2vec.pipeline.validate import validate
from tests.pipeline.projects import TO_THE_FIGURES, change, make_project, run, write_calls

NAME = "calls+chats"


@pytest.fixture
def project(tmp_path: Path, tiny_folder: str) -> Path:
    project = make_project(tmp_path, tiny_folder)
    path = project / "params.yaml"
    params = yaml.safe_load(path.read_text()) | {"corpora": ["calls", "chats", NAME]}
    path.write_text(yaml.safe_dump(params))
    write_calls(project / "data" / "calls", 80, topics=2)
    write_calls(project / "data" / "chats", 40, topics=2, first=50, seed=50)
    return project


def splits(artifacts: Artifacts) -> dict[str, set[str]]:
    return {
        name: {dialogue.dialogue_id for dialogue in read_dialogues(artifacts.split(name), may_be_empty=True)}
        for name in ("train", "dev", "test")
    }


def test_two_corpora_train_one_encoder_that_is_measured_on_each_and_on_both(project: Path):
    artifacts, said = run(project, *TO_THE_FIGURES, corpus=NAME)
    assert artifacts.metrics == project / "artifacts" / NAME / "metrics.json"
    assert said[0].startswith("120 dialogues, 600 turns")
    metrics = read_json(artifacts.metrics)
    assert set(metrics["parts"]) == {"calls", "chats"}
    for scores in metrics["parts"].values():
        assert set(scores) == {"start", "trained", "student"}
        assert scores["student"] is None
        assert set(scores["trained"]) == set(metrics["trained"])
    assert metrics["parts"]["calls"]["trained"] != metrics["parts"]["chats"]["trained"]
    # The base encoder is the same for all, so its figures on a part are those of that corpus alone.
    settings = load_settings(project / "params.yaml")
    for name, scores in metrics["parts"].items():
        run(project, validate, prepare, corpus=name)
        test = list(read_dialogues(Artifacts(project, name).split("test")))
        alone = measure(load_encoder(settings.encoder.name), test, runs=2, seed=settings.seed, batch_size=32)
        assert scores["start"] == pytest.approx(alone.scores)
    assert "On the test dialogues of chats alone, from start to trained encoder: purity" in artifacts.report.read_text()


def test_each_corpus_is_divided_as_alone(project: Path):
    together = splits(run(project, validate, prepare, corpus=NAME)[0])
    for name in ("calls", "chats"):
        alone = splits(run(project, validate, prepare, corpus=name)[0])
        for split, ids in alone.items():
            assert {f"{name}/{dialogue_id}" for dialogue_id in ids} == {
                dialogue_id for dialogue_id in together[split] if part_of(dialogue_id) == name
            }


def test_copies_between_corpora_leave_train_so_that_no_dialogue_is_trained_and_tested(project: Path):
    calls = splits(run(project, validate, prepare, corpus="calls")[0])
    texts = (project / "data" / "calls" / "calls.jsonl").read_text().splitlines()
    records = {record["dialogue_id"]: record for record in map(json.loads, texts)}
    # Copies of everything that is tested, under other ids, which fall into any split.
    copies = [records[name] | {"dialogue_id": f"copy-{name}"} for name in sorted(calls["test"])]
    with (project / "data" / "chats" / "calls.jsonl").open("a") as handle:
        handle.writelines(f"\n{json.dumps(copy)}" for copy in copies)
    change(project, "validate", max_duplicate_share=1.0)
    artifacts, said = run(project, validate, prepare, corpus=NAME)
    together = splits(artifacts)
    assert {f"calls/{name}" for name in calls["test"]} <= together["test"]
    assert not [name for name in together["train"] | together["dev"] if "copy-" in name]
    report = read_json(artifacts.split_report)
    left_out = report["copies_between_corpora"]
    assert len(left_out) == len(copies) - len([name for name in together["test"] if "copy-" in name]) > 0
    assert {(copy["split"], copy["of_split"]) for copy in left_out} <= {("train", "test"), ("dev", "test")}
    assert f"{len(left_out)} left out, because they copy a later split of another corpus" in said[1]


@pytest.mark.parametrize(
    ("shares", "sizes"), [([], (49, 26)), (["equal"], (26, 26)), (["calls=0.5"], (25, 26)), (["chats=.1"], (49, 3))]
)
def test_shares_limit_the_training_dialogues_of_each_corpus_only(project: Path, shares: list[str], sizes: tuple):
    whole = splits(run(project, validate, prepare, corpus=NAME)[0])
    change(project, "prepare", shares=shares)
    artifacts, _ = run(project, prepare, corpus=NAME)
    part = splits(artifacts)
    counts = Counter(map(part_of, part["train"]))
    assert (counts["calls"], counts["chats"]) == sizes
    assert part["train"] <= whole["train"]
    assert (part["dev"], part["test"]) == (whole["dev"], whole["test"])
    report = read_json(artifacts.split_report)
    assert (report["parts"]["calls"]["train"], report["parts"]["chats"]["train"]) == sizes
    assert sum(report["beyond_shares"].values()) == len(whole["train"]) - sum(sizes)


def test_too_many_broken_records_of_a_small_corpus_stop_the_run(project: Path):
    write_calls(project / "data" / "calls", 400, topics=2)
    write_calls(project / "data" / "chats", 40, topics=2, first=50, seed=50, broken=6)
    with pytest.raises(ValidationError, match="6 of 46 records of chats are quarantined, the first because"):
        run(project, validate, corpus=NAME)
