import numpy as np
import pytest

from dial2vec.evaluation.selection import choice
from dial2vec.evaluation.selection.choice import (
    MOSTLY_LOST,
    STUDENT_ALLOWANCE,
    EncodedCandidate,
    choose_by_scores,
    choose_label_free,
    choose_last,
)
from dial2vec.evaluation.selection.criteria import CHOOSING, Views, measure_criteria

N = 120


def encoded(*, topic=0.4, style=0.0, seed=0):
    """Sides that share a topic, each with noise of its own; style also groups the whole and the first side."""
    rng = np.random.default_rng(seed)
    topics, styles = rng.normal(size=(5, 16))[rng.integers(0, 5, N)], rng.normal(size=(7, 16))[rng.integers(0, 7, N)]
    noise = rng.normal(size=(3, N, 16))
    noise[:2] += style * styles
    return Views(*(topic * topics + noise).astype(np.float32))


def all_alike(value):
    return Views(*[np.full((N, 16), value, np.float32)] * 3)


def candidates(*others):
    return [
        EncodedCandidate("start", 0, encoded()),
        *(EncodedCandidate(f"try {i}", i, view) for i, view in enumerate(others, 1)),
    ]


def faked(monkeypatch, *figures):
    """Candidates whose criteria in resampling b are `figures[candidate][b]`; on all dialogues it is the last."""
    asked = dict.fromkeys(range(len(figures)), 0)

    def fake(views, *, seed):
        place = int(views.whole[0, 0])
        row = figures[place][min(asked[place], len(figures[place]) - 1)]
        asked[place] += 1
        return dict(zip(CHOOSING, row, strict=True))

    monkeypatch.setattr(choice, "measure_criteria", fake)
    return [
        EncodedCandidate(f"try {place}" if place else "start", place, all_alike(place)) for place in range(len(figures))
    ]


def test_a_candidate_with_clearer_topics_is_chosen():
    found = choose_label_free(candidates(encoded(topic=0.8)), bootstraps=10, seed=0)
    assert found.chosen == 1
    assert [result.verdict for result in found.results] == ["the base encoder", "chosen"]
    assert "The try 1 was chosen: it is clearly ahead of the base encoder on cluster stability" in found.sentence
    assert "of 10 resamplings)" in found.sentence
    assert "ranks highest" not in found.sentence


def test_a_candidate_that_sharpens_the_style_of_one_side_is_refused():
    found = choose_label_free(candidates(encoded(style=2.5)), bootstraps=10, seed=0)
    assert found.chosen == 0
    fooled = found.results[1]
    assert fooled.ahead["stability"] == fooled.ahead["silhouette"] == 1
    assert fooled.verdict == "clearly below the base encoder on agreement of the two sides"
    assert fooled.verdict in found.sentence


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [0, 1, np.nan])
def test_a_collapsed_or_diverged_candidate_loses(value):
    found = choose_label_free(candidates(all_alike(value)), bootstraps=5, seed=0)
    assert found.chosen == 0
    assert found.results[1].score == 0
    assert found.results[1].verdict.startswith("clearly below the base encoder on cluster stability, silhouette and")


def test_the_start_in_other_clothes_is_never_admissible():
    start = encoded()
    turn = 3 * np.linalg.qr(np.random.default_rng(0).normal(size=(16, 16)))[0].astype(np.float32)
    turned = Views(start.whole @ turn, start.first @ turn, start.second @ turn)
    found = choose_label_free(candidates(start, turned), bootstraps=5, seed=0)
    assert found.chosen == 0
    for result in found.results:
        assert result.ahead == dict.fromkeys(CHOOSING, 0.5)
        assert result.score == 0.5
    assert found.results[2].verdict == "not clearly ahead of the base encoder on two criteria"


@pytest.mark.parametrize(
    ("ahead_in", "verdict"),
    [
        ((9, 9, 5), "chosen"),
        ((9, 9, 4), "no gain in agreement of the two sides"),
        ((9, 2, 9), "chosen"),
        ((9, 8, 8), "not clearly ahead of the base encoder on two criteria"),
        ((9, 9, 1), "clearly below the base encoder on agreement of the two sides"),
        ((1, 9, 9), "clearly below the base encoder on cluster stability"),
        ((0, 1, 5), "clearly below the base encoder on cluster stability and silhouette"),
    ],
)
def test_clearly_means_nine_resamplings_of_ten(monkeypatch, ahead_in, verdict):
    tried = [[1.0 if b < times else -1.0 for times in ahead_in] for b in range(10)]
    tried.append([times - 4.5 for times in ahead_in])
    found = choose_label_free(faked(monkeypatch, [[0, 0, 0]], tried), bootstraps=10, seed=0)
    assert found.results[1].verdict == verdict
    assert found.results[1].ahead == pytest.approx(dict(zip(CHOOSING, np.array(ahead_in) / 10, strict=True)))


