from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from conversations.dialogue import write_dialogues
from dial2vec.cli import main
from dial2vec.config import Drift
from dial2vec.operation.drift import compare
from dial2vec.operation.drift.comparison import shape_of
from dial2vec.operation.drift.two_samples import distances, energy_of, energy_test, far_away
from dial2vec.pipeline.artifacts import Artifacts
from tests.conftest import make_dialogue

OPTIONS = Drift(max_dialogues=120)


def cloud(n, *, seed, shift=0.0):
    """Points around (5 + shift, 5, 5, 5)."""
    return np.random.default_rng(seed).normal(size=(n, 4)) + np.array([5 + shift, 5, 5, 5])


def at(*degrees):
    """Unit vectors in the plane."""
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def literal_energy(between, old, new):
    """Each mean as a sum over pairs, as in the paper."""
    across = sum(between[i, j] for i in old for j in new) / (len(old) * len(new))
    within = [
        sum(between[i, j] for i in side for j in side if i != j) / (len(side) * (len(side) - 1)) for side in (old, new)
    ]
    return 2 * across - sum(within)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 6), st.integers(2, 6), st.integers(0, 1000))
def test_the_energy_distance_is_the_literal_one_for_every_division(n, m, seed):
    between = distances(cloud(n, seed=seed), cloud(m, seed=seed + 1))
    lots = np.array([np.random.default_rng([seed, lot]).permutation(n + m) for lot in range(3)])
    found = energy_of(between)(lots[:, :n], lots[:, n:])
    assert found == pytest.approx([literal_energy(between, lot[:n], lot[n:]) for lot in lots])


def test_two_sets_that_are_a_point_each_differ_wholly():
    found = energy_test(distances(at(*[0] * 20), at(*[90] * 20)), 20, seed=0)
    assert found.effect == pytest.approx(1)
    # The least that a thousand divisions can tell, and never 0.
    assert found.p_value == pytest.approx(1 / 1000)


def test_equal_vectors_do_not_differ():
    found = energy_test(distances(at(*[0] * 5), at(*[0] * 5)), 5, seed=0)
    assert (found.effect, found.p_value) == (0, 1)


def test_halves_of_one_cloud_are_told_apart_as_rarely_as_the_p_value_says():
    tests = [energy_test(distances(*np.split(cloud(60, seed=seed), 2)), 30, seed=seed) for seed in range(60)]
    # Of 60 six are expected below a tenth; 13 would be a chance of 1 in 200.
    assert sum(test.p_value < 0.1 for test in tests) < 13


def test_the_effect_grows_with_the_share_of_others():
    others, own = cloud(200, seed=1, shift=4), cloud(400, seed=0)
    effects = [
        energy_test(distances(own[:200], np.concatenate([own[200 : 400 - k], others[:k]])), 200, seed=0).effect
        for k in (20, 40, 80)
    ]
    assert effects[1] / effects[0] == pytest.approx(2, rel=0.3)
    assert effects[2] / effects[1] == pytest.approx(2, rel=0.3)


def test_far_away_begins_where_old_ones_end():
    # Distances to the nearest other: 10, 10 and 20 degrees; with three of them the limit is the greatest.
    found = far_away(distances(at(0, 10, 30), at(12, 60)), 3)
    assert found.limit == pytest.approx(2 * math.sin(math.radians(10)))
    assert found.distances == pytest.approx(2 * np.sin(np.radians([1, 15])))
    # One of four is the greatest, and that one of the two new ones is greatest among all five: 2 of 5.
    assert (found.share, found.expected) == (0.5, pytest.approx(1 / 4))
    assert found.p_value == pytest.approx(2 / 5)


def test_of_many_old_ones_a_hundredth_is_the_usual_share():
    found = far_away(distances(cloud(499, seed=0), cloud(1000, seed=1)), 499)
    assert found.expected == pytest.approx(0.01)
    assert found.share < 0.03
    assert far_away(distances(cloud(499, seed=0), -cloud(5, seed=1)), 499).share == 1


class Topics:
    """An encoder to which a dialogue is the topic that its first word names, and some noise of its own."""

    def __init__(self):
        self.read = []

    def encode(self, dialogues):
        self.read.append(len(dialogues))
        return np.array([self.vector(dialogue) for dialogue in dialogues], dtype=np.float32)

    def vector(self, dialogue):
        topic = int(dialogue.turns[0].text.split()[0].removeprefix("topic"))
        # By the id alone, so that it does not depend on the order.
        noise = np.random.default_rng(list(dialogue.dialogue_id.encode())).normal(size=8)
        return 5 * np.eye(8)[topic] + noise


