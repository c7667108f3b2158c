from __future__ import annotations

import asyncio
import base64
import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace

import httpx
import numpy as np
import pytest

from conversations.dialogue import Dialogue, Turn, read_dialogues
from conversations.options import Options
from conversations.reading import read_export
from dial2vec.collection.explorer.later import Later
from dial2vec.collection.explorer.maps import CollectionMap, Maps, maps_of
from dial2vec.collection.explorer.server import Explorer, application, serve_page
from dial2vec.collection.formulas import comma_separated, json_lines
from dial2vec.errors import Dial2vecError
from tests.collection.changes.conftest import call
from tests.collection.changes.conftest import make as make

from .conftest import dialogues_of


@pytest.fixture(scope="module")
def ask(collection) -> Callable[..., httpx.Response]:
    """Send one request to the explorer."""
    app = application(collection, maps_of(collection))

    async def sent(method: str, address: str, **options: object) -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8050") as client:
            return await client.request(method, address, **options)

    return lambda method, address, **options: asyncio.run(sent(method, address, **options))


def test_the_page_leads_to_the_one_page_report(make):
    collection = make([*call(0, 20), *call(1, 20)])
    page = Explorer(collection, Maps(CollectionMap(np.zeros((40, 2), dtype=np.float32), np.arange(40))))
    assert 'href="report"' in bytes(page.page(None).body).decode()
    report = bytes(page.report(None).body).decode()
    assert "cards" in report
    assert "<script" not in report


def test_what_is_made_later_is_told_and_shown(collection):
    first, turned = maps_of(collection), maps_of(collection)
    turned = replace(turned, trained=replace(turned.trained, points=turned.trained.points[::-1]))

    def fails(_: object) -> None:
        raise Dial2vecError("no room")

    later = [Later("nothing", fails), Later("other places", lambda page: page.show(collection, turned))]
    explorer = Explorer(collection, first, later)

    def told() -> dict:
        return json.loads(bytes(explorer.state(None).body))

    assert told() == {"doing": "nothing", "version": 0}
    assert json.loads(bytes(explorer.content(None).body))["version"] == 0
    explorer.work()
    assert told() == {"doing": "", "version": 1}
    content = json.loads(bytes(explorer.content(None).body))
    points = np.frombuffer(base64.b64decode(content["maps"][0]["points"]), "<f4").reshape(-1, 2)
    assert content["version"] == 1
    np.testing.assert_array_equal(points, turned.trained.points)


def test_content_has_the_places_of_all(ask, collection):
    content = ask("GET", "/content").json()
    points = np.frombuffer(base64.b64decode(content["maps"][0]["points"]), "<f4").reshape(-1, 2)
    np.testing.assert_array_equal(points, maps_of(collection).trained.points)


def test_dialogue_comes_with_its_nearest(ask, collection):
    found = ask("GET", "/dialogue/3").json()
    assert found["record"] == next(collection.dialogues([3])).to_record()
    rows = [row for row, _ in found["similar"]]
    cosines = collection.vectors @ collection.vectors[3]
    others = [row for row in np.argsort(-cosines, kind="stable") if row != 3]
    assert rows == others[:10]


def test_turns_and_downloads_are_of_the_rows_that_are_named(ask):
    assert ask("POST", "/turns", json=[[2, 2], [1, 0], [1, 9]]).json() == [
        ["Ann", "Thanks w2"],
        ["Ann", "w21 w22 w23 w1"],
        [],
    ]
    assert len(ask("POST", "/export/jsonl", json=[2, 1]).text.splitlines()) == 2
    answer = ask("POST", "/export/csv", json=[1])
    assert answer.headers["content-type"].startswith("text/csv")
    assert answer.text.splitlines()[0] == "dialogue_id,date,labels,speaker,text"


