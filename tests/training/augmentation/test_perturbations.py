from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conversations.words import words
from dial2vec.draws import augmentation_rng
from dial2vec.training.augmentation import PERTURBATIONS, perturbations
from dial2vec.training.augmentation.wording import Wording, bare

# Where scripts with and without blanks stand side by side, two words may become one.
SCRIPTS = st.sampled_from(["aeKz?, \té5", "明天 "])
TURNS = SCRIPTS.flatmap(
    lambda letters: st.lists(st.text(st.sampled_from(letters), min_size=1).filter(str.strip), min_size=1, max_size=4)
)
SPOKEN = ["Hi, I want a cheap hotel.", "Sure! When do you arrive?", "On Friday, by train."]


def rng(seed=0):
    return np.random.default_rng(seed)


def all_words(turns):
    return [word for turn in turns for word in words(turn)]


def changed(turns, found):
    return sum(old != new for old, new in zip(all_words(turns), all_words(found), strict=True))


@given(st.text(st.sampled_from("ab?, \n明天")))
def test_a_text_taken_apart_is_the_same_text(text):
    assert Wording.of(text).text == text
    assert Wording.of(text).words == words(text)


@pytest.mark.parametrize(
    ("gone", "left"), [(set(), " a b  c "), ({0}, " b  c "), ({1}, " a  c "), ({2}, " a b "), ({0, 1, 2}, " ")]
)
def test_a_word_goes_with_its_blanks(gone, left):
    assert Wording.of(" a b  c ").without(gone).text == left


def test_marks_around_a_word_are_none_of_it():
    assert bare("(restaurant?)") == ("(", "restaurant", "?)")
    assert bare("don't") == ("", "don't", "")
    assert bare("...")[1] == ""


@pytest.mark.parametrize("name", PERTURBATIONS)
@given(turns=TURNS, seed=st.integers(0, 100))
@settings(max_examples=20, deadline=None)
def test_the_same_seed_gives_the_same_turns_and_none_is_blank(name, turns, seed):
    before = list(turns)
    found = PERTURBATIONS[name](turns, rng(seed))
    assert found == PERTURBATIONS[name](turns, rng(seed))
    assert turns == before
    assert all(turn.strip() for turn in found)
    assert len(found) == len(turns) or name == "truncation"


@given(TURNS, st.integers(0, 100))
def test_truncation_leaves_the_last_turns(turns, seed):
    found = PERTURBATIONS["truncation"](turns, rng(seed))
    assert turns[-len(found) :] == found
    assert len(found) < len(turns) or len(turns) == 1


@given(TURNS, st.integers(0, 100))
def test_deletion_deletes_three_of_ten_words_as_far_as_no_turn_is_emptied(turns, seed):
    found = PERTURBATIONS["deletion"](turns, rng(seed))
    before, after = [len(words(turn)) for turn in turns], [len(words(turn)) for turn in found]
    assert sum(before) - sum(after) == min(int(0.3 * sum(before) + 0.5), sum(before) - len(turns))
    assert all(not Counter(words(new)) - Counter(words(old)) for old, new in zip(turns, found, strict=True))


@given(TURNS, st.integers(0, 100))
def test_reordering_keeps_the_words_and_how_many_each_turn_has(turns, seed):
    found = PERTURBATIONS["reordering"](turns, rng(seed))
    assert Counter("".join(turns)) == Counter("".join(found))
    assert [len(words(turn)) for turn in found] == [len(words(turn)) for turn in turns]
    assert (
        sum(a != b for a, b in zip(all_words(turns), all_words(found), strict=True)) <= 0.3 * len(all_words(turns)) + 1
    )


def test_reordering_of_a_context_with_one_word_changes_nothing():
    assert PERTURBATIONS["reordering"](["hello"], rng(), share=1.0) == ["hello"]


def test_reordering_moves_three_of_ten_words():
    turns = [" ".join(f"a{i}" for i in range(10)), " ".join(f"b{i}" for i in range(10))]
    found = PERTURBATIONS["reordering"](turns, rng())
    assert sum(a != b for a, b in zip(all_words(turns), all_words(found), strict=True)) == 6


@pytest.mark.parametrize("noise", [0.01, 0.1, 1.0])
def test_typos_change_three_of_ten_words_however_short_and_no_more(monkeypatch, noise):
    monkeypatch.setattr(perturbations, "NOISE", noise)
    turns = ["a fee of two excellent hotels"] * 20
    for seed in range(5):
        found = PERTURBATIONS["typos"](turns, rng(seed))
        assert changed(turns, found) == 36


def test_a_word_that_no_slip_changes_gives_its_place_to_another():
    # Of ten words seven have one character without a key.
    found = PERTURBATIONS["typos"](["\u2013 \u2013 \u2013 \u2013 \u2013 \u2013 \u2013 one two six"], rng())
    assert found[0].split()[:7] == ["\u2013"] * 7
    assert changed(["- - - - - - - one two six"], found[:1]) == 10
    assert not {"one", "two", "six"} & set(found[0].split())


