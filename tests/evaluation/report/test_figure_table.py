import pytest

from conversations.words import number
from dial2vec.evaluation.intervals import Gain
from dial2vec.evaluation.report.figure_table import METRICS, figure_rows, signed

FIGURES = dict.fromkeys([metric.key for metric in METRICS], 50.0) | {"purity_sd": 1.5, "spearman_ceiling": 61.25}


def row(key, *, gains=None, **trained):
    found = figure_rows({"start": FIGURES, "trained": FIGURES | trained}, {"trained": gains or {}})
    return next(row for row in found if row.metric.key == key)


def test_the_figures_of_the_tasks_decide():
    assert [row.metric.key for row in figure_rows(dict.fromkeys(("start", "trained"), FIGURES), {}) if row.decides] == [
        "purity",
        "spearman",
        "map",
    ]


def test_lower_is_better_if_the_metric_says_so():
    found = row("alignment", alignment=49.0).figures["trained"]
    assert (found.difference, found.verdict) == ("−1.00", "better")


def test_difference_too_small_to_print_is_equal():
    found = row("map", map=49.999).figures["trained"]
    assert (found.difference, found.verdict) == ("0.00", "equal")


@pytest.mark.parametrize(
    ("low", "high", "verdict"), [(0.5, 2.0, "better"), (-0.5, 2.0, "no clear change"), (0.0, 2.0, "no clear change")]
)
def test_an_interval_with_zero_is_no_clear_change(low, high, verdict):
    found = row("map", map=51.0, gains={"map": Gain(1.0, low, high)}).figures["trained"]
    assert found.verdict == verdict
    assert found.interval == f"{signed(low)} to +2.00"


def test_a_gain_of_purity_within_the_spread_of_kmeans_is_no_clear_change():
    assert row("purity", purity=51.4).figures["trained"].verdict == "no clear change"
    assert row("purity", purity=51.6).figures["trained"].verdict == "better"


def test_spread_and_ceiling_are_shown():
    assert row("purity").figures["start"].spread == "± 1.50"
    assert row("spearman").remark == "ceiling 61.25"


def test_a_student_is_compared_with_the_start():
    gains = {"student": {"map": Gain(-2.0, -3.0, -1.0)}}
    scores = {"start": FIGURES, "trained": FIGURES | {"map": 53.0}, "student": FIGURES | {"map": 48.0}}
    student = next(row.figures["student"] for row in figure_rows(scores, gains) if row.metric.key == "map")
    assert (student.difference, student.interval, student.verdict) == ("−2.00", "−3.00 to −1.00", "worse")


def test_numbers_have_a_minus_sign_and_no_negative_zero():
    assert [number(value) for value in (-1.005, -0.001, 2)] == ["−1.00", "0.00", "2.00"]
    assert [signed(value, 1) for value in (0.04, 0.06, -0.06)] == ["0.0", "+0.1", "−0.1"]
