from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import make_dialogue
from dial2vec.config import Train
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.tokens import Batch
from dial2vec.training.data import NeighbourSet, SelfGuidedSet, training_order, whole_batches
from dial2vec.training.negatives import draw_samples

DIALOGUES = [
    make_dialogue("short", "a: w0 w1", "b: w2"),
    make_dialogue("middle", "b: w3", "a: w4 w5", "b: w6"),
    make_dialogue("long", "a: " + "w7 " * 8, "b: w8", "a: w9"),
]


@pytest.fixture(scope="module")
def encoder(tiny_folder):
    return DialogueEncoder.from_pretrained(tiny_folder)


def self_guided(encoder, dialogues, order):
    samples = draw_samples(dialogues, negatives=3, passes=1, keep_role="random", min_turns=2, seed=1)
    return SelfGuidedSet(dialogues, samples, encoder.tokens, np.array(order))


def neighbours(encoder, dialogues, order, *, max_length=64):
    targets = np.eye(len(dialogues), 16, dtype=np.float32)
    sequences = encoder.tokens.dialogues(dialogues)
    return NeighbourSet(sequences, targets, encoder.tokens, np.array(order), max_length=max_length)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 40), st.integers(1, 3), st.integers(1, 3), st.integers(1, 6), st.integers(0, 3))
def test_every_epoch_trains_on_every_item_once(n, passes, epochs, batch_size, seed):
    options = Train(epochs=epochs, batch_size=batch_size, max_dialogues=None)
    order = training_order(np.arange(n) % 7, passes=passes, settings=options, seed=seed)
    expected = sorted((p, i) for p in range(passes) for i in range(n))
    for epoch in range(epochs):
        part = order[epoch * n * passes : (epoch + 1) * n * passes]
        assert sorted(map(tuple, part.tolist())) == expected


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 60), st.integers(1, 4), st.integers(2, 70), st.integers(0, 3), st.none() | st.integers(2, 70))
def test_a_loss_with_in_batch_negatives_never_meets_an_item_twice(n, epochs, batch_size, seed, most):
    options = Train(epochs=epochs, batch_size=batch_size, max_dialogues=most)
    fitting, order = whole_batches(np.arange(n) % 7, settings=options, seed=seed)
    per_epoch = min(n, most or n)
    n_batches = per_epoch // fitting.batch_size
    assert fitting.batch_size == min(batch_size, per_epoch)
    assert len(order) == epochs * n_batches * fitting.batch_size
    # As the loader cuts them: from the front, whatever the epoch.
    batches = [order[i : i + fitting.batch_size, 1].tolist() for i in range(0, len(order), fitting.batch_size)]
    assert all(len(set(batch)) == fitting.batch_size for batch in batches)
    for epoch in range(epochs):
        trained = [item for batch in batches[epoch * n_batches :][:n_batches] for item in batch]
        assert len(set(trained)) == len(trained) > per_epoch - fitting.batch_size
    if not per_epoch % fitting.batch_size:
        assert np.array_equal(order, training_order(np.arange(n) % 7, passes=1, settings=fitting, seed=seed))


def test_what_is_left_over_of_an_epoch_is_drawn_whatever_its_length():
    words, options = np.arange(23), Train(epochs=30, batch_size=5, max_dialogues=None)
    _, order = whole_batches(words, settings=options, seed=1)
    left = [set(range(23)) - set(epoch.tolist()) for epoch in order[:, 1].reshape(30, 20)]
    assert {len(items) for items in left} == {3}
    # Each of 23 is left out with a chance of 3 in 23 per epoch: after 30 epochs two of a hundred never were.
    assert len(set().union(*left)) >= 20


def test_batches_hold_dialogues_of_similar_length():
    words = np.random.default_rng(0).integers(1, 300, 400)
    order = training_order(words, passes=1, settings=Train(batch_size=5, max_dialogues=None), seed=1)
    batches = words[order[:, 1]].reshape(-1, 5)
    shuffled = np.random.default_rng(1).permutation(words).reshape(-1, 5)
    padding, unsorted = (1 - b.sum() / (b.max(1) * 5).sum() for b in (batches, shuffled))
    assert padding < 0.05 < unsorted


def test_fewer_dialogues_are_a_subset_of_more():
    words = np.ones(50, dtype=np.int64)
    few, many = (
        set(training_order(words, passes=1, settings=Train(max_dialogues=n), seed=1)[:, 1].tolist()) for n in (10, 30)
    )
    assert len(few) == 10
    assert few < many


def test_the_same_dialogues_train_in_every_epoch_in_another_order():
    order = training_order(np.ones(50, np.int64), passes=1, settings=Train(max_dialogues=20, epochs=2), seed=1)
    first, second = order[:20, 1].tolist(), order[20:, 1].tolist()
    assert sorted(first) == sorted(second)
    assert first != second


def test_no_epochs_or_no_dialogues_give_no_items():
    assert training_order(np.ones(5, np.int64), passes=1, settings=Train(epochs=0), seed=1).shape == (0, 2)
    assert training_order(np.ones(0, np.int64), passes=1, settings=Train(), seed=1).shape == (0, 2)


