"""The reader: marked words on V8, and the page in headless Chromium, from the server and as one file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from browser import PHONE, Page
from dial2vec.collection import Collection
from dial2vec.collection.clustering import cluster, read_clusters
from dial2vec.collection.clustering.notes import write_note
from dial2vec.collection.explorer.maps import CollectionMap, Maps
from tests.collection.clustering.conftest import Maker
from tests.conftest import make_dialogue

from .conftest import served_and_static
from .page import Script
from .test_reading import write_segments

DOCUMENT = "const document = { createElement: (tag) => ({ tag }), createTextNode: (text) => ({ textContent: text }) };"
EVIL = "<img src=x onerror=alert(1)>"
HITS = "{ rows: [2, 0], turns: [[1, 0], [0]], way: 'themes', close: true }"
needs_chromium = pytest.mark.services("chromium")


@pytest.fixture(scope="module")
def script() -> Script:
    return Script("words", "list", "reader", before=DOCUMENT)


@pytest.fixture(scope="module")
def marks(script) -> Callable[..., list[str]]:
    """What is marked in a text, in order; terms of the group are in round brackets."""

    def found(text: str, query: str, way: str, terms: list[str] | None = None, **state: object) -> list[str]:
        nodes = script.value(
            "marked(text, soughtIn({ text: query }, way), terms)", text=text, query=query, way=way, terms=terms or []
        )
        assert "".join(node["textContent"] for node in nodes) == text
        return [
            f"({node['textContent']})" if node["tag"] == "em" else node["textContent"]
            for node in nodes
            if "tag" in node
        ]

    return found


def test_words_of_a_question_are_marked_whole_and_in_any_case(marks):
    assert marks("My CARD? A cardigan, a Card.", "is my card blocked", "themes") == ["CARD", "Card"]
    assert marks("an it is", "is it", "moments") == ["it", "is"]
    assert marks("Gehört Größe", "größe", "themes") == ["Größe"]


def test_an_exact_phrase_is_marked_inside_of_words_too(marks):
    assert marks("W21  w22x", "w21 w22", "exact") == ["W21  w22"]
    assert marks("costs 1.50 (net)", ".50 (", "exact") == [".50 ("]
    assert marks("costs 1x50", "1.50", "exact") == []
    assert marks("W21  w22x", '"w21 W22"', "exact") == ["W21  w22"]


def test_terms_of_the_group_are_marked_where_the_search_is_not(marks):
    assert marks("lost card, lost pin", "pin", "themes", ["lost card", "pin"]) == ["(lost card)", "pin"]
    assert marks("lost-card", "", "themes", ["lost card"]) == ["(lost-card)"]


def test_scripts_without_blanks_are_marked_within_a_run_of_letters(marks):
    assert marks("我的卡丢了", "卡丢", "themes") == ["卡丢"]


def test_without_words_nothing_is_marked(marks):
    assert marks("a ? b", "?!", "themes") == []
    assert marks("a b", "  ", "exact") == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Two groups of twenty; d2 has two segments, d4 a note, and all have metadata with markup."""
    maker = Maker(tmp_path_factory.mktemp("reader") / "calls", make_dialogue)
    links = {"link": "javascript:alert(1)", "url": "https://desk.example/tickets/7?a=b"}
    cluster(maker.add(*[0] * 20, *[1] * 20, channel=EVIL, wait=3, **links), k=2)
    collection = Collection(maker.folder)
    write_segments(collection, [("d0", 0, 1, "cards"), ("d2", 0, 0, "rooms"), ("d2", 1, 1, EVIL)])
    write_note(collection, "d4", f"call back {EVIL}")
    return maker.folder


@pytest.fixture(scope="module")
def addresses(folder, tmp_path_factory) -> Iterator[dict[str, str]]:
    collection = Collection(folder)
    places = np.random.default_rng(1).normal(size=(len(collection), 2)).astype(np.float32)
    maps = Maps(CollectionMap(places, np.arange(len(collection))))
    file = tmp_path_factory.mktemp("static") / "out.html"
    with served_and_static(collection, maps, file) as both:
        yield both


