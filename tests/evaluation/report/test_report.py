import dataclasses
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from conversations.dialogue import Dialogue, Turn
from dial2vec.evaluation.measure import Measured
from dial2vec.evaluation.report.pictures import INK
from dial2vec.evaluation.report.report import METRICS, Report, render_report

FIGURES = dict.fromkeys([metric.key for metric in METRICS], 50.0) | {"purity_sd": 1.5, "spearman_ceiling": 61.25}
CANDIDATES = [
    {
        "name": name,
        "step": step,
        "criteria": {"stability": 0.39, "cross_side": 0.87},
        "score": None,
        "verdict": verdict,
        "adjusted_alignment": -0.5 - step / 100,
        "uniformity": -2.1,
        "dev": {"purity": 70.1},
    }
    for name, step, verdict in [("start", 0, "not ahead"), ("step 5", 5, "chosen")]
]
SELECTION = {
    "rule": "label_free",
    "chosen": "step 5",
    "sentence": "Step 5 was chosen because it is ahead.",
    "criteria": ["stability", "cross_side"],
    "candidates": CANDIDATES,
}
VOID = {"meta", "br", "img", "link", "input", "hr"}


class Outline(HTMLParser):
    """Collects ids and addresses and checks that every element is closed in order."""

    def __init__(self, page):
        super().__init__()
        self.open, self.ids, self.addresses, self.attributes, self.tags = [], [], [], [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        self.handle_startendtag(tag, attrs)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]
        self.addresses += [value for name, value in attrs if name in {"src", "href", "xlink:href"}]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def measured(scores, vectors, labels):
    return Measured(scores, vectors, labels, None)


def make_report(dialogues, **changes):
    vectors = np.random.default_rng(0).normal(size=(2, len(dialogues), 8)).astype(np.float32)
    labels = [dialogue.label for dialogue in dialogues]
    parts = {
        "corpus": "demo",
        "split_sizes": {"train": 1200, "dev": 40, "test": 40},
        "encoders": {
            "start": measured(FIGURES, vectors[0], labels),
            "trained": measured(FIGURES | {"purity": 53.0, "spearman": 48.5}, vectors[1], labels),
        },
        "start_name": "all-MiniLM-L6-v2",
        "settings": {"seed": 42, "train.epochs": 1},
        "history": [
            {"step": step, "loss": loss, "learning_rate": rate}
            for step, loss, rate in ((5, 2.31, 1e-5), (10, 1.7, 5e-6), (15, 1.02, 0.0))
        ],
        "dialogues": dialogues,
        "seed": 7,
        "selection": SELECTION,
        "notes": ["12 dialogues are longer than 512 tokens and were read in windows."],
        "made": "2026-01-31",
    }
    return Report(**parts | changes)


@pytest.fixture
def report(dialogue):
    return make_report(
        [dialogue(f"call {i}", f"user: question {i}", "agent: yes", labels=(f"topic {i % 4}",)) for i in range(20)]
    )


def changed(report, **changes):
    """Return the report with other scores, vectors or labels of all encoders."""
    encoders = {name: dataclasses.replace(measured, **changes) for name, measured in report.encoders.items()}
    return dataclasses.replace(report, encoders=encoders)


def headline(page):
    return re.search(r'<p class="headline">(.*?)</p>', page)[1]


def section_order(page):
    return re.findall(r'<h2 id="(\w+)"', page)


def test_the_page_goes_from_the_result_to_the_details(report):
    page = render_report(report)
    assert page.count('<p class="headline">') == 1
    assert headline(page).startswith("The trained encoder finds ")
    order = ["map", "examples", "figures", "similarity", "confusion", "choice", "notes", "settings", "training"]
    assert section_order(page) == order


def test_map_is_the_word_for_the_picture_of_points_alone(report):
    words = re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", render_report(report), flags=re.DOTALL)
    assert not re.search(r"\bMAP\b(?! in other papers)", words)
    assert set(re.findall(r"\w+ maps?\b", words)) <= {"a map", "the maps", "trained map", "the map"}


