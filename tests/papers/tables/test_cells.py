from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

from conversations.dialogue import Dialogue, Turn, write_dialogues
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import ModelError
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.registry.store import open_store
from dial2vec_papers.baselines import BASELINES
from dial2vec_papers.tables import cells as cells_module
from dial2vec_papers.tables.cells import Place, cell_path, compute_cell, known_cell, labelled_test, made_by
from dial2vec_papers.tables.grid import places, run_cells
from dial2vec_papers.tables.systems import ALL, SYSTEMS
from dial2vec_papers.tables.views import encoder_views, fitted_baseline
from tests.papers.tables.small import talk


def fake(dialogues):
    """Encode as a fitted baseline does."""
    return np.eye(len(dialogues), 4, dtype=np.float32)


def test_a_cell_is_scored_kept_and_traced_to_its_run_and_not_computed_again(project, monkeypatch):
    root, settings = project
    cell = compute_cell(root, Place("calls", "tfidf_svd", 1), settings)
    assert cell.scores["both"]["purity"] == 100.0
    assert cell.intervals["both"]["purity"] == (100.0, 100.0)
    run = open_store(root).get_run(cell.run_id)
    assert run.data.metrics["purity"] == 100.0
    assert run.data.tags["system"] == "tfidf_svd"
    assert run.info.status == "FINISHED"
    monkeypatch.setattr(cells_module, "fitted_baseline", lambda *_: pytest.fail("computed again"))
    said = []
    [again] = run_cells(root, settings, places(["calls"], ["tfidf_svd"], [1]), say=said.append)
    assert again.scores == cell.scores
    assert "there already: calls, TF-IDF + SVD, seed 1: purity 100.00" in said[0]


def test_other_settings_other_splits_and_half_written_cells_are_computed_anew(project, monkeypatch):
    root, settings = project
    monkeypatch.setattr(cells_module, "fitted_baseline", lambda *_: fake)
    compute_cell(root, Place("calls", "tfidf_svd", 1), settings)
    assert known_cell(root, Place("calls", "tfidf_svd", 1), settings) is not None
    assert known_cell(root, Place("calls", "tfidf_svd", 2), settings) is None
    other = replace(settings, evaluate=replace(settings.evaluate, kmeans_runs=3))
    assert known_cell(root, Place("calls", "tfidf_svd", 1), other) is None
    write_dialogues(Artifacts(root, "calls").split("train"), [talk(0)])
    assert known_cell(root, Place("calls", "tfidf_svd", 1), settings) is None
    cell_path(root, Place("calls", "tfidf_svd", 1)).write_text("{half")
    assert known_cell(root, Place("calls", "tfidf_svd", 1), settings) is None


def test_what_is_not_at_hand_is_left_out_with_the_reason_and_tried_again_next_time(project, monkeypatch):
    root, settings = project

    def absent(*_):
        raise ModelError("the word vectors are not at hand")

    monkeypatch.setattr(cells_module, "fitted_baseline", absent)
    [cell] = run_cells(root, settings, [Place("calls", "word_vectors", 0)], say=lambda line: None)
    assert (cell.left_out, cell.scores, cell.run_id) == ("the word vectors are not at hand", {}, "")
    known = known_cell(root, Place("calls", "word_vectors", 0), settings)
    assert known is not None
    assert known.left_out == cell.left_out
    monkeypatch.setattr(cells_module, "fitted_baseline", lambda *_: fake)
    [cell] = run_cells(root, settings, [Place("calls", "word_vectors", 0)], say=lambda line: None)
    assert (cell.left_out, set(cell.scores)) == ("", {"both"})


def test_a_library_that_is_not_installed_is_named(project, monkeypatch):
    root, settings = project
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(ModelError, match=r"word2vec of the corpus, averaged needs .+ Install `dial2vec\[baselines\]`"):
        fitted_baseline(SYSTEMS["word2vec"], Artifacts(root, "calls"), [talk(1)], settings)


def test_lda_gets_as_many_topics_as_the_judged_have_labels(project):
    root, settings = project
    judged = [replace(talk(number), labels=(f"l{number % 3}",)) for number in range(6)]
    encode = fitted_baseline(SYSTEMS["lda"], Artifacts(root, "calls"), judged, settings)
    assert encode(judged).shape == (6, 3)


def test_another_project_seed_or_version_of_the_code_computes_anew(project, monkeypatch):
    root, settings = project
    artifacts = Artifacts(root, "calls")
    known = made_by(artifacts, "lda", settings, seed=1)
    assert made_by(artifacts, "lda", replace(settings, seed=7), seed=1) != known
    monkeypatch.setitem(ALL, "lda", replace(ALL["lda"], version=2))
    assert made_by(artifacts, "lda", settings, seed=1) != known


def test_an_encoder_is_scored_by_both_speakers_each_alone_and_all_tokens(project, tiny_folder):
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    judged = [talk(3), talk(8), Dialogue("alone", (Turn("a", "w1 w2"),), ("topic0",))]
    views = encoder_views(encoder, judged, batch_size=2)
    assert views["both"] == pytest.approx(encoder.encode(judged), abs=1e-6)
    assert views["first"] + views["second"] == pytest.approx(views["both"], abs=1e-6)
    assert not views["second"][2].any()
    mean = DialogueEncoder.from_pretrained(tiny_folder, pooling="mean")
    assert views["mean"] == pytest.approx(mean.encode(judged), abs=1e-6)


def test_a_trained_system_runs_the_stages_and_cleans_up(project):
    root, settings = project
    cell = compute_cell(root, Place("calls", "default", 3), settings)
    assert set(cell.scores) == {"both", "first", "second", "mean"}
    assert cell.chosen
    assert [path.name for path in cell_path(root, Place("calls", "default", 3)).parent.iterdir()] == ["default-3.json"]


def test_only_labels_of_which_one_comes_twice_can_be_scored(project):
    artifacts = Artifacts(project[0], "calls")
    for labels, scored in ((("a",), 0), (("a", "b"), 0), (("a", "b", "a"), 3)):
        write_dialogues(artifacts.split("test"), [replace(talk(n), labels=(name,)) for n, name in enumerate(labels)])
        assert len(labelled_test(artifacts)) == scored


def test_every_baseline_has_a_row_and_every_row_a_title_of_its_own():
    assert {one.baseline for one in SYSTEMS.values() if one.baseline} == set(BASELINES)
    assert len({one.title for one in ALL.values()}) == len(ALL)


def test_baselines_that_encode_begin_with_the_encoder_of_the_settings(project, tiny_folder):
    root, settings = project
    encode = fitted_baseline(SYSTEMS["encoder_mean"], Artifacts(root, "calls"), [talk(1)], settings)
    assert encode([talk(1)]).shape == (1, DialogueEncoder.from_pretrained(tiny_folder).dimension)
