from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dial2vec.config import Promote
from dial2vec.evaluation import NO_LABELS, TASKS
from dial2vec.evaluation.intervals import Contributions
from dial2vec.registry.promotion import Contender, Verdict, figures_sentence, judge, verdict_sentence

MARGINS = Promote(min_purity_gain=0.0, min_spearman_gain=0.0, min_map_gain=0.5, confidence=0.0)
POINTS = st.floats(0, 100)
FIGURES = st.fixed_dictionaries(dict.fromkeys(TASKS, POINTS))


def contender(version: str, purity: float, spearman: float, map_: float) -> Contender:
    return Contender(version, {"purity": purity, "spearman": spearman, "map": map_})


START = contender("1", 68.0, 38.0, 53.0)
CHAMPION = contender("2", 69.0, 39.0, 54.3)


def test_a_candidate_better_than_start_and_champion_is_promoted():
    verdict = judge(contender("3", 69.0, 39.1, 54.8), START, CHAMPION, margins=MARGINS)
    assert verdict.promoted
    assert verdict.reasons == []


def test_a_loss_is_named_with_both_figures_and_the_margin():
    verdict = judge(contender("3", 70.0, 40.0, 53.1), contender("1", 68, 38, 50), CHAMPION, margins=MARGINS)
    assert not verdict.promoted
    assert verdict.reasons == ["map 53.10 on dev is 1.20 below the champion's 54.30; needed +0.50"]


def test_a_gain_below_the_margin_is_not_enough():
    verdict = judge(contender("3", 70.0, 40.0, 54.5), START, CHAMPION, margins=MARGINS)
    assert verdict.reasons == ["map 54.50 on dev is 0.20 above the champion's 54.30; needed +0.50"]


def test_equal_figures_need_no_sign():
    verdict = judge(contender("3", 70.0, 40.0, 54.3), START, CHAMPION, margins=MARGINS)
    assert verdict.reasons == ["map 54.30 on dev equals the champion's; needed +0.50"]


def test_a_gain_that_no_figure_leaves_room_for_is_told():
    verdict = judge(contender("3", 70.0, 40.0, 100.0), START, contender("2", 68.0, 38.0, 99.8), margins=MARGINS)
    assert verdict.reasons == [
        "map 100.00 on dev is 0.20 above the champion's 99.80; needed +0.50, more than is left to 100: lower "
        "promote.min_map_gain"
    ]


@pytest.mark.parametrize("metric", TASKS)
def test_each_metric_alone_can_stop_the_candidate(metric: str):
    good = {"purity": 80.0, "spearman": 45.0, "map": 70.0}
    verdict = judge(Contender("3", good | {metric: 1.0}), START, CHAMPION, margins=MARGINS)
    assert not verdict.promoted
    assert all(reason.startswith(metric) for reason in verdict.reasons)
    assert len(verdict.reasons) == 2


def test_beating_a_weak_champion_is_not_enough_without_beating_the_start():
    verdict = judge(contender("3", 67.0, 40.0, 60.0), START, contender("2", 60.0, 30.0, 50.0), margins=MARGINS)
    assert verdict.reasons == ["purity 67.00 on dev is 1.00 below the base encoder's 68.00; needed +0.00"]


def test_a_start_that_is_the_champion_is_compared_once():
    verdict = judge(contender("3", 67.0, 40.0, 60.0), START, START, margins=MARGINS)
    assert verdict.reasons == ["purity 67.00 on dev is 1.00 below the champion's 68.00; needed +0.00"]


def test_a_student_may_lose_the_tolerance_against_its_teacher_and_no_more():
    student, teacher = contender("3", 69.0, 39.1, 54.8), contender("4 of dial2vec-demo", 72.0, 39.1, 59.8)
    assert judge(student, START, CHAMPION, teacher, margins=MARGINS).promoted
    verdict = judge(student, START, CHAMPION, teacher, margins=replace(MARGINS, student_tolerance=4.0))
    assert verdict.reasons == ["map 54.80 on dev is 5.00 below the teacher's 59.80; needed -4.00"]


def test_a_student_near_its_teacher_must_still_beat_start_and_champion():
    teacher = contender("4 of dial2vec-demo", 68.0, 38.0, 53.0)
    verdict = judge(contender("3", 69.0, 39.1, 54.4), START, CHAMPION, teacher, margins=MARGINS)
    assert verdict.reasons == ["map 54.40 on dev is 0.10 above the champion's 54.30; needed +0.50"]


def test_a_teacher_without_figures_promotes_no_student():
    verdict = judge(contender("3", 70.0, 40.0, 60.0), START, CHAMPION, Contender("4", None), margins=MARGINS)
    assert verdict.reasons[0].startswith("the teacher (version 4) has no figures on dev")


def test_the_champion_is_not_promoted_again():
    verdict = judge(CHAMPION, START, CHAMPION, margins=MARGINS)
    assert verdict.reasons == ["version 2 is the champion already"]


def test_without_labels_nothing_is_promoted():
    verdict = judge(Contender("3", None), START, CHAMPION, margins=MARGINS)
    assert not verdict.promoted
    assert verdict.reasons == [
        f"the candidate (version 3) has no figures on dev, and without them nothing is promoted: {NO_LABELS}"
    ]


