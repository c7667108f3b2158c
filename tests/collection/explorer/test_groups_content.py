from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from dial2vec.collection.clustering.clusters import Stored, read_stored, write_clusters
from dial2vec.collection.clustering.decisions import Decisions, Edit, write_decisions
from dial2vec.collection.clustering.levels import FineTopic
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.explorer.content import names_on_map
from dial2vec.collection.explorer.groups_content import groups_content
from dial2vec.data.terms import Term
from tests.collection.changes.conftest import call
from tests.collection.changes.conftest import make as make


def all_of(collection: CollectionFolder, *, rows=None) -> dict:
    return groups_content(collection, np.arange(len(collection)) if rows is None else np.array(rows))


def members_of(content: dict) -> list[list[int]]:
    return [one.tolist() for one in content["members"]]


def rewritten(collection: CollectionFolder, change) -> CollectionFolder:
    """Store the clusters with changes; `change` takes `Stored` and returns clusters and state."""
    stored = read_stored(collection)
    assert isinstance(stored, Stored)
    write_clusters(collection, *change(stored))
    return CollectionFolder(collection.folder)


def changed(collection: CollectionFolder, place: int, **fields) -> CollectionFolder:
    def change(stored: Stored):
        clusters = list(stored.clusters.clusters)
        clusters[place] = replace(clusters[place], **fields)
        return replace(stored.clusters, clusters=tuple(clusters)), stored.state

    return rewritten(collection, change)


def test_groups_are_ranked_by_size_and_hold_each_other(make):
    # Clusters 0 and 1 are in the area "money", cluster 2 in "crime".
    content = all_of(make([*call(0, 2), *call(1, 3), *call(2, 4)], k=3))
    areas, topics, fine = content["groups"]
    assert [(area["name"], area["size"], area["topics"]) for area in areas] == [("money", 5, [1, 2]), ("crime", 4, [0])]
    named = [(topic["name"], topic["id"], topic["size"], topic["area"]) for topic in topics]
    assert named == [("fraud", 12, 4, 1), ("loans", 11, 3, 0), ("cards", 10, 2, 0)]
    assert [topic["share"] for topic in topics] == pytest.approx([4 / 9, 3 / 9, 2 / 9], abs=1e-5)
    assert fine == []
    assert members_of(content) == [[0] * 5 + [1] * 4, [2] * 2 + [1] * 3 + [0] * 4, [-1] * 9]


def test_on_a_page_with_a_sample_its_dialogues_are_counted(make):
    content = all_of(make([*call(0, 5), *call(1, 5)]), rows=[1, 6, 7])
    assert [topic["size"] for topic in content["groups"][1]] == [2, 1]
    assert members_of(content)[1] == [1, 0, 0]
    assert content["groups"][1][1]["typical"] == [0]


def test_a_dialogue_that_came_after_the_clustering_is_in_no_group(make):
    content = all_of(make([*call(0, 4), *call(1, 4)], settled=6))
    assert members_of(content)[1] == [0] * 4 + [1] * 2 + [-1] * 2
    assert content["similarity"].tolist()[6:] == [0, 0]
    [sentence] = content["news"]["sentences"]
    assert sentence == "2 conversations came after the topics. dial2vec cluster calls sorts them in."


def test_typical_dialogues_are_the_closest_to_the_centre_and_quoted_by_the_turn_that_speaks_for_the_topic(make):
    long = "My card was stolen. " + 300 * "x"
    calls = [*call(0, 1, text="So?"), *call(0, 1, text=long), *call(1, 4, text="Nothing.")]
    collection = changed(make(calls), 0, terms=(Term("stolen", 1.0, 0.5),))
    stored = read_stored(collection)
    assert stored is not None
    content = all_of(collection)
    topics = content["groups"][1]
    loans = collection.vectors[2:] @ stored.state.centres[1]
    # All say the same, so that one is enough.
    assert topics[0]["typical"] == [2 + np.argmax(loans)]
    quotes = {quote["row"]: quote for quote in topics[1]["quotes"]}
    # The best of the typical dialogues is quoted, not the most typical one.
    assert topics[1]["quote"] == quotes[1]
    assert topics[1]["terms"] == ["stolen"]
    assert quotes[0] == {"row": 0, "turn": 0, "speaker": "ann", "text": "So?"}
    assert quotes[1] == {"row": 1, "turn": 0, "speaker": "ann", "text": long[:239] + "…"}
    assert content["similarity"].tolist()[2:] == np.round(255 * loans).astype(int).tolist()


