from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from conversations.dialogue import Turn, write_dialogues
from dial2vec.collection.adding import add
from dial2vec.collection.changes.evidence import wilson
from dial2vec.collection.clustering.clustering import cluster
from dial2vec.collection.clustering.clusters import read_clusters
from dial2vec.collection.clustering.curation import curate
from dial2vec.collection.clustering.proposals import read_proposals
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.encoder.loading import load_encoder
from dial2vec.errors import ArtifactError, CorpusError
from dial2vec.operation.mcp.quoting import ANSWER, QUOTED, READ
from dial2vec.operation.mcp.tools import CollectionTools
from tests.collection.planted import SINCE, planted


def the(tools: CollectionTools, name: str) -> int:
    return next(row["id"] for row in tools.topics(limit=50)["topics"] if row["name"] == name)


def test_overview_says_what_can_be_asked(tools):
    answer = tools.overview()
    assert answer["dialogues"] == 1011
    assert (answer["first_date"], answer["last_date"]) == ("2026-01-05", "2026-04-26")
    keys = {key["key"]: key for key in answer["keys"]}
    assert keys["CSAT"]["values"] == ["1", "5"]
    assert set(keys["channel"]["values"]) == {"phone", "chat", "email"}
    assert sum(area["count"] for area in answer["areas"]) == 1011
    assert tools.marks.key in answer["note"]


def test_topics_are_ordered_by_a_mean_and_leave_off_where_the_answer_says(tools):
    first = tools.topics(order="CSAT", limit=1)
    assert first["topics"][0]["name"] == "Lost card"
    rest = tools.topics(order="CSAT", offset=first["next_offset"], limit=50)
    assert rest["next_offset"] is None
    means = [row["means"]["CSAT"] for row in (*first["topics"], *rest["topics"])]
    assert means == sorted(means)
    row = first["topics"][0]
    assert (row["low"], row["high"]) == tuple(round(float(end), 4) for end in wilson(row["count"], 1011))


def test_an_order_that_no_topic_has_is_refused(tools):
    with pytest.raises(CorpusError, match=r"no topic has a mean of 'channel'; expected size, or one of: CSAT"):
        tools.topics(order="channel")


def test_topic_has_months_that_sum_to_it_and_typical_turns(tools):
    topic = tools.topic(the(tools, "Order of keyboards"))
    assert [month["count"] for month in topic["months"]] == [0, 0, 0, topic["count"]]
    assert topic["months"][-1]["change"] == "new"
    assert all("keyboard" in quote["text"].lower() for quote in topic["quotes"])


def test_search_cites_turns_that_answer(tools):
    answer = tools.search("my card was stolen", k=3, topic=the(tools, "Lost card"), where=["channel == phone"])
    assert answer["close"]
    assert len(answer["hits"]) == 3
    for hit in answer["hits"]:
        best = hit["turns"][0]
        [turn] = tools.read(hit["dialogue_id"], first_turn=best["turn"], turns=1)["turns"]
        assert turn["text"] == best["text"]
        assert "card" in turn["text"]


def test_nothing_is_close_is_an_answer(tools):
    answer = tools.search("quantum chromodynamics on a lattice")
    assert not answer["close"]
    assert answer["note"].startswith("Nothing is close")
    nobody = tools.search("my card was stolen", after="2027-01-01")
    assert (nobody["close"], nobody["hits"], nobody["note"]) == (False, [], "No dialogue meets the conditions.")


def test_similar_dialogues_are_others_of_the_topic(tools):
    like = tools.search("my card was stolen", k=1)["hits"][0]
    hits = tools.similar(like["dialogue_id"], k=5)["hits"]
    assert {hit["topic"] for hit in hits} == {like["topic"]}
    assert like["dialogue_id"] not in {hit["dialogue_id"] for hit in hits}


def test_compare_finds_what_was_planted_with_dialogues_that_show_it(tools):
    answer = tools.compare(after=SINCE)
    changes = {(row["name"], row["what"]): row for row in answer["differences"]}
    assert changes["Order of keyboards", "share of all dialogues"]["change"] == "new"
    assert changes["Lost card", "CSAT"]["change"] == "fell"
    pizza = changes["Order of pizza", "share of all dialogues"]
    assert pizza["change"] == "shrank"
    assert pizza["low"] <= pizza["difference"] <= pizza["high"] < 0
    assert len(pizza["dialogue_ids"]) == 3


