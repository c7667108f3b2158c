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
NAMES = """[...document.querySelectorAll('#topics .line button > span:first-child')]
    .filter((one) => one.checkVisibility()).map((one) => one.textContent)"""
SHARES = "[...document.querySelectorAll('#topics .row .share')].map((one) => one.textContent)"
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
    assert page.value(f"{topic(1)}.more.textContent").startswith("“hello”Words: ")
    page.click(button)
    page.until(f"{STATE} === 'null'")
    assert page.value(marks) == ["false", "false"]
    assert page.value(f"{topic(1)}.more.hidden")


def test_keys_reach_and_choose_topics(page):
    page.value("document.querySelector('#topics .area .line button').focus()")
    page.key("Tab")
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
    assert page.value(SHARES)[:4] == ["67%", "67%", "0%", "33%"]
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
    assert text in (EVIL, "hello")


# A table of made-up groups: `counts` of areas and topics, and what differs from the first view.
MADE = """window.made = (() => {
  const none = { trend: [], change: null, numbers: {} };
  const made = (name, size, more) => ({ id: size, name, size, terms: [name], ...none, ...more });
  const quote = { row: 0, turn: 0, speaker: "a", text: "b" };
  const about = { fine: [], stands_out: [], quote, quotes: [quote] };
  const topic = (name, size, area, more) => made(name, size, { area, ...about, ...more });
  const grew = { kind: "more", before: 0.02, after: 0.125 }, less = { kind: "less", before: 0.1, after: 0.06 };
  const topics = [...Array.from({ length: 11 }, (_, at) => topic(`topic ${at}`, 60 - at, 0, { numbers: { csat: at } })),
    topic("grown", 20, 1, { change: grew }), topic("less", 19, 1, { change: less }), topic("same", 10, 1),
    topic("names", 90, 2, { unclear: true, numbers: { csat: -3 } })];
  const areas = [made("wide", 605, { topics: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10] }),
    made("narrow", 49, { topics: [11, 12, 13] }), made("names", 90, { topics: [14], unclear: true })];
  const news = { periods: ["2026-01-05", "2026-01-12"], totals: [], since: null, first_late: null };
  const colourings = [{ title: "topic", names: ["topic 1"], colours: ["#112233"] }];
  const content = { groups: [areas, topics, []], news, ids: Array(1000).fill("d"), colourings };
  const overview = new Overview(byId("topics"), content, { set() {}, preview() {} });
  const counts = [areas.map(({ size }) => size), topics.map(({ size }) => size), []];
  const passes = () => new Uint8Array(1000).fill(1);
  const show = (more) => overview.update({ counts, passes, state: { topic: null }, ...more });
  show({});
  return { overview, topics, show };
})()"""
FOLDS = "[...document.querySelectorAll('#topics .toggle')].map((one) => one.textContent)"
HITS = "counts: [[3, 0, 0], [1, 0, 2, ...Array(12).fill(0)], []], passes: () => new Uint8Array(1000).fill(1, 0, 3)"


def test_topics_that_changed_or_are_chosen_are_not_folded(page):
    page.value(MADE)
    assert page.value(NAMES) == ["wide", "narrow", "grown", "less", "names"]
    assert page.value(FOLDS) == ["▸ 11", "▸ 1"]
    page.value("made.show({ state: { topic: [1, 7] } })")
    assert "topic 7" in page.value(NAMES)
    page.value("made.show({})")
    # Who closes an area folds what has grown, too, and is told so.
    page.value("document.querySelectorAll('#topics .toggle')[1].click()")
    assert page.value(NAMES) == ["wide", "narrow", "grown", "less", "same", "names"]
    page.value("document.querySelectorAll('#topics .toggle')[1].click()")
    assert page.value(NAMES) == ["wide", "narrow", "names"]
    assert page.value(FOLDS) == ["▸ 11", "▸ 3, 1 grew"]


def test_with_a_condition_hits_are_open_and_come_first(page):
    page.value(MADE)
    page.value(f"made.show({{ {HITS} }})")
    assert page.value(NAMES) == ["wide", "topic 2", "topic 0"]
    assert page.value("document.querySelector('#topics .rest').textContent") == "4 topics without a hit ▾"
    page.click("#topics .rest")
    assert page.value(NAMES)[-2:] == ["narrow", "names"]


