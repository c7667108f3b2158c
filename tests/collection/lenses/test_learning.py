from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from conversations.dialogue import Turn
from dial2vec.collection.lenses.learning import (
    LensData,
    _interval,
    calibration_error,
    can_learn,
    learn,
    load_lens,
)
from dial2vec.collection.lenses.model import TurnReader
from dial2vec.errors import ArtifactError
from tests.collection.lenses.made import calls

LABELS = ("booked", "failed")


@pytest.fixture(scope="module")
def reader():
    return TurnReader()


def lesson(reader, n=60, descriptions=(["it is reserved"], ["it did not work"], []), change=lambda one: one):
    dialogues, ends = calls(n)
    labels = np.array([LABELS.index(end) if (end := ends[one.dialogue_id]) in LABELS else 2 for one in dialogues])
    spare, _ = calls(40, seed=1)
    examples = [change(one) for one in dialogues]
    said = [reader.sentences(each) for each in descriptions]
    return LensData(reader.read(examples), labels, reader.read(spare), said, reader.word)


def test_what_was_learnt_tells_calls_that_were_not_among_the_examples_and_the_turn_that_says_so(reader):
    model, qualities = learn(lesson(reader), seed=0)
    dialogues, ends = calls(90, seed=2)
    chances, turns = model.read(reader.read(dialogues))
    np.testing.assert_allclose(chances.sum(1), 1)
    told = np.array([*LABELS, "none"])[chances.argmax(1)]
    assert np.mean(told == [ends[one.dialogue_id] for one in dialogues]) > 0.95
    for row, one in enumerate(dialogues):
        if ends[one.dialogue_id] in LABELS:
            # The turn that ends the call, or one that is read with it.
            assert turns[row, LABELS.index(ends[one.dialogue_id])] in (3, 4, 5)
    assert [quality.examples for quality in qualities] == [20, 20]
    assert all(quality.interval[0] <= quality.auroc <= quality.interval[1] for quality in qualities)


def test_the_same_seed_learns_the_same(reader):
    one, two = (learn(lesson(reader, 24), seed=3) for _ in range(2))
    np.testing.assert_array_equal(one[0].table, two[0].table)
    assert one[1] == two[1]


def test_a_saved_model_reads_as_before_and_a_damaged_one_is_told(reader, tmp_path):
    model, _ = learn(lesson(reader, 24), seed=0)
    model.save(tmp_path / "lens.safetensors")
    turns = reader.read(calls(9, seed=5)[0])
    np.testing.assert_array_equal(load_lens(tmp_path / "lens.safetensors").read(turns)[0], model.read(turns)[0])
    content = bytearray((tmp_path / "lens.safetensors").read_bytes())
    content[len(content) // 2] ^= 1
    for damaged in (content, content[:99], b""):
        (tmp_path / "lens.safetensors").write_bytes(damaged)
        with pytest.raises(ArtifactError, match=r"Make the lens again with `dial2vec lens .* --name lens`"):
            load_lens(tmp_path / "lens.safetensors")


def test_descriptions_that_mislead_are_left_out(reader):
    # Each label is described by what is said for the other, many times.
    wrong = (["sorry , it is not possible"] * 40, ["it is confirmed , you are all set"] * 40, [])
    _, misled = learn(lesson(reader, descriptions=wrong), seed=0)
    assert not any(quality.by_descriptions for quality in misled)
    assert min(quality.auroc for quality in misled) > 0.9


def test_a_word_that_gives_the_label_away_is_named(reader):
    def stamped(one):
        last = one.turns[-1]
        text = f"{last.text} zebra" if int(one.dialogue_id.split("-")[2]) % 3 == 0 else last.text
        return type(one)(one.dialogue_id, (*one.turns[:-1], Turn(last.speaker, text)))

    _, qualities = learn(lesson(reader, change=stamped), seed=0)
    # Each failed call says "not", too.
    assert [quality.giveaway for quality in qualities] == ["zebra", "not"]
    plain = lesson(reader)
    assert learn(plain._replace(labels=np.random.default_rng(0).permutation(plain.labels)), seed=0)[1][0].giveaway == ""


def test_examples_with_a_wrong_label_are_not_learnt_from(reader, monkeypatch):
    monkeypatch.setattr("dial2vec.collection.lenses.learning.DOUBTED", 120)
    given, rng = lesson(reader, 120), np.random.default_rng(0)
    wrong = rng.choice(120, 12, replace=False)
    labels = given.labels.copy()
    labels[wrong] = (labels[wrong] + 1) % 3
    model, qualities = learn(given._replace(labels=labels), seed=0)
    # Of seven and six wrong ones.
    assert [quality.left_out for quality in qualities] == [4, 5]
    assert [quality.left_out for quality in learn(given, seed=0)[1]] == [0, 0]
    dialogues, ends = calls(90, seed=2)
    told = np.array([*LABELS, "none"])[model.read(reader.read(dialogues))[0].argmax(1)]
    assert np.mean(told == [ends[one.dialogue_id] for one in dialogues]) > 0.95


def test_a_group_has_a_figure_of_its_own_if_both_sides_have_five_examples(reader):
    given = lesson(reader)
    first, few = np.arange(60) < 30, np.arange(60) < 12
    _, qualities = learn(given._replace(groups={"first": first, "few": few}), seed=0)
    assert [list(quality.groups) for quality in qualities] == [["first"], ["first"]]
    # Labels that say nothing in one half are told in the other.
    labels = np.where(first, given.labels, np.random.default_rng(1).permutation(given.labels))
    parts = {"first": first, "rest": ~first}
    [quality, _] = learn(given._replace(labels=labels, groups=parts), seed=0)[1]
    assert quality.groups["first"][0] > quality.groups["rest"][0] + 0.2
    assert quality.groups["first"][1] == 30


@pytest.mark.parametrize(
    ("labels", "enough"),
    [
        ([0] * 10 + [1] * 10, True),
        ([0] * 10 + [1] * 9, False),
        # One example of a label, and one without it.
        ([0] * 19 + [1], False),
        ([0] * 2 + [2] * 18, False),
        ([0] * 9 + [1] * 9 + [2] * 2, True),
    ],
)
def test_labels_are_learnt_from_twenty_examples_with_two_on_each_side(labels, enough):
    assert can_learn(np.array(labels), 2) is enough


def test_the_calibration_error_is_the_mean_gap_of_bins():
    chances, is_so = np.array([0.05, 0.05, 0.95, 0.95]), np.array([0.0, 1, 1, 1])
    # First bin: 0.5 told by 0.05; last bin: 1 told by 0.95.
    assert calibration_error(is_so, chances) == pytest.approx((0.45 + 0.05) / 2)


def test_the_interval_holds_the_area_and_narrows_with_examples():
    rng, widths = np.random.default_rng(0), []
    for n in (40, 400):
        is_so = (np.arange(n) % 2).astype(float)
        scores = np.round(is_so + rng.normal(size=n), 1)
        area = roc_auc_score(is_so, scores)
        low, high = _interval(is_so, scores, area)
        assert low < area < high
        assert (low + high) / 2 == pytest.approx(area, abs=0.02)
        widths.append(high - low)
    assert widths[1] < widths[0] * 0.6