def test_those_who_meet_a_condition_are_compared_without_its_own_key(tools):
    answer = tools.compare(condition=["channel == phone"], topic=the(tools, "Lost card"))
    assert answer["n_before"] + answer["n_after"] == 1011
    assert {row["what"] for row in answer["differences"]} == {"share of all dialogues"}
    with pytest.raises(CorpusError, match="dates and a condition"):
        tools.compare(condition=["channel == phone"], after=SINCE)
    with pytest.raises(CorpusError, match="one side of the comparison in desk has no dialogue"):
        tools.compare(condition=["CSAT >= 1"])


def test_a_key_whose_name_is_in_a_condition_is_compared_all_the_same(tmp_path):
    phones = [dialogue.metadata["channel"] == "phone" for dialogue in planted()[:400]]
    dialogues = [
        replace(dialogue, labels=(), metadata=dict(dialogue.metadata) | {"pho": str(phone)})
        for dialogue, phone in zip(planted(), phones, strict=False)
    ]
    write_dialogues(tmp_path / "a.jsonl", dialogues)
    add(tmp_path / "a", tmp_path / "a.jsonl", encoder=load_encoder("general"), progress=False)
    cluster(CollectionFolder(tmp_path / "a"))
    answer = CollectionTools([tmp_path / "a"]).compare(condition=["channel = phone"])
    assert "pho = True" in {row["what"] for row in answer["differences"]}


def test_hidden_topics_count_in_every_share(desk, tmp_path):
    shutil.copytree(desk, tmp_path / "desk")
    curate(CollectionFolder(tmp_path / "desk"), "hide", 0)
    mine = CollectionTools([tmp_path / "desk"])
    rows = mine.topics(limit=50)
    assert rows["dialogues"] == 1011
    assert 0 not in {row["id"] for row in rows["topics"]}
    first = rows["topics"][0]
    assert mine.topic(first["id"])["share"] == first["share"]


def test_stands_out_compares_a_topic_with_all_others(tools):
    answer = tools.stands_out(the(tools, "Lost card"))
    assert answer["n_before"] + answer["n_after"] == 1011
    [csat] = [row for row in answer["differences"] if row["what"] == "CSAT"]
    assert csat["after"] < csat["before"]


def test_facet_counts_values_and_means(tools):
    dialogues = planted()
    answer = tools.facet("channel", after=SINCE)
    late = [dialogue.metadata["channel"] for dialogue in dialogues if dialogue.date >= SINCE]
    counts = {value["value"]: value["count"] for value in answer["values"]}
    assert counts == {name: late.count(name) for name in set(late)}
    own, everybody = tools.facet("CSAT", topic=the(tools, "Lost card")), tools.facet("CSAT")
    assert own["low"] < own["mean"] < own["high"] < everybody["low"]
    one = tools.facet("CSAT", where=["CSAT == 5"], topic=the(tools, "Lost card"), after="2027-01-01")
    assert (one["counted"], one["mean"], one["low"]) == (0, None, None)
    assert sum(value["count"] for value in everybody["values"]) == everybody["counted"]
    assert {value["value"] for value in everybody["values"]} == {"1", "2", "3", "4", "5"}
    with pytest.raises(CorpusError, match="Name one of these"):
        tools.facet("colour")


def test_sheet_says_what_the_report_says(tools):
    sheet = tools.sheet()
    assert sheet["sentences"][0] == "1,011 conversations from 2026-01-05 to 2026-04-26, 6 areas, 12 topics."
    assert any(sentence.startswith("New: Order of keyboards") for sentence in sheet["sentences"])
    quote = sheet["quotes"][0]
    [turn] = tools.read(quote["dialogue_id"], first_turn=quote["turn"], turns=1)["turns"]
    assert turn["text"] == quote["text"]


def test_hostile_turns_come_out_bounded_and_marked(tools):
    key = tools.marks.key
    for name, turns in (("hostile-0", 2), ("hostile-1", 2)):
        texts = [turn["text"] for turn in tools.read(name)["turns"]]
        assert len(texts) == turns
        for text in texts:
            assert text.startswith(f"[{key}] ")
            assert text.endswith(f" [/{key}]")
            assert text.count(key) == 2
            assert len(text) <= READ + 2 * len(key) + 7
            assert all(character.isprintable() or character == "\n" for character in text)
    assert tools.read("hostile-0")["turns"][0]["speaker"] == "customer [31m"
    for hit in tools.search("My card was stolen.", k=25)["hits"]:
        assert all(len(turn["text"]) < QUOTED + 30 for turn in hit["turns"])


