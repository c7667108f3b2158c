from dataclasses import replace

import numpy as np

from conversations.dialogue import Dialogue, Turn
from dial2vec.collection.clustering.clusters import Cluster
from dial2vec.collection.clustering.naming import UNCLEAR, Namer, area_name
from dial2vec.data.terms import Terms

CARDS = ["I lost my credit card", "my credit card is lost", "I lost my credit card yesterday", "lost my credit card"]
SEATS = ["please change my seat", "can I change my seat", "change my seat on the flight", "I need to change my seat"]


def names_of_groups(*groups: list[str], wholes: list[str] | None = None) -> tuple[list[str], list[bool]]:
    texts = [(text, at) for at, group in enumerate(groups) for text in group]
    dialogues = [Dialogue(str(at), (Turn("user", text),), ()) for at, (text, _) in enumerate(texts)]
    own = np.array([group for _, group in texts], dtype=np.int32)
    terms = Terms.read(dialogues).of(own, len(groups))
    return Namer.read(dialogues).names(own, terms, range(len(groups)), wholes)


def test_groups_are_named_by_what_their_customers_say():
    names, unclear = names_of_groups(CARDS * 2, SEATS)
    assert names == ["Lost my credit card", "Change my seat"]
    assert unclear == [False, False]


def test_another_language_is_named_by_terms():
    german = ["ich habe meine Karte verloren", "die Karte ist weg", "wo ist meine Karte", "ich suche die Karte"]
    names, _ = names_of_groups(SEATS * 3, german)
    assert names == ["Change my seat", "Karte"]


def test_a_group_of_peoples_names_is_unclear_and_one_without_words_has_a_name():
    people = ["it is Raj Kumar", "I am Anna Schmidt", "it is Anna Kumar", "this is Raj Schmidt"] * 2
    names, unclear = names_of_groups(SEATS * 3, people, ["12", "34"])
    assert names == ["Change my seat", UNCLEAR, "No words in common"]
    assert unclear == [False, True, False]


def test_siblings_have_names_of_their_own():
    names, _ = names_of_groups(SEATS, SEATS, CARDS)
    assert len(set(names)) == 3
    parts, _ = names_of_groups(
        CARDS, ["my old card is lost and stolen"] * 6, SEATS, wholes=["Card", "Lost card", "Card"]
    )
    assert parts[1] == "Lost and stolen"


def test_an_area_is_named_by_its_largest_unlike_topics():
    one = Cluster(0, "Change my seat, flight", (), 9, 1.0, 1.0, 0.0, (), ())
    names = ["Change my seat, flight", "Change a seat", "ATM", "Weather", UNCLEAR]
    topics = [replace(one, name=name, size=9 - at, unclear=name == UNCLEAR) for at, name in enumerate(names)]
    topics[-1] = replace(topics[-1], size=90)
    centres = np.eye(5, dtype=np.float32)[[0, 0, 1, 2, 3]]
    assert area_name(topics, centres) == "Change my seat, ATM and 3 more"
    assert area_name([topics[0], topics[3]], centres[[0, 3]]) == "Change my seat, weather"
    assert area_name(topics[:1], centres[:1]) == "Change my seat, flight"