@pytest.mark.parametrize(("gain", "others", "chosen"), [(0.004, 0, 1), (0.002, 0, 0), (0.004, -1, 0)])
def test_agreement_alone_is_enough_by_three_per_cent_of_what_is_lacking(monkeypatch, gain, others, chosen):
    tried = faked(monkeypatch, [[0, 0, 0.9]], [[others, 0, 0.9 + gain]])
    assert choose_label_free(tried, bootstraps=4, seed=0).chosen == chosen


def test_of_the_admissible_the_highest_mean_rank_wins(monkeypatch):
    tried = faked(monkeypatch, [[0, 0, 0]], [[1, 1, 1]], [[2, 2, 0.6]], [[9, 9, -9]])
    found = choose_label_free(tried, bootstraps=4, seed=0)
    # Ranks of four: the base encoder 1, 1, 2; then 2, 2, 4; 3, 3, 3; 4, 4, 1. Less 1, by 3, averaged.
    assert [result.score for result in found.results] == pytest.approx([1 / 9, 5 / 9, 6 / 9, 6 / 9])
    assert found.chosen == 2
    assert [result.verdict for result in found.results] == [
        "the base encoder",
        "admissible",
        "chosen",
        "clearly below the base encoder on agreement of the two sides",
    ]
    assert found.sentence == (
        "The try 2 was chosen: it is clearly ahead of the base encoder on cluster stability (in 100 % of 4 "
        "resamplings), silhouette (100 %) and agreement of the two sides (100 %); of the 2 candidates for which this "
        "holds it ranks highest."
    )


def test_of_the_admissible_students_the_one_that_agrees_most_with_its_teacher_wins(monkeypatch):
    tried = faked(monkeypatch, [[0, 0, 0]], [[3, 3, 3]], [[1, 1, 2]], [[2, 2, 1.6]], [[9, 9, -9]])
    # The last one is not admissible, however much it agrees; the base encoder has vectors of another length.
    found = choose_label_free(tried, bootstraps=4, seed=0, agreements=[None, 0.91, 0.94, 0.94, 0.99])
    assert found.chosen == 2
    assert found.sentence.endswith("of the 3 candidates for which this holds it agrees most with the teacher.")
    assert choose_label_free(tried, bootstraps=4, seed=0).chosen == 1
    refused = choose_label_free(tried[:1] + tried[4:], bootstraps=4, seed=0, agreements=[0.5, 0.99])
    assert refused.chosen == 0


def test_a_shrinking_space_loses_to_one_that_keeps_the_agreement_of_the_sides(monkeypatch):
    found = choose_label_free(
        faked(monkeypatch, [[0, 0, 0]], [[1, 1, 1]], [[9, 9, 0.4]], [[2, 2, 0.5]]), bootstraps=2, seed=0
    )
    assert [result.verdict for result in found.results] == [
        "the base encoder",
        "admissible",
        "less than half of the best gain in agreement of the two sides",
        "chosen",
    ]
    assert found.sentence.endswith(
        "; of the 2 candidates for which this holds and that have half of the best gain in agreement of the two sides "
        "it ranks highest."
    )


def test_the_gain_that_must_be_kept_is_that_on_all_dialogues(monkeypatch):
    shrunk = [[9, 9, 1], [9, 9, 1], [9, 9, 0.4]]
    found = choose_label_free(faked(monkeypatch, [[0, 0, 0]], [[1, 1, 1]], shrunk), bootstraps=2, seed=0)
    assert (found.chosen, found.results[2].verdict) == (1, MOSTLY_LOST)


def test_clusters_without_any_gain_in_the_agreement_of_the_sides_keep_the_start(monkeypatch):
    # Ahead in half of the resamplings, and further below in the others: not clearly below, and no gain.
    found = choose_label_free(faked(monkeypatch, [[0, 0, 0]], [[1, 1, 1], [1, 1, -2]]), bootstraps=2, seed=0)
    assert found.chosen == 0
    assert found.sentence == (
        "The base encoder was kept: no candidate that is clearly ahead of it gains in agreement of the two sides (try "
        "1: no gain in agreement of the two sides)."
    )


@pytest.mark.parametrize(("loss", "chosen"), [(0.0065, 1), (0.0092, 0)])
def test_a_loss_within_the_allowance_does_not_count(monkeypatch, loss, chosen):
    figures = [(0.5, 0.3, 0.979)], [(0.9, 0.7, 0.979 - loss)]
    refused = choose_label_free(faked(monkeypatch, *figures), bootstraps=10, seed=0)
    assert refused.chosen == 0
    found = choose_label_free(faked(monkeypatch, *figures), bootstraps=10, seed=0, allowance=STUDENT_ALLOWANCE)
    assert found.chosen == chosen
    assert ("and at most 0.0075 below it on agreement of the two sides" in found.sentence) == bool(chosen)


def test_of_equals_the_earlier_wins(monkeypatch):
    assert (
        choose_label_free(faked(monkeypatch, [[0, 0, 0]], [[1, 1, 1]], [[1, 1, 1]]), bootstraps=2, seed=0).chosen == 1
    )


