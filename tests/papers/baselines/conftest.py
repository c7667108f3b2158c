from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conversations.dialogue import Dialogue, Turn

# The words of the tiny encoder of tests/conftest.py: the first twenty are one topic's, the others the other's.
TOPICS = {"first": range(20), "second": range(20, 40)}


@pytest.fixture(scope="session")
def corpus() -> tuple[list[Dialogue], list[Dialogue]]:
    """40 dialogues of two topics that share no word: 30 to train on, without labels, and 10 to judge."""
    draws = np.random.default_rng(0)
    dialogues = []
    for number in range(40):
        label = ("first", "second")[number % 2]
        turns = tuple(
            Turn(speaker, " ".join(f"w{word}" for word in draws.choice(TOPICS[label], size=6))) for speaker in "abab"
        )
        dialogues.append(Dialogue(f"d{number}", turns, (label,)))
    return [Dialogue(one.dialogue_id, one.turns) for one in dialogues[:30]], dialogues[30:]


@pytest.fixture(scope="session")
def words() -> Any:
    """A table of word vectors: the words of a topic point along its axis."""
    from gensim.models import KeyedVectors

    table = KeyedVectors(3)
    axes = [[word < 20, word >= 20, 0.5] for word in range(40)]
    table.add_vectors([f"w{word}" for word in range(40)], np.array(axes, dtype=np.float32))
    return table
