"""Which dialogues meet the conditions of the page, and their order."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .page import Script

DATES = ["2026-01-03", "", "2026-02-01", "2026-01-31", "2026-03-01"]
CONTENT = """const selection = new RowSelection({ count: 5, dates: %s, similarity: [9, 7, 8, 9, 1],
  members: [Int16Array.of(0, 0, 1, 0, -1), Int16Array.of(0, 1, 2, 1, -1)],
  colourings: [{ title: "channel", names: ["phone", "chat"], codes: [0, 1, 0, 1, 1] }] });
const START_STATE = { topic: null, filters: {}, span: null };
const rows = (state, hits = null, lasso = null) => {
  selection.take({ ...START_STATE, ...state }, hits, lasso);
  return [...selection.rows({ ...START_STATE, ...state }, hits)];
};"""


@pytest.fixture
def script() -> Script:
    one = Script("selection")
    one.run(CONTENT % DATES)
    return one


@pytest.mark.parametrize(
    ("call", "rows"),
    [
        ("{}", [0, 1, 2, 3, 4]),
        # The most typical first, the first of equals before.
        ("{ topic: [0, 0] }", [0, 3, 1]),
        ("{ topic: [1, 1] }", [3, 1]),
        ("{ filters: { channel: ['chat'] } }", [1, 3, 4]),
        ("{ filters: { channel: ['chat', 'phone'] } }", [0, 1, 2, 3, 4]),
        ("{ filters: { channel: [], nobody: ['x'] } }", [0, 1, 2, 3, 4]),
        ("{ filters: { channel: ['letter'] } }", []),
        ("{ span: ['2026-01-03', '2026-01-31'] }", [0, 3]),
        ("{ topic: [0, 0], filters: { channel: ['chat'] }, span: ['2026-01-01', '2026-01-31'] }", [3]),
        ("{ topic: [0, 0] }, [3, 4, 0]", [3, 0]),
        ("{}, null, [4, 1]", [1, 4]),
    ],
)
def test_rows_meet_all_conditions_and_have_an_order(script, call, rows):
    assert script.value(f"rows({call})") == rows


def test_all_conditions_but_one_can_be_asked_for(script):
    script.run("rows({ topic: [0, 0], filters: { channel: ['chat'] } }, [1, 2, 3])")
    asked = {
        name: script.value("[...selection.passes(name)]", name=name) for name in ("", "topic", "key channel", "query")
    }
    assert asked == {
        "": [0, 1, 0, 1, 0],
        "topic": [0, 1, 0, 1, 0],
        "key channel": [0, 1, 0, 1, 0],
        "query": [0, 1, 0, 1, 0],
    }
    script.run("rows({ topic: [1, 1], filters: { channel: ['phone'] } })")
    assert script.value("[...selection.passes('topic')]") == [1, 0, 1, 0, 0]
    assert script.value("[...selection.passes('key channel')]") == [0, 1, 0, 1, 0]


def test_groups_are_counted_under_all_other_conditions(script):
    script.run("rows({ topic: [0, 1], filters: { channel: ['chat'] } })")
    assert script.value("selection.counts([2, 3]).map((level) => [...level])") == [[2, 0], [0, 2, 0]]


codes = st.lists(st.integers(0, 2), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(codes=codes, chosen=st.lists(st.integers(0, 2), max_size=3), group=st.integers(-1, 1), data=st.data())
def test_rows_are_those_that_one_would_pick_by_hand(codes, chosen, group, data):
    groups = data.draw(st.lists(st.integers(-1, 1), min_size=len(codes), max_size=len(codes)))
    script = Script("selection")
    names = [str(code) for code in chosen]
    rows = script.value(
        """(() => { const one = new RowSelection({ count: codes.length, dates: [], similarity: null,
          members: [Int16Array.from(groups)], colourings: [{ title: "k", names: ["0", "1", "2"], codes }] });
        const state = { topic: group < 0 ? null : [0, group], filters: { k: names }, span: null };
        one.take(state, null, null); return [...one.rows(state, null)]; })()""",
        codes=codes,
        groups=groups,
        group=group,
        names=names,
    )
    assert rows == [
        row for row, code in enumerate(codes) if (not chosen or code in chosen) and (group < 0 or groups[row] == group)
    ]