@given(TURNS, st.integers(0, 100))
def test_typos_change_exactly_the_share_where_enough_words_can_change(turns, seed):
    found = PERTURBATIONS["typos"](turns, rng(seed))
    hit = [place for place, (old, new) in enumerate(zip(turns, found, strict=True)) if old != new]
    assert len(hit) <= int(0.3 * len(all_words(turns)) + 0.5)


DIALOGUE = [
    "Hi, I'm looking for a cheap hotel in the centre and I would like to book it for three nights.",
    "Sure, I can help with that. What is your price range, and do you need a parking space?",
    "Something affordable. It doesn't need to be big, but it should have free parking if possible.",
    "I found two places that match. The first is the Acorn, which is well reviewed; shall I reserve a room there?",
]


def test_synonyms_reach_three_of_ten_words_of_a_common_dialogue():
    words_in_all = len(all_words(DIALOGUE))
    for seed in range(10):
        found = PERTURBATIONS["synonyms"](DIALOGUE, rng(seed))
        left = Counter(all_words(DIALOGUE)) - Counter(all_words(found))
        # A word that left one place can have come to another, at most once or twice.
        assert int(0.3 * words_in_all + 0.5) - 2 <= left.total() <= int(0.3 * words_in_all + 0.5)


def test_a_contraction_is_written_out_whatever_its_apostrophe_and_keeps_its_capital():
    assert PERTURBATIONS["synonyms"](["It's I'm don\u2019t!"], rng(), share=1.0) == ["It is I am do not!"]


def test_one_letter_in_ten_goes_wrong():
    # One word of 10,000 letters: substitutions and deletions make one edit each, and there are four kinds.
    found = PERTURBATIONS["typos"](["e" * 10_000], rng(), share=1.0)[0]
    slips = sum(letter != "e" for letter in found) + 10_000 - found.count("e")
    # Wrong letters come from two kinds of four; letters e too few from substitution and deletion.
    assert slips / 10_000 == pytest.approx(0.1 * (0.5 + 0.5), abs=0.015)


def test_fingers_slip_to_keys_beside_the_right_one_and_keep_its_case():
    found = PERTURBATIONS["typos"](["GGGG" * 50], rng(), share=1.0)[0]
    assert set(found) <= set("GFTYHVB")
    assert set(found) - {"G"}


def test_keys_are_neighbours_both_ways():
    assert all(key in perturbations.AROUND[other] for key, others in perturbations.AROUND.items() for other in others)


def test_a_script_on_no_key_loses_or_swaps_characters_but_never_a_whole_word():
    assert PERTURBATIONS["typos"](["明天"], rng(), share=1.0) == ["明天"]
    found = PERTURBATIONS["typos"](["привет"], rng(1), share=1.0)[0]
    assert set(found) <= set("привет")
    assert found


def test_synonyms_keep_capitals_and_marks():
    known = perturbations.synonyms_of()
    found = PERTURBATIONS["synonyms"](["Cheap, CHEAP! (cheap) xyzzy"], rng(), share=1.0)[0].split()
    assert bare(found[0])[1].lower() in known["cheap"]
    assert found[0][0].isupper()
    assert found[0].endswith(",")
    assert found[1].isupper()
    assert (found[2][0], found[2][-1], found[3]) == ("(", ")", "xyzzy")


def test_synonyms_replace_three_of_ten_words_and_no_more_than_have_one():
    assert sum(word != "cheap" for word in PERTURBATIONS["synonyms"](["cheap " * 10], rng())[0].split()) == 3
    found = PERTURBATIONS["synonyms"](["cheap " + "xyzzy " * 20], rng())[0].split()
    assert sum(word != "xyzzy" for word in found) == 1
    assert found[0] != "cheap"


def test_each_word_is_in_one_set_of_two_or_more_or_has_a_synonym_one_way_and_can_be_found():
    known = json.loads(Path(perturbations.__file__).with_name("synonyms.json").read_text())
    sets, one_way = [words.split() for words in known["sets"]], known["one_way"]
    every = [word for words in sets for word in words]
    assert len(every) == len(set(every))
    assert not set(every) & set(one_way)
    assert all(word == word.lower() != other for word, other in one_way.items())
    assert min(map(len, sets)) > 1
    assert all(word.isascii() and word.isalpha() and word.islower() for word in every)


@pytest.mark.parametrize("name", PERTURBATIONS)
def test_no_turns_give_no_turns(name):
    assert PERTURBATIONS[name]([], rng()) == []


def test_a_stream_depends_on_seed_and_names_only():
    assert augmentation_rng(1, "a", "b").random() == augmentation_rng(1, "a", "b").random()
    assert (
        len({augmentation_rng(*names).random() for names in [(1, "a", "b"), (2, "a", "b"), (1, "ab"), (1, "b", "a")]})
        == 4
    )
