from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dial2vec.errors import ArtifactError
from dial2vec.training.negatives import Samples, draw_samples
from tests.conftest import make_dialogue

LINES = st.lists(st.sampled_from("abc"), min_size=1, max_size=8)
CORPORA = st.lists(LINES, min_size=1, max_size=6).map(
    lambda corpus: [
        make_dialogue(f"d{i}", *(f"{s}: text {i} {t}" for t, s in enumerate(lines))) for i, lines in enumerate(corpus)
    ]
)


def draw(train, **changes):
    options = {"negatives": 4, "passes": 2, "keep_role": "random", "min_turns": 2, "seed": 7} | changes
    return draw_samples(train, **options)


@settings(max_examples=60, deadline=None)
@given(CORPORA, st.sampled_from(["random", "first", "second"]))
def test_kept_role_stays_and_every_other_turn_comes_from_its_own_role(train, keep_role):
    samples = draw(train, keep_role=keep_role)
    roles = [role for dialogue in train for role in dialogue.roles]
    first = np.cumsum([0, *(len(d.turns) for d in train)])
    able = [i for i, d in enumerate(train) if len(d.turns) >= 2 and d.n_speakers > 1]
    assert samples.dialogues.tolist() == able
    for place, i in enumerate(able):
        own = np.arange(first[i], first[i + 1])
        columns = slice(samples.first_turn[place], samples.first_turn[place + 1])
        for index in range(2):
            for negative in range(4):
                kept = samples.kept[index, negative, place]
                assert kept in {"random": set(train[i].roles), "first": {0}, "second": {1}}[keep_role]
                for turn, drawn in zip(own, samples.negatives[index, negative, columns], strict=True):
                    assert roles[drawn] == roles[turn]
                    assert drawn == turn or roles[turn] != kept


def test_replacements_are_uniform_over_the_role_in_the_whole_split():
    train = [make_dialogue(f"d{i}", f"a: {i}", f"b: {i}", f"a: {i} again") for i in range(5)]
    samples = draw(train, negatives=4000, passes=1, keep_role="first")
    replaced = samples.negatives[0][:, 1::3]
    counts = np.bincount(replaced.ravel(), minlength=15)
    assert set(np.flatnonzero(counts)) == {1, 4, 7, 10, 13}
    np.testing.assert_allclose(counts[1::3] / counts.sum(), 0.2, atol=0.01)


def test_the_same_seed_draws_the_same_and_another_seed_another():
    train = [make_dialogue(f"d{i}", "a: x", "b: y", "a: z", "b: w") for i in range(20)]
    first, again, other = draw(train), draw(train), draw(train, seed=8)
    np.testing.assert_array_equal(first.negatives, again.negatives)
    assert (first.negatives != other.negatives).any()


def test_a_pass_does_not_depend_on_the_number_of_passes():
    train = [make_dialogue(f"d{i}", "a: x", "b: y", "a: z") for i in range(20)]
    np.testing.assert_array_equal(draw(train, passes=1).negatives[0], draw(train, passes=3).negatives[0])
    assert (draw(train).negatives[0] != draw(train).negatives[1]).any()


def test_short_and_one_speaker_dialogues_do_not_train_but_lend_their_turns():
    train = [
        make_dialogue("long", "a: x", "b: y", "a: z"),
        make_dialogue("short", "a: p", "b: q"),
        make_dialogue("alone", "a: 1", "a: 2", "a: 3"),
    ]
    samples = draw(train, min_turns=3, negatives=200, keep_role="second")
    assert samples.dialogues.tolist() == [0]
    assert set(np.unique(samples.negatives[0][:, 0])) == {0, 2, 3, 5, 6, 7}


@settings(max_examples=60, deadline=None)
@given(CORPORA, st.lists(st.integers(0, 2), min_size=6, max_size=6))
def test_stand_ins_come_from_the_same_cluster_and_role(train, clusters):
    clusters = np.unique(clusters[: len(train)], return_inverse=True)[1]
    samples = draw(train, clusters=clusters)
    roles = [role for dialogue in train for role in dialogue.roles]
    of = np.repeat(clusters, [len(dialogue.turns) for dialogue in train])
    for place, i in enumerate(samples.dialogues):
        columns = slice(samples.first_turn[place], samples.first_turn[place + 1])
        drawn = samples.negatives[:, :, columns]
        assert (of[drawn] == clusters[i]).all()
        assert all(roles[one] == train[i].roles[turn] for *_, turn, one in enumerate_all(drawn))


def enumerate_all(drawn):
    return ((*place, drawn[place]) for place in np.ndindex(drawn.shape))


def test_stand_ins_are_uniform_over_the_role_in_the_cluster():
    train = [make_dialogue(f"d{i}", f"a: {i}", f"b: {i}", f"a: {i} again") for i in range(10)]
    samples = draw(train, negatives=4000, passes=1, keep_role="first", clusters=np.arange(10) % 2)
    counts = np.bincount(samples.negatives[0][:, 1::6].ravel(), minlength=30)
    assert set(np.flatnonzero(counts)) == {1, 7, 13, 19, 25}
    np.testing.assert_allclose(counts[1::6] / counts.sum(), 0.2, atol=0.01)


def test_the_split_may_be_a_stream():
    train = [make_dialogue(f"d{i}", "a: x", "b: y", "a: z") for i in range(20)]
    np.testing.assert_array_equal(draw(iter(train)).negatives, draw(train).negatives)


def test_hundreds_of_speakers_are_drawn_by_role():
    crowd = make_dialogue("crowd", *(f"s{i}: x" for i in range(300)))
    samples = draw([crowd, crowd], negatives=3)
    assert samples.kept.max() > 127


def test_samples_come_back_as_they_were_saved(tmp_path):
    samples = draw([make_dialogue(f"d{i}", "a: x", "b: y") for i in range(3)])
    samples.save(tmp_path / "samples.npz")
    again = Samples.load(tmp_path / "samples.npz")
    for name in Samples.__slots__:
        np.testing.assert_array_equal(getattr(again, name), getattr(samples, name))


def test_half_written_samples_say_what_to_do(tmp_path):
    path = tmp_path / "samples.npz"
    draw([make_dialogue("d", "a: x", "b: y")]).save(path)
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(ArtifactError, match="not a whole file of samples"):
        Samples.load(path)
    with pytest.raises(ArtifactError, match="does not exist"):
        Samples.load(tmp_path / "none.npz")
