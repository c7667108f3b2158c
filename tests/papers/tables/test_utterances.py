from __future__ import annotations

import json
from dataclasses import replace

import pytest

from dial2vec.errors import CorpusError
from dial2vec_papers.baselines import BASELINES
from dial2vec_papers.tables import grid as grid_module
from dial2vec_papers.tables.cells import Place, cell_path, compute_cell, known_cell
from dial2vec_papers.tables.grid import compute_tables, places, run_cells
from dial2vec_papers.tables.method_tables import methods_markdown
from dial2vec_papers.tables.systems import ALL, METHOD_ROWS, SYSTEMS
from dial2vec_papers.tables.utterances import TaskData
from tests.papers.tables.test_course import SHORT


@pytest.fixture
def few_candidates(monkeypatch):
    """The small test split has no hundred different answers."""
    monkeypatch.setattr("dial2vec_papers.tasks.run.CANDIDATES", (3, 5))
    monkeypatch.setattr("dial2vec_papers.tasks.run.PERTURBED_AMONG", 3)
    monkeypatch.setattr("dial2vec_papers.tasks.sources.AMONG", {"response_selection": 5, "robustness": 3})


def test_a_cell_with_tasks_is_known_by_their_data_and_without_them_it_is_computed_anew(project, few_candidates):
    root, settings = project
    data = TaskData(limit=6)
    cell = compute_cell(root, Place("calls", "start", 0), settings)
    assert known_cell(root, Place("calls", "start", 0, tasks=data), settings) is None
    cell = compute_cell(root, Place("calls", "start", 0, tasks=data), settings)
    assert {(record["task"], record["data"]) for record in cell.task_records[data.key()]} == {
        ("response_selection", "calls"),
        ("robustness", "calls"),
    }
    assert known_cell(root, Place("calls", "start", 0, tasks=data), settings) is not None
    assert known_cell(root, Place("calls", "start", 0), settings) is not None
    assert known_cell(root, Place("calls", "start", 0, tasks=replace(data, limit=7)), settings) is None


def test_other_task_data_neither_loses_records_nor_the_course_and_says_that_it_computes_again(
    project, few_candidates, monkeypatch
):
    root, settings = project
    monkeypatch.setitem(
        ALL, "paper", replace(SYSTEMS["paper"], as_the_paper=False, encoder={}, train=SHORT, sample={"negatives": 2})
    )
    first, second, said = TaskData(limit=6), TaskData(limit=5), []
    before = compute_cell(root, Place("calls", "paper", 1, with_course=True, tasks=first), settings)
    [cell] = run_cells(root, settings, [Place("calls", "paper", 1, tasks=second)], say=said.append)
    assert cell.task_records.keys() == {first.key(), second.key()}
    assert cell.task_records[first.key()] == before.task_records[first.key()]
    assert (cell.course, cell.label_free, cell.label_free_name) == (
        *(before.course, before.label_free, before.label_free_name),
    )
    assert (before.label_free_name != "", before.steps) == (True, 3)
    place = "calls, dial2vec, 200 dialogues of the paper's recipe, seed 1"
    assert said[0] == f"{place}: there without these tasks and its weights were not kept, so it is computed again"
    known = known_cell(root, Place("calls", "paper", 1, with_course=True, tasks=first), settings)
    assert known is not None
    assert known.run_id == cell.run_id


def test_a_cell_of_before_with_a_field_that_there_is_no_more_still_counts(project):
    root, settings = project
    compute_cell(root, Place("calls", "start", 0), settings)
    path = cell_path(root, Place("calls", "start", 0))
    path.write_text(json.dumps(json.loads(path.read_text()) | {"tasks_by": "", "tasks": []}))
    assert known_cell(root, Place("calls", "start", 0), settings) is not None


def test_lda_has_its_own_number_of_topics_on_the_tasks(project, few_candidates, monkeypatch):
    root, settings = project
    fitted = []
    fit = BASELINES["lda"].fit

    def spy(train, **options):
        fitted.append(options.get("topics"))
        return fit(train, **options)

    monkeypatch.setitem(BASELINES, "lda", BASELINES["lda"]._replace(fit=spy))
    compute_cell(root, Place("calls", "lda", 1, tasks=TaskData(limit=6)), settings)
    assert fitted == [2, None]


def test_contexts_and_answers_are_compared_as_the_system_was_trained(project, few_candidates):
    root, settings = project
    settings = replace(settings, dialaug=replace(settings.dialaug, max_responses=8, batch_size=4))
    data = TaskData(limit=6)
    cell = compute_cell(root, Place("calls", "bi_encoder", 1, tasks=data), settings)
    assert {record["settings"]["similarity"] for record in cell.task_records[data.key()]} == {"dot"}
    assert {name for name in ALL if ALL[name].similarity == "dot"} >= {"bi_encoder", "dialaug", "dialaug_paper"}


