from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dial2vec.config import Train
from dial2vec.training.data import first_turns, training_order, whole_batches
from tests.training.methods.tiny_runs import NUMBERED


def test_utterances_are_numbered_through_all_dialogues():
    assert first_turns(NUMBERED).tolist() == [0, 5, 7]


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
        shuffled = training_order(np.zeros(n, dtype=np.int64), passes=1, settings=fitting, seed=seed)
        assert np.array_equal(order, shuffled)


def test_what_is_left_over_of_an_epoch_is_drawn_whatever_its_length():
    words, options = np.arange(23), Train(epochs=30, batch_size=5, max_dialogues=None)
    _, order = whole_batches(words, settings=options, seed=1)
    left = [set(range(23)) - set(epoch.tolist()) for epoch in order[:, 1].reshape(30, 20)]
    assert {len(items) for items in left} == {3}
    # Each of 23 is left out with a chance of 3 in 23 per epoch: after 30 epochs two of a hundred never were.
    assert len(set().union(*left)) >= 20


def test_negatives_in_a_batch_are_of_any_length_unless_asked_otherwise():
    words = np.random.default_rng(0).integers(1, 300, 400)

    def spread(batches):
        options = Train(batch_size=20, max_dialogues=None, batches=batches)
        _, order = whole_batches(words, settings=options, seed=1)
        return words[order[:, 1]].reshape(-1, 20).std(1).mean()

    assert spread("length") < 0.1 * spread("random")
    assert abs(spread("random") / words.std() - 1) < 0.1


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
