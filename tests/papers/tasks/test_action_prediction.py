from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from dial2vec.encoder import DialogueEncoder
from dial2vec_papers.tasks.action_prediction import (
    ACTION_RECIPE,
    ACTION_SHOTS,
    draw_examples,
    f1_scores,
    last_words,
    predict_actions,
)
from dial2vec_papers.tasks.actions import ActionExample, ActionSet
from dial2vec_papers.tasks.fine_tuning import TuningRecipe
from tests.papers.tasks.fakes import context

FAST = TuningRecipe(epochs=25, batch_size=8, learning_rate=2e-2, max_length=16, dropout=0.1, patience=9, check_every=2)


def slow_f1(truth, predicted):
    """Counted one by one."""
    counts = []
    for label in range(truth.shape[1]):
        right = sum(bool(t and p) for t, p in zip(truth[:, label], predicted[:, label], strict=True))
        wrong = sum(bool(p and not t) for t, p in zip(truth[:, label], predicted[:, label], strict=True))
        missed = sum(bool(t and not p) for t, p in zip(truth[:, label], predicted[:, label], strict=True))
        counts.append((right, wrong, missed))

    def f1(right, wrong, missed):
        precision = right / (right + wrong) if right + wrong else 0.0
        recall = right / (right + missed) if right + missed else 0.0
        return 2 * precision * recall / (precision + recall) if precision + recall else 0.0

    return {"micro_f1": f1(*map(sum, zip(*counts, strict=True))), "macro_f1": np.mean([f1(*count) for count in counts])}


@given(st.integers(0, 9999), st.integers(1, 9), st.integers(1, 5))
@settings(max_examples=50, deadline=None)
def test_f1_equals_brute_force_and_scikit_learn_with_labels_that_never_occur(seed, n, labels):
    rng = np.random.default_rng(seed)
    truth, predicted = rng.random((2, n, labels)) < rng.random((2, 1, labels))
    found = f1_scores(truth, predicted)
    assert found == pytest.approx(slow_f1(truth, predicted), abs=1e-12)
    for average in ("micro", "macro"):
        # One column alone would be read as two classes.
        both = [np.hstack([side, np.zeros((n, 1), dtype=bool)]) if labels == 1 else side for side in (truth, predicted)]
        expected = f1_score(*both, average=average, zero_division=0) * (2 if labels == 1 and average == "macro" else 1)
        assert found[f"{average}_f1"] == pytest.approx(expected, abs=1e-12)


def test_f1_by_hand():
    # First label: 1 right, 1 missed: 2/3. Second: 1 right, 1 wrong: 2/3. Third: nothing there, nothing found: 0.
    truth = np.array([[1, 1, 0], [1, 0, 0]], dtype=bool)
    predicted = np.array([[1, 1, 0], [0, 1, 0]], dtype=bool)
    assert f1_scores(truth, predicted) == pytest.approx({"micro_f1": 4 / 6, "macro_f1": 4 / 9})


def words():
    """The actions are the words of the last turn from w0 to w2."""
    examples = []
    for asked in range(3):
        for also in range(3):
            for other in range(3, 9):
                actions = frozenset({f"a{asked}", f"a{also}"})
                examples.append(ActionExample(context(f"w{other}", f"w{asked} w{also} w{other}"), actions))
    return ActionSet("toy", tuple(examples[::2]), tuple(examples[1::2]))


def test_the_papers_settings():
    assert ACTION_SHOTS == (10, 20)
    assert (ACTION_RECIPE.epochs, ACTION_RECIPE.batch_size, ACTION_RECIPE.learning_rate) == (100, 32, 5e-5)
    assert ACTION_RECIPE.max_length == 32


def test_actions_that_the_words_say_are_learnt_and_the_encoder_stays_as_it_was(tiny_folder):
    encoder, data = DialogueEncoder.from_pretrained(tiny_folder), words()
    before = encoder.fingerprint()
    found = predict_actions(encoder, data, shots=(4,), draws=2, recipe=FAST, seed=0)
    assert encoder.fingerprint() == before
    assert (found.task, found.data, found.n) == ("action_prediction", "toy", 27)
    assert found.figures.keys() == {"micro_f1_4_shot", "macro_f1_4_shot"}
    # All three actions for all would have recall 1 and precision 15 / 27: F1 71 is reached without reading a word.
    assert found.figures["micro_f1_4_shot"] > 75
    assert predict_actions(encoder, data, shots=(4,), draws=2, recipe=FAST, seed=0).figures == found.figures
    assert predict_actions(encoder, data, shots=(1,), draws=1, recipe=FAST, limit=5, seed=0).n == 5


def test_each_action_gives_its_examples_and_none_comes_twice():
    data = words()
    train, other = draw_examples(data, shots=2, seed=0, draw=0)
    assert 6 <= len(train) + len(other) <= 12
    assert len({*train, *other}) == len(train) + len(other)
    assert {action for one in train for action in one.actions} == {"a0", "a1", "a2"}
    assert draw_examples(data, shots=2, seed=0, draw=1) != (train, other)


def test_of_a_long_context_the_last_words_are_left_with_their_speakers():
    said = context("one two three", "four five", "six")
    assert last_words(said, 4) == context("three", "four five", "six")
    assert last_words(said, 3) == said[1:]
    assert last_words(said, 99) == said
    assert last_words(context("a b", "c d e"), 2) == context("d e", first=1)
