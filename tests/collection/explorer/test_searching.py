from __future__ import annotations

import base64
import json
import threading
from typing import Any

import numpy as np
import pytest

from dial2vec.collection.explorer.searching import Searching, WrongRequestError, question_of
from dial2vec.collection.search import Search
from dial2vec.errors import Dial2vecError

from .conftest import dialogues_of


@pytest.fixture(scope="module")
def searching(collection) -> Searching:
    return Searching(collection)


def answer(searching: Searching, **asked: object) -> dict[str, Any]:
    whole = {"text": "", "way": "auto", "like": None, "unlike": [], "within": None} | asked
    return json.loads(bytes(searching.answer(json.dumps(whole).encode()).body))


def bitmap(rows: list[int], n: int = 40) -> str:
    mask = np.zeros(n, dtype=bool)
    mask[rows] = True
    return base64.b64encode(np.packbits(mask)).decode()


@pytest.mark.parametrize("way", ["auto", "moments", "themes"])
def test_hits_are_those_of_the_collections_search(searching, collection, way):
    found = answer(searching, text="w21 w22", way=way)
    expected = Search(collection).answer("w21 w22", 100, way=way)
    assert [f"d{row}" for row in found["rows"]] == [hit.dialogue_id for hit in expected.hits]
    assert (found["way"], found["close"]) == (expected.way, expected.close)
    assert len(found["turns"]) == 40
    if way == "moments":
        assert [turns[0] for turns in found["turns"]] == [hit.turns[0].number for hit in expected.hits]


def test_exact_words_are_all_dialogues_with_the_phrase_and_their_turns(searching):
    assert answer(searching, text='"ONE, "') == {
        "rows": [7],
        "way": "exact",
        "close": True,
        "turns": [[1]],
    }
    found = answer(searching, text="thanks w3", way="exact")
    assert found["rows"] == [3, 8, 13, 18, 23, 28, 33, 38]
    assert found["turns"] == [[2]] * 8


def test_hits_of_a_text_with_a_phrase_have_the_phrase(searching):
    found = answer(searching, text='w21 "thanks w3"')
    assert sorted(found["rows"]) == [3, 8, 13, 18, 23, 28, 33, 38]
    assert found["way"] != "exact"


@pytest.mark.parametrize("asked", [{"text": "w1"}, {"text": '"w1"'}, {"like": 0}, {"text": "w1", "unlike": [1]}])
def test_hits_are_within_the_rows_of_the_page(searching, asked):
    allowed = [2, 3, 9, 39]
    found = answer(searching, within=bitmap(allowed), **asked)
    assert set(found["rows"]) <= set(allowed)
    assert found["rows"]
    assert answer(searching, within=bitmap([]), **asked)["rows"] == []


def test_like_finds_the_nearest_others_and_unlike_leaves_out(searching, collection):
    found = answer(searching, like=3)
    cosines = collection.vectors @ collection.vectors[3]
    assert found["rows"][:10] == [row for row in np.argsort(-cosines, kind="stable") if row != 3][:10]
    assert found["way"] == "themes"
    assert len(found["turns"]) == 20  # a transformer reads no more of them again
    other = answer(searching, like=3, unlike=[found["rows"][0]])
    assert not {3, found["rows"][0]} & set(other["rows"])


def test_the_encoder_is_loaded_by_the_first_search_that_needs_it(collection, monkeypatch):
    loaded: list[object] = []
    real = Search.__init__
    monkeypatch.setattr(Search, "__init__", lambda self, folder: (loaded.append(folder), real(self, folder))[1])
    searching = Searching(collection)
    answer(searching, text='"w1"')
    assert loaded == []
    threads = [threading.Thread(target=answer, args=(searching,), kwargs={"text": "w1"}) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loaded) == 1


def test_what_the_collection_cannot_do_is_one_sentence(searching, monkeypatch):
    def fails(*_: object, **__: object) -> None:
        raise Dial2vecError("found no model; expected one. Make one.")

    monkeypatch.setattr(Search, "answer", fails)
    with pytest.raises(WrongRequestError, match="found no model"):
        answer(searching, text="w1")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (b"[" * 100_000, "not JSON"),
        (b"\xff", "not JSON"),
        (b"[1]", "no object"),
        ({"text": 3}, "expected text of up to 10000 characters"),
        ({"text": "a" * 10_001}, "expected text of up to 10000 characters"),
        ({"way": "smell"}, "'smell'; expected one of auto, moments, themes, exact"),
        ({"way": ["exact"] * 1_000}, "expected one of auto"),
        ({"like": 40}, "0 to 39"),
        ({"like": -1}, "0 to 39"),
        ({"like": True}, "0 to 39"),
        ({"like": "3"}, "0 to 39"),
        ({"unlike": [0.5]}, "0 to 39"),
        ({"unlike": 3}, "a list of up to 20 rows"),
        ({"unlike": [0] * 21}, "a list of up to 20 rows"),
        ({"within": "AA=="}, "base64 of 5 bytes"),
        ({"within": "<script>"}, "base64 of 5 bytes"),
        ({"within": [1]}, "base64 of 5 bytes"),
        ({}, "no words to search for"),
        ({"text": '""', "way": "exact"}, "no words to search for"),
        ({"text": " \ud800 "}, None),
        ({"unlike": [3]}, "only dialogues not to be like"),
        ({"text": "w1", "like": 3}, "found a text and a dialogue"),
    ],
)
def test_hostile_questions_get_one_sentence(searching, asked, said):
    if said is None:
        assert answer(searching, **asked)["rows"]
        return
    with pytest.raises(WrongRequestError, match=said) as error:
        searching.answer(asked if isinstance(asked, bytes) else json.dumps({"way": "auto"} | asked).encode())
    assert len(str(error.value)) < 200


def test_the_first_row_is_the_highest_bit_of_the_first_byte():
    within = base64.b64encode(bytes([0b1000_0001, 0b0100_0000])).decode()
    body = json.dumps({"text": "x", "way": "auto", "within": within}).encode()
    assert question_of(body, 10).rows.tolist() == [0, 7, 9]
    assert question_of(body, 9).rows.tolist() == [0, 7]  # bits beyond the last row are nothing


def test_a_collection_without_turns_is_searched_by_whole_dialogues(encoder, tmp_path):
    from conversations.dialogue import write_dialogues
    from dial2vec.collection import Collection, add

    write_dialogues(tmp_path / "a.jsonl", dialogues_of(range(6)))
    add(tmp_path / "c", tmp_path / "a.jsonl", encoder=encoder, progress=False, turns=False)
    collection = Collection(tmp_path / "c")
    found = answer(Searching(collection), text="w1 w2")
    assert found["way"] == "themes"
    assert [len(turns) > 0 for turns in found["turns"]] == [True] * 6
    with pytest.raises(WrongRequestError, match="which moments need"):
        answer(Searching(collection), text="w1", way="moments")
