from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from conftest import make_dialogue
from dial2vec.config import Settings, Train
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.head import Head
from dial2vec.errors import ArtifactError
from dial2vec.objectives.neighbours import centred, fit_map, neighbour_targets
from dial2vec.training.data import NeighbourSet, SelfGuidedSet
from dial2vec.training.methods import METHODS
from dial2vec.training.methods.dial2vec import plan_dial2vec
from dial2vec.training.methods.neighbours import CAUTIOUS, MAP, fit_maps, plan_neighbours
from training.test_loop import NEIGHBOURS, SETTINGS, corpus, samples_of

ALL = replace(NEIGHBOURS, max_dialogues=None)


def neighbour_head(pooled, *, k, ridge, identity):
    units, mean = centred(pooled)
    weight = fit_map(units, neighbour_targets(units, k=k), ridge=ridge, identity=identity)
    return Head(torch.from_numpy(mean), torch.from_numpy(weight))


def plan(folder, dialogues, vectors, *, method=plan_neighbours, settings=ALL, seed=1, samples=None):
    encoder = DialogueEncoder.from_pretrained(folder)
    drawn = samples_of(dialogues) if samples is None else samples
    return encoder, method(encoder, dialogues, drawn, settings=Settings(train=settings), seed=seed, vectors=vectors)


def test_every_method_that_the_settings_allow_can_be_planned():
    from typing import get_args, get_type_hints

    assert set(METHODS) == set(get_args(get_type_hints(Train)["method"]))


def test_too_few_dialogues_leave_the_start_and_a_sentence(tiny_folder, tmp_path):
    dialogues = [*corpus(99), make_dialogue("alone", "a: w1", "a: w2")]
    encoder, found = plan(tiny_folder, dialogues, tmp_path / "v")
    assert found.data is None
    assert (found.maps, found.head, encoder.head, found.neighbourhood) == ({}, None, None, ())
    assert found.note.startswith("The start was kept: learning from neighbours needs at least 100 training dialogues")
    assert found.note.endswith("and there are 99.")
    assert not (tmp_path / "v").exists()


def test_heads_are_fitted_on_the_start_the_more_cautious_first(tiny_folder, tmp_path):
    dialogues = corpus(120)
    start = DialogueEncoder.from_pretrained(tiny_folder).encode(dialogues)
    encoder, found = plan(tiny_folder, dialogues, tmp_path / "v")
    assert list(found.maps) == [CAUTIOUS, MAP]
    assert encoder.head is found.head
    assert torch.equal(found.head.weight, torch.eye(16))
    assert all(torch.equal(found.head.mean, one.mean) for one in found.maps.values())
    # 0.8 d / n = 0.8 x 16 / 120 = 0.107 is less than the least, 0.3.
    for name, ridge in ((CAUTIOUS, 3.0), (MAP, 0.3)):
        expected = neighbour_head(start, k=5, ridge=ridge, identity=1.0)
        torch.testing.assert_close(found.maps[name].weight, expected.weight, atol=2e-3, rtol=0)
    away = [(found.maps[name].weight - torch.eye(16)).norm() for name in (CAUTIOUS, MAP)]
    assert away[0] < away[1] / 2


def test_the_encoder_trains_towards_the_targets_of_the_start(tiny_folder, tmp_path):
    dialogues = corpus(120)
    _, found = plan(tiny_folder, dialogues, tmp_path / "v")
    assert isinstance(found.data, NeighbourSet)
    expected = neighbour_targets(centred(np.load(tmp_path / "v" / "00000000.npy"))[0], k=5)
    np.testing.assert_allclose(found.data.targets, expected, atol=1e-5)
    assert sorted(found.data.order[:120, 1]) == list(range(120))
    assert [sequence.ids.tolist() for sequence in found.data.sequences] == [
        sequence.ids.tolist() for sequence in DialogueEncoder.from_pretrained(tiny_folder).tokens.dialogues(dialogues)
    ]