def test_what_the_tasks_lack_is_found_before_the_first_cell_is_computed(project, monkeypatch, tmp_path):
    root, settings = project
    monkeypatch.setattr(grid_module, "dvc", lambda *_: None)
    monkeypatch.setattr(grid_module, "ensure_data", lambda *_: None)
    monkeypatch.setattr(grid_module, "run_cells", lambda *_, **__: pytest.fail("computed"))

    def run(data):
        compute_tables(root, settings, tasks=data, output=root / "out", say=lambda line: None)

    with pytest.raises(CorpusError, match="nowhere does not exist"):
        run(TaskData(intents=tmp_path / "nowhere"))
    (tmp_path / "sets").mkdir()
    with pytest.raises(CorpusError, match=r"sets/clinc150/data_oos_plus\.json"):
        run(TaskData(intents=tmp_path / "sets"))
    with pytest.raises(CorpusError, match=r"calls has \d+ other turns to stand against .+; expected 99 with another"):
        run(TaskData())


def test_a_method_is_scored_where_it_ended_and_says_what_the_choice_without_labels_was(project, few_candidates):
    root, settings = project
    settings = replace(settings, dse=replace(settings.dse, max_pairs=24, batch_size=8, min_words=1))
    [cell] = run_cells(root, settings, places(["calls"], ["dse"], [1], tasks=TaskData(limit=6)), say=lambda line: None)
    assert cell.chosen == "checkpoint of step 3"
    assert cell.label_free in (0, 3)
    assert cell.label_free_name in ("start", "checkpoint of step 3")
    assert cell.steps == 3
    assert cell.tokens > 24 * 2
    assert known_cell(root, Place("calls", "dse", 1), settings) is not None
    other = replace(settings, dse=replace(settings.dse, temperature=0.1))
    assert known_cell(root, Place("calls", "dse", 1), other) is None
    other = replace(settings, dialaug=replace(settings.dialaug, contrast=1.0))
    assert known_cell(root, Place("calls", "dse", 1), other) is not None
    again = compute_cell(root, Place("calls", "dse", 2), settings)
    assert (again.chosen, again.label_free, again.label_free_name) == ("checkpoint of step 3", None, "")


def test_the_data_of_the_tasks_identifies_them(tmp_path):
    with pytest.raises(CorpusError, match=r"nowhere does not exist; expected a folder or a zip. Check --intents"):
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
    cell = compute_cell(root, Place("calls", "tfidf_svd", 1, tasks=TaskData(limit=6)), settings)
    [records] = cell.task_records.values()
    assert {record["task"] for record in records} == {"response_selection", "robustness"}
    assert {record["settings"]["similarity"] for record in records} == {"cosine"}
    assert set(METHOD_ROWS) <= set(ALL)
    assert len(places(["calls"], METHOD_ROWS, [1, 2], tasks=TaskData())) == 2 * len(METHOD_ROWS) - 1


def test_a_row_can_differ_from_params_yaml_in_the_block_of_its_method(project):
    _, settings = project
    settings = replace(settings, dialaug=replace(settings.dialaug, augmentation="deletion", batch_size=7))
    found = [ALL[name].settings(settings, seed=1) for name in ("bi_encoder", "dialaug", "dse")]
    assert [one.dialaug.augmentation for one in found] == ["none", "conmix", "deletion"]
    assert [one.dialaug.batch_size for one in found] == [7, 7, 7]
    assert [one.train.method for one in found] == ["dialaug", "dialaug", "dse"]


def test_sentence_pairs_and_given_candidates_are_part_of_a_cell_if_their_files_are(project, few_candidates, tmp_path):
    root, settings = project
    (tmp_path / "sts.txt").write_text("5\tw1 w2\tw1 w2\n3\tw1 w2\tw1 w3\n1\tw1 w2\tw4\n")
    (tmp_path / "select.txt").write_text("0\tw1\t\t1\t2\n1\tw2\t\t0\t2\n2\tw3\t\t\t0,1\n")
    data = TaskData(pairs=tmp_path / "sts.txt", candidates=tmp_path / "select.txt", limit=6)
    data.check()
    assert data.key() not in (TaskData(limit=6).key(), replace(data, pairs=None).key())
    cell = compute_cell(root, Place("calls", "start", 0, tasks=data), settings)
    tasks = {record["task"] for record in cell.task_records[data.key()]}
    assert tasks == {"response_selection", "robustness", "sentence_pairs", "candidate_ranking"}
    page = methods_markdown([cell], data.key())
    assert "## Sentences, trained on calls" in page
    assert "| method | select, MAP | select, MRR | sts, Spearman |" in page
    with pytest.raises(CorpusError, match=r"no\.txt does not exist; expected a file\. Check --pairs"):
        replace(data, pairs=tmp_path / "no.txt").key()
