"""The triples of benchmarks/studies/woz_inferences.py, by hand."""

from __future__ import annotations

from dial2vec_papers.tasks.inference import read_inferences
from woz_inferences import contradict, labelled_turns, triples

ITALIAN, THAI = (("food", "italian"),), (("food", "thai"),)


def turn(text, *labels):
    return {"transcript": f" {text} ", "turn_label": [list(label) for label in labels]}


def test_sentences_stand_by_what_they_ask_for_and_unclear_ones_are_left_out():
    first = [turn("Pasta", *ITALIAN), turn("Pizza", *ITALIAN), turn("Hello"), turn("Any", ("food", "dontcare"))]
    second = [turn("Pizza", *ITALIAN), turn("Its phone", ("request", "phone")), turn("North", ("area", "north"))]
    third = [turn("North", ("food", "north")), turn("Pad thai there", ("food", "thai"), ("area", "north"))]
    found = labelled_turns({"dialogue": turns} for turns in (first, second, third))
    assert found == {ITALIAN: ["Pasta", "Pizza"], (("area", "north"), ("food", "thai")): ["Pad thai there"]}


def test_labels_contradict_each_other_in_one_value_of_the_same_things():
    assert contradict(ITALIAN, THAI)
    assert not contradict(ITALIAN, ITALIAN)
    assert not contradict(ITALIAN, (("area", "north"),))
    assert not contradict((("area", "north"), *ITALIAN), (("area", "south"), *THAI))
    assert contradict((("area", "north"), *ITALIAN), (("area", "north"), *THAI))


def test_a_sentence_begins_one_triple_if_there_are_two_to_join_it(tmp_path):
    found = list(triples({ITALIAN: ["Pasta", "Pizza"], THAI: ["Pad thai"]}, seed=1))
    assert found == [("Pasta", "Pizza", "Pad thai"), ("Pizza", "Pasta", "Pad thai")]
    path = tmp_path / "woz.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in found), encoding="utf-8")
    assert read_inferences(path).contradicting == ("Pad thai", "Pad thai")
