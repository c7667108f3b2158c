"""The map of 2,500 made-up dialogues in headless Chromium: what names hide, what they say, and zoom."""

from __future__ import annotations

import base64
import io
import time
from collections.abc import Iterator

import numpy as np
import pytest
from PIL import Image

from browser import PHONE, Page
from dial2vec.collection import Collection
from dial2vec.collection.explorer.explorer_page import write_page
from dial2vec.collection.explorer.maps import maps_of
from synthetic import made_up_collection, write_map

pytestmark = pytest.mark.services("chromium")
NAMED = "explorer.view && explorer.map.names?.placed.length && !explorer.map.points.moving"
# The stage, and what of the map is drawn over the points beside their names.
BOX = "(({x, y, width, height}) => ({x, y, width, height, scale: 1}))(byId('stage').getBoundingClientRect())"


@pytest.fixture(scope="module")
def address(made_once) -> str:
    def make(folder) -> None:
        made_up_collection(folder, 2_500)
        write_map(Collection(folder))
        write_page(folder / "map.html", Collection(folder), maps_of(Collection(folder), progress=False))

    return (made_once("map", make) / "map.html").as_uri()


@pytest.fixture
def page(chromium: Page, address: str) -> Iterator[Page]:
    chromium.complaints.clear()
    chromium.look((1440, 900))
    chromium.open("about:blank")
    chromium.open(address)
    chromium.until(NAMED)
    yield chromium
    assert chromium.complaints == []


def drawn(page: Page, *, names: bool) -> np.ndarray:
    """Return the pixels of the map, int [height, width, 3], with or without the names."""
    page.value(f"void (byId('names').style.opacity = {int(names)})")
    time.sleep(0.3)
    found = page.ask("Page.captureScreenshot", format="png", clip=page.value(BOX))
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(found["data"]))).convert("RGB")).astype(int)


def hidden_share(page: Page) -> float:
    """Return the share of the coloured pixels that look otherwise when the names are shown."""
    with_names, without = drawn(page, names=True), drawn(page, names=False)
    coloured = np.ptp(without, axis=2) > 24
    assert coloured.mean() > 0.01
    return float((coloured & (np.abs(with_names - without).max(axis=2) > 16)).sum() / coloured.sum())


def visible(page: Page) -> int:
    return page.value("explorer.map.names.all.filter((name) => name.visible).length")


@pytest.mark.parametrize(("size", "least"), [((1440, 900), 30), ((1024, 768), 20), (PHONE, 6)])
def test_names_hide_less_than_a_twentieth_of_the_points(page, size, least):
    if size == PHONE:
        page.look(PHONE, phone=True)
        page.click("#tab-map")
    else:
        page.look(size)
    page.until(f"{NAMED} && explorer.map.points.width <= {size[0]}")
    assert hidden_share(page) < 0.05
    # Not by leaving names out.
    assert visible(page) >= least


def test_names_that_do_not_keep_away_from_points_hide_many(page):
    page.value(
        """void (() => {
          explorer.map.points.cells.count = () => 0;
          explorer.map.names.zoom = null;
          explorer.map.names.place();
        })()"""
    )
    assert hidden_share(page) > 0.15


def test_a_chosen_topic_keeps_its_name_when_the_groups_are_loaded_again(page):
    page.value("void explorer.set({ topic: [1, 59] })")
    chosen = "document.querySelector('#names .selected')?.innerText"
    before = page.value(chosen)
    assert before
    assert page.value(f"explorer.reload().then(() => {chosen})") == before


def test_names_say_the_shares_of_the_table_and_fade_with_their_points(page):
    shares = "[...document.querySelectorAll('#names .level-0 small')].map((one) => one.textContent)"
    names = "[...document.querySelectorAll('#names .level-0')].map((one) => one.classList.contains('faded'))"
    page.value("void explorer.set({ topic: [0, 1] })")
    assert page.value(names) == [place != 1 for place in range(6)]
    page.value("void explorer.set({ topic: null }), void explorer.select([0, 6, 12, 1])")
    table = page.value("explorer.content.groups[0].map((_, at) => percent(explorer.view.counts[0][at] / 4))")
    assert page.value(shares) == table
    assert "100%" not in table
    assert page.value(names) == [share == "0%" for share in table]


def test_many_areas_are_named_like_topics(page):
    # A topic of each area but one is hidden: then each topic is an area.
    page.value(
        """void (() => {
          explorer.content.maps[0].names.forEach((name) => Object.assign(name, { level: 0, id: 0 }));
          explorer.map.take(explorer.content);
        })()"""
    )
    assert page.value("document.querySelectorAll('#names span.level-0').length") == 0
    assert page.value("document.querySelectorAll('#names span.level-1').length") > 100


def test_the_map_comes_no_closer_than_some_points_and_says_where_it_is(page):
    middle = "...explorer.map.points.onPage(0)"
    assert page.value("byId('where').hidden")
    for _ in range(30):
        page.value(f"explorer.map.points.zoomBy(1.6, {middle})")
    left, zoom = page.value("[explorer.map.points.inView(60).length, explorer.map.points.zoom]")
    assert 0 < left <= 30
    assert zoom < 400
    area = page.value("explorer.content.groups[0][explorer.content.members[0][0]].name")
    page.until(f"byId('where').innerText.startsWith({area!r})")
    page.value("void explorer.set({ topic: [1, explorer.content.members[1][1]] })")
    page.until("byId('where').innerText.startsWith('Nothing here')")
    page.click("#where button")
    page.until("explorer.map.points.zoom === 1 && byId('where').hidden")


def test_areas_need_no_legend_and_of_a_ramp_the_ends_are_named(page):
    assert page.value("byId('legend').hidden")
    page.value("void explorer.set({ colour: 'time' })")
    assert page.value("byId('legend').offsetHeight") == 36
    assert page.value("byId('legend').querySelectorAll('button').length") == 0
    assert page.value("byId('names').classList.contains('plain')")
