from __future__ import annotations

import pytest

from dial2vec.collection.summary.rows import STANDS_OUT, table_rows


def group(name: str, size: int, **other):
    return {"name": name, "size": size, "trend": [], "described": None, "stands_out": []} | other


def sheet(*counts: int):
    """Areas with so many topics of 1 dialogue each."""
    areas, topics = [], []
    for number, count in enumerate(counts):
        areas.append(group(f"area {number}", count, topics=list(range(len(topics), len(topics) + count))))
        topics += [group(f"topic {number}.{at}", 1, id=100 * number + at) for at in range(count)]
    sure = {topic["id"]: "stable" for topic in topics}
    return table_rows(areas, topics, n=sum(counts), sure=sure)


def test_an_area_comes_before_its_topics_and_one_with_one_topic_has_one_row():
    rows = sheet(2, 1)
    assert [(row.kind, row.name, row.size, row.sure) for row in rows] == [
        ("area", "area 0", 2, ""),
        ("topic", "topic 0.0", 1, "stable"),
        ("topic", "topic 0.1", 1, "stable"),
        ("area", "area 1", 1, "stable"),
    ]
    assert [row.share for row in rows] == pytest.approx([2 / 3, 1 / 3, 1 / 3, 1 / 3])


def test_all_areas_show_the_same_number_of_topics_and_join_the_others():
    # Three areas of 10 topics: with 7 topics and a row for the others they have 27 rows, with 6 they have 24.
    rows = sheet(10, 10, 10)
    assert len(rows) == 24
    assert [row.name for row in rows if row.kind == "rest"] == ["4 smaller topics"] * 3
    assert [row.size for row in rows if row.kind == "rest"] == [4] * 3


def test_a_single_topic_is_not_joined_with_itself():
    # 24 topics and their area have 25 rows, the most.
    assert len(sheet(24)) == 25
    assert {row.kind for row in sheet(24)} == {"area", "topic"}
    assert (len(sheet(25)), sheet(25)[-1].name) == (25, "2 smaller topics")


def test_the_smallest_of_many_areas_are_joined():
    rows = sheet(*[3] * 10)
    assert [row.name for row in rows if row.kind == "area"] == [f"area {number}" for number in range(8)]
    assert (rows[-1].kind, rows[-1].name, rows[-1].size) == ("rest", "2 smaller areas", 6)
    assert len(rows) == 25


def test_a_trend_is_the_share_in_each_period_that_has_dialogues():
    areas = [group("a", 4, trend=[3, 0, 1], topics=[0]), group("b", 4, trend=[1, 0, 3], topics=[1])]
    topics = [group("a", 4, trend=[3, 0, 1], id=1), group("b", 4, trend=[1, 0, 3], id=2)]
    rows = table_rows(areas, topics, n=8, sure={1: "fair", 2: "unsure"})
    assert [row.trend for row in rows] == [(0.75, 0.25), (0.25, 0.75)]


def test_what_stands_out_is_cut_between_findings():
    findings = ["channel = phone 62% (others 31%)"] * 4
    areas, topics = [group("a", 1, topics=[0])], [group("a", 1, id=1, stands_out=findings)]
    [row] = table_rows(areas, topics, n=1, sure={1: "fair"})
    assert row.stands_out == "; ".join(findings[:2])
    topics[0]["stands_out"] = ["x" * 200, "y"]
    [row] = table_rows(areas, topics, n=1, sure={1: "fair"})
    assert row.stands_out == f"{'x' * (STANDS_OUT - 3)}..."


def test_the_language_models_name_is_shown_if_there_is_one():
    areas, topics = [group("a", 1, topics=[0], described="Lost cards")], [group("a", 1, id=1)]
    assert table_rows(areas, topics, n=1, sure={1: "fair"})[0].name == "Lost cards"
