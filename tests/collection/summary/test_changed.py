from __future__ import annotations

import pytest

from dial2vec.collection.search.filters import Filters
from dial2vec.collection.summary.changed import Changed, changed_since, second_period

NAMES = {10: "lost cards", 11: "loans", 12: "fraud"}


def compared(calls, **options) -> Changed:
    known = {"since": None, "until": None, "filters": Filters(), "done": lambda _: None} | options
    return changed_since(calls, "2026-05-01", NAMES, **known)


@pytest.mark.parametrize(
    ("totals", "start"),
    [
        # A quarter of 120 is 30: the last two months have 20 + 10.
        ([40, 50, 20, 10], "2026-03-01"),
        ([90, 30], "2026-02-01"),
        # The last month alone has 20, but a quarter of 100 is 25.
        ([60, 20, 20], "2026-02-01"),
        # Fewer than 20 come before.
        ([19, 100], None),
        ([10, 10], None),
        ([100], None),
        ([], None),
    ],
)
def test_the_second_period_is_late_and_both_have_enough_dialogues(totals, start):
    assert second_period([f"2026-{month:02}" for month in range(1, len(totals) + 1)], totals) == start


def test_a_period_may_be_a_day_or_a_year():
    assert second_period(["2026-05-01", "2026-05-02"], [50, 50]) == "2026-05-02"
    assert second_period(["2025", "2026"], [50, 50]) == "2026-01-01"


def test_groups_come_first_then_metadata_and_terms(calls):
    changed = compared(calls)
    assert (changed.since, changed.n_before, changed.n_after) == ("2026-05-01", 50, 60)
    assert [(line.text, line.kind) for line in changed.lines] == [
        ("fraud is new, from 0% to 50%", "new"),
        ("lost cards shrank from 80% to 33%", "down"),
        # 40 ratings of 4 and 20 of 2.
        ("csat fell from 4 to 3.33", "down"),
        ("csat in lost cards fell from 4 to 2", "down"),
        ("“card” in lost cards is gone, from 100% to 0%", "down"),
    ]
    # The term "wallet", and others.
    assert changed.more > 0


def test_dialogues_that_are_left_out_are_not_compared(calls):
    assert compared(calls, filters=Filters(where=("csat == 4",))).n_after == 40
    assert compared(calls, since="2026-04-01", until="2026-06-01").n_before == 50
