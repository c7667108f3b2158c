from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

import httpx
import numpy as np
import pytest

from dial2vec.collection import Collection
from dial2vec.collection.clustering import cluster, read_clusters
from dial2vec.collection.clustering.clusters import read_assignment
from dial2vec.collection.clustering.curation import curate
from dial2vec.collection.clustering.decisions import Edit, read_decisions
from dial2vec.collection.clustering.notes import notes_file, read_notes
from dial2vec.collection.clustering.proposals import propose
from dial2vec.collection.explorer.curating import can_write, decide
from dial2vec.collection.explorer.maps import CollectionMap, Maps
from dial2vec.collection.explorer.server import application
from dial2vec.errors import CorpusError
from dial2vec.files import folder_lock
from tests.collection.clustering.conftest import Maker
from tests.collection.clustering.conftest import few as few


@pytest.fixture
def make(tmp_path, dialogue) -> Maker:
    """Clusters 0 and 1, of dialogues d0 to d19 and d20 to d39."""
    maker = Maker(tmp_path / "c", dialogue)
    cluster(maker.add(*[0] * 20, *[1] * 20), k=2)
    assert sorted(set(read_assignment(Collection(maker.folder)))) == [0, 1]
    return maker


class Client:
    """Sends one request at a time to the explorer."""

    def __init__(self, collection: Collection) -> None:
        points = np.zeros((len(collection), 2), dtype=np.float32)
        self.app = application(collection, Maps(CollectionMap(points, np.arange(len(points)))))

    def ask(self, method: str, address: str, **options: object) -> httpx.Response:
        async def sent() -> httpx.Response:
            transport = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8050") as client:
                return await client.request(method, address, **options)

        return asyncio.run(sent())

    def get(self, address: str) -> httpx.Response:
        return self.ask("GET", address)

    def post(self, address: str, **options: object) -> httpx.Response:
        return self.ask("POST", address, **options)


@pytest.fixture
def client(make) -> Client:
    return Client(Collection(make.folder))


Names = Callable[[], dict[int, str]]


@pytest.fixture
def names(make) -> Names:
    def read() -> dict[int, str]:
        found = read_clusters(Collection(make.folder))
        assert found is not None
        return {one.id: one.name for one in found[0].clusters}

    return read


def test_a_decision_is_done_said_and_taken_back_and_the_content_follows(client, make, names):
    before = names()
    answer = client.post("/curate", json={"action": "rename", "topic": 1, "to": "Lost cards"}).json()
    assert answer == {
        "message": f"“{before[1]}” is called “Lost cards” now.",
        "undo": f"rename “{before[1]}” to “Lost cards”", "made": 1,
    }  # fmt: skip
    row = int(np.flatnonzero(read_assignment(Collection(make.folder)) == 1)[0])
    assert client.get(f"/dialogue/{row}").json()["group"]["topic"] == {"id": 1, "name": "Lost cards"}
    assert "Lost cards" in client.get("/content").text
    answer = client.post("/curate", json={"action": "undo", "made": 1}).json()
    assert answer == {"message": f"Taken back: rename “{before[1]}” to “Lost cards”.", "undo": "", "made": 0}
    assert names() == before
    assert "Lost cards" not in client.get("/content").text


def test_each_decision_is_said_in_a_sentence(client, make, names):
    def said(**decision: object) -> str:
        answer = client.post("/curate", json=decision)
        assert answer.status_code == 200, answer.text
        return answer.json()["message"]

    first, second = names()[0], names()[1]
    row = int(np.flatnonzero(read_assignment(Collection(make.folder)) == 0)[0])
    assert said(action="move", topic=1, dialogue=f"d{row}") == f"d{row} is in “{second}” now, no longer in “{first}”."
    assert read_assignment(Collection(make.folder))[row] == 1
    assert said(action="pin", topic=0) == f"“{first}” stays together, whatever is clustered later."
    assert said(action="hide", topic=0) == f"“{first}” is hidden; its 19 dialogues are kept."
    assert said(action="undo", made=3) == f"Taken back: hide “{first}”."
    assert said(action="merge", topic=1, other=0) == f"“{first}” joined “{second}”, which has 40 dialogues now."
    split = said(action="split", topic=1)
    assert split.startswith(f"“{second}” is 2 topics, “")


def test_a_note_is_kept_shown_and_removed(client, make):
    answer = client.post("/curate", json={"action": "note", "dialogue": "d3", "to": "<b>call back</b>"}).json()
    assert answer == {"message": "The note on d3 is kept.", "undo": "", "made": -1}
    assert client.get("/dialogue/3").json()["note"]["text"] == "<b>call back</b>"
    client.post("/curate", json={"action": "note", "dialogue": "d3", "to": ""})
    assert read_notes(make.folder) == {}


