from __future__ import annotations

import numpy as np
import pytest

from dial2vec.collection.changes.facts import facts_of, mean_and_sd, sums_of
from dial2vec.errors import CorpusError

from .conftest import call

CALLS = [
    *call(0, 2, metadata={"csat": 4, "channel": "phone", "note": "a"}, labels=("a", "b")),
    *call(0, 2, metadata={"csat": 2, "channel": "chat", "note": "b", "ended": "2026-03-04"}, labels=("a",)),
    *call(1, 1, metadata={"csat": 3.5, "note": "c"}),
    *call(1, 1),
]


def test_numbers_values_and_labels_are_facts_and_times_and_texts_are_not(make):
    calls = [one | {"metadata": one.get("metadata", {}) | {"note": f"text {at}"}} for at, one in enumerate(CALLS)]
    facts = facts_of(make(calls))
    assert facts.numbers["csat"].tolist()[:5] == [4, 4, 2, 2, 3.5]
    assert np.isnan(facts.numbers["csat"][5])
    assert [values.key for values in facts.values] == ["channel", "label"]


def test_a_dialogue_with_two_labels_counts_for_both_but_once_in_all(make):
    [_, labels] = facts_of(make(CALLS), keys=["channel", "label"]).values
    counts, totals = labels.counts(np.array([0, 0, 1, 1, 1, -1]), 2)
    assert labels.names == ["a", "b"]
    assert counts.tolist() == [[2, 2], [2, 0]]
    assert totals.tolist() == [2, 2]


def test_only_the_named_keys_are_read(make):
    facts = facts_of(make(CALLS), keys=["csat"])
    assert [list(facts.numbers), facts.values] == [["csat"], []]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("chanel", r"no dialogue of \S+ has metadata 'chanel'; expected one of: .* Did you mean 'channel'\? Name one"),
        ("ended", "metadata 'ended' of .* holds times; expected a key with numbers or few different values: csat"),
        ("note", "metadata 'note' of .* holds free texts"),
    ],
)
def test_a_key_that_cannot_be_counted_is_refused(make, key, message):
    calls = [one | {"metadata": one.get("metadata", {}) | {"note": f"text {at}"}} for at, one in enumerate(CALLS)]
    with pytest.raises(CorpusError, match=message):
        facts_of(make(calls), keys=[key])


def test_two_collections_are_read_as_one(make):
    facts = facts_of(make(CALLS), make(call(0, 1, metadata={"csat": "5"}), name="more"))
    assert facts.numbers["csat"].tolist()[-1] == 5


def test_means_and_spreads_are_exact_for_large_numbers_too():
    numbers = np.array([1e9 + 1, 1e9 + 3, np.nan, 1e9 + 2, 7.0])
    mean, sd = mean_and_sd(*sums_of(numbers, np.array([0, 0, 0, 1, -1]), 3))
    assert mean.tolist()[:2] == pytest.approx([1e9 + 2, 1e9 + 2])
    assert sd[0] == pytest.approx(2**0.5)
    assert np.isnan(sd[1])
    assert np.isnan(mean[2])