def calls(n, *, topics=(0, 1, 2), name="call"):
    return [
        make_dialogue(f"{name}-{i}", f"a: topic{topics[i % len(topics)]} please", "b: gladly", "a: thanks")
        for i in range(n)
    ]


def compared(reference, new, **options):
    return compare(reference, new, encoder=Topics(), options=replace(OPTIONS, **options), seed=1)


def test_a_half_of_the_same_corpus_raises_no_alarm():
    found = compared(calls(200), calls(100, name="new"))
    assert not found.alarm
    assert found.verdict.startswith("No drift: the new dialogues are like the training data.")
    assert found.difference.p_value > 0.01


def test_a_new_topic_raises_an_alarm_that_says_by_how_much():
    found = compared(calls(200), calls(100, topics=(0, 1, 2, 3), name="new"))
    assert found.alarm
    assert found.verdict.startswith("Drift: the new dialogues are not like the training data: as a whole they differ")
    assert f"{found.difference.effect:.3f}" in found.verdict


def test_a_difference_below_the_limit_is_none_however_sure():
    found = compared(calls(200), calls(100, topics=(3,), name="new"), min_effect=1, max_far_share=1)
    assert found.difference.p_value == pytest.approx(0.001)
    assert not found.alarm


def test_a_few_far_ones_are_enough_and_are_named_the_farthest_first():
    new = [*calls(90, name="new"), *calls(10, topics=(6, 7), name="strange")]
    found = compared(calls(200), new, min_effect=1)
    assert found.alarm
    assert "10.0 % of them are far away from all training data (0.8 % is usual, 3.0 % the limit)" in found.verdict
    assert {one.dialogue_id.split("-")[0] for one in found.farthest} == {"strange"}
    assert [one.distance for one in found.farthest] == sorted((one.distance for one in found.farthest), reverse=True)
    assert all(one.distance > 1 and one.begins.startswith("topic") for one in found.farthest)


def test_too_few_dialogues_are_not_judged_and_not_read():
    encoder = Topics()
    found = compare(calls(200), calls(19), encoder=encoder, options=OPTIONS, seed=1)
    assert (found.alarm, found.difference, encoder.read) == (False, None, [])
    assert found.verdict == (
        "Too few to judge: found 19 new dialogues, expected at least 20 (drift.min_dialogues). Collect more."
    )
    assert "found 0 dialogues of training data, expected" in compared([], calls(50)).verdict


def test_the_order_of_the_dialogues_makes_no_difference():
    reference, new = calls(200), calls(150, topics=(0, 3), name="new")
    assert compared(reference[::-1], new[::-1]) == compared(reference, new)


def test_of_many_dialogues_some_are_drawn():
    encoder = Topics()
    found = compare(iter(calls(300)), calls(150), encoder=encoder, options=OPTIONS, seed=1)
    assert encoder.read == [120, 120]
    assert (found.reference.dialogues, found.reference.compared) == (300, 120)


def test_a_comparison_is_a_record_for_programs():
    for new in (calls(100, topics=(3,), name="new"), calls(3)):
        record = json.loads(json.dumps(compared(calls(100), new).to_dict()))
        assert record["new"]["dialogues"] == len(new)
        assert set(record) >= {"alarm", "verdict", "difference", "far_share", "farthest", "reference"}


def test_lengths_speakers_and_languages_are_counted():
    dialogues = [
        make_dialogue("a", "x: one two three", "y: four five"),
        make_dialogue("b", "x: Guten Morgen, wie geht es Ihnen heute?"),
        make_dialogue("c", "x: This is a sentence in plain English words.", "y: yes", "x: no", "z: why"),
    ]
    found = shape_of(dialogues, total=7)
    assert (found.dialogues, found.compared) == (7, 3)
    assert found.turns == (1.5, 2, 3)
    assert found.words == (6, 7, 9)
    assert found.speakers == pytest.approx(2)
    assert found.one_speaker == pytest.approx(1 / 3)
    assert found.languages["de"] == pytest.approx(1 / 3, abs=1e-3)
    assert shape_of([], total=0).words == (0, 0, 0)


