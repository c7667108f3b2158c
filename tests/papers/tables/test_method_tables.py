from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest

from dial2vec.training.augmentation import PERTURBATIONS
from dial2vec_papers.tables.cells import Cell
from dial2vec_papers.tables.method_tables import (
    SUMMARY,
    figures_of,
    methods_csv,
    methods_markdown,
    summarised,
    write_method_tables,
)
from dial2vec_papers.tables.utterances import TASKS_VERSION
from dial2vec_papers.tasks.intents import INTENT_SETS

DATA = f"{TASKS_VERSION}-data"


def record(task, data, figures, **settings):
    return {"task": task, "data": data, "figures": figures, "settings": settings}


def cell(system, seed, gain, *, tokens=0, chosen="", data=DATA):
    """A cell whose figures are told apart by their hundreds, tens and ones, all raised by a gain."""
    perturbed = {f"{way}_recall_at_1": 10.0 * place + gain for place, way in enumerate(PERTURBATIONS)}
    return Cell(
        "calls",
        system,
        seed,
        "made",
        scores={"both": {"purity": 70 + gain, "spearman": 40 + gain, "map": 60 + gain}},
        tokens=tokens,
        label_free_name=chosen,
        steps=120,
        task_records={
            data: [
                *(
                    record(
                        "intent_classification", name, {"accuracy_1_shot": 10 * place + gain, "accuracy_5_shot": 90.0}
                    )
                    for place, name in enumerate(INTENT_SETS)
                ),
                record("out_of_scope_detection", "clinc150", {"accuracy_5_shot_mean_minus_sd": 55.0}, rule="in_scope"),
                record("out_of_scope_detection", "clinc150", {"accuracy_5_shot_mean_minus_sd": 11.0}, rule="release"),
                record("out_of_scope_detection", "clinc150", {"accuracy_1_shot_mean_minus_sd": 22.0}, rule="paper"),
                record("sentence_pairs", "sts", {"spearman": 13.8}),
                record("response_selection", "calls", {"recall_at_1": 33.0, "mrr": 44.0}, negatives=50),
                record("response_selection", "calls", {"recall_at_1": 3.0, "mrr": 4.0}, negatives=99) | {"cut": 8},
                record("response_selection", "calls", {"recall_at_1": 63.0, "mrr": 74.0}, negatives=9),
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
            ]
        },
    )


def test_a_column_is_the_mean_of_its_data_and_of_no_other_kind():
    one = figures_of(cell("dse", 1, 1.0), DATA)
    assert summarised(one, "intents, 1 shot") == pytest.approx(16)
    assert summarised(one, "out of scope") == 55
    assert [summarised(one, title) for title in ("answers, R@1 of 10", "of 51", "of 100")] == [63, 33, 3]
    assert summarised(one, "perturbed, R@1 of 51") == pytest.approx(21)
    assert summarised(one, "retrieval") != summarised(one, "retrieval")


def test_a_row_has_mean_and_spread_over_seeds_tokens_and_the_choice():
    cells = [
        cell("start", 0, 0.0),
        cell("dse", 1, 1.0, tokens=4000, chosen="checkpoint of step 30"),
        cell("dse", 2, 3.0),
    ]
    page = methods_markdown(cells, DATA)
    [start] = [line for line in page.splitlines() if line.startswith("| start | 1 |")]
    assert start.startswith(
        "| start | 1 | 70.00 | 40.00 | 60.00 | 15.00 | 90.00 | 55.00 |  | 63.00 | 33.00 | 3.00 | 44.00 |"
    )
    [dse] = [line for line in page.splitlines() if line.startswith("| DSE | 2 |")]
    assert dse.startswith("| DSE | 2 | 72.00 ± 1.41 | 42.00 ± 1.41 |")
    assert dse.endswith("| 4k | checkpoint of step 30, of 120 steps |")
    assert "| DSE (BERT-base), published | 62.53 | 43.12 | 79.57 | 44.31* | 78.73 |" in page
    assert "| BERT (BERT-base), published | 36.98 | 22.05 | 62.51 | 27.74* | 59.48 |" in page
    assert "| DialAug (ConMix) + CL, published | 90.10 / 91.30 |  |" in page
    assert "| start | 33.00 / 44.00 | 0.00 / 7.00 | 10.00 / 7.00 |" in page
    assert all(title in page for title in SUMMARY)
    out_of_scope = page.partition("## Out of scope")[2].partition("##")[0]
    assert "| start | 22.00 |  |  |  |\n" in out_of_scope
    assert "| DSE (BERT-base), published | 58.74 | 60.52 | 84.07 | 50.72 |" in out_of_scope
    assert "| start | 13.80 |\n" in page
    assert "| DialogueCSE (I2), ECD, published | 83.94 |\n" in page


