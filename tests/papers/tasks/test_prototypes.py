import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dial2vec.errors import CorpusError
from dial2vec_papers.tasks.intents import IntentSet, Sentences
from dial2vec_papers.tasks.prototypes import classify_intents, draw_shots
from tests.papers.tasks.fakes import Hashed, Known, collapsed, reading, slow_cosine

LETTERS = "abc"


def intent_set(n_train=4, n_test=5):
    train = [(f"{letter} train {i}", letter) for letter in LETTERS for i in range(n_train)]
    test = [(f"{letter} test {i}", letter) for letter in LETTERS for i in range(n_test)]
    return IntentSet("toy", Sentences.of(train), Sentences.of(test))


def slow_accuracies(encode, data, k, draws, seed, prototype="units"):
    intents = sorted(set(data.train.labels))
    accuracies = []
    for draw in draw_shots(data.train, intents, most=k, draws=draws, seed=seed, name="toy"):
        prototypes = []
        for texts in draw:
            lengths = [1 if prototype == "mean" else np.linalg.norm(encode.vector(text)) or 1 for text in texts]
            vectors = [encode.vector(text) / length for text, length in zip(texts, lengths, strict=True)]
            prototypes.append(np.mean(vectors, axis=0))
        right = 0.0
        for text, label in zip(data.test.texts, data.test.labels, strict=True):
            alike = slow_dot if prototype == "release" else slow_cosine
            cosines = [alike(encode.vector(text), one) for one in prototypes]
            best = [intent for intent, cosine in zip(intents, cosines, strict=True) if cosine == max(cosines)]
            right += (label in best) / len(best)
        accuracies.append(right / len(data.test.texts))
    return accuracies


def slow_dot(a, b):
    return round(float(a @ b / (np.linalg.norm(a) or 1)), 10)


@given(st.integers(1, 4), st.integers(0, 99), st.sampled_from(["units", "mean", "release"]))
@settings(max_examples=30, deadline=None)
def test_accuracy_equals_brute_force_with_ties_and_zero_vectors(k, seed, prototype):
    data, encode = intent_set(), Hashed()
    expected = slow_accuracies(encode, data, k, 3, seed, prototype)
    found = classify_intents(reading(encode), data, shots=(k,), draws=3, seed=seed, prototype=prototype)
    assert found.figures == {f"accuracy_{k}_shot": pytest.approx(100 * np.mean(expected), abs=1e-3)}
    assert found.spread == {f"accuracy_{k}_shot": pytest.approx(100 * np.std(expected), abs=1e-3)}


def test_a_prototype_is_the_mean_of_normalised_vectors_or_as_in_the_paper_of_all():
    # x is at 11 degrees and b at -11; the mean of a's raw vectors, [4.5, 0.5], at 6, of normalised ones at 45.
    data = IntentSet("toy", Sentences(("long", "short", "b1", "b2"), ("a", "a", "b", "b")), Sentences(("x",), ("b",)))
    encode = Known({"long": [9, 0], "short": [0, 1], "b1": [1, -0.2], "b2": [1, -0.2], "x": [1, 0.2]})
    found = {
        kind: classify_intents(reading(encode), data, shots=(2,), draws=1, seed=0, prototype=kind).figures
        for kind in ("units", "mean")
    }
    assert found == {"units": {"accuracy_2_shot": 100.0}, "mean": {"accuracy_2_shot": 0.0}}


def test_the_record_says_what_was_done():
    found = classify_intents(reading(Hashed()), intent_set(), shots=(1, 2), draws=2, seed=3)
    assert (found.task, found.data, found.n) == ("intent_classification", "toy", 15)
    assert found.settings == {"draws": 2, "seed": 3, "prototype": "units"}
    assert set(found.figures) == set(found.spread) == {"accuracy_1_shot", "accuracy_2_shot"}
    json.dumps(found.to_record())


def test_only_what_is_used_is_encoded_and_that_once():
    encode, data = Hashed(), intent_set(n_train=50)
    classify_intents(reading(encode), data, shots=(1,), draws=2, seed=0)
    assert len(encode.asked) == len(set(encode.asked)) <= 15 + 2 * 3


def test_collapsed_vectors_are_at_chance():
    assert classify_intents(reading(collapsed), intent_set(), shots=(2,), draws=3, seed=0).figures == {
        "accuracy_2_shot": pytest.approx(100 / 3, abs=1e-4)
    }


def test_the_order_of_the_sentences_does_not_matter_and_the_seed_does():
    data = intent_set()
    turned = IntentSet("toy", *(Sentences(p.texts[::-1], p.labels[::-1]) for p in (data.train, data.test)))
    first, second, third = (
        classify_intents(reading(Hashed()), which, shots=(1,), seed=seed)
        for which, seed in ((data, 1), (turned, 1), (data, 2))
    )
    assert (first.figures, first.spread) == (second.figures, second.spread)
    assert first.figures != third.figures


def test_the_draw_for_one_shot_is_part_of_that_for_three():
    train = intent_set().train
    one, three = (draw_shots(train, "abc", most=k, draws=2, seed=0, name="toy") for k in (1, 3))
    assert np.array_equal(three[:, :, :1], one)
    assert all(len(set(texts)) == 3 for texts in three.reshape(-1, 3))


def test_too_few_sentences_of_an_intent_are_named():
    with pytest.raises(CorpusError, match="toy has 4 training sentences of the intent 'a'; expected at least 5"):
        classify_intents(reading(Hashed()), intent_set(), shots=(1, 5), seed=0)


def test_nothing_to_test_or_to_train_is_refused():
    with pytest.raises(CorpusError, match="toy has no test sentences; expected some"):
        classify_intents(reading(Hashed()), intent_set(n_test=0), seed=0, shots=(1,))
    with pytest.raises(CorpusError, match="toy has no training sentences; expected some"):
        classify_intents(reading(Hashed()), intent_set(n_train=0), seed=0, shots=(1,))
