"""A small collection: two topics, two labels, dates, and a dialogue with markup in its text."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import uvicorn
from starlette.types import ASGIApp

from conversations.dialogue import Dialogue
from dial2vec.addresses import address_of, listen
from dial2vec.collection import Collection
from dial2vec.collection.explorer.explorer_page import write_page
from dial2vec.collection.explorer.maps import Maps
from dial2vec.collection.explorer.server import application
from dial2vec.encoder import DialogueEncoder
from tests.collection.made import indexed
from tests.conftest import make_dialogue

EVIL = "</script><img src=x onerror=alert(1)><script>alert(1)</script>"
Grow = Callable[[Path, Sequence[Dialogue]], Collection]


def dialogues_of(numbers: Sequence[int]) -> list[Dialogue]:
    """Dialogues d0, d1, ...: labelled cards, rooms, cards, ...; d3 holds markup, d7 a comma, quotes, two lines.

    Every second one has metadata: channel, wait and note, which is markup.
    """
    made = []
    for n in numbers:
        topic = ("w1 w2 w3", "w21 w22 w23")[n % 2]
        more = {3: EVIL, 7: 'one, "two"\nthree'}.get(n, f"w{n % 40}")
        one = make_dialogue(f"d{n}", f"Ann: {topic} w{n % 9}", f"Bob: {more}", f"Ann: Thanks w{n % 5}")
        metadata = {} if n % 2 else {"channel": ("phone", "chat")[n % 4 // 2], "wait": n, "note": f"<b>{n}</b>"}
        labels = (("cards", "rooms")[n % 2],)
        made.append(replace(one, labels=labels, date=f"2026-0{1 + n % 3}-01", metadata=metadata))
    return made


@pytest.fixture(scope="session")
def encoder(tiny_folder: str) -> DialogueEncoder:
    return DialogueEncoder.from_pretrained(tiny_folder, device="cpu")


@pytest.fixture(scope="session")
def grow(encoder: DialogueEncoder) -> Grow:
    """Add dialogues to the collection in a folder, and open it."""
    return partial(indexed, encoder=encoder)


@pytest.fixture(scope="session")
def collection(grow: Grow, tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """Forty dialogues; tests do not change them."""
    return grow(tmp_path_factory.mktemp("explorer") / "calls", dialogues_of(range(40)))


@contextmanager
def served_and_static(collection: Collection, maps: Maps, file: Path) -> Iterator[dict[str, str]]:
    """Addresses of the page of a collection: on the server, and as a file."""
    write_page(file, collection, maps)
    with served(application(collection, maps)) as address:
        yield {"served": address, "static": file.as_uri()}


@contextmanager
def served(app: ASGIApp) -> Iterator[str]:
    """Address of a page on a server."""
    with listen("127.0.0.1", 0) as listening:
        config = uvicorn.Config(app, ws="none", lifespan="off", log_level="error")
        server = uvicorn.Server(config)
        serving = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        serving.start()
        yield address_of(listening)
        server.should_exit = True
        serving.join()
