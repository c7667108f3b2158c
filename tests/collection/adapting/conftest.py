"""Collections of two-sided dialogues about four topics, by a student of random rows; and a map that changes a lot."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from conversations.dialogue import Dialogue, write_dialogues
from dial2vec.collection import Collection, add
from dial2vec.collection.adapting.adaptation import Adaptation
from tests.conftest import make_dialogue
from tests.students import tiny_student

Grow = Callable[..., Collection]


def calls(numbers: Sequence[int]) -> list[Dialogue]:
    """Each call has two of the ten words of its topic on either side, and another word."""
    made = []
    for number in numbers:
        one, two, three, four, other = np.random.default_rng(number).integers(0, 10, 5)
        first, topic = 10 * (number % 4), 10 * (number % 3)
        lines = (f"a: w{first + one} w{first + two} w{topic + other}", f"b: w{first + three} w{first + four}")
        made.append(make_dialogue(f"c{number}", *lines))
    return made


def ruinous(d: int, n: int, *, seed: int = 3) -> Adaptation:
    """A map that keeps three random directions."""
    rng = np.random.default_rng(seed)
    weight = (rng.normal(size=(d, 3)) @ rng.normal(size=(3, d))).astype(np.float32)
    return Adaptation(rng.normal(size=d).astype(np.float32) / 10, weight, n, {"silhouette": 0.1}, {"silhouette": 0.2})


@pytest.fixture
def grow(tmp_path) -> Grow:
    def grow(n: int, *, name: str = "c", adapted: bool = True) -> Collection:
        write_dialogues(tmp_path / "calls.jsonl", calls(range(n)))
        add(
            tmp_path / name, tmp_path / "calls.jsonl", encoder=tiny_student(), adapted=adapted, turns=False,
            progress=False,
        )  # fmt: skip
        return Collection(tmp_path / name)

    return grow