def test_all_bars_have_one_scale(page):
    page.value(MADE)
    widths = "[...document.querySelectorAll('#topics .bar span:first-child')].map((one) => parseFloat(one.style.width))"
    wide, first, *_ = page.value(widths)
    assert wide == 100
    assert first == pytest.approx(100 * 60 / 605, abs=0.1)


def test_the_head_sorts_by_click_and_by_key(page):
    page.value(MADE)
    change = "[...document.querySelectorAll('#topics .change')].map((one) => one.textContent).slice(-4)"
    assert page.value(change) == ["+11 pts", "−4 pts", "–", "–"]
    page.click(".heads .change")
    page.value("document.querySelectorAll('#topics .toggle')[1].click()")
    assert page.value(NAMES)[2:5] == ["grown", "same", "less"]
    page.value("document.querySelector('.heads .change').focus()")
    page.key("Enter")
    assert page.value(NAMES)[2:5] == ["less", "same", "grown"]
    assert page.value("document.activeElement.textContent") == "Change ↑"
    # What is no topic stays last.
    assert page.value(NAMES)[-1] == "names"


def test_the_last_column_may_be_a_number(page):
    page.value(MADE)
    assert page.value("[...document.querySelector('.heads select').options].map((one) => one.text)") == [
        "Weekly",
        "csat",
    ]
    page.value(
        "const s = document.querySelector('.heads select'); s.value = 'csat'; s.dispatchEvent(new Event('change'))"
    )
    page.value("document.querySelector('#topics .toggle').click()")
    assert page.value(NAMES)[:3] == ["wide", "topic 10", "topic 9"]
    page.click(".heads .number")
    first = "[...document.querySelectorAll('#topics .figure')].map((one) => one.textContent).slice(1, 3)"
    assert page.value(NAMES)[:3] == ["wide", "topic 0", "topic 1"]
    assert page.value(first) == ["0", "1"]


def test_the_treemap_shows_shares_and_chooses(page):
    page.click(".first button:last-child")
    areas = """[...document.querySelectorAll('#treemap li:not([hidden])')].map((one) =>
        [one.textContent, one.offsetWidth * one.offsetHeight])"""
    shown = dict(page.value(areas))
    assert len(shown) == 4
    cards, loans, fraud = (
        next(size for name, size in shown.items() if name.startswith(own)) for own in ("cards", "loans", "fraud")
    )
    assert cards / loans == pytest.approx(98 / 28, rel=0.05)
    assert fraud < loans
    assert page.value("[...document.querySelectorAll('#treemap button')].every((one) => one.ariaLabel.includes('%'))")
    page.click("#treemap li:nth-child(4) button")
    page.until(f"{STATE} === '[1,1]'")
    assert (
        page.value("document.querySelector('#treemap li:nth-child(4) button').getAttribute('aria-pressed')") == "true"
    )


def test_all_topics_are_printed_and_no_controls(page):
    page.value(MADE)
    page.ask("Emulation.setEmulatedMedia", media="print")
    assert len(page.value(NAMES)) == 17
    controls = "[...document.querySelectorAll('#search, .acts, .tabs, .toggle, #canvas')]"
    assert page.value(f"{controls}.some((one) => one.checkVisibility())") is False
    assert page.value("byId('treemap').checkVisibility()")
    page.look((700, 900))
    page.until("innerWidth === 700")
    assert page.value("byId('treemap').getBoundingClientRect().right") <= 700
    page.ask("Emulation.setEmulatedMedia", media="")


def test_four_times_enlarged_the_page_shows_topics(page):
    page.look((320, 200))
    page.until("innerWidth === 320")
    page.value("document.querySelector('#topics .alone .row').scrollIntoView()")
    x, y = page.middle("#topics .alone .row")
    assert page.value(f"Boolean(document.elementFromPoint({x}, {y}).closest('.alone'))")
    chrome = page.value("document.querySelector('.tabs').offsetHeight")
    assert chrome <= 40


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
