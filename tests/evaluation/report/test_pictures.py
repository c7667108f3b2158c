import re

import numpy as np

from dial2vec.evaluation.report.pictures import INK, curves, distributions, path
from dial2vec.evaluation.report.similarity import similarities


def ticks(svg):
    return re.findall(r">([−\d.]+)</text>", svg)


def test_no_loss_draws_no_curve():
    assert curves([]) == ""


def test_a_plot_takes_the_colour_of_the_page_and_is_the_same_every_time():
    history = [{"step": 1, "loss": 2.0, "learning_rate": 0.1}, {"step": 2, "loss": 1.0, "learning_rate": 0.0}]
    svg = curves(history)
    assert INK not in svg
    assert "currentColor" in svg
    assert svg == curves(history)


def test_histograms_share_their_axes_so_that_they_can_be_compared():
    labels = ["a", "a", "b", "b"]
    found = {"start": similarities(np.ones((4, 2)), labels), "trained": similarities(np.eye(4), labels)}
    drawn = distributions(found)
    assert ticks(drawn["start"]) == ticks(drawn["trained"])
    assert not set(re.findall(r' id="([^"]+)"', drawn["start"])) & set(re.findall(r' id="([^"]+)"', drawn["trained"]))


def test_path_names_the_start_the_chosen_one_and_every_candidate_between():
    svg = path([(-2, 0.5), (-2.2, 0.4), (-2.1, 0.3)], ["start", "step 5", "step 9"], chosen=2)
    assert all(f">{text}</text>" in svg for text in ("start (start)", "chosen (step 9)", "step 5"))
    assert ">adjusted alignment (lower is better)</text>" in svg


def test_many_candidates_are_drawn_without_their_names_and_none_need_be_chosen():
    points, names = [(-2 - i / 50, 0.5) for i in range(20)], [f"step {i}" for i in range(20)]
    svg = path(points, names, chosen=None)
    assert ">step 7</text>" not in svg
    assert "chosen" not in svg
