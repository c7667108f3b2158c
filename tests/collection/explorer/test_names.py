"""Names on the map in headless Chromium: a page with nothing but 3,000 points, their names and the map's buttons."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from importlib.resources import files

import numpy as np
import pytest

from browser import PHONE, Page

pytestmark = pytest.mark.services("chromium")
SCRIPTS = ("list", "picture", "points", "names", "gestures", "overview")
STAGE = """<style>:root { --page: #ffffff; --ink: #1c2024; --soft: #5a636c; --heat: #3b82f6; }
body { margin: 0; font: 1rem/1.5 sans-serif; } #stage { height: 100vh; } %s</style>
<div id="stage"><canvas id="canvas"></canvas><svg id="outline"><path id="lasso-path"/></svg>
<div id="names"><div><svg><path d=""/></svg></div></div>
<div class="controls"><button>Lasso</button><button>+</button><button>All</button></div></div>
%s<script>
const places = new Float32Array(%s), names = %s;
const points = new Points(byId("canvas"), [places], () => shownNames?.place());
let shownNames = null;
shownNames = new MapNames(byId("names"), points, [names], async (rows) => rows.map((row) => `Turn of ${row}`));
const clicked = [];
const gestures = new Gestures(byId("canvas"), points, {
  hover: () => 0, open: (row) => clicked.push(row), name: (level, id) => clicked.push([level, id]),
}, shownNames);
</script>"""
BOXES = """[...document.querySelectorAll('#names span')].filter((one) => getComputedStyle(one).visibility === 'visible')
  .map((one) => { const b = one.getBoundingClientRect(); return [one.innerText, b.left, b.top, b.right, b.bottom]; })"""
CLOSE = 3


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> str:
    """Sixty clouds in 6 areas, each cloud with 3 fine topics, with long and short names."""
    random = np.random.default_rng(5)
    middles = random.uniform(-100, 100, size=(60, 2))
    places = (middles[np.arange(3_000) % 60] + random.normal(scale=4, size=(3_000, 2))).astype(np.float32)
    names = []
    for level, count in enumerate((6, 60, 180)):
        for id in range(count):
            x, y = middles[id % 60] + level * random.normal(size=2)
            text = ("refund, order", "a long name, of many words, which two lines do not hold")[id % 2]
            names.append({"text": f"{text} {id}", "level": level, "id": id, "x": x, "y": y, "size": 3_000 // count})
    page = files("dial2vec.collection.explorer.page")
    style = page.joinpath("map.css").read_text(encoding="utf-8")
    scripts = [page.joinpath(f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS]
    joined = "".join(f"<script>{script}</script>" for script in scripts)
    file = tmp_path_factory.mktemp("names") / "map.html"
    text = STAGE % (style, joined, places.ravel().tolist(), json.dumps(names))
    file.write_text(
        f"<!doctype html><meta charset=utf-8><meta name=viewport content=width=device-width>{text}", encoding="utf-8"
    )
    return file.as_uri()


@pytest.fixture
def page(chromium: Page, address: str) -> Iterator[Page]:
    chromium.complaints.clear()
    chromium.look()
    chromium.open(address)
    chromium.until("shownNames && points.width > 100 && shownNames.placed.length")
    yield chromium
    assert chromium.complaints == []


def boxes(page: Page) -> dict[str, list[float]]:
    """Return the visible names and their boxes after the next picture."""
    page.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))")
    return {text: box for text, *box in page.value(BOXES)}


def overlapping(found: dict[str, list[float]]) -> list[tuple[str, str]]:
    """Return the names that lie over each other."""
    pairs = itertools.combinations(found.items(), 2)
    return [
        (one, other) for (one, a), (other, b) in pairs if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
    ]


# How many fit depends on the machine's font. The phone shows the areas alone.
@pytest.mark.parametrize(("size", "least"), [((1440, 900), 9), (PHONE, 5)])
def test_names_never_lie_over_each_other(page, size, least):
    page.look(size, phone=size == PHONE)
    page.until(f"points.width === {size[0]} && shownNames.zoom === points.zoom")
    middle = page.value("points.onPage(0)")
    counts = []
    for step in range(24):
        found = boxes(page)
        counts.append(len(found))
        assert overlapping(found) == [], f"step {step}"
        outside = {t: b for t, b in found.items() if b[0] < 0 or b[1] < 0 or b[2] > size[0] or b[3] > size[1]}
        assert outside == {}, f"step {step}"
        buttons = page.value(
            "(b => [b.left, b.top, b.right, b.bottom])(document.querySelector('.controls').getBoundingClientRect())"
        )
        assert all(b[2] <= buttons[0] or b[3] <= buttons[1] for b in found.values())
        page.value(f"points.zoomBy(1.25, {middle[0]}, {middle[1]})" if step % 3 else "points.pan(90, 40)")
    assert counts[0] >= least


def test_moving_the_map_keeps_the_names_that_stay_in_view(page):
    page.value("points.zoomBy(4, ...points.onPage(0))")
    # When the map rests after a zoom, names look for better spots.
    page.until("!points.moving && !shownNames.loose")
    before = boxes(page)
    for _ in range(10):
        page.value("points.pan(7, 3)")
        after = boxes(page)
    stays = {text for text, box in before.items() if box[2] + 70 < 1280 and box[3] + 30 < 800}
    for text in stays & set(after):
        assert after[text][0] - before[text][0] == pytest.approx(70, abs=1.5)
    touching = {text for text in stays if before[text][0] < 300 and before[text][1] < 150}
    assert stays - touching <= set(after)
    page.value("points.pan(900, 0)")
    assert overlapping(boxes(page)) == []


def test_a_name_is_chosen_by_a_click_and_a_point_by_another(page):
    text, box = next((text, box) for text, box in boxes(page).items() if text.endswith("%"))
    middle = ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2)
    page.mouse("mouseMoved", *middle)
    assert page.value("document.getElementById('canvas').classList.contains('naming')")
    page.click(middle)
    [(level, id)] = page.value("clicked")
    assert level == 0
    assert text.replace("\n", " ").startswith(
        page.value(f"names.find((n) => n.level === 0 && n.id === {id}).text")[:13]
    )
    page.mouse("mouseMoved", 2, 798)
    assert not page.value("document.getElementById('canvas').classList.contains('naming')")


def test_a_chosen_group_is_named_at_every_zoom(page):
    for zoom in (1, 2, 8):
        page.value(f"points.showAll(); points.zoomBy({zoom}, ...points.onPage(59)); shownNames.select([1, 59])")
        found = boxes(page)
        assert any(text.replace("\n", " ").startswith("a long name, of many words") for text in found)
        assert page.value("document.querySelector('#names .selected').style.visibility") == "inherit"
        assert overlapping(found) == []
    page.value("shownNames.select(null)")
    assert page.value("document.querySelector('#names .selected')") is None


def test_few_points_in_view_say_what_they_are_about(page):
    page.value("points.zoomBy(60, ...points.onPage(100)); points.follow(100)")
    page.until("[...document.querySelectorAll('#names .quote')].some((one) => one.style.visibility === 'inherit')")
    found = boxes(page)
    assert overlapping(found) == []
    text, box = next((text, box) for text, box in found.items() if text.startswith("Turn of"))
    page.click(((box[0] + box[2]) / 2, (box[1] + box[3]) / 2))
    assert page.value("clicked") == [int(text.split()[-1])]
    page.value("points.showAll()")
    page.until("!document.querySelector('#names .quote')")


def test_the_larger_group_is_named_and_the_smaller_one_moves_aside_or_waits(page):
    names = [
        {"level": 1, "x": 100, "y": 100, "width": 80, "height": 20, "text": text}
        for text in ("large", "small", "least")
    ]
    names += [{**names[0], "text": "far", "x": 300}, {**names[0], "text": "fine", "level": 2, "x": 200, "y": 200}]
    walls = [[0, 0, 400, 80], [0, 120, 400, 300], [160, 0, 200, 300]]
    found = """placedNames(%s, {width: 400, height: 300, zoom: %s, blocked: %s, hidden: () => 0})
        .map(({name, box}) => [name.text, ...box])"""
    placed = page.value(found % (json.dumps(names), 1, json.dumps(walls)))
    assert placed[0] == ["large", 60, 90, 140, 110]
    assert [text for text, *_ in placed] == ["large", "far"]
    free = page.value(found % (json.dumps(names), CLOSE, "[]"))
    assert [text for text, *_ in free] == ["large", "small", "least", "far", "fine"]
    assert page.value(found % (json.dumps(names[:1]), 1, "[[0, 0, 400, 300]]")) == []


def test_a_name_has_two_lines_at_most_and_its_box_is_as_wide_as_they_are(page):
    sizes = page.value("shownNames.all.filter((one) => one.level === 1).map(({ width, height }) => [width, height])")
    assert max(height for _, height in sizes) <= 2 * 1.25 * 13 + 2
    # The longest name is cut at 12 rem, and its lines are about as long as each other.
    assert {height > 20 for _, height in sizes} == {False, True}
    assert max(width for width, _ in sizes) <= 12 * 16