def test_an_item_of_the_self_guided_task_is_the_dialogue_and_its_negatives(encoder):
    data = self_guided(encoder, DIALOGUES, [[0, 2], [0, 1]])
    samples, texts = data.samples, [turn.text for dialogue in DIALOGUES for turn in dialogue.turns]
    for item, (_, place) in enumerate(data.order):
        columns = slice(samples.first_turn[place], samples.first_turn[place + 1])
        expected = [[turn.text for turn in DIALOGUES[samples.dialogues[place]].turns]]
        expected += [[texts[number] for number in row] for row in samples.negatives[0][:, columns]]
        found = [encoder.tokens.tokenizer.decode(sequence.ids) for sequence in data[item]]
        assert found == ["[CLS] " + " ".join(turns) for turns in expected]


def test_a_batch_of_the_self_guided_task_keeps_a_dialogue_beside_its_negatives(encoder):
    data = self_guided(encoder, DIALOGUES, [[0, 0], [0, 1]])
    batch = data.collate([data[0], data[1]])
    assert {name: tensor.shape[:2] for name, tensor in batch.items()} == dict.fromkeys(Batch.__slots__, (2, 4))
    ids = data[1][3].ids
    assert batch["ids"][1, 3, : len(ids)].tolist() == ids.tolist()
    assert batch["roles"][1, 3, len(ids) :].eq(-1).all()


def test_a_dialogue_that_is_cut_counts_once_also_when_only_a_negative_is(encoder):
    # The only turn that a second speaker of `short` can be given is its own 70 tokens or one of those.
    long = [make_dialogue("long", "a: w1", "b: " + "w2 " * 70), make_dialogue("also", "a: w3", "b: " + "w4 " * 70)]
    assert self_guided(encoder, long, [[0, 0], [0, 0], [0, 1]]).count_cut() == 2
    assert self_guided(encoder, DIALOGUES, [[0, 0], [0, 1], [0, 2]]).count_cut() == 0
    samples = draw_samples([DIALOGUES[0], long[0]], negatives=40, passes=1, keep_role="first", min_turns=2, seed=1)
    with_negatives = SelfGuidedSet([DIALOGUES[0], long[0]], samples, encoder.tokens, np.array([[0, 0]]))
    assert with_negatives.count_cut() == 1


def test_an_item_of_neighbourhood_learning_is_the_dialogue_and_its_target(encoder):
    data = neighbours(encoder, DIALOGUES, [[0, 2], [0, 0]])
    assert len(data) == 2
    for item, place in enumerate((2, 0)):
        sequence, target = data[item]
        assert sequence.ids.tolist() == encoder.tokens.dialogues(DIALOGUES)[place].ids.tolist()
        assert target.tolist() == np.eye(3, 16)[place].tolist()


def test_a_batch_of_neighbourhood_learning_has_one_sequence_and_one_target_per_dialogue(encoder):
    data = neighbours(encoder, DIALOGUES, [[0, 2], [0, 0]])
    batch = data.collate([data[0], data[1]])
    assert batch["ids"].shape == (2, 1, len(data[0][0].ids))
    assert batch["attention"].sum((1, 2)).tolist() == [len(data[item][0].ids) for item in (0, 1)]
    assert batch["targets"].dtype == torch.float32
    assert batch["targets"].tolist() == np.eye(3, 16)[[2, 0]].tolist()


def test_the_loss_of_neighbourhood_learning_is_that_of_the_encoders_vectors(encoder):
    data = neighbours(encoder, DIALOGUES, [[0, 0], [0, 1], [0, 2]])
    padded = data.collate([data[item] for item in range(3)])
    batch = Batch(*(padded[name].flatten(0, 1) for name in Batch.__slots__))
    vectors = encoder.encode(DIALOGUES)
    cosines = np.diagonal(vectors) / np.linalg.norm(vectors, axis=1)
    with torch.no_grad():
        loss = data.loss(encoder, Train(), batch, {"targets": padded["targets"]})
    assert loss.item() == pytest.approx((1 - cosines).mean(), abs=1e-5)


def test_longer_dialogues_train_on_their_beginning_and_are_counted_once(encoder):
    data = neighbours(encoder, DIALOGUES, [[0, 2], [0, 2], [0, 0]], max_length=8)
    assert [len(data[item][0].ids) for item in range(3)] == [8, 8, 4]
    assert data[0][0].ids.tolist() == encoder.tokens.dialogues(DIALOGUES)[2].ids[:8].tolist()
    assert data.count_cut() == 1
    assert neighbours(encoder, DIALOGUES, [[0, 0], [0, 1]], max_length=8).count_cut() == 0


def test_dialogues_beyond_the_encoders_own_limit_are_counted_as_cut_too(encoder):
    longest = [make_dialogue("longest", "a: " + "w1 " * 50, "b: " + "w2 " * 50)]
    data = neighbours(encoder, longest, [[0, 0]], max_length=256)
    assert len(data[0][0].ids) == encoder.max_length == 64
    assert data.count_cut() == 1