@pytest.mark.parametrize(
    "figures", [{"purity": 90.0, "spearman": 50.0}, {"purity": 90.0, "spearman": 50.0, "map": math.nan}]
)
def test_a_missing_figure_or_nan_never_promotes(figures: dict[str, float]):
    verdict = judge(Contender("3", figures), START, START, margins=MARGINS)
    assert verdict.reasons == ["map on dev is missing for the candidate (version 3)"]


def test_a_gain_of_exactly_the_margin_passes_in_spite_of_binary_fractions():
    assert 40.3 - 40.0 < 0.3
    margins = Promote(min_purity_gain=0.0, min_spearman_gain=0.0, min_map_gain=0.3, confidence=0.0)
    assert judge(
        contender("3", 69.0, 39.0, 40.3), START, contender("2", 69.0, 39.0, 40.0), margins=margins
    ).reasons == ["map 40.30 on dev is 12.70 below the base encoder's 53.00; needed +0.30"]


@settings(max_examples=60)
@given(FIGURES, FIGURES, FIGURES, st.sampled_from(TASKS), st.floats(0, 50))
def test_a_better_candidate_is_never_judged_worse(candidate, start, champion, metric, more):
    rivals = (Contender("1", start), Contender("2", champion))
    before = judge(Contender("3", candidate), *rivals, margins=MARGINS)
    after = judge(Contender("3", candidate | {metric: candidate[metric] + more}), *rivals, margins=MARGINS)
    assert after.promoted or not before.promoted
    assert len(after.reasons) <= len(before.reasons)


@settings(max_examples=60)
@given(FIGURES, FIGURES, FIGURES)
def test_promoted_means_above_both_rivals_by_the_margin_as_printed(candidate, start, champion):
    verdict = judge(Contender("3", candidate), Contender("1", start), Contender("2", champion), margins=MARGINS)
    needed = {"purity": 0, "spearman": 0, "map": 50}
    hundredths = lambda figure: int(f"{figure:.2f}".replace(".", ""))  # noqa: E731
    expected = all(
        hundredths(candidate[metric]) - hundredths(rival[metric]) >= needed[metric]
        for metric in TASKS
        for rival in (start, champion)
    )
    assert verdict.promoted == expected
    assert verdict.promoted == (verdict.reasons == [])


def test_figures_are_described_or_their_absence():
    assert figures_sentence({"purity": 70.0, "spearman": 38.0}) == "On dev: purity 70.00, spearman 38.00."
    assert figures_sentence(None) == f"There are no figures on dev: {NO_LABELS}."


def test_the_gate_needs_no_mlflow():
    asked = "import sys, dial2vec.registry.promotion; sys.exit('mlflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", asked]).returncode == 0


def measured(version: str, *, precisions: np.ndarray) -> Contender:
    """A contender of 40 dialogues, equal to all others but in MAP."""
    same = np.full(40, 0.5)
    scores = {"purity": 50.0, "spearman": 50.0, "map": round(100 * float(precisions.mean()), 4)}
    return Contender(version, scores, Contributions(same, same, precisions))


SURE = Promote(min_purity_gain=0.0, min_spearman_gain=0.0, min_map_gain=0.5, confidence=0.95)
BEFORE = measured("1", precisions=np.full(40, 0.5))


def test_a_gain_that_all_dialogues_share_is_sure():
    verdict = judge(measured("2", precisions=np.full(40, 0.52)), BEFORE, BEFORE, margins=SURE)
    assert verdict.promoted
    assert str(verdict.gains["champion"]["map"]) == "+2.00 [+2.00, +2.00]"


def test_a_gain_that_hangs_on_single_dialogues_may_be_chance():
    few = np.full(40, 0.49)
    few[:2] = 1.0
    verdict = judge(measured("2", precisions=few), BEFORE, BEFORE, margins=SURE)
    assert not verdict.promoted
    [reason] = verdict.reasons
    assert reason.startswith(
        "map on dev is 1.55 above the champion's, which may be chance: with 95 % confidence the gain"
    )
    assert reason.endswith("needed above 0")
    assert judge(measured("2", precisions=few), BEFORE, BEFORE, margins=MARGINS).promoted


def test_without_the_dialogues_no_gain_is_sure():
    other = Contender("2", {"purity": 50.0, "spearman": 50.0, "map": 60.0})
    verdict = judge(other, BEFORE, BEFORE, margins=SURE)
    assert verdict.reasons == [
        "map on dev cannot be compared with the champion's at 95 % confidence: the dialogues are not here"
    ]


@settings(max_examples=40)
@given(st.integers(0, 1000), st.sampled_from([0.5, 0.8, 0.95, 0.99]))
def test_more_confidence_never_lets_more_through(seed: int, confidence: float):
    ours, theirs = np.random.default_rng(seed).random((2, 40))
    contenders = measured("2", precisions=ours), measured("1", precisions=theirs)
    sure, surer = (
        judge(contenders[0], contenders[1], contenders[1], margins=Promote(confidence=level))
        for level in (confidence, 0.999)
    )
    assert sure.promoted or not surer.promoted


def test_a_verdict_is_summed_up_in_a_sentence():
    verdict = judge(measured("2", precisions=np.full(40, 0.52)), BEFORE, BEFORE, margins=SURE)
    assert verdict_sentence(verdict).startswith(
        "On dev it gains over the champion: purity +0.00 [+0.00, +0.00], spearman"
    )
    assert verdict_sentence(Verdict(False, ["one", "two"])) == "one; two"
    assert verdict_sentence(Verdict(True, [], ground="it was")) == "It was."
