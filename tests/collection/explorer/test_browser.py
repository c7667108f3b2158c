"""The page in headless Chromium, from the server and as one file."""

from __future__ import annotations

import csv
import time
from collections.abc import Iterator

import pytest

from browser import PHONE, Page
from conversations.dialogue import read_dialogues
from dial2vec.collection.explorer.maps import maps_of

from .conftest import EVIL, served_and_static
from .test_maps import other as other

pytestmark = pytest.mark.services("chromium")
READY = "document.querySelector('.opening')?.textContent"
SAYS = "document.getElementById('says').textContent"


@pytest.fixture(scope="module")
def addresses(collection, tmp_path_factory) -> Iterator[dict[str, str]]:
    """Addresses of the page: on the server, and as a file."""
    maps = maps_of(collection)
    with served_and_static(collection, maps, tmp_path_factory.mktemp("static") / "out.html") as both:
        yield both


@pytest.fixture(params=["served", "static"])
def page(request, chromium, addresses) -> Iterator[Page]:
    """The page after opening; without complaints and without requests to other hosts."""
    chromium.look()
    chromium.complaints.clear()
    chromium.requests.clear()
    address = addresses[request.param]
    # A page that differs only after "#" would not be loaded again.
    chromium.open("about:blank")
    chromium.open(f"{address}#panel=dialogues")
    chromium.until(READY)
    yield chromium
    assert chromium.complaints == []
    here = (address, "data:", f"blob:{address}", "blob:null", "blob:file")
    assert [one for one in chromium.requests if not one.startswith(here)] == []


def shown(page: Page) -> list[str]:
    return page.value("[...document.querySelectorAll('#list .head')].map((one) => one.textContent.split(' · ').at(-1))")


def colours_drawn(page: Page) -> int:
    """Return the number of colours in the middle of the map."""
    script = """new Promise((done) => requestAnimationFrame(() => {
      const canvas = document.querySelector(".sheet"), copy = document.createElement("canvas");
      const points = explorer.map.points; points.draw();
      requestAnimationFrame(() => {
        copy.width = canvas.width; copy.height = canvas.height;
        const inside = copy.getContext("2d"); inside.drawImage(canvas, 0, 0);
        done(new Set(new Uint32Array(inside.getImageData(0, 0, copy.width, copy.height).data.buffer)).size);
      });
    }))"""
    return page.value(script)


def place_of(page: Page, row: int) -> tuple[float, float]:
    x, y = page.value(
        f"""(() => {{ const box = document.getElementById("canvas").getBoundingClientRect();
        const [x, y] = explorer.map.points.onPage({row}); return [box.left + x, box.top + y]; }})()"""
    )
    return x, y


def test_all_dialogues_are_drawn_and_listed(page):
    assert page.value(SAYS) == "40 conversations."
    assert shown(page) == [f"d{n}" for n in range(40)]
    assert colours_drawn(page) > 2


def test_exact_words_are_found_counted_and_marked(page):
    page.key("/")
    page.write('"W21  w22"')
    page.key("Enter")
    page.until(f"{SAYS} === '20 conversations of 40.'")
    assert shown(page) == [f"d{n}" for n in range(1, 40, 2)]
    page.until("document.querySelector('#list mark')?.textContent === 'w21 w22'")
    page.click("#list li:nth-child(2)")
    page.until("document.querySelector('#turns mark')?.textContent === 'w21 w22'")
    page.key("Escape")
    page.key("Escape")
    page.until(f"{SAYS} === '40 conversations.'")


def test_the_list_does_not_move_when_the_texts_come(page):
    heights = """(() => { const items = [...document.querySelectorAll('#list li')].slice(0, 5);
        const full = items.map((one) => one.offsetHeight);
        items.forEach((one) => { one.firstChild.textContent = ''; });
        return [full, items.map((one) => one.offsetHeight)]; })()"""
    page.until("document.querySelector('#list li .opening')?.textContent")
    full, empty = page.value(heights)
    assert full == empty