def test_hidden_topics_and_areas_of_nothing_else_are_left_out(make):
    content = all_of(changed(make([*call(0, 2), *call(1, 3), *call(2, 4)], k=3), 2, hidden=True))
    assert [area["name"] for area in content["groups"][0]] == ["money"]
    assert [topic["name"] for topic in content["groups"][1]] == ["loans", "cards"]
    assert members_of(content)[:2] == [[0] * 5 + [-1] * 4, [1] * 2 + [0] * 3 + [-1] * 4]


def test_the_other_areas_stay_if_one_goes_with_its_only_topic(make):
    def without_crime(stored: Stored):
        clusters = [replace(one, hidden=one.area == 1) for one in stored.clusters.clusters]
        return replace(stored.clusters, clusters=tuple(clusters), areas=stored.clusters.areas[:1]), stored.state

    content = all_of(rewritten(make([*call(0, 2), *call(1, 3), *call(2, 4)], k=3), without_crime))
    assert [(area["name"], area["topics"]) for area in content["groups"][0]] == [("money", [0, 1])]


def test_fine_topics_are_those_of_divided_topics(make):
    def divided(stored: Stored):
        state, centres = stored.state, stored.state.centres
        parents = np.array([0, 0, 1], dtype=np.int32)
        fine = np.array([0, 1, 1, 2, 2], dtype=np.int32)
        names = ("own", "lost", "loans")
        topics = tuple(FineTopic(at, 10 + int(parents[at]), name, (), 1) for at, name in enumerate(names))
        more = {"fine_centres": centres[parents], "fine_parents": parents, "fine": fine}
        return replace(stored.clusters, fine=topics), replace(
            state, **more, split_off=np.full((3, 2), -1, dtype=np.int32)
        )

    content = all_of(rewritten(make([*call(0, 3), *call(1, 2)]), divided))
    topics, fine = content["groups"][1:]
    assert [(one["name"], one["size"], one["topic"]) for one in fine] == [("lost", 2, 0), ("own", 1, 0)]
    assert [topic["fine"] for topic in topics] == [[0, 1], []]
    assert members_of(content)[2] == [1, 0, 0, -1, -1]


def test_trends_count_the_dialogues_of_each_period(make):
    calls = [*call(0, 3, date="2026-01-05"), *call(0, 1, date="2026-01-07"), *call(1, 2, date="2026-01-07"), *call(1)]
    content = all_of(make(calls))
    assert content["news"]["periods"] == ["2026-01-05", "2026-01-06", "2026-01-07"]
    assert content["news"]["totals"] == [3, 0, 3]
    assert [topic["trend"] for topic in content["groups"][1]] == [[3, 0, 1], [0, 0, 2]]
    assert content["groups"][0][0]["trend"] == [3, 0, 3]


def test_without_dates_there_is_no_trend(make):
    content = all_of(make([*call(0, 2), *call(1, 2)]))
    assert (content["news"]["periods"], content["groups"][1][0]["trend"]) == ([], [])


def test_what_stands_out_begins_with_the_clearest_value_of_each_key(make):
    calls = [
        *call(0, 40, metadata={"channel": "phone", "team": "a"}),
        *call(1, 38, metadata={"channel": "chat", "team": "b"}),
        *call(1, 2, metadata={"channel": "phone", "team": "a"}),
        *call(1, 20, metadata={"channel": "mail", "team": "b"}),
    ]
    topics = all_of(make(calls))["groups"][1]
    assert topics[1]["stands_out"] == ["100% by phone (others 3%)", "team = a 100% (others 3%)"]
    keys = ["channel" if " by " in finding else "team" for finding in topics[0]["stands_out"]]
    assert keys[:2] in (["channel", "team"], ["team", "channel"])


def test_certain_trifles_do_not_stand_out(make):
    # 54 % and 50 % of 5,000 dialogues each differ with p < 0.001.
    calls = [
        *call(0, 2700, metadata={"channel": "phone"}),
        *call(0, 2300, metadata={"channel": "chat"}),
        *call(1, 2500, metadata={"channel": "phone"}),
        *call(1, 2500, metadata={"channel": "chat"}),
    ]
    assert [topic["stands_out"] for topic in all_of(make(calls))["groups"][1]] == [[], []]


def test_words_of_a_language_model_are_used(make):
    collection = make([*call(0, 3), *call(1, 2)])
    (collection.folder / "descriptions").mkdir()
    record = {
        "format": 1,
        "fingerprint": "f",
        "clusters": {
            "10": {"name": "Lost cards", "summary": "Cards get blocked.", "by": "model"},
            "11": {"name": "loans", "summary": "", "by": "terms"},
        },
        "areas": {},
    }
    (collection.folder / "descriptions" / "descriptions.json").write_text(json.dumps(record))
    topics = all_of(collection)["groups"][1]
    assert [(one["described"], one["summary"]) for one in topics] == [("Lost cards", "Cards get blocked."), (None, "")]
    # What people called a cluster goes before the model's name.
    write_decisions(collection.folder, Decisions("", (Edit("rename", 10, to="cards"), Edit("pin", 11))))
    topic = all_of(collection)["groups"][1][0]
    assert (topic["name"], topic["described"], topic["summary"]) == ("cards", None, "Cards get blocked.")


