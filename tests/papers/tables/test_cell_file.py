from __future__ import annotations

import json
from dataclasses import replace

import pytest

from conversations.files import write_json
from dial2vec.errors import ArtifactError, CorpusError, Dial2vecError
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec_papers.tables import grid as grid_module
from dial2vec_papers.tables.cell_file import keep_cells, read_cells, take_cells
from dial2vec_papers.tables.cells import Cell, Place, cell_path, compute_cell, known_cell, made_by
from dial2vec_papers.tables.grid import compute_tables

POINT = [{"step": 0.0, "map": 50.0}]


@pytest.fixture
def computed(project):
    root, settings = project
    return root, settings, compute_cell(root, Place("calls", "tfidf_svd", 1), settings)


@pytest.fixture
def quiet(monkeypatch):
    monkeypatch.setattr(grid_module, "dvc", lambda *_: None)
    monkeypatch.setattr(grid_module, "ensure_data", lambda *_: None)


def test_a_cell_of_a_file_counts_where_the_settings_and_the_splits_are_the_same(computed, tmp_path):
    root, settings, cell = computed
    keep_cells(tmp_path / "cells.jsonl", [cell])
    path = cell_path(root, Place("calls", "tfidf_svd", 1))
    before = path.read_text()
    path.unlink()
    other = replace(settings, evaluate=replace(settings.evaluate, kmeans_runs=3))
    assert take_cells(root, tmp_path / "cells.jsonl", other) == 0
    assert not path.exists()
    assert take_cells(root, tmp_path / "cells.jsonl", settings) == 1
    assert path.read_text() == before
    assert known_cell(root, Place("calls", "tfidf_svd", 1), settings).scores == cell.scores
    assert take_cells(root, tmp_path / "cells.jsonl", settings) == 0


@pytest.mark.parametrize("change", [{"corpus": "chats"}, {"system": "gone"}, {"made_by": "others"}, {"seed": 2}])
def test_what_today_would_not_give_again_stays_in_the_file(computed, tmp_path, change):
    root, settings, cell = computed
    keep_cells(tmp_path / "cells.jsonl", [replace(cell, **change)])
    assert take_cells(root, tmp_path / "cells.jsonl", settings) == 0
    keep_cells(tmp_path / "cells.jsonl", [])
    [kept] = read_cells(tmp_path / "cells.jsonl").values()
    assert kept.made_by == replace(cell, **change).made_by


def test_tasks_and_course_of_both_are_joined_and_what_is_there_stands(computed, tmp_path):
    root, settings, cell = computed
    here = replace(cell, task_records={"a": [], "b": [{"n": 1}]})
    write_json(cell_path(root, cell.place), _plain(here))
    keep_cells(tmp_path / "cells.jsonl", [replace(cell, task_records={"b": [{"n": 2}], "c": []}, course=POINT)])
    assert take_cells(root, tmp_path / "cells.jsonl", settings) == 1
    known = known_cell(root, Place("calls", "tfidf_svd", 1), settings)
    assert known.task_records == {"a": [], "b": [{"n": 1}], "c": []}
    assert (known.course, known.run_id) == (POINT, cell.run_id)


def test_a_cell_that_was_left_out_here_is_taken_and_none_is_kept(computed, tmp_path):
    root, settings, cell = computed
    keep_cells(tmp_path / "cells.jsonl", [cell])
    mark = made_by(Artifacts(root, "calls"), "tfidf_svd", settings, seed=1)
    absent = Cell("calls", "tfidf_svd", 1, mark, left_out="no network")
    write_json(cell_path(root, Place("calls", "tfidf_svd", 1)), _plain(absent))
    keep_cells(tmp_path / "cells.jsonl", [absent, replace(absent, seed=2)])
    assert [one.left_out for one in read_cells(tmp_path / "cells.jsonl").values()] == [""]
    assert take_cells(root, tmp_path / "cells.jsonl", settings) == 1
    assert not known_cell(root, Place("calls", "tfidf_svd", 1), settings).left_out


def test_lines_are_sorted_and_a_cell_replaces_the_one_of_its_name(tmp_path):
    path = tmp_path / "cells.jsonl"
    keep_cells(path, [Cell("b", "lda", 1, "x"), Cell("a", "lda", 2, "x"), Cell("a", "lda", 10, "x")])
    keep_cells(path, [Cell("a", "lda", 2, "y")])
    found = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(one["corpus"], one["seed"], one["made_by"]) for one in found] == [
        ("a", 2, "y"),
        ("a", 10, "x"),
        ("b", 1, "x"),
    ]


@pytest.mark.parametrize("line", ["{", "[1]", '{"corpus": "calls"}', "7"])
def test_a_line_that_is_no_cell_is_named_and_the_file_left_as_it_is(tmp_path, line):
    path = tmp_path / "cells.jsonl"
    keep_cells(path, [Cell("a", "lda", 1, "x")])
    path.write_text(text := path.read_text() + line + "\n")
    with pytest.raises(ArtifactError, match=r"cells\.jsonl:2: this line is no cell of the tables; expected one"):
        keep_cells(path, [Cell("a", "lda", 2, "x")])
    assert path.read_text() == text


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(CorpusError, match="cannot be read: it is a folder; expected a file of cells"):
        read_cells(tmp_path)


def test_a_grid_goes_on_from_the_file_of_another_machine(project, quiet, tmp_path):
    root, settings = project
    file, said = tmp_path / "cells.jsonl", []
    common = {"systems": ["tfidf_svd"], "output": root / "out", "file": file}
    compute_tables(root, settings, seeds=[1], say=said.append, **common)
    cell_path(root, Place("calls", "tfidf_svd", 1)).unlink()
    compute_tables(root, settings, seeds=[1, 2], say=said.append, **common)
    assert [line for line in said if "taken" in line] == [f"0 cells taken from {file}", f"1 cells taken from {file}"]
    assert "1 of 2 cells are there, 1 to compute" in said
    assert [place.seed for place in read_cells(file)] == [1, 2]


def test_a_file_that_cannot_be_written_is_found_before_anything_is_computed(project, quiet, tmp_path, monkeypatch):
    root, settings = project
    monkeypatch.setattr(grid_module, "run_cells", lambda *_, **__: pytest.fail("computed"))
    (tmp_path / "plain").write_text("")
    with pytest.raises(Dial2vecError, match="plain"):
        compute_tables(root, settings, output=root / "out", file=tmp_path / "plain" / "cells.jsonl", say=print)


def _plain(cell):
    return json.loads(json.dumps({name: getattr(cell, name) for name in cell.__dataclass_fields__}))
