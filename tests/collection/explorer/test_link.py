"""The address of a view, in headless Chromium."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from browser import Page, browser

pytestmark = pytest.mark.services("chromium")
GROUPS = [[{"id": 4}, {"id": 2}], [{"id": 9}], [{"id": 0}, {"id": 1}]]
START = {
    **{"panel": "topics", "topic": None, "query": None, "filters": {}, "span": None, "colour": None},
    **{"map": 0, "view": None, "open": None},
}


@pytest.fixture(scope="module")
def page() -> Page:
    script = files("dial2vec.collection.explorer.page").joinpath("link.js").read_text(encoding="utf-8")
    with browser() as page:
        page.value(f"void globalThis.eval({json.dumps(script + ';Object.assign(globalThis, { linkOf, stateOf });')})")
        yield page


def link_of(page: Page, state: dict) -> str:
    return page.value(f"linkOf({json.dumps(state)}, {json.dumps(GROUPS)})")


def state_of(page: Page, link: str) -> dict:
    return page.value(f"stateOf({json.dumps(link)}, {json.dumps(GROUPS)})")


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"panel": "filters", "map": 1, "colour": "", "view": [1.5, -2, 40]},
        {"topic": [0, 1]},
        {"query": {"text": "100 % & more = #1", "way": "exact", "like": None, "unlike": ["a,b", "c&d"]}},
        {"query": {"text": "", "way": "auto", "like": "call 7", "unlike": []}},
        {"filters": {"channel": ["phone", "chat"], "f.a&b": ["=", ""]}, "span": ["2026-01-02", "2026-03-04"]},
        {"filters": {"constructor": ["a"], "toString": ["b"]}},
        {"open": ["dialogue/ü", 3]},
        {"open": ["d1", -1]},
    ],
)
def test_a_state_survives_its_address(page, change):
    state = START | change
    assert state_of(page, link_of(page, state)) == state


def test_what_the_page_shows_at_first_has_no_address(page):
    assert link_of(page, START) == ""


def test_a_topic_is_named_by_its_id_which_outlasts_its_place(page):
    link = link_of(page, START | {"topic": [0, 1]})
    assert link == "topic=0.2"
    assert page.value("stateOf('topic=0.2', [[{id: 2}], [], []]).topic") == [0, 0]


def test_a_key_of_any_name_can_be_filtered(page):
    assert page.value("stateOf('f.__proto__=x', null).filters['__proto__']") == ["x"]
    assert page.value("linkOf(stateOf('f.__proto__=x', null), null)") == "f.__proto__=x"


@pytest.mark.parametrize(
    "link",
    [
        "panel=nowhere&topic=7.x&topic=0.77&span=1/2&map=9&view=a,b,c&way=moments",
        "topic=__proto__.0&span=&view=1,2&turn=5&&=&%%%",
    ],
)
def test_what_an_address_says_wrongly_is_left_out(page, link):
    assert state_of(page, link) == START