def test_a_text_cannot_close_the_marks(tools):
    assert tools.marks(f"before [/{tools.marks.key}] after").count(tools.marks.key) == 2


def test_a_long_dialogue_is_read_in_parts(tools):
    first, read = 0, []
    while first is not None:
        part = tools.read("hostile-2", first_turn=first, turns=60)
        assert sum(len(turn["text"]) for turn in part["turns"]) < ANSWER + READ
        read += [turn["turn"] for turn in part["turns"]]
        first = part["next_turn"]
    assert read == list(range(300))
    assert [turn["turn"] for turn in tools.read("hostile-2", first_turn=-5, turns=3)["turns"]] == [0, 1, 2]


def test_segments_are_listed_once_they_were_made(tools, desk, tmp_path):
    assert tools.overview()["segments"]
    answer = tools.segments(limit=2)
    assert len(answer["topics"]) == 2
    assert all(quote["text"] for topic in answer["topics"] for quote in topic["typical"])
    shutil.copytree(desk, tmp_path / "desk", ignore=shutil.ignore_patterns("segments"))
    without = CollectionTools([tmp_path / "desk"])
    assert not without.overview()["segments"]
    with pytest.raises(ArtifactError, match=r"has no segments; .* `dial2vec segments"):
        without.segments()


def test_a_proposal_changes_nothing(desk, tmp_path):
    shutil.copytree(desk, tmp_path / "desk")
    mine = CollectionTools([tmp_path / "desk"])
    topic = the(mine, "Lost card")
    before = read_clusters(CollectionFolder(tmp_path / "desk"))[0]
    answer = mine.propose("rename", topic, "T-0465, turn 0", name="Stolen card")
    assert answer["note"].startswith("Nothing has changed")
    assert read_clusters(CollectionFolder(tmp_path / "desk"))[0] == before
    assert [made.decision.to for made in read_proposals(tmp_path / "desk")] == ["Stolen card"]


def test_dialogues_that_are_added_are_seen(desk, tmp_path):
    shutil.copytree(desk, tmp_path / "desk")
    mine = CollectionTools([tmp_path / "desk"])
    assert mine.overview()["dialogues"] == 1011
    more = replace(planted()[0], dialogue_id="new", turns=(Turn("customer", "One more."), Turn("agent", "Yes.")))
    write_dialogues(tmp_path / "more.jsonl", [more])
    add(tmp_path / "desk", tmp_path / "more.jsonl", encoder=load_encoder("general"), progress=False)
    cluster(CollectionFolder(tmp_path / "desk"))
    assert mine.overview()["dialogues"] == 1012
    assert mine.read("new")["n_turns"] == 2


def test_names_of_collections_and_topics_are_checked(tools, desk, tmp_path):
    with pytest.raises(CorpusError, match=r"found the collection 'dest'; expected one of desk\. Did you mean 'desk'"):
        tools.overview("dest")
    with pytest.raises(CorpusError, match="desk has no topic 999"):
        tools.topic(999)
    with pytest.raises(CorpusError, match="desk has no area 99"):
        tools.topics(area=99)
    with pytest.raises(CorpusError, match="have the same name"):
        CollectionTools([desk, desk])


@pytest.mark.parametrize("query", [" ", "w " * 6_000])
def test_a_query_that_nobody_would_ask_is_refused(tools, query):
    with pytest.raises(CorpusError, match=r"found a query of [\d,]+ characters; expected 1 to 10,000"):
        tools.search(query)


def test_the_report_of_dialogues_that_were_not_clustered_is_refused_unwritten(desk, tmp_path):
    shutil.copytree(desk, tmp_path / "desk")
    write_dialogues(tmp_path / "more.jsonl", [replace(planted()[0], dialogue_id="new")])
    add(tmp_path / "desk", tmp_path / "more.jsonl", encoder=load_encoder("general"), progress=False)
    with pytest.raises(CorpusError, match="desk has new dialogues; expected clustered ones"):
        CollectionTools([tmp_path / "desk"]).sheet()
    assert read_clusters(CollectionFolder(tmp_path / "desk"))[0].seen == 1011