def test_nothing_found_is_said(page):
    page.click("#words")
    page.write('"thanks one"')
    page.key("Enter")
    page.until(f"{SAYS} === 'Nobody has said exactly “thanks one”.'")
    assert page.value("document.getElementById('exports').hidden")
    page.click("#list .nothing button")
    page.until("explorer.view.rows.length === 40", seconds=60)
    assert page.value("explorer.state.query.text") == "thanks one"


def test_what_hits_have_in_common_is_said_once(page):
    hits = "{ rows: [3, 8, 13], way: 'moments', close: true, turns: [[2], [2], [2]] }"
    page.value(f"explorer.source.search = async () => ({hits})")
    page.value("explorer.set({ query: { text: 'w3', way: 'auto', like: null, unlike: [] } })")
    page.until("document.querySelector('.same')?.textContent === '2 more that say the same'")
    assert page.value(SAYS) == "The 3 closest of 40."
    visible = "[...document.querySelectorAll('#list li:not([hidden])')].map((one) => Number(one.dataset.row))"
    assert page.value(visible) == [3]
    page.click(".same")
    assert page.value(visible) == [3, 8, 13]
    assert page.value("document.getElementById('reader').hidden")


def test_a_search_empties_the_list_until_it_is_answered(page):
    page.value("explorer.source.search = () => new Promise((done) => { window.answer = done; })")
    page.value("explorer.set({ query: { text: 'w3', way: 'auto', like: null, unlike: [] } })")
    page.until("document.querySelectorAll('#list .waiting').length === 5")
    page.click("#list .waiting")
    assert page.value("document.getElementById('reader').hidden")
    page.value("window.answer({ rows: [3], way: 'moments', close: true, turns: [[2]] })")
    page.until(f"{SAYS} === 'The 1 closest of 40.'")


def test_click_on_a_point_opens_its_dialogue_with_the_speakers_side_by_side(page):
    page.click(place_of(page, 5))
    page.until("!document.getElementById('reader').hidden")
    title = page.value("document.getElementById('reader').dataset.id")
    x, y = place_of(page, int(title[1:]))
    assert abs(x - place_of(page, 5)[0]) + abs(y - place_of(page, 5)[1]) < 1
    lefts = page.value("[...document.querySelectorAll('.turn')].map((one) => one.getBoundingClientRect().left)")
    assert lefts[0] == lefts[2] < lefts[1]
    similar = page.value(
        "[...document.querySelectorAll('#similar small')].map((one) => one.textContent.split(' · ').at(-1))"
    )
    assert len(similar) == 10
    assert title not in similar
    page.click("#similar button")
    page.until(f"document.getElementById('reader').dataset.id === '{similar[0]}'")


