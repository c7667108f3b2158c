import json
import re
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dial2vec.evaluation.report import dialogue_map
from dial2vec.evaluation.report.dialogue_map import LINE, SIDE, dialogue_maps, named_groups, names_of_labels, text_width

ZOOMS = (1, 2, 4, 8, 16)


def some(dialogue, n, n_labels):
    made = [dialogue(f"call {i}", *["user: hello"] * 5, labels=(f"topic {i % n_labels:02}",)) for i in range(n)]
    vectors = np.random.default_rng(0).normal(size=(2, n, 4)).astype(np.float32)
    return made, [one.label for one in made], {"Start": vectors[0], "Trained": vectors[1]}


def test_no_dialogues_make_no_map():
    assert dialogue_maps([], [], {"Start": np.zeros((0, 3)), "Trained": np.zeros((0, 3))}, seed=0) is None


def test_every_dialogue_is_on_both_maps_where_the_script_says_it_is(dialogue):
    made, labels, vectors = some(dialogue, 12, 3)
    found = dialogue_maps(made, labels, vectors, seed=0)
    data = json.loads(found.script_data)
    assert data["labels"] == ["topic 00", "topic 01", "topic 02"]
    assert [record[0] for record in data["dialogues"]] == [one.dialogue_id for one in made]
    for order, drawn in enumerate(found.maps):
        for label, layer in enumerate(drawn.layers):
            places = [record[3 + order] for record in data["dialogues"] if record[1] == label]
            assert layer == "".join(f"M{x} {y}h0" for x, y in places)
            assert all(0 <= value <= dialogue_map.SIDE for place in places for value in place)


def test_legend_counts_the_dialogues_of_each_label(dialogue):
    legend = dialogue_maps(*some(dialogue, 11, 3), seed=0).legend
    assert [(entry.name, entry.count) for entry in legend] == [("topic 00", 4), ("topic 01", 4), ("topic 02", 3)]


def test_two_dozen_labels_look_different(dialogue):
    legend = dialogue_maps(*some(dialogue, 40, 40), seed=0).legend
    assert len({entry.colour for entry in legend}) == 24


def test_script_data_holds_the_opening_turns_and_cannot_end_the_script(dialogue):
    hostile = dialogue("</script>", "user: <!--", *["agent: " + "long " * 99] * 9, labels=("a",))
    found = dialogue_maps([hostile], ["a"], {"Start": np.ones((1, 3)), "Trained": np.ones((1, 3))}, seed=0)
    assert "<" not in found.script_data
    [(name, _, turns, *_)] = json.loads(found.script_data)["dialogues"]
    assert (name, turns[0]) == ("</script>", ["user", "<!--"])
    assert len(turns) == 3
    assert len(turns[1][1]) <= 110
    assert turns[1][1].endswith("…")


def test_of_too_many_dialogues_a_lot_decides_the_same_way_every_time(dialogue, monkeypatch):
    monkeypatch.setattr(dialogue_map, "MOST_POINTS", 8)
    found = dialogue_maps(*some(dialogue, 20, 2), seed=0)
    assert (found.shown, found.left_out) == (8, 12)
    assert sum(len(re.findall("M", layer)) for layer in found.maps[0].layers) == 8
    assert found == dialogue_maps(*some(dialogue, 20, 2), seed=0)


@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_dialogues_have_a_place(dialogue, n):
    assert len(json.loads(dialogue_maps(*some(dialogue, n, 1), seed=0).script_data)["dialogues"]) == n


def test_a_dialogue_takes_a_kilobyte_of_the_page_at_most(dialogue):
    made, labels, vectors = some(dialogue, 100, 40)
    long = [dialogue(one.dialogue_id, *["user: " + "words " * 500] * 60, labels=one.labels) for one in made]
    found = dialogue_maps(long, labels, vectors, seed=0)
    drawn = "".join(layer for one in found.maps for layer in one.layers)
    assert len((found.script_data + 2 * drawn).encode()) < 100 * 1_000


def talks(dialogue, n):
    words = [("the parcel is late", "which parcel number"), ("my card was stolen", "we block your card")]
    made = [dialogue(f"call {i}", f"user: {words[i % 2][0]}", f"agent: {words[i % 2][1]} {i}") for i in range(n)]
    vectors = np.array([[1.0, 0.0], [0.0, 1.0]], dtype=np.float32)[np.arange(n) % 2]
    return made, vectors


def test_groups_are_named_by_words_that_the_others_lack(dialogue):
    made, vectors = talks(dialogue, 20)
    names = named_groups(made, vectors, seed=0)
    assert len(set(names[::2])) == len(set(names[1::2])) == 1
    assert "parcel" in names[0]
    assert "card" in names[1]


def test_vectors_that_coincide_are_one_group(dialogue):
    made, vectors = talks(dialogue, 40)
    assert len(set(named_groups(made, np.ones_like(vectors), seed=0))) == 1


def test_one_dialogue_has_a_group_and_none_has_none(dialogue):
    made, vectors = talks(dialogue, 1)
    assert len(named_groups(made, vectors, seed=0)) == 1
    assert named_groups([], vectors[:0], seed=0) == []


def boxes(names, zoom):
    shown = [name for name in names if name.zoom <= zoom]
    return [
        (n.x * zoom - n.width / 2, n.y * zoom - LINE / 2, n.x * zoom + n.width / 2, n.y * zoom + LINE / 2)
        for n in shown
    ]


def overlapping(names, zoom):
    pairs = combinations(boxes(names, zoom), 2)
    return [(a, b) for a, b in pairs if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]]


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000), labels=st.integers(1, 60), length=st.integers(1, 40))
def test_no_two_names_overlap_at_any_zoom_and_all_stay_on_the_map(seed, labels, length):
    rng = np.random.default_rng(seed)
    points, codes = (
        rng.integers(0, SIDE + 1, (300, 2)),
        np.concatenate([np.arange(labels), rng.integers(0, labels, 300)]),
    )
    names = names_of_labels(points, codes[:300], ["n" * length] * labels)
    for zoom in ZOOMS:
        assert overlapping(names, zoom) == []
    for left, upper, right, lower in boxes(names, 1):
        assert left >= 0
        assert upper >= 0
        assert right <= SIDE
        assert lower <= SIDE


def test_a_name_stands_at_the_densest_place_of_its_label():
    rng = np.random.default_rng(0)
    middles = np.array([[250, 250], [750, 300], [300, 750], [700, 720]])
    codes = np.repeat(range(4), 150)
    points = np.rint(middles[codes] + rng.normal(size=(600, 2)) * 60).astype(np.int64)
    names = names_of_labels(points, codes, ["hotel", "train", "concert", "doctor"])
    assert [name.zoom for name in names] == [1] * 4
    assert np.abs(np.array([(name.x, name.y) for name in names]) - middles).max() < 60


def test_a_name_over_that_of_a_larger_label_waits_for_a_zoom():
    first, second = names_of_labels(np.array([[500, 500], [520, 500]]), np.array([0, 1]), ["hotel", "train"])
    assert first.zoom == 1
    assert second.zoom > 1


def test_a_long_name_is_shortened_and_wide_characters_are_wider():
    [name] = names_of_labels(np.array([[0, 0]]), np.array([0]), ["a very long name of a label indeed"])
    assert len(name.text) <= 24
    assert name.text.endswith("…")
    assert text_width("請求書") > text_width("abc")