def test_neighbours_are_sought_among_no_more_dialogues_than_the_setting_says(tiny_folder, tmp_path):
    dialogues = corpus(160)
    few, more = (
        plan(tiny_folder, dialogues, tmp_path / "v", settings=replace(ALL, neighbourhood=n))[1].data for n in (110, 130)
    )
    assert (len(few.sequences), len(more.sequences)) == (110, 130)
    assert few.targets.shape == (110, 16)
    everyone = plan(tiny_folder, dialogues, tmp_path / "v", settings=replace(ALL, neighbourhood=None))[1]
    assert len(everyone.data.sequences) == 160


def test_the_smaller_the_corpus_the_more_a_map_is_held_back(tiny_folder, tmp_path):
    start, dialogues = DialogueEncoder.from_pretrained(tiny_folder), corpus(20)
    found = fit_maps(start, dialogues, settings=ALL, vectors=tmp_path / "v")
    # 0.8 d / n = 0.8 x 16 / 20.
    expected = neighbour_head(start.encode(dialogues), k=5, ridge=0.64, identity=1.0)
    torch.testing.assert_close(found.maps[MAP].weight, expected.weight, atol=2e-3, rtol=0)


def test_maps_are_fitted_on_the_pooled_vectors_whatever_head_the_encoder_has(tiny_folder, tmp_path):
    dialogues = corpus(120)
    encoder, found = plan(tiny_folder, dialogues, tmp_path / "v")
    again = fit_maps(encoder, dialogues, settings=ALL, vectors=tmp_path / "w")
    assert encoder.head is found.head
    assert torch.equal(again.maps[MAP].weight, found.maps[MAP].weight)
    assert np.array_equal(again.targets, found.data.targets)


def test_fewer_dialogues_may_train_than_have_neighbours(tiny_folder, tmp_path):
    _, found = plan(tiny_folder, corpus(120), tmp_path / "v", settings=replace(ALL, max_dialogues=10))
    assert len(found.data.sequences) == 120
    assert len(np.unique(found.data.order[:, 1])) == 10


def test_the_same_seed_gives_the_same_plan_and_another_another(tiny_folder, tmp_path):
    dialogues, some = corpus(160), replace(ALL, neighbourhood=120)
    [one, same, other] = [
        plan(tiny_folder, dialogues, tmp_path / name, settings=some, seed=seed)[1]
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    ]
    assert np.array_equal(one.data.order, same.data.order)
    assert np.array_equal(one.data.targets, same.data.targets)
    assert torch.equal(one.maps[MAP].weight, same.maps[MAP].weight)
    assert not np.array_equal(one.data.order, other.data.order)
    assert not np.array_equal(one.data.targets, other.data.targets)


def test_only_dialogues_that_may_train_have_neighbours_or_are_one(tiny_folder, tmp_path):
    aside = [make_dialogue(f"alone{i}", "a: w1", "a: w2") for i in range(5)]
    with_aside, without = (
        plan(tiny_folder, dialogues, tmp_path / "v")[1].data for dialogues in ([*aside, *corpus(110)], corpus(110))
    )
    assert np.array_equal(with_aside.targets, without.targets)


def test_the_self_guided_task_needs_no_vectors_and_has_no_heads(tiny_folder, tmp_path):
    encoder, found = plan(tiny_folder, corpus(), tmp_path / "v", method=plan_dial2vec, settings=SETTINGS)
    assert isinstance(found.data, SelfGuidedSet)
    assert (found.reading, encoder.tokens.input) == (None, "text")
    assert (found.maps, found.head, found.note, encoder.head, found.neighbourhood) == ({}, None, "", None, ())
    assert len(found.data) == 2 * 12
    assert not (tmp_path / "v").exists()


def test_nothing_to_train_on_is_an_error_that_names_the_setting(tiny_folder, tmp_path):
    from dial2vec.training.negatives import draw_samples

    dialogues = corpus(3)
    none = draw_samples(dialogues, negatives=3, passes=1, keep_role="random", min_turns=50, seed=1)
    with pytest.raises(ArtifactError, match=r"none of the 3 training dialogues can train.*sample\.min_turns"):
        plan(tiny_folder, dialogues, tmp_path / "v", method=plan_dial2vec, settings=SETTINGS, samples=none)
    assert plan(tiny_folder, dialogues, tmp_path / "v", samples=none)[1].note.endswith("and there are 0.")
