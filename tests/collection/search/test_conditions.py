from __future__ import annotations

import json
from dataclasses import replace

import pytest

from conversations.dialogue import write_dialogues
from dial2vec.collection import add
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.search import Filters
from dial2vec.collection.search.conditions import meets
from dial2vec.encoder.loading import load_encoder
from dial2vec.errors import CorpusError

FACTS = [
    {"channel": "phone", "csat": 1, "vip": True, "note": "Bed and breakfast", "checked in at": "2026-03-01T10:00:00"},
    {"channel": "chat", "csat": 2.5, "vip": False, "note": "lost, at sea", "checked in at": "2026-03-01T23:59:59"},
    {"channel": "mail", "csat": 5, "vip": False, "note": "don't know or care", "checked in at": "2026-03-02T00:00:00"},
    {"channel": "phone", "vip": True, "note": "ÄRGER", "checked in at": "2026-04-01T00:00:00"},
    {"channel": "mail"},
    {"channel": "phone"},
]


@pytest.fixture(scope="module")
def collection(tmp_path_factory, student_folder) -> CollectionFolder:
    """Six dialogues, 0 to 5, with the facts above; dialogue n has n + 1 turns and starts on day n + 1."""
    place = tmp_path_factory.mktemp("conditions")
    with (place / "a.jsonl").open("w") as handle:
        for number, facts in enumerate(FACTS):
            turns = [{"speaker": "ann" if number else "bob", "text": f"w{at} w1"} for at in range(number + 1)]
            record = {"dialogue_id": f"d{number}", "turns": turns, "metadata": facts, "date": f"2026-05-0{number + 1}"}
            handle.write(json.dumps(record | {"labels": [["cards", "lost"], ["trips"]][number % 2]}) + "\n")
    add(place / "c", place / "a.jsonl", encoder=load_encoder(student_folder))
    return CollectionFolder(place / "c")


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("channel in phone, chat", [0, 1, 3, 5]),
        ("channel not in phone, chat", [2, 4]),
        ("channel != phone", [1, 2, 4]),
        ("channel = phone", [0, 3, 5]),
        ("note in 'lost, at sea', ÄRGER", [1, 3]),
        ("csat in 1, 5", [0, 2]),
        ("csat in 2..5", [1, 2]),
        ("csat not in 2..5", [0]),
        ("csat is missing", [3, 4, 5]),
        ("csat is present", [0, 1, 2]),
        ("vip == yes", [0, 3]),
        ("vip == FALSE", [1, 2]),
        ("note ~ Ärger", [3]),
        ("note ~ ' or '", [2]),
        ("note !~ lost", [0, 2, 3]),
        ("note == Bed and breakfast", [0]),
        ("note == don't know or care", [2]),
        ("channel == mail or channel == chat", [1, 2, 4]),
        ("channel == phone and csat is missing or csat == 5", [2, 3, 5]),
        ("note ~ 'and b' and vip == yes", [0]),
        ("checked in at == 2026-03-01", [0, 1]),
        ("checked in at == 20260301", [0, 1]),
        ("checked in at in 20260301..2026-W10-1", [0, 1, 2]),
        ("checked in at <= 2026-03-01", [0, 1]),
        ("checked in at > 2026-03-01", [2, 3]),
        ("checked in at >= 2026-03-01T23:59:59", [1, 2, 3]),
        ("checked in at in 2026-03-01..2026-03-02", [0, 1, 2]),
        ("checked in at is missing", [4, 5]),
        ("turns >= 5", [4, 5]),
        ("words < 5", [0, 1]),
        ("date == 2026-05-03", [2]),
        ("label == lost", [0, 2, 4]),
        ("label != lost", [1, 3, 5]),
        ("label ~ TRI", [1, 3, 5]),
        ("speaker in bob", [0]),
        ("label is missing", []),
    ],
)
def test_a_condition_keeps_the_dialogues_that_meet_it(collection, condition, expected):
    assert meets(collection, condition).nonzero()[0].tolist() == expected
    assert Filters(where=(condition,)).rows(collection).tolist() == expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("ticket == 1234567890123456789", [1]),
        ("ticket in 1234567890123456788, 1234567890123456790", [0, 2]),
        ("ticket in 1234567890123456789..1234567890123456790", [1, 2]),
        ("ticket < 99999999999999999999", [0, 1, 2]),
        ("turns < 9999999999", [0, 1, 2]),
    ],
)
def test_an_id_of_many_digits_is_compared_exactly(tmp_path, student_folder, dialogue, condition, expected):
    ids = [{"ticket": 1234567890123456788 + n} for n in range(3)]
    write_dialogues(tmp_path / "a.jsonl", [replace(dialogue(f"d{n}", "a: w1"), metadata=ids[n]) for n in range(3)])
    add(tmp_path / "c", tmp_path / "a.jsonl", encoder=load_encoder(student_folder), turns=False)
    assert meets(CollectionFolder(tmp_path / "c"), condition).nonzero()[0].tolist() == expected


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("channel phone", "expected a key, one of == != <= >= < > ~ !~ in and a value"),
        ("chanel in phone", "has metadata 'chanel'. Did you mean 'channel'"),
        ("channel == phone or chanel == chat", "has metadata 'chanel'. Did you mean 'channel'"),
        ("channel in phone, fax", "no dialogue has the channel 'fax'"),
        ("channel in ,", "needs values after 'in'"),
        ("csat in 1..many", "holds numbers, found 'many'"),
        ("vip == perhaps", "no dialogue has the vip 'perhaps'"),
        ("label == card", "no dialogue has the label 'card'. Did you mean 'cards'"),
        ("date == May", "'May' is no date"),
    ],
)
def test_a_condition_that_cannot_be_meant_is_refused_in_a_sentence(collection, condition, said):
    with pytest.raises(CorpusError, match=said.replace("(", r"\(")):
        meets(collection, condition)
