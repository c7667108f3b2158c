"""A small collection: two topics, two labels, dates, and a dialogue with markup in its text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import make_dialogue
from dial2vec.collection import Collection, add
from dial2vec.dialogue import Dialogue, write_dialogues
from dial2vec.encoder import DialogueEncoder

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

    def added(folder: Path, dialogues: Sequence[Dialogue]) -> Collection:
        source = folder.with_suffix(".jsonl")
        write_dialogues(source, dialogues)
        add(folder, source, encoder=encoder, progress=False)
        return Collection(folder)

    return added


@pytest.fixture(scope="session")
def collection(grow: Grow, tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """Forty dialogues; tests do not change them."""
    return grow(tmp_path_factory.mktemp("explorer") / "calls", dialogues_of(range(40)))