@pytest.fixture(params=["served", "static"])
def page(request, chromium, addresses) -> Iterator[Page]:
    yield from opened(chromium, addresses[request.param])


@pytest.fixture
def served(chromium, addresses) -> Iterator[Page]:
    yield from opened(chromium, addresses["served"])


def opened(page: Page, address: str) -> Iterator[Page]:
    page.look()
    page.complaints.clear()
    page.open("about:blank")
    page.open(f"{address}#panel=dialogues")
    page.until("document.querySelector('.opening')?.textContent")
    yield page
    assert page.complaints == []


def read(page: Page, id: str, turn: int = -1) -> None:
    page.value(f"explorer.set({{ open: ['{id}', {turn}] }})")
    page.until(f"!byId('reader').hidden && byId('reader').dataset.id === '{id}'")


def texts(page: Page, selector: str) -> list[str]:
    return page.value(f"[...document.querySelectorAll({selector!r})].map((one) => one.textContent)")


def press(page: Page, text: str, within: str = "body") -> None:
    """Press the button with this text by its keyboard click, which works wherever it is scrolled to."""
    found = f"[...document.querySelectorAll('{within} button')].find((one) => one.textContent.trim() === {text!r})"
    assert page.value(f"Boolean({found})"), f"no button {text!r}: {texts(page, f'{within} button')}"
    page.value(f"void ({found}.focus(), {found}.click())")


@needs_chromium
def test_segments_are_named_at_their_first_turn_with_a_bar_beside_them(page):
    read(page, "d2")
    assert texts(page, ".segment") == ["rooms (Turn 1)", f"{EVIL} (Turn 2)"]
    boxes = page.value(
        "[...document.querySelectorAll('.margin, #turn-0, #turn-1')].map((one) => { const { top, bottom } = "
        "one.getBoundingClientRect(); return [one.className.split(' ')[0], top, bottom]; })"
    )
    (_, *first), (_, *turn_0), (_, *second), (_, *turn_1) = boxes
    assert [first[1], second[1]] == pytest.approx([turn_0[1], turn_1[1]], abs=1)
    assert first[0] < turn_0[0]
    assert first[1] < second[0]
    # A segment that begins with an answer does not stand beside the segment before.
    assert turn_1[0] > turn_0[1]
    press(page, EVIL, "#marks")
    assert page.value("document.activeElement.id") == "turn-1"
    assert page.value("document.images.length") == 0
    read(page, "d0")
    assert texts(page, ".segment") == ["cards (Turns 1 to 2)"]
    assert page.value("byId('marks').textContent") == ""


@needs_chromium
def test_the_reader_says_why_and_goes_to_the_turn(page, folder):
    found = read_clusters(Collection(folder))
    assert found is not None
    read(page, "d1")
    name = page.value("document.querySelector('.path').textContent")
    assert name in [one.name for one in found[0].clusters]
    assert page.value("document.querySelector('.why').textContent").startswith(
        "Why it is here: topica worda in turn 2. "
    )
    assert texts(page, "#turns .term") == ["topica worda"]
    press(page, "turn 2")
    assert page.value("document.querySelector('[aria-current]').id") == "turn-1"
    assert page.value("location.hash").endswith("open=d1&turn=1")
    press(page, name, ".path")
    assert page.value("[explorer.state.topic[0], explorer.state.panel].join()") in ("0,topics", "1,topics")


