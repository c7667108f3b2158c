import dataclasses
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from dial2vec.evaluation.report import COLOURS, INK, METRICS, Report, project, render_report

FIGURES = dict.fromkeys([metric.key for metric in METRICS], 50.0) | {"purity_sd": 1.5, "spearman_ceiling": 61.25}
VOID = {"meta", "br", "img", "link", "input", "hr"}


class Outline(HTMLParser):
    """Collects ids and addresses and checks that every element is closed in order."""

    def __init__(self, page):
        super().__init__()
        self.open, self.ids, self.addresses, self.attributes = [], [], [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        self.handle_startendtag(tag, attrs)

    def handle_startendtag(self, tag, attrs):
        self.attributes.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]
        self.addresses += [value for name, value in attrs if name in {"src", "href", "xlink:href"}]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture
def report():
    rng = np.random.default_rng(0)
    return Report(
        corpus="demo",
        split_sizes={"train": 1200, "dev": 40, "test": 40},
        start=FIGURES,
        trained=FIGURES | {"purity": 53.0, "spearman": 48.5},
        start_name="all-MiniLM-L6-v2",
        settings={"seed": 42, "train.epochs": 1},
        loss=[(5, 2.31), (10, 1.7), (15, 1.02)],
        learning_rate=[(5, 1e-5), (10, 5e-6), (15, 0.0)],
        map_of_start=rng.normal(size=(40, 2)),
        map_of_trained=rng.normal(size=(40, 2)),
        labels=[f"topic {i % 4}" for i in range(40)],
        notes=["12 dialogues were longer than 512 tokens and were cut."],
        made="2026-01-31",
    )


def headline(page):
    return re.search(r'<p class="headline">(.*?)</p>', page)[1]


def test_worse_is_said_as_plainly_as_better(report):
    assert headline(render_report(report)) == (
        "The trained model is better than its start on Purity (+3.00), worse than its start on Spearman (−1.50) and "
        "equal to it on MAP."
    )


def test_a_model_worse_throughout_is_called_worse_and_nothing_else(report):
    worse = FIGURES | {"purity": 40.0, "spearman": 40.0, "map": 40.0}
    said = headline(render_report(dataclasses.replace(report, trained=worse)))
    assert said == "The trained model is worse than its start on Purity (−10.00), Spearman (−10.00) and MAP (−10.00)."


def test_a_gain_of_purity_within_the_spread_of_kmeans_is_marked(report):
    close = dataclasses.replace(report, trained=FIGURES | {"purity": 51.4})
    assert "Purity (+1.40, within the spread)" in headline(render_report(close))


def test_lower_is_better_where_the_metric_says_so(report):
    page = render_report(dataclasses.replace(report, trained=FIGURES | {"alignment": 49.0}))
    row = re.search(r'<th scope="row">Alignment.*?</tr>', page, re.DOTALL)[0]
    assert "−1.00" in row
    assert 'class="better"' in row


def test_difference_too_small_to_print_is_equal(report):
    page = render_report(dataclasses.replace(report, trained=FIGURES | {"map": 49.999}))
    row = re.search(r'<th scope="row">MAP.*?</tr>', page, re.DOTALL)[0]
    assert 'class="equal"' in row
    assert "−0.00" not in row


def test_table_shows_spread_and_ceiling(report):
    page = render_report(report)
    assert "± 1.50" in page
    assert "ceiling 61.25" in page


def test_without_labels_the_page_says_so_and_shows_no_table_of_figures(report):
    page = render_report(
        dataclasses.replace(
            report, start=None, trained=None, labels=[], map_of_start=np.zeros((0, 2)), map_of_trained=None
        )
    )
    assert "no labels" in headline(page)
    assert 'id="figures"' not in page
    assert "Scatter" not in page
    assert "The loss goes from 2.310 at step 5 to 1.020 at step 15." in page


def test_page_needs_no_network_and_is_well_formed(report):
    page = render_report(report)
    outline = Outline(page)
    assert all(address.startswith(("#", "data:image/png;base64,")) for address in outline.addresses)
    assert not re.search(r"@import|url\((?!#)|<script|<link", page)


def test_ids_are_unique_and_every_reference_has_its_target(report):
    page = render_report(report)
    ids = Outline(page).ids
    assert len(ids) == len(set(ids))
    wanted = set(re.findall(r'(?:href="#|url\(#|aria-labelledby=")([^")]+)', page))
    assert wanted <= set(ids)


def test_every_plot_has_a_text_alternative_and_the_colour_of_the_page(report):
    page = render_report(report)
    images = [attributes for _, attributes in Outline(page).attributes if attributes.get("role") == "img"]
    assert len(images) == page.count("<svg") == 3
    assert all(attributes["aria-label"] for attributes in images)
    assert INK not in page
    assert "currentColor" in page


def test_texts_from_outside_are_escaped(report):
    hostile = "<script>alert(1)</script>"
    page = render_report(
        dataclasses.replace(report, corpus=hostile, notes=[hostile], settings={hostile: hostile}, labels=[hostile] * 40)
    )
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 5


def test_same_report_gives_the_same_page(report):
    assert render_report(report) == render_report(report)


def test_page_with_10000_points_of_70_labels_stays_under_a_megabyte_and_a_half_and_labels_look_different(report):
    points = np.random.default_rng(0).normal(size=(10_000, 2))
    labels = [f"topic {i % 70}" for i in range(10_000)]
    page = render_report(dataclasses.replace(report, labels=labels, map_of_start=points, map_of_trained=points))
    assert len(page.encode()) < 1_500_000
    looks = re.findall(r'<li><span style="color: (#\w+)" aria-hidden="true">(.)</span>', page)
    assert len(looks) == len(set(looks)) == 70
    assert len({colour for colour, _ in looks}) == len(COLOURS)


def test_run_without_a_logged_step_still_has_a_page(report):
    page = render_report(dataclasses.replace(report, loss=[], learning_rate=[]))
    assert "No loss was recorded." in page


def test_projection_keeps_distances_of_flat_vectors():
    flat = np.random.default_rng(0).normal(size=(30, 2)) @ np.eye(2, 10)
    points = project(flat.astype(np.float32), 0)
    assert points.shape == (30, 2)
    assert np.linalg.norm(points[3] - points[8]) == pytest.approx(np.linalg.norm(flat[3] - flat[8]), rel=1e-5)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("shape", [(1, 5), (4, 1), (4, 5)])
def test_projection_of_too_little_is_zero(shape):
    points = project(np.ones(shape, np.float32), 0)
    assert points.tolist() == [[0, 0]] * shape[0]