def test_published_figures_stand_in_no_table_without_ours():
    bare = replace(cell("start", 0, 0.0), task_records={DATA: [record("response_selection", "calls", {"mrr": 1.0})]})
    assert "published |" not in methods_markdown([bare], DATA)


def test_seeds_that_lack_a_figure_are_counted_out():
    one, other = cell("dse", 1, 1.0), cell("dse", 2, 3.0)
    bare = replace(
        other, task_records={DATA: [record("response_selection", "calls", {"recall_at_1": 35.0}, negatives=50)]}
    )
    for cells in ([one, bare], [replace(bare, seed=1), replace(one, seed=2)]):
        page = methods_markdown(cells, DATA)
        assert "| 16.00 (1 of 2) |" in page
        assert "| 34.00 ± 1.41 |" in page
        assert "| DSE | 33.00 (1 of 2) / 44.00 (1 of 2) | 1.00 (1 of 2) / 7.00 (1 of 2) |" in page
        rows = list(csv.DictReader(io.StringIO(methods_csv(cells, DATA))))
        seeds = {row["metric"]: row["seeds"] for row in rows if row["kind"] == "of 51"}
        assert (seeds["recall_at_1"], seeds["mrr"]) == ("2", "1")


def test_results_on_other_task_data_do_not_stand_beside_and_are_said_to_be_there(tmp_path):
    here, other = [cell("start", 0, 0.0), cell("dse", 1, 1.0)], cell("dialaug", 1, 2.0, data=f"{TASKS_VERSION}-other")
    old = [cell(system, 1, 2.0, data=f"{TASKS_VERSION - 1}-data") for system in ("paper", "default", "lda")]
    for key, shown, left in ((None, "DSE", 4), (f"{TASKS_VERSION}-other", "DialAug (ConMix)", 5)):
        write_method_tables([*here, other, *old], tmp_path, key=key)
        page = (tmp_path / "method-results.md").read_text()
        titles = {title for title in ("DSE", "DialAug (ConMix)", "LDA", "default") if f"| {title} | 1 |" in page}
        assert titles == {shown}
        assert f"not shown: {left} cells whose tasks were on other data or by other code" in page
    assert write_method_tables(old, tmp_path) == []


def test_the_heading_says_what_is_true_of_the_rows_that_are_there():
    page = methods_markdown([cell("start", 0, 0.0), cell("lda", 1, 0.0)], DATA)
    assert "- not trained: start\n" in page
    assert "- a baseline, fitted to the train split if it learns anything: LDA\n" in page
    assert not any(words in page for words in ("checkpoint that the choice", "last checkpoint", "dot product"))
    page = methods_markdown([cell(system, 1, 0.0) for system in ("default", "paper", "dse", "dialaug")], DATA)
    last = "dial2vec, 200 dialogues of the paper's recipe, DSE, DialAug (ConMix)"
    assert f"- trained from the start on the train split of the corpus, at the last checkpoint: {last}\n" in page
    assert "- the same, at the checkpoint that the choice without labels took: default\n" in page
    assert "instead of the cosine: DialAug (ConMix)\n" in page
    assert "baseline" not in page


def test_every_figure_is_a_row_of_the_csv_with_what_it_was_measured_on():
    rows = list(csv.DictReader(io.StringIO(methods_csv([cell("dse", 1, 1.0), cell("dse", 2, 3.0)], DATA))))
    [clinc] = [row for row in rows if row["data"] == "clinc150" and row["metric"] == "accuracy_1_shot"]
    assert (clinc["model"], clinc["mean"], clinc["sd"], clinc["seeds"]) == ("dse", "2.00", "1.41", "2")
    kinds = {row["kind"] for row in rows if row["task"] == "response_selection"}
    assert kinds == {"of 10", "of 51", "of 100"}
    assert [row["mean"] for row in rows if row["metric"] == "contexts_cut"] == ["8.00"]


def test_nothing_is_written_where_no_cell_has_the_tasks(tmp_path):
    assert write_method_tables([Cell("calls", "lda", 1, "made", scores={"both": {}})], tmp_path) == []
    assert [path.name for path in write_method_tables([cell("dse", 1, 0.0)], tmp_path)] == [
        "method-results.md",
        "method-results.csv",
        "method-results.png",
    ]