@needs_chromium
def test_the_turns_that_answer_are_marked_and_the_best_is_in_sight(page):
    page.value(f"explorer.source.search = async () => ({HITS})")
    page.value("explorer.set({ query: { text: 'worda yeah', way: 'auto', like: null, unlike: [] } })")
    page.until("explorer.hits")
    read(page, "d2")
    assert texts(page, ".answers") == ["Answers the search", "Answers the search best"]
    assert texts(page, "#turns mark") == ["yeah", "worda"]
    assert page.value("document.querySelector('[aria-current]').id") == "turn-1"
    assert page.value("document.querySelector('#marks p').textContent") == "Answers the search: turn 2turn 1"
    assert page.value("document.querySelector('.steps span').textContent") == "1 of 2"
    page.value("byId('reader').focus()")
    page.key("ArrowRight")
    page.until("byId('reader').dataset.id === 'd0'")
    assert page.value("document.querySelector('[aria-current]').id") == "turn-0"
    assert page.value("document.querySelector('[aria-label^=Next]').disabled")
    page.key("ArrowLeft")
    page.until("byId('reader').dataset.id === 'd2'")
    # The turn of a link goes first.
    read(page, "d0", 1)
    assert page.value("document.querySelector('[aria-current]').id") == "turn-1"


@needs_chromium
def test_more_and_less_like_this_become_the_query(page):
    page.value("explorer.source.search = async () => ({ rows: [1], turns: null, way: 'themes', close: true })")
    read(page, "d3")
    hidden = "[...document.querySelectorAll('.tools button')].find((one) => one.textContent === 'Not like this').hidden"
    assert page.value(hidden)
    press(page, "More like this")
    expected = {"text": "", "way": "auto", "like": "d3", "unlike": []}
    assert page.value("explorer.state.query") == expected
    page.until(f"explorer.hits && !({hidden})")
    read(page, "d5")
    press(page, "Not like this")
    assert page.value("explorer.state.query") == expected | {"unlike": ["d5"]}
    assert "like=d3&unlike=d5" in page.value("location.hash")


@needs_chromium
def test_notes_and_metadata_are_shown_as_text(page):
    read(page, "d4")
    assert page.value("document.querySelector('.note blockquote').textContent") == f"call back {EVIL}"
    assert page.value("byId('facts').open") is False
    address = "https://desk.example/tickets/7?a=b"
    assert texts(page, "#metadata dd") == [EVIL, "3", "javascript:alert(1)", address]
    # Only an address of the web is a link, and the page it leads to learns nothing of this one.
    assert texts(page, "#reader a") == ["Open the source", address]
    assert page.value("[...new Set([...document.querySelectorAll('#reader a')].map((a) => `${a.href} ${a.rel}`))]") == [
        f"{address} noopener noreferrer"
    ]
    assert page.value("document.images.length") == 0


