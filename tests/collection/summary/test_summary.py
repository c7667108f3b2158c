from __future__ import annotations

import json
from dataclasses import replace

import pytest

from dial2vec.collection.clustering import read_clusters
from dial2vec.collection.clustering.clusters import read_stored, write_clusters
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.summary.summary import (
    CHARACTERS,
    Scope,
    TypicalTopic,
    certainty_of,
    excerpts_of,
    how_sure,
    summarize,
)
from dial2vec.data.terms import Term
from dial2vec.errors import CorpusError
from tests.collection.changes.conftest import call

CARD = [Term("card", 2.0, 0.5)]


def hide(calls: CollectionFolder, *ids: int) -> None:
    stored = read_stored(calls)
    groups = tuple(replace(one, hidden=one.hidden or one.id in ids) for one in stored.clusters.clusters)
    write_clusters(calls, replace(stored.clusters, clusters=groups), stored.state)


def test_a_sheet_says_how_many_dialogues_of_when_are_about_what(calls):
    summary = summarize(calls)
    assert (summary.name, summary.dialogues, summary.left_out) == ("calls", 110, 0)
    assert summary.dates == ("2026-04-10", "2026-05-10")
    assert summary.largest == (("money", pytest.approx(80 / 110)), ("crime", pytest.approx(30 / 110)))
    assert (summary.areas, summary.topics) == (2, 3)
    assert [row.name for row in summary.rows] == ["money", "cards", "loans", "crime"]
    assert summary.rows[1].stands_out == "csat 3.3 (others 4.0)"


def test_the_periods_are_compared_from_the_last_quarter_on(calls):
    changed = summarize(calls).changed
    assert (changed.since, changed.sizes) == ("2026-05-10", (50, 60))
    assert changed.topics[2].sentence.startswith("New: fraud 0% → 50%; 30 conversations, all since 10 May")
    assert summarize(calls, Scope(before="2026-05-01")).changed.since == "2026-05-01"


def test_an_area_shows_what_each_topic_says_and_nothing_twice(calls):
    summary = summarize(calls)
    assert [area.name for area in summary.typical] == ["money", "crime"]
    assert [one.topic for one in summary.typical[0].excerpts][:2] == ["cards", "loans"]
    assert [one.text for one in summary.typical[1].excerpts] == ["somebody stole money"]


def test_only_dialogues_that_meet_the_conditions_are_counted(calls):
    summary = summarize(calls, Scope(since="2026-05-01", where=("csat == 4",)))
    assert (summary.dialogues, summary.left_out) == (40, 70)
    assert summary.largest == (("crime", 0.75), ("money", 0.25))
    assert summary.conditions == ("from 2026-05-01", "csat == 4")
    assert {one.topic for area in summary.typical for one in area.excerpts} == {"fraud", "loans"}


def test_dialogues_without_dates_have_no_changes_but_the_news_of_the_clustering(make):
    calls = make([*call(0, 30), *call(1, 30)])
    stored = read_stored(calls)
    write_clusters(calls, replace(stored.clusters, news=("Cluster 10 (cards) splits into two now.",)), stored.state)
    summary = summarize(calls)
    assert (summary.dates, summary.changed) == ((), None)
    assert summary.news == ("“cards” could be two topics now.",)
    assert {row.trend for row in summary.rows} == {()}


def test_groups_are_made_if_there_are_none(make):
    calls = make([*call(0, 30, text="my card"), *call(1, 30, text="a loan")], k=0)
    summary = summarize(calls)
    assert (calls.folder / "clusters" / "clusters.json").exists()
    assert sum(row.size for row in summary.rows if row.kind == "area") == 60


def test_hidden_topics_are_not_shown(calls):
    hide(calls, 10)
    assert [row.name for row in summarize(calls).rows] == ["crime", "money"]
    hide(calls, 11, 12)
    with pytest.raises(CorpusError, match="are hidden; expected one to show"):
        summarize(calls)


@pytest.mark.parametrize(
    ("scope", "message"),
    [
        (Scope(since="2027-01-01"), "has 0 dialogues for a report; expected at least 2"),
        (Scope(where=("cast == 4",)), "cast"),
        (Scope(before="2020-01-01"), "has no dialogue before 2020-01-01"),
        (Scope(before="May"), "'May' is no date"),
    ],
)
def test_conditions_that_leave_nothing_are_refused(calls, scope, message):
    with pytest.raises(CorpusError, match=message):
        summarize(calls, scope)


