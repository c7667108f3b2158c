from __future__ import annotations

import csv
import io

import pytest

from dial2vec.evaluation import TASKS
from dial2vec_papers.tables.cells import Cell
from dial2vec_papers.tables.paper_tables import paper_csv, paper_markdown
from dial2vec_papers.tables.published import CORPORA, MODELS, published


def cell(system: str, seed: int, purity: float, *, corpus: str = "sgd", views: tuple[str, ...] = ("both",)) -> Cell:
    scores = {"purity": purity, "spearman": 38.0, "map": 90.0, "spearman_ceiling": 39.1}
    ranges = {"purity": (purity - 1, purity + 1), "spearman": (37.0, 39.0), "map": (88.0, 92.0)}
    named = dict.fromkeys(views, scores)
    return Cell(corpus, system, seed, "x", named, dict.fromkeys(views, ranges), run_id=f"run{seed}")


CELLS = [cell("paper", 2, 92.0), cell("paper", 1, 90.0), cell("doc2vec", 1, 60.0)]


def test_a_csv_row_has_mean_sd_seeds_and_the_published_figure():
    rows = list(csv.DictReader(io.StringIO(paper_csv(CELLS))))
    assert list(rows[0])[:7] == ["model", "corpus", "metric", "mean", "sd", "seeds", "published"]
    assert [(row["model"], row["metric"]) for row in rows if row["mean"]] == [
        (model, metric) for model in ("doc2vec", "paper") for metric in ("purity", "spearman", "map")
    ]
    assert rows[3] == {
        **{"model": "paper", "corpus": "sgd", "metric": "purity", "mean": "91.00", "sd": "1.41", "seeds": "2"},
        **{"published": "86.20", "low": "90.00", "high": "92.00", "ceiling": "", "view": "both", "runs": "run1 run2"},
    }
    assert (rows[0]["sd"], rows[0]["published"], rows[4]["ceiling"]) == ("", "63.60", "39.10")


def test_the_page_has_a_table_per_corpus_with_ceiling_interval_and_published_row():
    page = paper_markdown([*CELLS, cell("start", 1, 70.0, corpus="calls")])
    assert "## calls" in page
    assert "Spearman cannot exceed 39.10" in page
    assert (
        "| dial2vec, 200 dialogues of the paper's recipe | 2 | 91.00 ± 1.41 [90.0, 92.0] | 38.00 ± 0.00 [37.0, 39.0] | "
        "90.00 ± 0.00 [88.0, 92.0] | 86.2 / 36.9 / 82.8 |"
    ) in page
    assert "| start | 1 | 70.00 [69.0, 71.0] | 38.00 [37.0, 39.0] | 90.00 [88.0, 92.0] |  |" in page


def test_speakers_and_aggregation_stand_beside_the_papers_means():
    page = paper_markdown([cell("start", 1, 70.0, views=("both", "first", "second", "mean"))])
    assert "| sgd | start | 70.00 / 38.00 / 90.00 |" in page.partition("table 4")[2]
    assert "| mean of six, published | dial2vec | 83.27 / 47.82 / 75.72 | 82.21 / 46.74 / 74.56 |" in page
    assert "| mean of six, published | dial2vec | 83.69 / 47.93 / 76.39 | 83.97 / 48.19 / 76.73 |" in page
    assert "table 4" not in paper_markdown(CELLS)


def test_a_cell_that_was_left_out_is_in_no_table_but_its_reason_is():
    left_out = Cell("sgd", "word_vectors", 0, "x", left_out="not at hand")
    assert paper_csv([left_out]).count("\n") == 1
    page = paper_markdown([*CELLS, left_out])
    assert "| GloVe, averaged |" not in page
    assert "| GloVe, in the paper only |" in page
    assert page.endswith("## Left out\n\n- GloVe, averaged: not at hand\n")


@pytest.mark.parametrize("model", MODELS)
def test_published_figures_have_the_papers_means(model):
    # Liu et al. 2022 print the mean over the six corpora beside each row.
    printed = {
        **{"LDA": [31.7], "GloVe": [54.2, 26.4, 47.5], "Doc2Vec": [64.7, 25.2, 39.5], "SimCSE": [64.7, 28.5, 45.5]},
        **{"DialogueCSE": [75.3, 39.2, 62.9], "BERT": [45.3, 20.6, 37.1], "RoBERTa": [49.8, 20.5, 41.9]},
        **{"T5": [67.4, 30.0, 52.1], "TOD-BERT": [69.4, 33.7, 59.1], "Blender": [66.8, 29.8, 53.7]},
        **{"PLATO": [73.8, 36.8, 60.6], "dial2vec": [84.0, 48.2, 76.7]},
    }
    for mean, task in zip(printed[model], TASKS, strict=False):
        # The paper rounds the mean of figures that it did not round.
        ours = sum(published(model, corpus)[task] for corpus in CORPORA) / 6
        assert ours == pytest.approx(mean, abs=0.11), task


def test_a_corpus_or_model_that_the_paper_lacks_has_no_published_figure():
    assert published("LDA", "sgd") == {"purity": 20.2}
    assert published("dial2vec", "calls") == published("nobody", "sgd") == {}


def test_a_published_row_stays_where_only_another_corpus_has_the_system():
    rows = csv.DictReader(io.StringIO(paper_csv([cell("start", 0, 70.0), cell("doc2vec", 1, 60.0, corpus="calls")])))
    assert ("Doc2Vec", "sgd", "63.60") in [(row["model"], row["corpus"], row["published"]) for row in rows]


def test_models_that_only_the_paper_has_stand_beside_its_corpora():
    rows = list(csv.DictReader(io.StringIO(paper_csv(CELLS))))
    plato = [row for row in rows if row["model"] == "PLATO"]
    assert [(row["metric"], row["mean"], row["published"]) for row in plato] == [
        ("purity", "", "71.00"),
        ("spearman", "", "32.40"),
        ("map", "", "63.20"),
    ]
    assert "| PLATO, in the paper only | | | | | 71.0 / 32.4 / 63.2 |" in paper_markdown(CELLS)
    assert "Doc2Vec, in the paper only" not in paper_markdown(CELLS)
    assert "PLATO" not in paper_csv([cell("start", 1, 70.0, corpus="calls")])
