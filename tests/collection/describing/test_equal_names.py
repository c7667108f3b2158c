"""Two groups of one level never have the same name."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from conversations.redaction import Masks
from dial2vec.collection.describing import describe_groups, describing, questions_of
from dial2vec.collection.describing.naming import words_of
from tests.collection.describing.conftest import Reply, cluster_record


def named(name: str) -> Reply:
    return Reply(json.dumps({"name": name, "summary": "A sentence."}))


@pytest.fixture
def names(collection, server):
    def run() -> list[str]:
        settings = server.settings(concurrency=2)
        described = describe_groups(
            collection, settings, questions_of(collection, settings, masks=Masks()), masked=True
        )
        return [words["name"] for words in described.record["clusters"].values()]

    return run


def again(server, first: str, second: Reply) -> None:
    """Answer `first` to every question, and `second` to one that says that the name is taken."""
    server.usual = lambda text: second if "Another group is called" in text else named(first)


def test_a_group_with_the_name_of_another_one_is_asked_about_once_more(names, server):
    again(server, "Lost cards", named("Flights"))
    assert names() == ["Lost cards", "Flights"]
    texts = [body["messages"][1]["content"] for _, _, body in server.got]
    assert texts[-1].endswith('Another group is called "Lost cards": give one that tells this one apart.')
    assert len(texts) == 4
    assert names() == ["Lost cards", "Flights"]
    assert len(server.got) == 4


@pytest.mark.parametrize("second", [named("Card, lost"), Reply(status=400)])
def test_terms_are_added_to_a_name_that_is_still_taken(names, server, second):
    again(server, "Lost cards", second)
    assert names()[0] == "Lost cards"
    assert names()[1].endswith(", flight")


def test_a_masked_term_is_never_added(names, server, collection):
    stored = describing.stored_clusters(collection)
    cards, _ = stored.clusters.clusters
    stored.clusters = replace(stored.clusters, clusters=(cards, cluster_record(7, "bob", "flight")))
    again(server, "Help", named("help"))
    assert names() == ["Help", "help, flight"]


def test_nothing_is_sent_about_equal_names_if_the_command_has_announced_no_question(names, server, collection):
    again(server, "Help", Reply("no JSON"))
    names()
    sent = len(server.got)
    assert names() == ["Help", "Help, flight"]
    assert len(server.got) == sent


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("Lost cards", "lost card"),
        ("Delivery", "Deliveries"),
        ("Tax classes", "Class: tax"),
        ("Box", "boxes"),
        ("Car keys", "Key, car"),
    ],
)
def test_case_order_and_plural_make_no_other_name(name, other):
    assert words_of(name) == words_of(other)
    assert words_of(name) != words_of(f"{other} abroad")
    assert words_of("Car care") != words_of("Care")
