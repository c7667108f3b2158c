"""A collection of calls in April and May, whose figures can be computed by hand."""

from __future__ import annotations

import pytest

from dial2vec.collection.collection_folder import CollectionFolder
from tests.collection.changes.conftest import call
from tests.collection.changes.conftest import make as make

EVIL = '<img src=x onerror="alert(1)">'


@pytest.fixture
def calls(make) -> CollectionFolder:
    """Cards shrink from 40 of 50 to 20 of 60, loans stay at 10, fraud is new with 30."""
    april, may = {"date": "2026-04-10", "metadata": {"csat": 4}}, {"date": "2026-05-10", "metadata": {"csat": 4}}
    return make(
        [
            *call(0, 40, text="my card is lost", **april),
            *call(1, 10, text="a loan please", **april),
            *call(0, 20, text="my wallet is lost", date="2026-05-10", metadata={"csat": 2}),
            *call(1, 10, text="a loan please", **may),
            *call(2, 30, text="somebody stole money", **may),
        ],
        k=3,
    )