@pytest.fixture
def run(tmp_path, monkeypatch, tiny_folder):
    """Call `dial2vec drift` in a project with a corpus `calls` of the words w0 to w9."""
    (tmp_path / "dvc.yaml").touch()
    (tmp_path / "params.yaml").write_text(f"{{corpora: [calls], encoder: {{name: {tiny_folder}, max_length: 64}}}}")
    monkeypatch.chdir(tmp_path)
    write_dialogues(Artifacts(tmp_path, "calls").split("train"), spoken(150, words=range(10), seed=0))
    write_dialogues(tmp_path / "same.jsonl", spoken(60, words=range(10), seed=1))
    write_dialogues(tmp_path / "others.jsonl", spoken(60, words=range(20, 30), seed=1))
    return lambda *arguments: CliRunner().invoke(main, ["drift", *map(str, arguments)])


def spoken(n, *, words, seed):
    draw = np.random.default_rng(seed)
    return [
        make_dialogue(f"{seed}-{i}", *(f"{who}: " + " ".join(f"w{w}" for w in draw.choice(words, 5)) for who in "abab"))
        for i in range(n)
    ]


def test_dialogues_as_before_end_with_status_0(run):
    done = run("same.jsonl")
    assert done.exit_code == 0, done.output
    assert "No drift: " in done.output
    assert [line.split() for line in done.output.splitlines()[:3]] == [
        ["training", "data", "new"],
        ["dialogues", "150", "60"],
        ["of", "them", "compared", "150", "60"],
    ]


def test_other_dialogues_end_with_status_3_and_say_what_is_next(run):
    done = run("others.jsonl")
    assert done.exit_code == 3, done.output
    assert "Drift: " in done.output
    assert "Farthest from the training data" in done.output
    assert "put them into data/calls, then retrain: `dial2vec run`" in done.output


def test_a_record_is_printed_for_programs(run, tiny_folder):
    done = run("others.jsonl", "--json", "--model", tiny_folder, "--corpus", "calls")
    assert done.exit_code == 3
    assert json.loads(done.stdout)["alarm"] is True


def test_a_folder_is_read_and_what_cannot_be_used_is_counted(run, tmp_path):
    (tmp_path / "new").mkdir()
    (tmp_path / "same.jsonl").rename(tmp_path / "new" / "a.jsonl")
    again = (tmp_path / "new" / "a.jsonl").read_text().splitlines()[0]
    (tmp_path / "new" / "b.jsonl").write_text(f"{again}\n{{broken\n")
    done = run("new")
    assert done.exit_code == 0, done.output
    assert "1 records could not be used, such as new/b.jsonl:2: not valid JSON" in done.output
    assert done.output.splitlines()[1].split() == ["dialogues", "150", "60"]


def test_an_export_is_compared_and_its_dialogues_are_named_by_their_place(run, tmp_path):
    rows = ["call_id,speaker,text"]
    for dialogue in spoken(60, words=range(20, 30), seed=1):
        rows += [f"{dialogue.dialogue_id},{turn.speaker},{turn.text}" for turn in dialogue.turns]
    (tmp_path / "others.csv").write_text("\n".join(rows))
    done = run("others.csv")
    assert done.exit_code == 3, done.output
    assert "(others.csv, dialogue " in done.output
    assert str(tmp_path) not in done.output


def test_too_few_dialogues_end_with_status_0_and_no_verdict(run, tmp_path):
    write_dialogues(tmp_path / "few.jsonl", spoken(3, words=range(20, 30), seed=1))
    done = run("few.jsonl")
    assert done.exit_code == 0, done.output
    assert "Too few to judge: found 3 new dialogues, expected at least 20" in done.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.jsonl"], "none.jsonl does not exist"),
        (["same.jsonl", "--corpus", "chats"], "the corpus 'chats' has no splits yet"),
        (["broken.jsonl"], "broken.jsonl has no row or record that can be read"),
        (["same.jsonl", "--model", "./none"], "is not a folder with a model"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence_and_status_1(run, tmp_path, arguments, message):
    (tmp_path / "broken.jsonl").write_text("{broken\n")
    done = run(*arguments)
    assert done.exit_code == 1
    assert done.output.startswith("Error: ")
    assert message in done.output


def test_of_several_corpora_one_has_to_be_named(run, tmp_path):
    (tmp_path / "params.yaml").write_text("corpora: [calls, chats]")
    done = run("same.jsonl")
    assert done.exit_code == 1
    assert "params.yaml names 2 corpora (calls, chats); expected one to compare with" in done.output
