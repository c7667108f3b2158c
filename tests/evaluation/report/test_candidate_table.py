import pytest

from dial2vec.evaluation.report.candidate_table import candidate_table


def candidate(name, step, **changes):
    base = {
        "criteria": {"stability": 0.39},
        "score": None,
        "verdict": "ahead",
        "adjusted_alignment": -0.5,
        "uniformity": -2.0,
    }
    return {"name": name, "step": step, "dev": None} | base | changes


def selection(*candidates, **changes):
    base = {"rule": "label_free", "chosen": "late", "sentence": "Because.", "criteria": ["stability", "cross_side"]}
    return base | {"candidates": list(candidates)} | changes


def test_no_selection_is_no_choice():
    assert candidate_table(None) is None


def test_candidates_stand_in_order_of_their_step_with_the_chosen_one_marked():
    found = candidate_table(selection(candidate("late", 9), candidate("start", 0)))
    assert [(row.name, row.chosen) for row in found.rows] == [("start", False), ("late", True)]
    assert found.chosen_point == 1


def test_what_a_candidate_lacks_is_a_dash_and_minus_is_a_minus():
    found = candidate_table(selection(candidate("late", 9, score=-0.25, dev={"map": 5}), candidate("start", 0)))
    assert [row.criteria for row in found.rows] == [["0.390", "–", "–"], ["0.390", "–", "−0.250"]]
    assert (found.criteria, found.dev) == (["stability", "cross side"], ["average precision"])
    assert [row.dev for row in found.rows] == [["–"], ["5.00"]]


def test_a_candidate_without_adjusted_alignment_is_in_the_table_and_not_on_the_path():
    found = candidate_table(selection(candidate("start", 0), candidate("late", 9, adjusted_alignment=None)))
    assert len(found.rows) == 2
    assert (found.points, found.point_names, found.chosen_point) == ([(-2.0, -0.5)], ["start"], None)


@pytest.mark.parametrize(("rule", "by_labels"), [("label_free", False), ("dev_purity", True)])
def test_only_the_rule_on_dev_purity_looks_at_labels(rule, by_labels):
    assert candidate_table(selection(candidate("late", 0), rule=rule)).by_labels is by_labels
