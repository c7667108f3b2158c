"""Axe finds nothing on any page, and the Tab key reaches everything, with the focus in sight."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from accessibility import axe_findings, keyboard_findings, overhang, sideways
from browser import DESKTOP, PHONE, Page
from conversations.dialogue import Origin, Quarantined
from dial2vec.cli import main
from dial2vec.collection.clustering.clustering import cluster
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.explanation.explanation import explain
from dial2vec.collection.explanation.explanation_page import render_explanation
from dial2vec.evaluation.report.report import render_report
from explorer_page import PHONE_STATES, STATES, open_explorer, show
from tests.collection.explorer.conftest import dialogues_of
from tests.collection.explorer.conftest import encoder as encoder
from tests.collection.explorer.conftest import grow as grow
from tests.collection.explorer.test_browser import addresses as addresses
from tests.conftest import make_dialogue
from tests.data.validation.test_validation_page import good
from tests.data.validation.test_validation_page import page as validation_page
from tests.evaluation.report.test_report import make_report

pytestmark = pytest.mark.services("chromium")
SCREENS = {"desktop": (DESKTOP, False), "phone": (PHONE, True)}
QUESTION = "w21 w22"


@pytest.fixture(scope="module")
def collection(grow, tmp_path_factory):
    """Sixty dialogues in groups."""
    grown = grow(tmp_path_factory.mktemp("accessibility") / "calls", dialogues_of(range(60)))
    cluster(CollectionFolder(grown.folder), k=2)
    return CollectionFolder(grown.folder)


def report() -> str:
    numbers = [(n, f"topic {n % 4}") for n in range(40)]
    dialogues = [make_dialogue(f"call {n}", f"user: {name}, w{n}", "agent: yes", labels=(name,)) for n, name in numbers]
    return render_report(make_report(dialogues))


def validation() -> str:
    bad = [Quarantined(Origin("calls.jsonl", n), f"d{n}", "every turn is blank") for n in range(3)]
    return validation_page(good(3), quarantine=bad, earlier=True)


def explanation(encoder) -> str:
    dialogue = make_dialogue("long", *[f"{'ab'[t % 2]}: w{t % 40} w{3 * t % 40}" for t in range(12)])
    return render_explanation(explain(encoder, dialogue), model="tiny")


@pytest.fixture(scope="module")
def files(collection, encoder, tmp_path_factory) -> dict[str, str]:
    """Addresses of the pages that are files."""
    folder = tmp_path_factory.mktemp("pages")
    done = CliRunner().invoke(main, ["report", str(collection.folder), "--output", str(folder / "summary.html")])
    assert done.exit_code == 0, done.output
    pages = {"report": report(), "validation": validation(), "explanation": explanation(encoder)}
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {path.stem: path.as_uri() for path in folder.iterdir()}


def findings(page: Page, size: tuple[int, int], *, phone: bool) -> list[str]:
    """Return what is found on the page in light and dark colours."""
    found = []
    for dark in (False, True):
        page.look(size, phone=phone, dark=dark)
        page.until(f"innerWidth === {size[0]}")
        found += [f"{'dark' if dark else 'light'}: {line}" for line in axe_findings(page)]
    return [*found, *sideways(page), *keyboard_findings(page)]


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("name", ["report", "validation", "explanation", "summary"])
def test_everyone_can_use_a_page_that_is_a_file(chromium, files, name, screen):
    size, phone = SCREENS[screen]
    chromium.look(size, phone=phone)
    chromium.open(files[name])
    chromium.until("document.readyState === 'complete'")
    assert findings(chromium, size, phone=phone) == []


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("place", ["served", "static"])
def test_everyone_can_use_the_explorer_in_every_state(chromium, addresses, place, screen):
    size, phone = SCREENS[screen]
    chromium.look(size, phone=phone)
    open_explorer(chromium, addresses[place])
    found = {}
    for state in STATES:
        if phone or state not in PHONE_STATES:
            show(chromium, state, question=QUESTION)
            found[state] = [*overhang(chromium), *findings(chromium, size, phone=phone)]
    assert {state: lines for state, lines in found.items() if lines} == {}