def test_a_proposal_of_an_agent_is_shown_accepted_and_taken_back(client, make, names):
    before = names()
    propose(Collection(make.folder), Edit("rename", 1, to="Lost cards"), "more exact")
    propose(Collection(make.folder), Edit("hide", 0), "noise")
    client = Client(Collection(make.folder))
    words = f"rename “{before[1]}” to “Lost cards”"
    shown = client.get("/content").json()["proposals"]
    assert shown[0] == {"number": 1, "topic": 1, "words": words, "reason": "more exact"}
    answer = client.post("/curate", json={"action": "accept", "proposal": 1}).json()
    assert answer["message"] == f"“{before[1]}” is called “Lost cards” now."
    assert [made["number"] for made in client.get("/content").json()["proposals"]] == [2]
    assert client.post("/curate", json={"action": "dismiss", "proposal": 2}).json()["message"].endswith("is dismissed.")
    assert client.get("/content").json()["proposals"] == []
    client.post("/curate", json={"action": "undo", "made": 1})
    assert names() == before
    # A damaged file does not keep the page from opening.
    (make.folder / "proposals.jsonl").write_text("{", encoding="utf-8")
    assert Client(Collection(make.folder)).get("/content").json()["proposals"] == []


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "the body is no JSON object"),
        (b"[" * 100_000, "the body is no JSON object"),
        (b"3", "the body is no JSON object"),
        (
            b'{"action": "burn", "topic": 1}',
            "expected one of rename, merge, split, pin, hide, move, note, undo, accept, dismiss",
        ),
        (b'{"topic": 1}', "without a known action"),
        (b'{"action": "hide", "topic": true}', "found 'topic' in a decision"),
        (b'{"action": "hide", "topic": 1, "path": "/"}', "found 'path' in a decision"),
        (b'{"action": "hide"}', "expected topic"),
        (b'{"action": "merge", "topic": 1}', "expected topic, other"),
        (b'{"action": "rename", "topic": 1, "to": "a", "other": 0}', "expected topic, to"),
        (b'{"action": "rename", "topic": 7, "to": "a"}', "has no cluster 7; expected one of 0, 1"),
        (b'{"action": "rename", "topic": 1, "to": " "}', "found a blank name"),
        (b'{"action": "move", "topic": 1, "dialogue": "../x"}', "has no dialogue '../x'"),
        (b'{"action": "undo", "made": 0}', "holds no decision"),
        (b'{"action": "undo", "made": 2}', "somebody has decided something else since"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_changes_nothing(client, make, names, body, message):
    before = names()
    answer = client.post("/curate", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert message in answer.json()["message"]
    assert names() == before
    assert read_decisions(make.folder).made == ()


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": "null"},
    ],
)
def test_a_page_of_somebody_else_cannot_decide(client, make, headers):
    body = b'{"action": "hide", "topic": 1}'
    answer = client.post("/curate", content=body, headers={"Content-Type": "application/json"} | headers)
    assert answer.status_code == 403
    assert client.get("/curate").status_code == 405
    assert read_decisions(make.folder).made == ()


def test_the_page_itself_can(client):
    own = {"Origin": "http://127.0.0.1:8050", "Sec-Fetch-Site": "same-origin"}
    assert client.post("/curate", json={"action": "hide", "topic": 1}, headers=own).status_code == 200


def test_a_run_that_writes_at_the_moment_is_said(client, make):
    with folder_lock(make.folder / "clusters", "writes to"):
        answer = client.post("/curate", json={"action": "hide", "topic": 1})
    assert "another process writes to" in answer.json()["message"]


def test_a_page_of_a_collection_that_has_grown_decides_nothing(make):
    collection = Collection(make.folder)
    make.add(0)
    with pytest.raises(CorpusError, match="has 41 dialogues now; expected the 40 of this page"):
        decide(collection, b'{"action": "hide", "topic": 1}')


def test_undo_never_takes_back_what_somebody_else_decided(client, make):
    client.post("/curate", json={"action": "rename", "topic": 1, "to": "Mine"})
    curate(Collection(make.folder), "pin", 0)
    assert client.post("/curate", json={"action": "undo", "made": 1}).status_code == 400
    assert [edit.action for edit in read_decisions(make.folder).made] == ["rename", "pin"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_only_be_read_offers_no_decision(make):
    make.folder.chmod(0o500)
    assert not can_write(Collection(make.folder))
    make.folder.chmod(0o700)
    assert can_write(Collection(make.folder))


def test_content_says_that_the_page_may_decide(client, make):
    assert client.get("/content").json()["writable"] is True
    assert not notes_file(make.folder).exists()