def test_since_and_until_need_dates(make):
    with pytest.raises(CorpusError, match=r"no dialogue of .* has a date; expected some for --since and --until"):
        summarize(make(call(0, 10), k=1), Scope(since="2026-01-01"))


def test_one_dialogue_is_too_few(make):
    with pytest.raises(CorpusError, match="has 1 dialogue for a report"):
        summarize(make(call(0, 1), k=0))


@pytest.mark.parametrize(
    ("stability", "words"), [(1, "stable"), (0.76, "stable"), (0.75, "fair"), (0.5, "fair"), (0.49, "unsure")]
)
def test_the_words_follow_hennigs_limits(stability, words):
    assert how_sure(stability) == words


def test_topics_are_counted_with_their_dialogues(calls):
    clusters, _ = read_clusters(calls)
    # Of cards, loans and fraud.
    stabilities = (0.9, 0.4, 0.6)
    groups = (replace(one, stability=value) for one, value in zip(clusters.clusters, stabilities, strict=True))
    clusters = replace(clusters, clusters=tuple(groups), agreement=0.7)
    topics = [{"id": 10, "name": "cards", "size": 60}, {"id": 12, "name": "fraud", "size": 30}]
    topics.append({"id": 11, "name": "loans", "size": 10})
    certainty = certainty_of(clusters, topics, n=100)
    assert (certainty.topics, certainty.stable, certainty.stable_share) == (3, 1, 0.6)
    assert certainty.unsure == ("loans",)
    assert certainty.agreement == 0.7


def topic(name: str, *rows: int) -> TypicalTopic:
    return name, CARD, rows


def rewrite(calls: CollectionFolder, turns: list[list[str]]) -> None:
    """Give the first dialogue other turns."""
    record = {"dialogue_id": "calls-0", "turns": [{"speaker": who, "text": text} for who, text in turns]}
    path = calls.folder / "dialogues.jsonl"
    path.write_text(json.dumps(record) + "\n" + " " * calls.manifest.text_bytes)


def six(make) -> CollectionFolder:
    """Six calls that say different things."""
    return make([one for number in range(6) for one in call(0, 1, text=f"my card number {number} is lost")], k=1)


def test_each_topic_gives_its_most_typical_dialogue_before_its_next(make):
    calls = six(make)
    found = excerpts_of(calls, [topic("a", 0, 1, 2), topic("b", 3, 4)])
    assert [(one.dialogue_id, one.topic) for one in found] == [("calls-0", "a"), ("calls-3", "b"), ("calls-1", "a")]


def test_one_topic_gives_three_dialogues_and_a_small_one_what_it_has(make):
    calls = six(make)
    assert [one.dialogue_id for one in excerpts_of(calls, [topic("a", 2, 1, 0)])] == ["calls-2", "calls-1", "calls-0"]
    assert len(excerpts_of(calls, [topic("a", 5)])) == 1
    assert excerpts_of(calls, [topic("a")]) == ()


def test_the_turn_that_speaks_for_the_topic_is_shown_with_its_speaker(make):
    calls = make(call(0, 2), k=1)
    rewrite(calls, [["ann", "hello"], ["bob", "what is it about, then?"], ["ann", "my card\x00\u202e is   gone"]])
    [excerpt] = excerpts_of(calls, [topic("a", 0)])
    assert (excerpt.speaker, excerpt.text) == ("ann", "my card is gone")
    rewrite(calls, [["ann", "my card is gone"]])
    assert excerpts_of(calls, [topic("a", 0)])[0].speaker == ""


def test_quotes_differ_and_those_of_few_words_come_last(make):
    said = {"card 4675688": 2, "my card is lost": 4, "no card here, sorry": 1}
    calls = make([one for text, count in said.items() for one in call(0, count, text=text)], k=1)
    found = excerpts_of(calls, [topic("a", *range(7))])
    assert [one.text for one in found] == ["my card is lost", "no card here, sorry", "card 4675688"]


def test_a_long_turn_is_cut_after_a_word_and_a_long_word_anywhere(make):
    calls = make(call(0, 2), k=1)
    rewrite(calls, [["ann", "card " * 100]])
    [words] = excerpts_of(calls, [topic("a", 0)])
    assert words.text.endswith("card …")
    assert len(words.text) <= CHARACTERS
    rewrite(calls, [["ann", "card " + "card" * 100]])
    [word] = excerpts_of(calls, [topic("a", 0)])
    assert len(word.text) == CHARACTERS
    assert word.text.endswith("…")