def test_a_run_that_kept_the_start_has_one_map_and_no_examples(report):
    report = changed(report, vectors=report.encoders["start"].vectors)
    page = render_report(dataclasses.replace(report, selection=SELECTION | {"chosen": "start"}))
    assert "so the base encoder was kept: it finds" in headline(page)
    assert page.count('<svg class="map"') == 1
    assert "examples" not in section_order(page)
    assert "map" in section_order(page)


def test_names_of_labels_stand_on_both_maps(report):
    page = render_report(report)
    names = re.findall(r'<g class="name"[^>]*data-label="(\d)"[^>]*>(?:<path[^>]*>)?<text[^>]*>([^<]+)</text>', page)
    assert sorted(set(names)) == [(str(place), f"topic {place}") for place in range(4)]
    assert len(names) == 8


def test_examples_show_the_nearest_by_both_encoders_with_sides_apart(report):
    page = render_report(report)
    assert re.search(r"For \d+ of\s+20\s+conversations more than before, for \d+ fewer, for \d+ as many", page)
    card = re.search(r"<article.*?</article>", page, re.DOTALL)[0]
    assert card.count('<p class="encoder">') == 2
    assert '<p class="one"><b>user</b> question' in card
    assert '<p class="other"><b>agent</b> yes</p>' in card


def test_without_labels_the_page_says_so_and_shows_nothing_that_needs_them(report):
    page = render_report(changed(make_report([]), scores=None))
    assert "without labels it cannot say whether that is better" in headline(page)
    assert "There are no figures on test: no labels to score" in page
    shown = set(Outline(page).ids)
    assert not shown & {"similarity", "confusion", "examples", "map-data"}
    assert "The loss goes from 2.310 at step 5 to 1.020 at step 15." in page


def test_dialogues_without_labels_have_maps_by_group_and_examples_of_what_changed(report):
    page = render_report(changed(report, labels=[], scores=None))
    assert section_order(page) == ["map", "examples", "figures", "choice", "notes", "settings", "training"]
    assert page.count('<svg class="map"') == 2
    assert "coloured by group" in page
    assert "No labels say which neighbours are right" in page
    assert page.count("<article") > 0
    assert "same label" not in page
    Outline(page)


def test_page_needs_no_network_and_is_well_formed(report):
    page = render_report(report)
    outline = Outline(page)
    assert all(address.startswith("#") for address in outline.addresses)
    assert "link" not in outline.tags
    assert not re.search(r"@import|url\((?!#)|fetch\(|XMLHttp|import\(", page)


def test_ids_are_unique_and_every_reference_has_its_target(report):
    page = render_report(report)
    ids = Outline(page).ids
    assert len(ids) == len(set(ids))
    wanted = set(re.findall(r'(?:href="#|url\(#|aria-labelledby=")([^")]+)', page))
    assert wanted <= set(ids)


def test_every_plot_has_a_text_alternative_and_the_colour_of_the_page(report):
    page = render_report(report)
    images = [attributes for _, attributes in Outline(page).attributes if attributes.get("role") == "img"]
    # Curves, path, two histograms; the maps are for the keyboard, the names and marks are those of the legend.
    hidden = page.count('aria-hidden="true"') - page.count('class="mark"') - page.count('class="name"')
    assert len([one for one in images if one.get("class") != "split"]) == hidden == 4
    assert all(attributes["aria-label"] for attributes in images)
    assert INK not in page
    assert "currentColor" in page


def test_texts_from_outside_are_escaped():
    hostile = "</script><script>alert(1)</script>"
    turns = (Turn(hostile, hostile),)
    dialogues = [Dialogue(f"{i}{hostile}", turns, (f"{hostile}{i % 3}",)) for i in range(12)]
    candidate = CANDIDATES[1] | {"name": hostile, "verdict": hostile}
    selection = SELECTION | {"sentence": hostile, "candidates": [CANDIDATES[0], candidate]}
    page = render_report(
        make_report(dialogues, corpus=hostile, notes=[hostile], settings={hostile: hostile}, selection=selection)
    )
    # The data of the map and the program of the map.
    assert page.count("<script") == Outline(page).tags.count("script") == page.count("</script") == 2


