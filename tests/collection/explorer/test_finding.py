"""Search by words in a page without a server: finding.js and words.js."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dial2vec.collection.explorer.texts import phrases_of
from dial2vec.collection.search.words import bm25_words

from .page import Script

CALLS = [
    ["Where is my card?", "Your CARD is on  its way", "thanks"],
    ["I want a loan", "a loan for a house?", "yes, a card loan"],
    ["my house burnt", "I am sorry"],
    ["", "!"],
]
DIALOGUES = st.lists(
    st.lists(st.text(alphabet="abC é'.,明天 \n", max_size=12), min_size=1, max_size=4), min_size=1, max_size=5
)


@pytest.fixture(scope="module")
def script() -> Script:
    return Script("meaning", "words", "finding")


def bm25(texts: list[list[str]], query: str) -> list[float]:
    """Lucene's BM25, word by word (Kamphuis et al. 2020, table 1)."""
    mean = sum(map(len, texts)) / len(texts)
    scores = [0.0] * len(texts)
    for word in set(bm25_words(query)):
        frequency = sum(word in text for text in texts)
        rarity = math.log(1 + (len(texts) - frequency + 0.5) / (frequency + 0.5))
        for place, text in enumerate(texts):
            count = Counter(text)[word]
            scores[place] += rarity * count / (count + 1.5 * (0.25 + 0.75 * len(text) / mean)) if count else 0
    return scores


@given(dialogues=DIALOGUES, query=st.text(alphabet="abC é.明", max_size=8))
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_scores_are_those_of_counting_every_word(script, dialogues, query):
    scores = "(({ ofTurns, ofDialogues, matches }) => [ofTurns, ofDialogues, matches].map((one) => Array.from(one)))"
    ours = script.value(f"{scores}(new WordIndex(dialogues).scores(query))", dialogues=dialogues, query=query)
    turns = [bm25_words(turn) for dialogue in dialogues for turn in dialogue]
    asked = set(bm25_words(query))
    assert ours[0] == pytest.approx(bm25(turns, query), abs=1e-5)
    whole = [bm25_words(" ".join(dialogue)) for dialogue in dialogues]
    assert ours[1] == pytest.approx(bm25(whole, query), abs=1e-5)
    assert ours[2] == [len(asked & set(turn)) for turn in turns]


@given(text=st.text(alphabet="aB '\"“”„.é明\n", max_size=14))
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_page_reads_a_query_as_the_server_does(script, text):
    assert script.value("wordsOf(text)", text=text) == bm25_words(text)
    phrases, rest = phrases_of(text)
    assert script.value("phrasesOf(text)", text=text) == {"phrases": phrases, "rest": rest}


def answer(script: Script, text: str, way: str = "auto", within: list[int] | None = None) -> dict[str, object]:
    asked = {"text": text, "way": way, "like": None, "unlike": []}
    return script.value("new PageSearch(calls).answer(asked, within)", calls=CALLS, asked=asked, within=within)


def test_several_words_find_more_than_the_phrase_and_the_best_first(script):
    found = answer(script, "card loan")
    assert found["rows"] == [1, 0]
    assert found["turns"] == [[2, 0], [0, 1]]
    assert found["way"] == "moments"


def test_words_in_quotes_find_the_phrase_in_one_turn(script):
    assert answer(script, '"card is"') == {"rows": [0], "way": "exact", "close": True, "turns": [[1]]}
    assert answer(script, "is on its", "exact")["rows"] == [0]
    assert answer(script, '"way thanks"')["rows"] == []
    assert answer(script, 'loan "card"')["rows"] == [1]


def test_hits_are_within_the_rows_of_the_page(script):
    assert answer(script, "card loan", within=[1, 0, 1, 1])["rows"] == [0]
    assert answer(script, '"card"', within=[0, 1, 1, 1])["rows"] == [1]
    assert answer(script, "zebra")["rows"] == []