@needs_chromium
def test_the_link_is_copied(page):
    page.value("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    read(page, "d4", 1)
    press(page, "Copy link")
    page.until("window.copied")
    assert page.value("window.copied").endswith("#panel=dialogues&open=d4&turn=1")


@needs_chromium
def test_a_dialogue_that_cannot_be_read_says_why(served, folder):
    read(served, "d4")
    notes = folder / "notes.jsonl"
    before = notes.read_text()
    notes.write_text("{")
    served.value("explorer.set({ open: ['d5', -1] })")
    served.until("byId('reader-about').textContent.includes('notes.jsonl cannot be read')")
    assert served.value("byId('reader').dataset.id") == "d5"
    assert served.value("byId('turns').childElementCount") == 0
    notes.write_text(before)
    read(served, "d4")
    assert texts(served, "#turns .number-of") == ["1", "2"]
    served.complaints[:] = [one for one in served.complaints if "400" not in one]


@needs_chromium
def test_a_page_without_a_server_offers_no_decision(chromium, addresses):
    for page in opened(chromium, addresses["static"]):
        read(page, "d4")
        assert not {"Move …", "Edit note …"} & {*texts(page, "button")}


@needs_chromium
def test_a_note_is_written_and_taken_back_by_keys_alone(served):
    read(served, "d6")
    served.click(".others summary")
    press(served, "Add a note …")
    assert served.value("document.activeElement.tagName") == "TEXTAREA"
    served.write(EVIL)
    # Escape leaves the form, not the reader.
    served.key("Escape")
    assert served.value("document.activeElement.textContent") == "Add a note …"
    assert not served.value("byId('reader').hidden")
    press(served, "Add a note …")
    served.write(EVIL)
    press(served, "Keep")
    served.until("document.activeElement.textContent === 'Undo'")
    assert served.value("document.querySelector('#decided p').textContent") == "The note on d6 is kept."
    served.until(f"document.querySelector('.note blockquote')?.textContent === '{EVIL}'")
    served.key("Enter")
    served.until("document.querySelector('#decided p').textContent === 'The note on d6 is removed.'")
    served.until("!document.querySelector('.note')")


@needs_chromium
def test_a_dialogue_is_moved_and_a_topic_renamed_with_a_way_back(served):
    name = served.value("explorer.content.groups[1][0].name")
    read(served, "d7")
    own = served.value("document.querySelector('.path').textContent")
    press(served, "Move …")
    assert own not in " ".join(texts(served, ".ask option"))
    press(served, "Move")
    served.until("byId('decided').textContent.includes('d7 is in')")
    served.until("document.querySelector('.why')?.textContent.includes('moved here by hand')")
    served.value("explorer.set({ topic: [1, 0], panel: 'topics', open: null })")
    press(served, "⋯", "#topics .chosen")
    press(served, "Rename …", "#topics")
    served.value("void (document.querySelector('.ask input').value = 'Lost <b>cards</b>')")
    press(served, "Rename", "#topics")
    served.until("byId('decided').textContent.includes('is called “Lost <b>cards</b>” now')")
    assert "Lost <b>cards</b>" in served.value("explorer.content.groups[1].map((one) => one.name).join()")
    for taken in ("rename “", "move d7 from"):
        press(served, "Undo", "#decided")
        served.until(f"document.querySelector('#decided p').textContent.startsWith('Taken back: {taken}')")
    assert served.value("explorer.content.groups[1][0].name") == name
    read(served, "d7")
    assert served.value("document.querySelector('.path').textContent") == own
    assert served.value("byId('decided').querySelector('button').hidden")


@needs_chromium
def test_a_merge_keeps_the_name_that_is_chosen(served):
    served.value("explorer.set({ topic: [1, 0], panel: 'topics' })")
    names = served.value("explorer.content.groups[1].map((one) => one.name)")
    for kept in names:
        press(served, "⋯", "#topics .chosen")
        press(served, "Merge …", "#topics")
        assert sorted(texts(served, ".ask label:nth-child(2) option")) == sorted(names)
        choose = (
            f"[...document.querySelectorAll('.ask label:nth-child(2) option')].find((one) => one.text === {kept!r})"
        )
        served.value(f"void ({choose}.selected = true)")
        press(served, "Merge", ".ask")
        served.until("explorer.content.groups[1].length === 1")
        assert served.value("explorer.content.groups[1][0].name") == kept
        press(served, "Undo", "#decided")
        served.until("explorer.content.groups[1].length === 2")
        served.value("explorer.set({ topic: [1, 0] })")


@needs_chromium
def test_what_cannot_be_decided_is_said_and_the_form_stays(served):
    served.value("explorer.set({ topic: [1, 0], panel: 'topics' })")
    other = served.value("explorer.content.groups[1][1].name")
    press(served, "⋯", "#topics .chosen")
    press(served, "Rename …", "#topics")
    served.value(f"void (document.querySelector('.ask input').value = '{other}')")
    press(served, "Rename", "#topics")
    served.until("byId('decided').textContent.includes('has the name')")
    assert served.value("document.querySelector('.ask input').disabled") is False
    served.complaints[:] = [one for one in served.complaints if "400" not in one]


@needs_chromium
@pytest.mark.parametrize("dark", [False, True])
def test_a_telephone_shows_the_reader_without_scrolling_sideways(page, dark):
    page.look(PHONE, phone=True, dark=dark)
    page.until("innerWidth === 390")
    read(page, "d2")
    assert page.value("byId('reader').scrollWidth <= byId('reader').clientWidth")
    assert page.value("document.documentElement.scrollWidth") == 390
    lefts = page.value("[0, 1].map((n) => byId(`turn-${n}`).getBoundingClientRect().left)")
    assert lefts[0] < lefts[1]
