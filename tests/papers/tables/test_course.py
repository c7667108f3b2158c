from __future__ import annotations

from dataclasses import replace
from typing import get_args, get_type_hints

import pytest

from dial2vec.config import Dse, Settings, flat
from dial2vec.errors import ModelError, SettingsError
from dial2vec.params import settings_from_dict
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.registry.store import open_store
from dial2vec_papers.tables import course as course_module
from dial2vec_papers.tables.cells import Place, cell_path, compute_cell, known_cell
from dial2vec_papers.tables.course import trained_encoder
from dial2vec_papers.tables.systems import ABLATIONS, ALL, SYSTEMS, VARIANTS, ablated, paper_input, recipe_of

SHORT = {"method": "dial2vec", "max_dialogues": 6, "batch_size": 2, "gradient_accumulation": 1, "checkpoint_steps": 1}


@pytest.fixture
def short(project, monkeypatch):
    monkeypatch.setitem(
        ALL, "paper", replace(SYSTEMS["paper"], as_the_paper=False, encoder={}, train=SHORT, sample={"negatives": 2})
    )
    return project


def test_every_checkpoint_is_scored_the_start_first_and_logged_by_its_step(short):
    root, settings = short
    cell = compute_cell(root, Place("calls", "paper", 1, with_course=True), settings)
    assert [point["step"] for point in cell.course] == [0, 1, 2, 3]
    assert {"purity", "map", "uniformity", "adjusted_alignment"} <= cell.course[0].keys()
    assert {cell.by_labels, cell.label_free} <= {0, 1, 2, 3}
    assert cell.chosen == "checkpoint of step 3"
    assert cell.course[-1]["map"] == pytest.approx(cell.scores["both"]["map"], abs=0.01)
    logged = open_store(root).get_metric_history(cell.run_id, "course.map")
    assert [(one.step, one.value) for one in logged] == [(point["step"], point["map"]) for point in cell.course]


def test_a_cell_without_its_course_counts_where_none_is_asked_for(short):
    root, settings = short
    cell = compute_cell(root, Place("calls", "paper", 2), settings)
    assert (cell.chosen, cell.by_labels, cell.label_free) == ("checkpoint of step 3", None, None)
    known = known_cell(root, Place("calls", "paper", 2), settings)
    assert known is not None
    assert known.run_id == cell.run_id
    assert known_cell(root, Place("calls", "paper", 2, with_course=True), settings) is None


def test_a_cell_that_is_there_is_not_lost_where_its_course_cannot_be_had(short, monkeypatch):
    root, settings = short
    cell = compute_cell(root, Place("calls", "paper", 1), settings)

    def unreachable(*_, **__):
        raise ModelError("no route to the hub")

    monkeypatch.setattr("dial2vec_papers.tables.cells.trained_encoder", unreachable)
    with pytest.raises(ModelError, match="no route to the hub"):
        compute_cell(root, Place("calls", "paper", 1, with_course=True), settings)
    known = known_cell(root, Place("calls", "paper", 1), settings)
    assert known is not None
    assert known.run_id == cell.run_id


def test_a_cell_that_was_killed_goes_on_behind_its_last_stage_and_its_last_point(short, monkeypatch):
    root, settings = short
    scored = []

    def killed(vectors, labels, **options):
        if len(scored) == 2:
            raise KeyboardInterrupt
        scored.append(len(vectors))
        return {"map": float(len(scored))}

    monkeypatch.setattr(course_module, "score", killed)
    with pytest.raises(KeyboardInterrupt):
        compute_cell(root, Place("calls", "paper", 1, with_course=True), settings)
    monkeypatch.setattr("dial2vec.pipeline.train.train_encoder", lambda *_: pytest.fail("trained again"))
    monkeypatch.setattr(course_module, "score", lambda *_, **__: {"map": 7.0})
    cell = compute_cell(root, Place("calls", "paper", 1, with_course=True), settings)
    assert [point["map"] for point in cell.course] == [1.0, 2.0, 7.0, 7.0]
    assert not cell_path(root, Place("calls", "paper", 1)).with_suffix(".work").exists()


def test_what_a_killed_run_of_another_mark_left_is_thrown_away(short):
    root, settings = short
    work = root / "work"
    ours = ALL["paper"].settings(settings, seed=1)
    trained_encoder(Artifacts(root, "calls"), ours, work, mark="a", with_choices=True)
    (work / "course.json").write_text("[]")
    trained_encoder(Artifacts(root, "calls"), ours, work, mark="a", with_choices=True)
    assert (work / "course.json").exists()
    trained_encoder(Artifacts(root, "calls"), ours, work, mark="b", with_choices=True)
    assert not (work / "course.json").exists()


def test_an_ablation_changes_one_setting_of_the_paper_s_recipe():
    assert ablated("temperature") == ["temperature_0.05", "temperature_0.1", "temperature_0.5"]
    assert "window_none" in ablated("window")
    for setting in ABLATIONS:
        for name in ablated(setting):
            ours, recipe = (flat(one.settings(Settings(), seed=1)) for one in (ALL[name], SYSTEMS[recipe_of(setting)]))
            assert len([key for key in ours if ours[key] != recipe[key]]) == 1
            assert ALL[name].course
            assert ALL[name].as_the_paper == (recipe_of(setting) == "paper")
            assert not ALL[name].published
    changed = ALL["dialoguecse_negatives_4"].settings(Settings(), seed=1)
    assert (changed.train.method, changed.dialoguecse.negatives) == ("dialoguecse", 4)
    with pytest.raises(SettingsError, match=r"no ablation of 'tau'.+Valid: negatives, window"):
        ablated("tau")


def test_the_paper_reads_its_own_encoders_in_their_own_ways(tmp_path):
    assert [paper_input(name) for name in ("bert", "t5", "blender", "tod-bert", "plato")] == [
        *("separators", "t5", "blender", "tod_bert", "plato")
    ]
    assert paper_input("all-MiniLM-L6-v2") == "separators"
    (tmp_path / "config.json").write_text('{"model_type": "plato"}')
    assert paper_input(str(tmp_path)) == "plato"


def test_the_paper_s_recipe_does_not_depend_on_what_params_say():
    ours = SYSTEMS["paper"].settings(settings_from_dict({"train": {"temperature": 0.7, "window": 3}}), seed=1)
    assert (ours.train.temperature, ours.train.window, ours.sample.negatives) == (0.2, 10, 9)


def test_the_variants_of_dse_have_all_pairs_of_the_paper_s_table_and_a_course_by_epoch():
    variants = {name: row.settings(Settings(), seed=1) for name, row in VARIANTS.items() if name.startswith("dse_")}
    assert {ours.dse.pairs for ours in variants.values()} == set(get_args(get_type_hints(Dse)["pairs"]))
    assert {ours.dse.epochs for ours in variants.values()} == {5}
    assert all(VARIANTS[name].course for name in variants)


def test_a_variant_whose_pairs_are_not_there_is_left_out_with_the_reason(project):
    root, settings = project
    cell = compute_cell(root, Place("calls", "dse_dianli", 1), settings)
    assert "dse.pairs_file is not set" in cell.left_out
