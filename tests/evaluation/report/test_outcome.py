import numpy as np
import pytest

from dial2vec.evaluation.intervals import Gain
from dial2vec.evaluation.report.figure_table import METRICS, figure_rows
from dial2vec.evaluation.report.neighbours import Neighbours
from dial2vec.evaluation.report.outcome import labelled_outcome, unlabelled_outcome

FIGURES = dict.fromkeys([metric.key for metric in METRICS], 50.0) | {"purity_sd": 0.5, "spearman_ceiling": 61.25}


def rows(**trained):
    gains = {name: Gain(value - 50, value - 50.5, value - 49.5) for name, value in trained.items()}
    return figure_rows({"start": FIGURES, "trained": FIGURES | trained}, {"trained": gains})


def counts(start, trained, depth=10):
    return Neighbours(depth, np.ones(len(start), dtype=bool), np.array(start), np.array(trained))


def sentence(start=(6, 6), trained=(8, 9), gain=(25.0, 20.0, 30.0), depth=10, kept=False, **figures):
    return labelled_outcome(counts(start, trained, depth), Gain(*gain), rows(**figures), kept=kept)


def test_a_gain_is_said_in_neighbours_with_its_interval():
    assert sentence() == (
        "The trained encoder finds 8.5 of 10 neighbours with the same label where its base encoder found 6.0 "
        "(+2.5; 95 % interval +2.0 to +3.0); nothing got worse."
    )


def test_what_got_worse_is_in_the_same_sentence():
    assert sentence(spearman=48.0, map=53.0).endswith("; but worse: Spearman (−2.00).")


def test_a_loss_within_the_noise_is_not_called_nothing():
    assert sentence(map=49.8).endswith("; nothing got clearly worse.")


def test_worse_is_said_as_plainly_as_better():
    said = sentence((8, 9), (6, 6), (-25.0, -30.0, -20.0), purity=45.0, map=53.0)
    assert said == (
        "The trained encoder finds only 6.0 of 10 neighbours with the same label where its base encoder found 8.5 "
        "(−2.5; 95 % interval −3.0 to −2.0); but better: average precision (+3.00); also worse: purity (−5.00)."
    )
    assert sentence((8, 9), (6, 6), (-25.0, -30.0, -20.0)).endswith("−3.0 to −2.0).")


def test_a_difference_within_the_noise_is_called_so():
    said = sentence((6, 6), (6, 7), (5.0, -2.0, 12.0), map=53.0)
    assert said == (
        "The trained encoder finds 6.5 of 10 neighbours with the same label and its base encoder 6.0, a difference "
        "within the noise (+0.5; 95 % interval −0.2 to +1.2); better: average precision (+3.00); nothing got worse."
    )


def test_figures_that_look_equal_get_another_digit():
    start = [6] * 50
    assert "finds 6.02 of 10 neighbours with the same label and its base encoder 6.00" in sentence(
        start, [7, *start[1:]], (0.2, -0.2, 0.6)
    )


def test_the_nearest_alone_is_counted_in_a_hundred():
    said = sentence((0, 1), (1, 1), (50.0, 10.0, 90.0), depth=1)
    assert said.startswith("The trained encoder finds 100.0 of 100 nearest conversations with the same label where its")
    assert "(+50.0; 95 % interval +10.0 to +90.0)" in said


def test_a_run_that_kept_the_start_says_so():
    assert sentence((6, 7), (6, 7), (0, 0, 0), kept=True) == (
        "No trained candidate was shown to be better, so the base encoder was kept: it finds 6.5 of 10 neighbours with "
        "the same label."
    )
    assert unlabelled_outcome(None, np.array([10]), kept=True).endswith(
        "the base encoder was kept, and nothing changed."
    )


def selection(**ahead):
    return {"chosen": "head", "candidates": [{"name": "start", "ahead": {}}, {"name": "head", "ahead": ahead}]}


@pytest.mark.parametrize(
    ("ahead", "said"),
    [
        (
            {"stability": 1.0, "silhouette": 0.95, "cross_side": 0.5},
            "clearly ahead of its base encoder on cluster stability and silhouette and clearly below it on none;",
        ),
        (
            {"stability": 1.0, "silhouette": 0.95, "cross_side": 0.05},
            "cluster stability and silhouette and clearly below it on agreement of the two sides;",
        ),
    ],
)
def test_without_labels_the_criteria_of_the_choice_speak(ahead, said):
    sentence = unlabelled_outcome(selection(**ahead), np.array([3]), kept=False)
    assert said in sentence
    assert sentence.endswith("whether its groups are the right ones, only labels can say.")


@pytest.mark.parametrize("chosen", [None, selection()])
def test_without_labels_and_criteria_only_the_change_is_told(chosen):
    assert unlabelled_outcome(chosen, np.array([3, 6]), kept=False) == (
        "This page shows what the training changed, but without labels it cannot say whether that is better: on "
        "average 4.5 of a conversation's nearest are as before."
    )
    assert unlabelled_outcome(chosen, np.zeros(0), kept=False).endswith("whether that is better.")
