from __future__ import annotations

from dataclasses import replace

import pytest

from dial2vec.benchmark.cells import compute_cell, known_cell
from dial2vec.benchmark.grid import places, run_cells
from dial2vec.benchmark.systems import ALL, METHODS
from dial2vec.benchmark.utterances import TaskData
from dial2vec.errors import CorpusError


@pytest.fixture
def few_candidates(monkeypatch):
    """The small test split has no hundred different answers."""
    monkeypatch.setattr("dial2vec.tasks.run.CANDIDATES", (3, 5))
    monkeypatch.setattr("dial2vec.tasks.run.PERTURBED_AMONG", 3)


def test_a_cell_with_tasks_is_known_by_their_data_and_without_them_it_is_computed_anew(project, few_candidates):
    root, settings = project
    data = TaskData(limit=6)
    cell = compute_cell(root, "calls", "start", 0, settings)
    assert known_cell(root, "calls", "start", 0, settings, tasks=data) is None
    cell = compute_cell(root, "calls", "start", 0, settings, tasks=data)
    assert {(record["task"], record["data"]) for record in cell.tasks} == {
        ("response_selection", "calls"),
        ("robustness", "calls"),
    }
    assert known_cell(root, "calls", "start", 0, settings, tasks=data) is not None
    assert known_cell(root, "calls", "start", 0, settings) is not None
    assert known_cell(root, "calls", "start", 0, settings, tasks=replace(data, limit=7)) is None


def test_a_method_is_scored_where_it_ended_and_says_what_the_choice_without_labels_was(project, few_candidates):
    root, settings = project
    settings = replace(settings, dse=replace(settings.dse, max_pairs=24, batch_size=8, min_words=1))
    [cell] = run_cells(root, settings, places(["calls"], ["dse"], [1], tasks=TaskData(limit=6)), say=lambda line: None)
    assert cell.chosen == "checkpoint of step 3"
    assert cell.label_free in (0, 3)
    assert cell.tokens > 24 * 2
    assert known_cell(root, "calls", "dse", 1, settings) is not None
    other = replace(settings, dse=replace(settings.dse, temperature=0.1))
    assert known_cell(root, "calls", "dse", 1, other) is None
    assert known_cell(root, "calls", "dse", 1, replace(settings, dialaug=replace(settings.dialaug, contrast=1.0)))


def test_the_data_of_the_tasks_identifies_them(tmp_path):
    with pytest.raises(CorpusError, match=r"nowhere does not exist; expected a folder or a zip of intent sets"):
        TaskData(intents=tmp_path / "nowhere").key()
    (tmp_path / "sets").mkdir()
    (tmp_path / "sets" / "one.txt").write_text("hello")
    folder = TaskData(intents=tmp_path / "sets")
    first = folder.key()
    assert first == folder.key() != TaskData().key()
    (tmp_path / "sets" / "one.txt").write_text("other")
    assert folder.key() not in (first, TaskData().key())


def test_a_fitted_baseline_is_scored_on_the_tasks_and_every_method_is_a_system(project, few_candidates):
    root, settings = project
    cell = compute_cell(root, "calls", "tfidf_svd", 1, settings, tasks=TaskData(limit=6))
    assert {record["task"] for record in cell.tasks} == {"response_selection", "robustness"}
    assert cell.tasks[0]["settings"]["separator"] == " "
    assert set(METHODS) <= set(ALL)
    assert len(places(["calls"], METHODS, [1, 2], tasks=TaskData())) == 2 * len(METHODS) - 1


def test_a_row_can_differ_from_params_yaml_in_the_block_of_its_method(project):
    _, settings = project
    settings = replace(settings, dialaug=replace(settings.dialaug, augmentation="deletion", batch_size=7))
    found = [ALL[name].settings(settings, seed=1) for name in ("bi_encoder", "dialaug", "dse")]
    assert [one.dialaug.augmentation for one in found] == ["none", "conmix", "deletion"]
    assert [one.dialaug.batch_size for one in found] == [7, 7, 7]
    assert [one.train.method for one in found] == ["dialaug", "dialaug", "dse"]