def test_without_clusters_the_command_is_named(make):
    content = all_of(make(call(0, 3), k=0, name="my calls"))
    assert content["groups"] is None
    assert content["news"]["command"] == "dial2vec cluster 'my calls'"
    assert content["members"] == []


def named(texts, members, points):
    return names_on_map(texts, [np.array(groups, dtype=np.int16) for groups in members], points.astype(np.float32))


def test_a_group_is_named_where_most_of_it_lies():
    points = np.array([[0, 0], [0.1, 0], [0, 0.1], [9, 9], [9, 0], [9, 0.1]])
    names = named([["A"], ["x", "y"]], [[0] * 6, [0] * 4 + [1] * 2], points)
    assert [(name["text"], name["level"], name["id"], name["size"]) for name in names] == [
        ("A", 0, 0, 6),
        ("x", 1, 0, 4),
        ("y", 1, 1, 2),
    ]
    assert (names[1]["x"], names[1]["y"]) == (np.float32(0.1) / 3, np.float32(0.1) / 3)


def test_a_hidden_group_has_no_name_and_its_dialogues_count_nowhere():
    names = named([["A"], ["x", "nobody"]], [[0, -1], [0, -1]], np.zeros((2, 2)))
    assert [(name["text"], name["size"]) for name in names] == [("A", 1), ("x", 1)]


def test_a_name_on_two_levels_stands_on_the_upper_one_and_keeps_the_places_of_the_others():
    names = named([["x", "y"], ["x", "z"]], [[0, 0, 1], [0, 0, 1]], np.zeros((3, 2)))
    assert [(name["text"], name["level"], name["id"]) for name in names] == [("x", 0, 0), ("y", 0, 1), ("z", 1, 1)]


def test_an_area_is_named_where_much_of_it_is_near_not_at_its_densest_spot():
    random = np.random.default_rng(0)
    wide, dense = random.normal(scale=3, size=(300, 2)), np.full((40, 2), 40.0)
    names = named([["A"], ["B"], ["x", "y"]], [[0] * 340, [0] * 340, [0] * 300 + [1] * 40], np.vstack([wide, dense]))
    area, fine = names[0], names[-1]
    assert np.hypot(area["x"], area["y"]) < 3
    assert (fine["text"], round(fine["x"]), round(fine["y"])) == ("y", 40, 40)


def test_without_groups_there_are_no_names():
    assert named([], [], np.zeros((3, 2))) == []


def test_unclear_topics_and_areas_of_nothing_else_come_last(make):
    content = all_of(changed(make([*call(0, 2), *call(1, 3), *call(2, 4)], k=3), 2, unclear=True))
    areas, topics, _ = content["groups"]
    assert [(area["name"], area["unclear"]) for area in areas] == [("money", False), ("crime", True)]
    assert [(topic["name"], topic["unclear"]) for topic in topics] == [
        ("loans", False), ("cards", False), ("fraud", True)
    ]  # fmt: skip
    assert members_of(content)[:2] == [[0] * 5 + [1] * 4, [1] * 2 + [0] * 3 + [2] * 4]


def test_groups_have_the_means_of_numbers_and_the_shares_of_values(make):
    calls = [
        *call(0, 1, metadata={"csat": 1, "channel": "phone"}),
        *call(0, 1, metadata={"csat": 2}),
        *call(1, 3, metadata={"csat": 5, "channel": "chat"}),
        *call(2, 1),
    ]
    areas, topics, _ = all_of(make(calls, k=3))["groups"]
    phone, chat = "% channel = phone", "% channel = chat"
    numbers = {topic["name"]: topic["numbers"] for topic in topics}
    assert numbers["cards"] == {"csat": 1.5, phone: 100, chat: 0}
    assert numbers["loans"] == {"csat": 5, phone: 0, chat: 100}
    # Without a value there is no mean and no share.
    assert numbers["fraud"] == {}
    assert areas[0]["numbers"] == {"csat": pytest.approx(3.6), phone: 25, chat: 75}


def test_keys_with_many_values_give_no_columns(make):
    calls = [one for name in "abcdefg" for one in call(0, 5, metadata={"agent": name})]
    assert all_of(make(calls, k=1))["groups"][1][0]["numbers"] == {}
