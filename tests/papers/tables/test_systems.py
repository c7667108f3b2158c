"""Rows from several encoders, encoders as they are, whole trainings, and the rules of scoring of the papers."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest

from dial2vec.config import Settings
from dial2vec.encoder import DialogueEncoder, names
from dial2vec.errors import SettingsError
from dial2vec.evaluation.clustering import cluster_scores
from dial2vec.evaluation.relatedness import spearman_of_partners
from dial2vec.params import settings_from_dict
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec_papers.presets import PRESETS
from dial2vec_papers.tables import grid as grid_module
from dial2vec_papers.tables.cells import Cell, Place, cell_path, compute_cell, known_cell, made_by
from dial2vec_papers.tables.grid import all_known, compute_tables
from dial2vec_papers.tables.paper_tables import paper_csv, paper_markdown
from dial2vec_papers.tables.published import MODELS
from dial2vec_papers.tables.systems import ALL, SYSTEMS, WHOLE, from_encoders, in_order, system_of
from dial2vec_papers.tables.views import encoder_views
from dial2vec_papers.tables.ways import TITLES, other_ways
from tests.papers.tables.small import talk, with_a_quick_student
from tests.tiny_models import build

JUDGED = [talk(number) for number in range(160, 180)]
LABELS = [f"topic{number % 2}" for number in range(160, 180)]


def views_of(encoder):
    with encoder.autocast("auto"):
        return encoder_views(encoder, JUDGED, batch_size=32)["both"]


def test_the_rows_of_tables_2_and_3_are_the_papers_encoders_as_they_are():
    rows = {one.published: one for one in SYSTEMS.values() if one.encoder.get("name")}
    assert list(rows) == ["BERT", "RoBERTa", "T5", "TOD-BERT", "Blender", "PLATO"]
    assert all(row.baseline == "encoder_mean" and not row.seeded for row in rows.values())
    # The published model, read by utterance; the one that is trained on the corpus has no published figures.
    assert (SYSTEMS["simcse"].published, SYSTEMS["simcse_trained"].published) == ("SimCSE", "")
    assert not SYSTEMS["simcse"].seeded
    assert {one.published for one in ALL.values()} - {""} == set(MODELS)


def test_weights_that_are_not_here_are_left_out_in_a_sentence(project, monkeypatch, tmp_path):
    root, settings = project
    monkeypatch.chdir(tmp_path)
    cell = compute_cell(root, Place("calls", "plato", 0), settings)
    assert cell.left_out.startswith("PLATO's weights are on no hub")
    monkeypatch.setitem(names.SHORT_NAMES, "bert", names.Known(build("bert", tmp_path / "weights"), "separators"))
    cell = compute_cell(root, Place("calls", "bert", 0), settings)
    assert not cell.left_out
    assert "- PLATO: PLATO's weights are on no hub" in paper_markdown(all_known(root, settings))


def test_a_row_from_another_encoder_is_a_row_of_its_own_with_its_own_cells(project, tmp_path):
    root, settings = project
    folder = build("bert", tmp_path / "other")
    names_of_rows = from_encoders(["lda", "start", "bert"], [settings.encoder.name, folder], own=settings.encoder.name)
    assert names_of_rows == ["lda", "start", f"start@{folder}", "bert"]
    place = Place("calls", f"start@{folder}", 0)
    assert str(place) == "calls, start, from other"
    cell = compute_cell(root, place, settings)
    assert cell_path(root, place).parent == cell_path(root, Place("calls", "start", 0)).parent
    assert known_cell(root, place, settings) is not None
    assert [one.system for one in all_known(root, settings)] == [f"start@{folder}"]
    own = compute_cell(root, Place("calls", "start", 0), settings)
    assert own.scores["both"] != cell.scores["both"]
    vectors = views_of(DialogueEncoder.from_pretrained(folder))
    expected = cluster_scores(vectors, LABELS, runs=2, seed=42).purity
    assert cell.scores["both"]["purity"] == round(100 * expected, 4)


def test_the_command_fills_one_table_from_several_encoders(project, monkeypatch, tmp_path):
    root, settings = project
    monkeypatch.setattr(grid_module, "dvc", lambda *_: None)
    monkeypatch.setattr(grid_module, "ensure_data", lambda *_: None)
    folder = build("bert", tmp_path / "weak")
    encoders = [settings.encoder.name, folder]
    compute_tables(
        root, settings, systems=["encoder_mean", "tfidf_svd"], encoders=encoders, seeds=[1], output=root / "o", say=str
    )
    page = (root / "o" / "results.md").read_text()
    for row in ("| TF-IDF + SVD |", "| start, mean of tokens |", "| start, mean of tokens, from weak |"):
        assert page.count(row) == 2, row


def test_an_unknown_row_is_refused_and_rows_stand_in_the_order_of_the_tables():
    with pytest.raises(SettingsError, match=r"no system 'strat@bert'. Did you mean 'start'\?"):
        system_of("strat@bert")
    assert in_order(["default", "start@t5", "lda", "start", "start@bert", "lda"]) == [
        *("lda", "start", "start@bert", "start@t5", "default")
    ]
    assert system_of("encoder_mean@bert").published == "BERT"
    assert (system_of("paper@plato").published, system_of("paper@bert").published) == ("dial2vec", "")


def test_the_whole_trainings_are_the_presets_and_depend_on_nothing_else():
    assert {row.preset for row in WHOLE.values()} == set(PRESETS)
    other = settings_from_dict({"train": {"temperature": 0.7, "window": 3, "learning_rate": 0.1, "epochs": 9}})
    row = WHOLE["dial2vec_paper"]
    found = row.settings(other, seed=1, corpus="sgd")
    assert (found.train.temperature, found.train.window, found.train.learning_rate) == (0.2, 10, 1e-5)
    assert found.train.batch_size * found.train.gradient_accumulation == 20
    assert (found.train.epochs, found.train.max_dialogues, found.encoder.input) == (5, None, "eou")
    assert row.settings(other, seed=1, corpus="self_dialogue").train.epochs == 2
    assert system_of("dial2vec_paper@tod-bert").settings(other, seed=1, corpus="sgd").encoder.input == "tod_bert"
    assert not set(WHOLE) & set(SYSTEMS)


def test_the_best_purity_on_dev_is_what_the_whole_recipe_scores(project, monkeypatch):
    root, settings = project
    small = {"method": "dial2vec", "max_dialogues": 6, "batch_size": 2, "gradient_accumulation": 1}
    row = replace(SYSTEMS["paper"], preset="", as_the_paper=False, encoder={}, train=small | {"checkpoint_steps": 1})
    monkeypatch.setitem(ALL, "paper", replace(row, selection="dev_purity", sample={"negatives": 2}))
    cell = compute_cell(root, Place("calls", "paper", 1, with_course=True), settings)
    assert cell.chosen == ("start" if cell.by_labels == 0 else f"checkpoint of step {cell.by_labels}")
    by_step = {point["step"]: point["map"] for point in cell.course}
    assert cell.scores["both"]["map"] == pytest.approx(by_step[cell.by_labels], abs=0.01)


def test_figures_by_the_papers_rules_stand_beside_ours(project):
    root, settings = project
    artifacts = Artifacts(root, "calls")
    report = json.loads(artifacts.split_report.read_text()) | {"labels": {"train": {"a": 1, "b": 2, "c": 3}}}
    artifacts.split_report.write_text(json.dumps(report))
    cell = compute_cell(root, Place("calls", "start", 0), settings)
    vectors = views_of(DialogueEncoder.start(settings.encoder))

    def purity(way, n):
        return round(100 * cluster_scores(vectors, LABELS, seed=42, way=way, n_clusters=n).purity, 4)

    assert cell.ways == {
        "purity_paper": purity("paper", 3),
        "purity_paper_split": purity("paper", 2),
        "purity_release_corpus": purity("release", 3),
        "purity_release": purity("release", 2),
        "spearman_partner": round(100 * spearman_of_partners(vectors, LABELS, seed=42, draws=10), 4),
    }
    page = paper_markdown([cell])
    assert "## By the paper's rules, calls" in page
    assert f"{cell.ways['spearman_partner']:.2f} |" in page
    topics = other_ways(np.eye(4, dtype=np.float32), list("aabb"), n_labels=2, seed=0, topics=True)
    assert list(topics) == ["spearman_partner"]
    assert set(cell.ways) == set(TITLES)


def test_other_rules_of_scoring_make_other_cells_and_the_defaults_leave_the_old_ones(project):
    root, settings = project
    artifacts = Artifacts(root, "calls")
    plain = made_by(artifacts, "start", settings, seed=0)
    for changed in ({"kmeans": "paper"}, {"clusters": "corpus"}):
        other = replace(settings, evaluate=replace(settings.evaluate, **changed))
        assert made_by(artifacts, "start", other, seed=0) != plain
    assert made_by(artifacts, "start", replace(settings, evaluate=replace(settings.evaluate)), seed=0) == plain
    assert Settings().evaluate.kmeans == "ours"


def test_the_student_of_the_default_is_a_row_or_left_out_in_a_sentence(project):
    root, settings = project[0], with_a_quick_student(project[1])
    found = compute_cell(root, Place("calls", "student", 1), settings)
    assert found.left_out.startswith("No student is kept") or set(found.scores) == {"both"}
    assert not cell_path(root, Place("calls", "student", 1)).with_suffix(".work").exists() or found.left_out


def cell(system: str, corpus: str, points: float) -> Cell:
    scores = {"purity": points, "spearman": 38.0, "map": 90.0, "spearman_ceiling": 39.1}
    return Cell(corpus, system, 0, "x", {"both": scores}, {"both": dict.fromkeys(scores, (0.0, 1.0))}, run_id="r")


def test_an_average_is_over_the_corpora_here_and_a_row_that_lacks_one_has_none():
    cells = [cell("start", "calls", 50.0), cell("start", "sgd", 90.0), cell("bert", "sgd", 40.0)]
    page = paper_markdown([*cells, cell("start", "self_dialogue", 70.0)])
    table = page.partition("## Purity, all corpora")[2].partition("##")[0]
    assert "| start | 50.00 | 90.00 | 70.00 | 70.00 |" not in table
    assert "| start | 50.00 | 70.00 | 90.00 | 70.00 |" in table
    assert "| BERT |  |  | 40.00 |  |" in table
    # The paper has two of the three: 44.4 and 31.3.
    assert "| BERT, published |  | 44.40 | 31.30 | 37.85 |" in table
    assert "LDA, published" not in page.partition("## MAP, all corpora")[2].partition("##")[0]
    assert "all corpora" not in paper_markdown(cells[:1])
    rows = list(csv.DictReader(io.StringIO(paper_csv(cells))))
    assert ("bert", "sgd", "31.30") in [(row["model"], row["corpus"], row["published"]) for row in rows]
