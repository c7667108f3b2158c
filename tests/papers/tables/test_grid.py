from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from conversations.dialogue import write_dialogues
from dial2vec.errors import CorpusError, Dial2vecError, SettingsError
from dial2vec.pipeline import train as train_module
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.registry.store import open_store
from dial2vec_papers.tables import grid as grid_module
from dial2vec_papers.tables.cells import Place, cell_path, compute_cell, known_cell, work_folder
from dial2vec_papers.tables.grid import all_known, compute_tables, places, run_cells
from tests.papers.tables.small import talk, with_a_quick_student


def test_seed_by_seed_and_a_system_without_seed_has_one_cell_and_an_unknown_one_is_named():
    grid = places(["a", "b"], ["start", "lda", "paper", "lda"], [1, 2, 2])
    assert grid == [
        *(Place(corpus, *rest) for corpus in "ab" for rest in (("start", 0), ("lda", 1), ("paper", 1, True))),
        *(Place(corpus, *rest) for corpus in "ab" for rest in (("lda", 2), ("paper", 2))),
    ]
    with pytest.raises(SettingsError, match=r"no system 'strat'. Did you mean 'start'\?"):
        places(["a"], ["strat"], [1])


def test_two_processes_compute_what_one_does(project):
    root, settings = project
    said = []
    cells = list(run_cells(root, settings, places(["calls"], ["tfidf_svd", "lda"], [1, 2]), jobs=2, say=said.append))
    assert len(cells) == 4
    assert len({cell.run_id for cell in cells}) == 4
    assert {open_store(root).get_run(cell.run_id).info.status for cell in cells} == {"FINISHED"}
    assert said[0] == "0 of 4 cells are there, 4 to compute"
    assert said[-1].startswith("[4/4] calls, ")
    cell_path(root, Place("calls", "lda", 2)).unlink()
    [again] = run_cells(root, settings, [Place("calls", "lda", 2)], say=said.append)
    assert again.scores == next(cell for cell in cells if (cell.system, cell.seed) == ("lda", 2)).scores


def test_a_cell_that_fails_does_not_cost_the_others(project, monkeypatch):
    root, settings = project

    def broken(root, place, settings, **options):
        if place.system == "lda":
            raise MemoryError("no room")
        return compute_cell(root, place, settings, **options)

    monkeypatch.setattr(grid_module, "compute_cell", broken)
    said, cells = [], []
    with pytest.raises(Dial2vecError, match=r"1 of 2 cells failed, for the reasons above; the others are kept"):
        cells.extend(run_cells(root, settings, places(["calls"], ["lda", "tfidf_svd"], [1]), say=said.append))
    assert "[1/2] calls, LDA, seed 1: failed: MemoryError: no room" in said
    assert known_cell(root, Place("calls", "lda", 1), settings) is None
    assert known_cell(root, Place("calls", "tfidf_svd", 1), settings) is not None


def test_a_cell_whose_process_was_killed_before_it_cleaned_up_is_cleaned_up_after(project):
    root, settings = project
    compute_cell(root, Place("calls", "tfidf_svd", 1), settings)
    work_folder(root, Place("calls", "tfidf_svd", 1)).mkdir()
    assert len(list(run_cells(root, settings, [Place("calls", "tfidf_svd", 1)], say=print))) == 1
    assert not work_folder(root, Place("calls", "tfidf_svd", 1)).exists()


def test_a_corpus_whose_splits_are_gone_is_in_no_table(project):
    root, settings = project
    compute_cell(root, Place("calls", "tfidf_svd", 1), settings)
    assert len(all_known(root, settings)) == 1
    shutil.rmtree(Artifacts(root, "calls").splits)
    assert all_known(root, settings) == []


def test_tables_show_what_was_computed_before_as_well(project, monkeypatch):
    root, settings = project
    monkeypatch.setattr(grid_module, "dvc", lambda *_: None)
    monkeypatch.setattr(grid_module, "ensure_data", lambda *_: None)
    for system in ("tfidf_svd", "lda"):
        written = compute_tables(root, settings, systems=[system], seeds=[1], output=root / "out", say=print)
    assert [path.name for path in written] == ["results.csv", "results.md", "results.png"]
    (cell_path(root, Place("calls", "lda", 1)).parent / "notes-old.json").write_text("[]")
    assert [cell.system for cell in all_known(root, settings)] == ["lda", "tfidf_svd"]
    models = {line.split(",")[0] for line in (root / "out" / "results.csv").read_text().splitlines()}
    assert models == {"model", "lda", "tfidf_svd"}


def test_what_cannot_be_scored_is_refused_before_anything_is_computed(project, monkeypatch):
    root, settings = project
    monkeypatch.setattr(grid_module, "dvc", lambda *_: None)
    monkeypatch.setattr(grid_module, "ensure_data", lambda *_: None)
    monkeypatch.setattr(grid_module, "run_cells", lambda *_, **__: pytest.fail("computed"))
    write_dialogues(Artifacts(root, "calls").split("test"), [replace(talk(1), labels=())])
    with pytest.raises(
        CorpusError, match=r"calls: the test split has no two labels, one of them twice; expected them .* Give --tasks"
    ):
        compute_tables(root, settings, output=root / "out", say=print)
    with pytest.raises(SettingsError, match=r"no stages for chats: put them into `corpora`"):
        compute_tables(root, settings, corpora=["chats"], output=root / "out", say=print)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_default_and_its_student_take_one_training(project, monkeypatch, jobs):
    root, settings = project[0], with_a_quick_student(project[1])
    trainings = []
    real = train_module.train_encoder

    def noted(artifacts, settings):
        trainings.append(settings.seed)
        return real(artifacts, settings)

    monkeypatch.setattr(train_module, "train_encoder", noted)
    grid = places(["calls"], ["student", "default"], [1, 2])
    found = {cell.place: cell for cell in run_cells(root, settings, grid, jobs=jobs, say=print)}
    assert set(found) == set(grid)
    for seed in (1, 2):
        default, student = found[Place("calls", "default", seed)], found[Place("calls", "student", seed)]
        assert default.scores
        assert student.left_out.startswith("No student is kept") or student.steps == default.steps
        assert not work_folder(root, default.place).exists()
    if jobs == 1:
        assert trainings == [1, 2]
    # Alone, the student has a training of its own, and the same figures.
    place = Place("calls", "student", 2)
    cell_path(root, place).unlink()
    [again] = run_cells(root, settings, [place], say=print)
    assert (again.scores, again.left_out) == (found[place].scores, found[place].left_out)


def test_a_students_teacher_is_the_default_of_its_encoder_and_seed():
    assert Place("calls", "student@bert", 3).training == Place("calls", "default@bert", 3)
    assert Place("calls", "paper", 3, with_course=True).training == Place("calls", "paper", 3)
