from __future__ import annotations

import csv
import io

import pytest

from dial2vec.augmentation import PERTURBATIONS
from dial2vec.benchmark.cells import Cell
from dial2vec.benchmark.method_tables import SUMMARY, as_csv, as_markdown, summarised, write_method_tables
from dial2vec.benchmark.published import INTENT_SETS


def record(task, data, figures, **settings):
    return {"task": task, "data": data, "figures": figures, "settings": settings}


def cell(system, seed, gain, *, tokens=0, label_free=None):
    """A cell whose figures are told apart by their hundreds, tens and ones, all raised by a gain."""
    perturbed = {f"{way}_recall_at_1": 10.0 * place + gain for place, way in enumerate(PERTURBATIONS)}
    return Cell(
        "calls",
        system,
        seed,
        "made",
        scores={"both": {"purity": 70 + gain, "spearman": 40 + gain, "map": 60 + gain}},
        tokens=tokens,
        label_free=label_free,
        tasks=[
            *(
                record("intent_classification", name, {"accuracy_1_shot": 10 * place + gain, "accuracy_5_shot": 90.0})
                for place, name in enumerate(INTENT_SETS)
            ),
            record("out_of_scope_detection", "clinc150", {"accuracy_5_shot_mean_minus_sd": 55.0}, rule="in_scope"),
            record("out_of_scope_detection", "clinc150", {"accuracy_5_shot_mean_minus_sd": 11.0}, rule="release"),
            record("response_selection", "calls", {"recall_at_1": 33.0, "mrr": 44.0}, negatives=50),
            record("response_selection", "calls", {"recall_at_1": 3.0, "mrr": 4.0}, negatives=99),
            record(
                "robustness",
                "calls",
                {
                    "clean_recall_at_1": 33.0,
                    "clean_mrr": 44.0,
                    **perturbed,
                    **{f"{way}_mrr": 7.0 for way in PERTURBATIONS},
                },
                negatives=50,
            ),
        ],
    )


def test_a_column_is_the_mean_of_its_data_and_of_no_other_kind():
    one = cell("dse", 1, 1.0)
    assert summarised(one, "intents, 1 shot") == pytest.approx(16)
    assert summarised(one, "out of scope") == 55
    assert summarised(one, "answers, R@1") == 33
    assert summarised(one, "perturbed, R@1") == pytest.approx(21)
    assert summarised(one, "retrieval") != summarised(one, "retrieval")


def test_a_row_has_mean_and_spread_over_seeds_tokens_and_the_choice():
    page = as_markdown([cell("start", 0, 0.0), cell("dse", 1, 1.0, tokens=4000, label_free=30), cell("dse", 2, 3.0)])
    [start] = [line for line in page.splitlines() if line.startswith("| start | 1 |")]
    assert start.startswith("| start | 1 | 70.00 | 40.00 | 60.00 | 15.00 | 90.00 | 55.00 |  | 33.00 | 44.00 | 20.00 |")
    [dse] = [line for line in page.splitlines() if line.startswith("| DSE | 2 |")]
    assert dse.startswith("| DSE | 2 | 72.00 ± 1.41 | 42.00 ± 1.41 |")
    assert dse.endswith("| 4k | 30,  |")
    assert "| DSE (BERT-base), published | 62.53 | 43.12 | 79.57 | 44.31 | 78.73 |" in page
    assert "| BERT (BERT-base), published | 36.98 | 22.05 | 62.51 | 27.74 |  |" in page
    assert "| start | 33.00 / 44.00 | 0.00 / 7.00 | 10.00 / 7.00 |" in page
    assert all(title in page for title in SUMMARY)


def test_every_figure_is_a_row_of_the_csv_with_what_it_was_measured_on():
    rows = list(csv.DictReader(io.StringIO(as_csv([cell("dse", 1, 1.0), cell("dse", 2, 3.0)]))))
    [clinc] = [row for row in rows if row["data"] == "clinc150" and row["metric"] == "accuracy_1_shot"]
    assert (clinc["model"], clinc["mean"], clinc["sd"], clinc["seeds"]) == ("dse", "2.00", "1.41", "2")
    kinds = {row["kind"] for row in rows if row["task"] == "response_selection"}
    assert kinds == {"of 51", "of 100"}


def test_nothing_is_written_where_no_cell_has_the_tasks(tmp_path):
    assert write_method_tables([Cell("calls", "lda", 1, "made", scores={"both": {}})], tmp_path) == []
    assert [path.name for path in write_method_tables([cell("dse", 1, 0.0)], tmp_path)] == [
        "method-results.md",
        "method-results.csv",
    ]