@pytest.mark.parametrize(
    ("method", "address", "body", "said"),
    [
        ("GET", "/dialogue/40", None, "0 to 39"),
        ("POST", "/turns", b"[1", "list of pairs"),
        ("POST", "/turns", b"[[1]]", "list of pairs"),
        ("POST", "/turns", b"[[40, 0]]", "0 to 39"),
        ("POST", "/speaking", b"[1", "not JSON"),
        ("POST", "/speaking", b"[" * 100_000, "not JSON"),
        ("POST", "/speaking", b'{"rows": 1}', "0 to 39"),
        ("POST", "/speaking", b"[true]", "0 to 39"),
        ("POST", "/speaking", b"[-1]", "0 to 39"),
        ("POST", "/speaking", str([0] * 201).encode(), "at most 200"),
        ("POST", "/export/exe", b"[1]", "csv, jsonl"),
    ],
)
def test_wrong_requests_get_one_sentence(ask, method, address, body, said):
    answer = ask(method, address, content=body)
    assert answer.status_code == 400
    assert said in answer.json()["message"]


def test_a_page_of_somebody_else_is_answered_nothing_but_the_page(ask):
    elsewhere = {"Sec-Fetch-Site": "cross-site"}
    assert ask("POST", "/search", json={"text": "x", "way": "auto"}, headers=elsewhere).status_code == 403
    assert ask("GET", "/", headers=elsewhere).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", ""])
def test_other_names_of_this_machine_are_refused(ask, host):
    assert ask("GET", "/content", headers={"host": host}).status_code == 421


def test_other_pages_get_nothing(ask):
    answer = ask("GET", "/content")
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert answer.headers["content-security-policy"] == "frame-ancestors 'none'"
    assert "access-control-allow-origin" not in answer.headers
    assert ask("GET", "/export/csv").status_code == 405


@pytest.mark.parametrize(("desktop", "asked", "opened"), [(True, True, 1), (True, False, 0), (False, True, 0)])
def test_the_page_opens_by_itself_only_if_asked_and_on_a_desktop(collection, monkeypatch, desktop, asked, opened):
    addresses: list[str] = []
    monkeypatch.setattr("dial2vec.collection.explorer.server.webbrowser.open", addresses.append)
    monkeypatch.setattr("dial2vec.collection.explorer.server.uvicorn.Server.run", lambda *_, **__: None)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", ":0" if desktop else "")
    said: list[str] = []
    serve_page(collection, maps_of(collection, progress=False), port=0, say=said.append, browser=asked)
    assert len(addresses) == opened
    assert all(address in said[0] for address in addresses)


def test_json_lines_read_back_are_the_same_dialogues(tmp_path):
    dialogues = dialogues_of(range(10))
    (tmp_path / "a.jsonl").write_text("".join(json_lines(dialogues)), encoding="utf-8")
    assert list(read_dialogues(tmp_path / "a.jsonl")) == dialogues


def test_csv_has_a_row_per_turn_with_nothing_lost():
    dialogues = dialogues_of(range(10))
    rows = list(csv.DictReader(io.StringIO("".join(comma_separated(dialogues)), newline="")))
    assert len(rows) == 30
    said = [(one.dialogue_id, turn.speaker, turn.text) for one in dialogues for turn in one.turns]
    assert [(row["dialogue_id"], row["speaker"], row["text"]) for row in rows] == said
    assert (rows[0]["date"], rows[0]["labels"]) == ("2026-01-01", "cards")


def test_csv_is_imported_as_the_same_dialogues(tmp_path):
    dialogues = dialogues_of(range(10))
    (tmp_path / "a.csv").write_text("".join(comma_separated(dialogues)), encoding="utf-8", newline="")
    found = read_export(tmp_path / "a.csv", Options()).result.dialogues
    assert [(one.dialogue_id, one.turns, one.labels) for one in found] == [
        (one.dialogue_id, one.turns, one.labels) for one in dialogues
    ]
    assert [one.moment for one in found] == [one.moment for one in dialogues]


@pytest.mark.parametrize("said", ['=HYPERLINK("http://x","y")', "+1", "-yes", "@all", "\tx"])
def test_no_cell_is_a_formula(said):
    rows = list(csv.reader(io.StringIO("".join(comma_separated([Dialogue(said, (Turn(said, said),))])), newline="")))
    assert all(cell.startswith("'") for cell in (rows[1][0], rows[1][-1]))
