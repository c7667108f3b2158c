"""The table of topics in headless Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from browser import PHONE, Page
from dial2vec.collection.clustering.clusters import read_stored, write_clusters
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.explorer.explorer_page import write_page
from dial2vec.collection.explorer.maps import CollectionMap, Maps
from dial2vec.data.terms import Term
from tests.collection.changes.conftest import call
from tests.collection.changes.conftest import make as make

from .conftest import EVIL

pytestmark = pytest.mark.services("chromium")
STATE = "JSON.stringify(explorer.state.topic)"
NAMES = "[...document.querySelectorAll('#topics .line button > span:first-child')].map((one) => one.textContent)"
SHARES = "[...document.querySelectorAll('#topics .share')].map((one) => one.textContent)"
# The area "money" has cards and loans, fraud is an area of its own. In February loans grew from 10 of 100 to 18 of 40.
OLD, LATE = {"date": "2026-01-10"}, {"date": "2026-02-10"}
CALLS = [
    *call(0, 80, **OLD, metadata={"channel": "phone"}),
    *call(1, 10, **OLD, metadata={"channel": "chat"}),
    *call(2, 10, **OLD, metadata={"channel": "chat"}),
    *call(0, 18, **LATE, metadata={"channel": "phone"}, text=EVIL),
    *call(1, 18, **LATE, metadata={"channel": "chat"}),
    *call(2, 4, **LATE, metadata={"channel": "chat"}),
]


def opened(chromium: Page, collection: CollectionFolder, **look) -> Page:
    points = np.random.default_rng(1).normal(size=(len(collection), 2)).astype(np.float32)
    path = collection.folder / "page.html"
    write_page(path, collection, Maps(CollectionMap(points, np.arange(len(collection)))))
    chromium.look(**look)
    chromium.complaints.clear()
    chromium.open(path.as_uri())
    chromium.until("Boolean(explorer?.view)")
    return chromium


@pytest.fixture
def page(chromium, make) -> Iterator[Page]:
    """The page of the calls; its first topic has markup as its name and in its turns."""
    collection = make(CALLS, k=3)
    stored = read_stored(collection)
    assert stored is not None
    first, *others = stored.clusters.clusters
    clusters = (replace(first, name=f"cards {EVIL}", terms=(Term("img", 1.0, 0.5),)), *others)
    write_clusters(collection, replace(stored.clusters, clusters=clusters), stored.state)
    yield opened(chromium, CollectionFolder(collection.folder))
    assert chromium.complaints == []
    assert chromium.value("document.images.length") == 0


def topic(at: int) -> str:
    return f"explorer.parts.find((part) => part instanceof Overview).rows[1][{at}]"


def test_areas_come_by_size_with_their_topics_and_shares(page):
    assert page.value(NAMES) == ["money", f"cards {EVIL}", "loans", "fraud"]
    assert page.value(SHARES) == ["90%", "70%", "20%", "10%"]
    assert page.value("document.querySelectorAll('#topics .trend').length") == 4


def test_a_chosen_topic_unfolds_and_a_second_click_takes_it_back(page):
    button = "#topics .topic:nth-child(2) .line button"
    marks = (
        f"""['aria-pressed', 'aria-expanded'].map((name) => document.querySelector('{button}').getAttribute(name))"""
    )
    assert page.value(marks) == ["false", "false"]
    page.click(button)
    page.until(f"{STATE} === '[1,1]'")
    assert page.value(marks) == ["true", "true"]
    assert page.value(f"{topic(1)}.more.textContent").startswith("Words: ")
    page.click(button)
    page.until(f"{STATE} === 'null'")
    assert page.value(marks) == ["false", "false"]
    assert page.value(f"{topic(1)}.more.hidden")


def test_keys_reach_and_choose_topics(page):
    page.value("document.querySelector('#topics .area .line button').focus()")
    page.key("Tab")
    assert page.value("document.activeElement.textContent").startswith("cards ")
    assert page.value("JSON.stringify(explorer.map.group)") == "[1,0]"
    page.key("Enter")
    page.until(f"{STATE} === '[1,0]'")


def test_the_pointer_over_a_topic_shows_it_on_the_map(page):
    page.mouse("mouseMoved", *page.middle("#topics .alone .row"))
    page.until("JSON.stringify(explorer.map.group) === '[1,2]'")
    page.mouse("mouseMoved", 1000, 400)
    page.until("explorer.map.group === null")


def test_counts_follow_the_other_conditions_and_mark_the_usual_share(page):
    page.value("void explorer.set({ filters: { channel: ['chat'] }, topic: [1, 2] })")
    page.until(f"{SHARES}[0] === '67%'")
    assert page.value(SHARES)[:4] == ["67%", "0%", "67%", "33%"]
    assert page.value(f"{topic(0)}.item.classList.contains('none')")
    assert page.value(f"{topic(1)}.usual.hidden") is False
    page.value("void explorer.clear()")
    page.until(f"{SHARES}[0] === '90%'")
    assert page.value(f"{topic(1)}.usual.hidden")


def test_a_typical_dialogue_opens_at_the_turn_that_speaks_for_the_topic(page):
    page.click("#topics .topic .line button")
    page.until(f"{STATE} === '[1,0]'")
    text = page.value("document.querySelector('.typical button span').textContent")
    page.click(".typical button")
    page.until("!document.getElementById('reader').hidden")
    name, turn = page.value("explorer.state.open")
    assert name == page.value("document.querySelector('.typical small').textContent")
    assert page.value("explorer.content.groups[1][0].quotes[0].turn") == turn
    assert text in (f"ann: {EVIL}", "ann: hello")


def test_smaller_topics_are_folded_until_one_of_them_is_chosen(page):
    page.value(
        """window.tried = (() => {
      const one = { name: "x", described: null, summary: "", terms: [], size: 1, share: .1, trend: [] };
      const quote = { row: 0, turn: 0, speaker: "a", text: "b" };
      const more = { area: 0, fine: [], stands_out: [], quote, quotes: [quote], change: null };
      const topics = Array.from({ length: 8 }, (_, at) => ({ ...one, ...more, name: `topic ${at}` }));
      const area = { ...one, topics: topics.map((_, at) => at) };
      const news = { periods: [], totals: [], first_late: null };
      document.getElementById("topics").replaceChildren();
      const colourings = [{ title: "topic", names: ["topic 1"], colours: ["#112233"] }];
      const content = { groups: [[area], topics, []], news, ids: ["d"], colourings };
      const overview = new Overview(byId("topics"), content, { set() {}, preview() {} });
      const view = { counts: [[8], topics.map(() => 1), []], passes: () => [1], state: { topic: null } };
      overview.update(view);
      const shown = () => [...document.querySelectorAll("#topics .topic")].filter((item) => item.offsetParent).length;
      const before = shown(), rest = document.querySelector(".rest button");
      overview.update({ ...view, state: { topic: [1, 7] } });
      return [before, rest.textContent, shown(), rest.getAttribute("aria-expanded")];
    })()"""
    )
    assert page.value("window.tried") == [4, "4 smaller topics", 8, "true"]


def test_a_page_without_clusters_names_the_command(chromium, make):
    page = opened(chromium, make(call(0, 12), k=0, name="my calls"))
    assert page.value("document.querySelector('#topics code').textContent") == "dial2vec cluster 'my calls'"
    assert page.complaints == []


@pytest.mark.parametrize("dark", [False, True])
def test_a_telephone_shows_the_table_without_scrolling_sideways(chromium, make, dark):
    page = opened(chromium, make(CALLS, k=3), size=PHONE, phone=True, dark=dark)
    page.value("void explorer.set({ topic: [1, 0] })")
    page.until(f"{topic(0)}.more.hidden === false")
    assert page.value("[document.documentElement.scrollWidth, document.getElementById('topics').scrollWidth]") == [
        390,
        390,
    ]


def test_bars_have_the_colours_of_the_map_if_it_shows_groups(page):
    bars = """[...document.querySelectorAll('#topics .bar span:first-child')].map((one) =>
      getComputedStyle(one).backgroundColor)"""
    page.value("void explorer.set({ colour: 'topic' })")
    _, *topics = page.value(bars)
    assert len({*topics}) == 3
    page.value("void explorer.set({ colour: 'area' })")
    area, cards, loans, fraud = page.value(bars)
    assert area == cards == loans != fraud
    page.value("void explorer.set({ colour: 'channel' })")
    assert len({*page.value(bars)}) == 1