def test_the_reader_lists_the_metadata_as_text(page):
    facts = "[...document.querySelectorAll('#metadata > *')].map((one) => one.textContent)"
    page.click(place_of(page, 4))
    page.until("!document.getElementById('reader').hidden")
    title = page.value("document.getElementById('reader').dataset.id")
    n = int(title[1:])
    expected = [] if n % 2 else ["channel", ("phone", "chat")[n % 4 // 2], "wait", str(n), "note", f"<b>{n}</b>"]
    assert page.value(facts) == expected


def test_hovering_tells_what_is_said(page):
    page.mouse("mouseMoved", *place_of(page, 8))
    page.until("document.querySelectorAll('#tip p').length === 2")
    assert "w1 w2 w3" in page.value("document.getElementById('tip').textContent")


def test_lasso_selects_what_it_encloses(page):
    x, y = place_of(page, 11)
    page.click("#lasso")
    page.drag([(x - 12, y - 12), (x + 12, y - 12), (x + 12, y + 12), (x - 12, y + 12), (x - 12, y)])
    page.until("document.querySelector('.chip')?.textContent.includes('selected on the map')")
    assert "d11" in shown(page)
    inside = [
        row for row in range(40) if max(abs(a - b) for a, b in zip(place_of(page, row), (x, y), strict=True)) < 12
    ]
    assert shown(page) == [f"d{row}" for row in inside]
    page.click(".chip")
    assert len(shown(page)) == 40


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_selection_is_downloaded_with_nothing_lost(page, collection, tmp_path, form):
    page.downloads_to(tmp_path)
    page.value("void explorer.select([7])")
    page.until(f"{SAYS} === '1 conversation of 40.'")
    page.click("#share")
    page.click(f"#exports button[data-form={form}]")
    file = tmp_path / f"dialogues.{form}"
    deadline = time.monotonic() + 20
    # Chromium makes the file empty, and then fills it.
    while not (file.is_file() and file.stat().st_size) and time.monotonic() < deadline:
        page.value("1")
    expected = next(collection.dialogues([7]))
    if form == "jsonl":
        assert list(read_dialogues(file)) == [expected]
        return
    with file.open(newline="", encoding="utf-8") as handle:
        rows = list(csv.DictReader(handle))
    assert [(row["speaker"], row["text"]) for row in rows] == [(turn.speaker, turn.text) for turn in expected.turns]


def test_markup_in_a_dialogue_is_text(page):
    page.click("#list li:nth-child(4)")
    page.until("!document.getElementById('reader').hidden")
    assert EVIL in page.value("document.getElementById('turns').textContent")
    assert page.value("document.images.length") == 0


def test_a_click_in_the_legend_keeps_one_group(page):
    page.click("#legend button")
    page.until(f"{SAYS} === '20 conversations of 40.'")
    assert shown(page)[:2] == ["d0", "d2"]
    assert page.value("document.querySelector('#legend button').getAttribute('aria-pressed')") == "true"
    page.click("#legend button")
    page.until(f"{SAYS} === '40 conversations.'")


def test_a_link_holds_the_view_and_back_returns_to_it(page):
    page.value("void explorer.set({ open: ['d5', -1], span: ['2026-02-01', '2026-03-01'] })")
    page.until("!document.getElementById('reader').hidden")
    assert shown(page) == [f"d{n}" for n in range(40) if n % 3]
    link = page.value("location.hash")
    page.click("#conditions .chip")
    page.key("Escape")
    page.until("document.getElementById('reader').hidden")
    assert len(shown(page)) == 40
    page.value("void history.go(-2)")
    page.until("document.getElementById('reader').dataset.id === 'd5' && !document.getElementById('reader').hidden")
    assert page.value("location.hash") == link
    address = page.value("location.href")
    page.open("about:blank")
    page.open(address)
    page.until("document.getElementById('reader').dataset.id === 'd5'")
    assert shown(page) == [f"d{n}" for n in range(40) if n % 3]


def test_what_a_link_says_wrongly_is_left_out(page):
    address = page.value("location.href.split('#')[0]")
    page.open("about:blank")
    page.open(f"{address}#panel=nowhere&topic=7.x&span=1/2&open=nobody&map=9&view=a,b,c&f.channel=none&colour=pink")
    page.until("explorer !== null")
    page.until(f"{SAYS}.startsWith('0 conversations of 40')")
    page.click("#conditions .chip")
    page.until(f"{SAYS} === '40 conversations.'")


def test_the_place_of_the_map_is_in_the_link(page):
    page.wheel(*place_of(page, 9), by=-300)
    page.until("location.hash.includes('view=')")
    address, place = page.value("location.href"), place_of(page, 9)
    page.open("about:blank")
    page.open(address)
    page.until("explorer?.map.points.zoom > 1")
    assert place_of(page, 9) == pytest.approx(place, abs=1)


def test_tabs_are_one_stop_and_arrows_go_through_them(page):
    page.value("document.getElementById('tab-dialogues').focus()")
    page.key("ArrowRight")
    assert page.value("document.activeElement.id") == "tab-topics"
    assert page.value("[...document.querySelectorAll('[role=tab][tabindex=\"0\"]')].map((one) => one.id)") == [
        "tab-topics"
    ]
    assert page.value("location.hash") in ("", "#")


def test_colours_change_to_time(page):
    page.value(
        "const by = document.getElementById('colour-by'); by.value = 'time'; by.dispatchEvent(new Event('change'))"
    )
    assert page.value("document.getElementById('legend').innerText.split(/\\s+/)") == ["2026-01-01", "2026-03-01"]
    assert page.value("document.querySelectorAll('#legend .ramp i').length") == 3
    assert "colour=time" in page.value("location.hash")


def test_everything_can_be_done_by_keys(page):
    page.value("document.getElementById('list').focus()")
    page.key("ArrowDown")
    page.key("ArrowDown")
    assert page.value("document.getElementById('list').getAttribute('aria-activedescendant')") == "item-1"
    page.key("Enter")
    page.until("document.activeElement.id === 'reader'")
    page.key("Escape")
    assert page.value("document.activeElement.id") == "list"
    page.value("document.getElementById('canvas').focus()")
    page.key("ArrowRight")
    assert page.value("document.getElementById('canvas').ariaLabel.startsWith('d')")
    page.key("Enter")
    page.until("!document.getElementById('reader').hidden")


def test_what_a_screen_reader_needs_has_a_name(page):
    nameless = page.value(
        """[...document.querySelectorAll("button, input, select, canvas:not([aria-hidden]), [role]")].filter((one) =>
        one.checkVisibility() && !one.textContent.trim() && !one.ariaLabel && !one.labels?.length
        && !one.getAttribute("aria-labelledby")).map((one) => one.outerHTML)"""
    )
    assert nameless == []
    assert page.value("document.getElementById('says').getAttribute('aria-live')") == "polite"


@pytest.mark.parametrize("dark", [False, True])
def test_telephone_shows_all_without_scrolling_sideways(page, dark):
    page.look(PHONE, phone=True, dark=dark)
    page.until("innerWidth === 390")
    assert page.value("document.documentElement.scrollWidth") == 390
    page.click("#tab-map")
    page.until("explorer.map.points.width === 390")
    page.touch(*place_of(page, 5))
    page.until("!document.getElementById('reader').hidden")
    box = page.value(
        "(({left, right, bottom}) => [left, right, bottom])(document.getElementById('reader').getBoundingClientRect())"
    )
    assert box == [0, 390, 844]
    expected = "#14171a" if dark else "#ffffff"
    page.until(f"JSON.stringify(explorer.map.points.picture.page) === JSON.stringify(numbersOf('{expected}'))")


@pytest.mark.parametrize("phone", [False, True])
def test_reader_never_covers_the_dialogue_that_it_shows(page, phone):
    if phone:
        page.look(PHONE, phone=True)
        page.click("#tab-map")
        page.until("explorer.map.points.width === 390")
    for row in range(0, 40, 4):
        page.value(f"void explorer.set({{ open: ['d{row}', -1] }})")
        page.until(f"document.getElementById('reader').dataset.id === 'd{row}'")
        x, y = place_of(page, row)
        left, top = page.value(
            "(({left, top}) => [left, top])(document.getElementById('reader').getBoundingClientRect())"
        )
        assert y < top if phone else x < left
    page.value("explorer.map.points.pan(-40, -40)")
    page.key("Escape")
    middle = "[0, 1].map((axis) => (explorer.map.points.low[axis] + explorer.map.points.high[axis]) / 2)"
    page.until(f"JSON.stringify(explorer.map.points.centre) === JSON.stringify({middle})")


def test_zoom_keeps_the_point_under_the_pointer(page):
    x, y = place_of(page, 9)
    page.wheel(x, y, by=-300)
    page.until("explorer.map.points.zoom > 1.5")
    assert place_of(page, 9) == pytest.approx((x, y), abs=1.5)
    page.drag([(x, y), (x + 20, y + 10), (x + 60, y + 30)])
    assert place_of(page, 9) == pytest.approx((x + 60, y + 30), abs=2.5)
    page.click("#zoom-all")
    assert place_of(page, 9) == pytest.approx((x, y), abs=1.5)