def test_same_report_gives_the_same_page(report):
    assert render_report(report) == render_report(report)


def test_a_student_has_its_column_its_sentence_and_its_candidates(report):
    vectors = np.random.default_rng(1).normal(size=(20, 8)).astype(np.float32)
    candidates = [candidate | {"agreement": 0.97} for candidate in CANDIDATES]
    for candidate in candidates:
        del candidate["adjusted_alignment"], candidate["uniformity"]
    distillation = {"sentence": "The student of 2 epochs was kept.", "chosen": "step 5", "candidates": candidates}
    student = measured(FIGURES | {"map": 48.75}, vectors, report.labels)
    encoders = report.encoders | {"student": student}
    page = render_report(dataclasses.replace(report, encoders=encoders, distillation=distillation))
    Outline(page)
    row = " ".join(re.search(r'<th scope="row">Average precision.*?</tr>', page, re.DOTALL)[0].split())
    ending = '<td class="number">48.75 <small></small></td> <td class="number worse">−1.25 <small></small></td> </tr>'
    assert row.endswith(ending)
    assert f"<p>{distillation['sentence']}</p>" in page
    assert "<summary>2 candidates of the student</summary>" in page
    assert '<th scope="col" class="number">agreement</th>' in page
    assert page.count("0.970") == 2
    assert re.findall(r"<summary>(\w+): [\d.]+ % on the diagonal", page) == ["Trained", "Student", "Start"]
    assert "<h3>Student <small>overlap" in page
    # The maps and the examples compare start and trained only.
    assert "Student finds" not in page


def test_a_run_that_kept_no_student_says_why_and_has_no_column(report):
    distillation = {
        "sentence": "No student was kept: it is below the base encoder.",
        "chosen": "start",
        "candidates": [],
    }
    page = render_report(dataclasses.replace(report, distillation=distillation))
    assert distillation["sentence"] in page
    assert ">Student</th>" not in page
    assert "candidates of the student" not in page


def test_run_without_a_logged_step_says_so_and_has_no_empty_plot(report):
    page = render_report(dataclasses.replace(report, history=[]))
    assert "No loss was recorded" in page
    assert "Line plots" not in page


def test_the_choice_has_its_sentence_and_the_row_of_the_chosen_is_marked(report):
    page = render_report(report)
    assert f"<p>{SELECTION['sentence']}</p>" in page
    assert re.search(r'<tr class="chosen">\s*<th scope="row">step 5</th>', page)
    assert "were not used for the choice" in " ".join(page.split())


def test_a_run_without_a_selection_says_that_nothing_was_chosen(report):
    page = render_report(dataclasses.replace(report, selection=None))
    assert "Nothing was chosen" in page
    assert page.count('<p class="headline">') == 1


def test_candidates_without_alignment_are_told_in_a_sentence_and_not_drawn(report):
    unlabelled = [candidate | {"adjusted_alignment": None} for candidate in CANDIDATES]
    page = render_report(dataclasses.replace(report, selection=SELECTION | {"candidates": unlabelled}))
    assert "Adjusted alignment needs labels" in page
    assert "Adjusted alignment over uniformity" not in page


def test_a_long_dialogue_is_cut_in_the_examples_with_a_note(dialogue):
    lines = [f"user: turn {i}." for i in range(14)]
    page = render_report(make_report([dialogue(str(i), *lines, labels=(f"topic {i % 4}",)) for i in range(20)]))
    assert "<b>user</b> turn 11." in page
    assert "turn 12." not in page
    assert "2 more turns not shown." in page


def test_a_test_split_where_all_vectors_coincide_still_has_a_page(report):
    page = render_report(changed(report, vectors=np.ones((20, 8), np.float32)))
    assert "overlap 100.00 %" in page
