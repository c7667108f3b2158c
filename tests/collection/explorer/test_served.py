"""The page in headless Chromium without WebGL, with two maps, and when its server ends or has another map."""

from __future__ import annotations

import json
import threading
from dataclasses import replace

import numpy as np
import pytest

from dial2vec.collection.clustering import cluster
from dial2vec.collection.clustering.decisions import Edit
from dial2vec.collection.clustering.proposals import propose
from dial2vec.collection.explorer.explorer_page import write_page
from dial2vec.collection.explorer.later import Later, Shown
from dial2vec.collection.explorer.maps import maps_of
from dial2vec.collection.explorer.server import application

from .conftest import served
from .test_browser import READY, SAYS, place_of
from .test_browser import addresses as addresses
from .test_maps import other as other

pytestmark = pytest.mark.services("chromium")


def test_without_webgl_the_list_opens_dialogues_all_the_same(chromium, addresses):
    nothing = "HTMLCanvasElement.prototype.getContext = () => null"
    added = chromium.ask("Page.addScriptToEvaluateOnNewDocument", source=nothing)["identifier"]
    try:
        chromium.look()
        chromium.complaints.clear()
        chromium.open("about:blank")
        chromium.open(addresses["served"] + "#panel=dialogues")
        chromium.until("document.querySelectorAll('#list li').length > 5")
        chromium.click("#list li")
        chromium.until("!document.getElementById('reader').hidden")
        chromium.key("Escape")
        chromium.until("document.getElementById('reader').hidden")
        assert "WebGL" in chromium.value("document.getElementById('where').innerText")
        assert chromium.value("getComputedStyle(document.querySelector('.controls')).display") == "none"
        chromium.click("#tab-topics")
        chromium.click("#where button")
        assert chromium.value("explorer.state.panel") == "dialogues"
        assert chromium.complaints == []
    finally:
        chromium.ask("Page.removeScriptToEvaluateOnNewDocument", identifier=added)


def test_start_can_be_compared_with_trained(grow, collection, chromium, tmp_path, other):
    copy = grow(tmp_path / "c", list(collection.dialogues()))
    write_page(tmp_path / "out.html", copy, maps_of(copy, start=other, progress=False))
    chromium.look()
    chromium.complaints.clear()
    chromium.open((tmp_path / "out.html").as_uri())
    chromium.until(READY)
    before = place_of(chromium, 5)
    titles = chromium.value("[...document.querySelectorAll('#encoders label')].map((one) => one.textContent.trim())")
    assert titles == ["trained", "start"]
    chromium.click("#encoders label:nth-of-type(2) input")
    chromium.until(
        "explorer.map.points.progress === 1 && explorer.map.points.places === explorer.content.maps[1].places"
    )
    assert place_of(chromium, 5) != pytest.approx(before, abs=0.5)
    assert chromium.complaints == []


def test_command_that_ended_is_named(collection, chromium, addresses):
    chromium.open("about:blank")
    chromium.open(addresses["served"] + "#panel=dialogues")
    chromium.until(READY)
    network = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    chromium.ask("Network.emulateNetworkConditions", **network, offline=True)
    chromium.click("#list li")
    chromium.until(f"{SAYS}.includes('has ended. Start it again')")
    chromium.ask("Network.emulateNetworkConditions", **network, offline=False)


def test_an_open_page_takes_over_another_map_and_keeps_what_it_shows(chromium, collection):
    maps, ready = maps_of(collection), threading.Event()
    other_way = replace(maps, trained=replace(maps.trained, points=maps.trained.points * np.float32([-1, 1])))

    def turn(page: Shown) -> None:
        ready.wait(60)
        page.show(collection, other_way)

    with served(application(collection, maps, [Later("other map", turn)])) as address:
        chromium.look()
        chromium.open(f"{address}#panel=dialogues&q=w21&view=1,2,3")
        chromium.until(READY)
        chromium.until("document.getElementById('later').textContent.includes('other map')")
        before, place = chromium.value("linkOf(explorer.state, explorer.content.groups)"), place_of(chromium, 3)
        ready.set()
        chromium.until("explorer.content.version === 1 && explorer.map.points.progress === 1")
        chromium.until("document.getElementById('later').textContent === ''")
        assert chromium.value("linkOf(explorer.state, explorer.content.groups)") == before
        assert place_of(chromium, 3) != place


def test_what_an_agent_proposes_is_told_accepted_and_taken_back(grow, collection, chromium, tmp_path):
    copy = grow(tmp_path / "c", list(collection.dialogues()))
    topic = cluster(copy, k=2).clusters[0]
    propose(copy, Edit("hide", topic.id), "noise")
    propose(copy, Edit("rename", topic.id, to="Lost cards"), "d0, turn 0 <b>says</b> so")
    asks = f"An agent proposes: rename “{topic.name}” to “Lost cards”. Its reason: “d0, turn 0 <b>says</b> so”"
    notes = "[...document.querySelectorAll('#topics .note p')].map((one) => one.textContent)"

    def press(button: str) -> None:
        buttons = "[...document.querySelectorAll('#topics button')]"
        chromium.value(f"{buttons}.find((one) => one.textContent === '{button}').click()")

    with served(application(copy, maps_of(copy, progress=False))) as address:
        chromium.look()
        chromium.complaints.clear()
        chromium.open("about:blank")
        chromium.open(f"{address}#panel=topics")
        told = f"An agent has proposed changes: see ⋯ at “{topic.name}”."
        chromium.until(f"document.querySelector('#decided p')?.textContent === {json.dumps(told)}")
        press("⋯")
        chromium.until(f"({notes})[1] === {json.dumps(asks)}")
        press("Dismiss")
        chromium.until("document.querySelector('#decided p').textContent === 'The proposal is dismissed.'")
        press("⋯")
        chromium.until(f"({notes}).length === 1")
        press("Accept")
        chromium.until("document.querySelector('#decided p').textContent.endsWith('is called “Lost cards” now.')")
        assert chromium.value("explorer.content.proposals") == []
        assert chromium.value("explorer.content.groups[1].some((one) => one.name === 'Lost cards')")
        assert chromium.complaints == []