def test_a_difference_of_rounding_is_a_tie(monkeypatch):
    found = choose_label_free(faked(monkeypatch, [[0, 0, 0]], [[1e-7, 1e-7, 1e-7]]), bootstraps=2, seed=0)
    assert found.results[1].ahead == dict.fromkeys(CHOOSING, 0.5)


def test_many_refused_candidates_are_counted_not_listed(monkeypatch):
    found = choose_label_free(faked(monkeypatch, *[[[0, 0, 0]]] * 6), bootstraps=2, seed=0)
    assert found.sentence.startswith(
        "The base encoder was kept: no candidate is clearly ahead of it on two of three criteria"
    )
    assert "try 3: not clearly ahead of the base encoder on two criteria; and 2 more)." in found.sentence
    assert "try 4" not in found.sentence


def test_the_criteria_are_those_of_all_dialogues_and_the_choice_repeats_for_a_seed():
    tried = candidates(encoded(topic=0.5))
    found = choose_label_free(tried, bootstraps=3, seed=4)
    assert found == choose_label_free(tried, bootstraps=3, seed=4)
    assert found.results[1].criteria == measure_criteria(tried[1].views, seed=4)
    assert (found.results[1].name, found.results[1].step) == ("try 1", 1)


def test_each_resampling_draws_four_fifths_without_replacement_and_the_same_for_all(monkeypatch):
    drawn, seeds = [], []

    def record(views, *, seed):
        drawn.append(views.whole[:, 0].astype(int).tolist())
        seeds.append(seed)
        return dict.fromkeys(CHOOSING, 0.0)

    monkeypatch.setattr(choice, "measure_criteria", record)
    numbered = Views(*[np.arange(N, dtype=np.float32)[:, None]] * 3)
    choose_label_free(
        [EncodedCandidate("start", 0, numbered), EncodedCandidate("map", 1, numbered)], bootstraps=2, seed=7
    )
    first, same, second, same_again, *whole = drawn
    assert first == same != second == same_again
    assert len(first) == len(set(first)) == 96
    assert first == sorted(np.random.default_rng([7, 0]).choice(N, size=96, replace=False).tolist())
    assert [len(rows) for rows in whole] == [N, N]
    assert seeds == [7, 7, 8, 8, 7, 7]


def test_too_few_dialogues_keep_the_start():
    few = [EncodedCandidate(name, 0, encoded(topic=2).take(np.arange(12))) for name in ("start", "map")]
    found = choose_label_free(few, bootstraps=5, seed=0)
    assert found.chosen == 0
    assert found.sentence == (
        "The base encoder was kept: choosing without labels needs at least 40 dev dialogues with two speakers, and "
        "there are 12. Bring more dialogues, or raise prepare.dev_share if the corpus has no splits of its own."
    )
    assert [(result.verdict, result.score, result.criteria) for result in found.results] == [
        ("chosen", None, {}),
        ("too few dialogues", None, {}),
    ]


def test_a_start_without_rivals_is_kept():
    found = choose_label_free(candidates(), bootstraps=2, seed=0)
    assert (found.chosen, found.sentence) == (0, "The base encoder was kept: there is no other candidate.")


def test_the_highest_figure_is_chosen_of_equals_the_earlier():
    found = choose_by_scores(["start", "map", "late"], [0, 1, 2], [65.4, 72.1, 72.1], title="dev purity")
    assert found.chosen == 1
    assert found.sentence == "The map was chosen: it has the highest dev purity, 72.10, and the base encoder 65.40."
    assert [result.verdict for result in found.results] == ["the base encoder", "chosen", "not the highest dev purity"]


@pytest.mark.parametrize("figure", [65.4, 60.0, None, float("nan")])
def test_a_candidate_without_a_higher_figure_leaves_the_start(figure):
    found = choose_by_scores(["start", "map"], [0, 1], [65.4, figure], title="dev purity")
    assert found.chosen == 0
    assert found.sentence == "The base encoder was kept: no candidate has a higher dev purity than its 65.40."


@pytest.mark.parametrize("unknown", [None, float("nan")])
def test_a_start_without_a_figure_gives_way_to_a_candidate_with_one(unknown):
    found = choose_by_scores(["start", "map"], [0, 1], [unknown, 60.0], title="dev purity")
    assert (found.chosen, found.sentence) == (1, "The map was chosen: it has the highest dev purity, 60.00.")


def test_without_labels_the_start_stays():
    found = choose_by_scores(["start", "map"], [0, 1], [None, None], title="dev purity")
    assert found.chosen == 0
    assert found.sentence == "The base encoder was kept: without labels there is no dev purity."
    assert [result.verdict for result in found.results] == ["chosen", "no dev purity"]


def test_the_last_is_chosen_unseen():
    found = choose_last(["start", "map", "late"], [0, 1, 2])
    assert found.chosen == 2
    assert found.results[2].verdict == "chosen"
    assert found.sentence.startswith("The late was chosen")
