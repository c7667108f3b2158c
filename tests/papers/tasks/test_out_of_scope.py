import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dial2vec.errors import CorpusError
from dial2vec_papers.tasks.intents import IntentSet, Sentences
from dial2vec_papers.tasks.out_of_scope import detect_out_of_scope
from dial2vec_papers.tasks.prototypes import draw_shots
from tests.papers.tasks.fakes import Hashed, Known, collapsed, reading, slow_cosine

LETTERS = "abc"


def scoped_set(*, validation=4, out=5, out_train=3, n_train=4):
    parts = {
        part: Sentences.of([(f"{letter} {part} {i}", letter) for letter in LETTERS for i in range(n)])
        for part, n in (("train", n_train), ("test", 5), ("validation", validation))
    }
    return IntentSet(
        "toy",
        **parts,
        out_of_scope=tuple(f"out {i}" for i in range(out)),
        out_of_scope_train=tuple(f"out train {i}" for i in range(out_train)),
    )


def slow_figures(encode, data, k, seed, rule="in_scope"):
    """One draw by rule "in_scope" or "paper", sentence by sentence."""
    (draw,) = draw_shots(data.train, LETTERS, most=k, draws=1, seed=seed, name="toy")
    vectors = {}
    for text in [*draw.ravel(), *data.validation.texts, *data.test.texts, *data.out_of_scope]:
        vector = encode.vector(text).astype(float)
        vectors[text] = vector if rule == "paper" else vector / (np.linalg.norm(vector) or 1)
    prototypes = [np.mean([vectors[text] for text in texts], axis=0) for texts in draw]
    cosines = {text: [slow_cosine(vectors[text], prototype) for prototype in prototypes] for text in vectors}
    every = [*data.test.texts, *data.out_of_scope]
    expected = [max(cosines[text]) for text in (every if rule == "paper" else data.validation.texts)]
    figures = {}
    for name, threshold in (("mean", np.mean(expected)), ("mean_minus_sd", np.mean(expected) - np.std(expected))):
        kept = {text: max(cosines[text]) >= round(threshold, 10) for text in vectors}
        right = []
        for text, label in zip(data.test.texts, data.test.labels, strict=True):
            best = [
                letter for letter, cosine in zip(LETTERS, cosines[text], strict=True) if cosine == max(cosines[text])
            ]
            right.append(kept[text] * (label in best) / len(best))
        rejected = [not kept[text] for text in data.out_of_scope]
        figures[f"accuracy_{k}_shot_{name}"] = np.mean([*right, *rejected])
        figures[f"in_accuracy_{k}_shot_{name}"] = np.mean(right)
        figures[f"oos_accuracy_{k}_shot_{name}"] = np.mean([*(kept[text] for text in data.test.texts), *rejected])
        figures[f"oos_recall_{k}_shot_{name}"] = np.mean(rejected)
    return {name: 100 * figure for name, figure in figures.items()}


@given(st.integers(1, 3), st.integers(0, 99), st.sampled_from(["in_scope", "paper"]))
@settings(max_examples=30, deadline=None)
def test_the_four_figures_equal_brute_force_for_both_thresholds(k, seed, rule):
    data, encode = scoped_set(), Hashed()
    found = detect_out_of_scope(reading(encode), data, shots=(k,), draws=1, seed=seed, rule=rule)
    assert found.figures == pytest.approx(slow_figures(encode, data, k, seed, rule), abs=1e-3)
    assert set(found.spread.values()) == {0.0}
    assert len(encode.asked) == len(set(encode.asked))


def on_a_circle():
    """Two intents at 0 and 90 degrees; what is said is turned away from its intent by the degrees in its name."""
    at = {"a": 0, "b": 90, "a10": 10, "b70": 70, "v10": 10, "v60": 60, "o45": 45, "o200": 200}
    vectors = {text: [np.cos(np.radians(angle)), np.sin(np.radians(angle))] for text, angle in at.items()}
    data = IntentSet(
        "circle",
        train=Sentences(("a", "b"), ("a", "b")),
        test=Sentences(("a10", "b70"), ("a", "b")),
        validation=Sentences(("v10", "v60"), ("a", "b")),
        out_of_scope=("o45", "o200"),
        out_of_scope_train=("o200",),
    )
    return Known(vectors), data


def test_figures_on_a_circle_by_hand():
    # Nearest similarities of validation: cos 10 = 0.985 and cos 30 = 0.866; mean 0.925, sd 0.059, mean - sd 0.866.
    # Of the test sentences: cos 10 = 0.985, cos 20 = 0.940; out of scope cos 45 = 0.707 and cos 110 = -0.342.
    encode, data = on_a_circle()
    found = detect_out_of_scope(reading(encode), data, shots=(1,), draws=1, seed=0)
    assert set(found.figures.values()) == {100.0}
    assert (found.n, found.settings) == (4, {"draws": 1, "seed": 0, "rule": "in_scope"})


def test_the_papers_text_takes_its_thresholds_from_every_test_sentence_without_a_prototype_more():
    # Nearest cosines: a10 0.985, b70 0.940, o45 0.707, o200 -0.342. Their mean is 0.572, their sd 0.540: with the mean
    # only o200 is rejected, with mean - sd = 0.032 also only o200.
    encode, data = on_a_circle()
    found = detect_out_of_scope(reading(encode), data, shots=(1,), draws=1, seed=0, rule="paper").figures
    for threshold in ("mean", "mean_minus_sd"):
        assert found[f"accuracy_1_shot_{threshold}"] == 75.0
        assert found[f"in_accuracy_1_shot_{threshold}"] == 100.0
        assert found[f"oos_recall_1_shot_{threshold}"] == 50.0


def test_the_release_takes_its_thresholds_from_the_test_sentences_and_has_a_prototype_more():
    # Prototypes at 0, 90 and 200 degrees. Each sentence's three cosines, divided by their length, have as greatest:
    # a10 cos 10 / |(0.985, 0.174, -0.985)| = 0.702, b70 0.940 / |(0.342, 0.940, -0.643)| = 0.790,
    # o45 0.707 / |(0.707, 0.707, -0.906)| = 0.524, and o200 1 / |(-0.940, -0.342, 1)| = 0.707.
    # Their mean is 0.681 and mean - sd 0.583: o45 is below both, o200 is nearest to the third prototype.
    encode, data = on_a_circle()
    found = detect_out_of_scope(reading(encode), data, shots=(1,), draws=1, seed=0, rule="release")
    assert set(found.figures.values()) == {100.0}


def test_without_validation_the_thresholds_come_from_what_the_draw_left():
    encode = Hashed()
    data = scoped_set(validation=0)
    detect_out_of_scope(reading(encode), data, shots=(1,), draws=1, seed=0)
    assert set(data.train.texts) <= set(encode.asked)
    with pytest.raises(CorpusError, match="toy has no validation sentences, and the draw left no training sentences"):
        detect_out_of_scope(reading(encode), scoped_set(validation=0, n_train=2), shots=(2,), draws=1, seed=0)


def test_with_validation_no_undrawn_training_sentence_is_encoded():
    encode, data = Hashed(), scoped_set(n_train=50)
    detect_out_of_scope(reading(encode), data, shots=(1,), draws=1, seed=0)
    assert len(encode.asked) == 3 + 12 + 15 + 5


def test_collapsed_vectors_reject_nothing():
    found = detect_out_of_scope(reading(collapsed), scoped_set(), shots=(1,), draws=2, seed=0).figures
    assert found["oos_recall_1_shot_mean"] == found["oos_recall_1_shot_mean_minus_sd"] == 0
    assert found["oos_accuracy_1_shot_mean"] == 75
    assert found["in_accuracy_1_shot_mean"] == pytest.approx(100 / 3, abs=1e-4)


@given(st.integers(0, 99))
@settings(max_examples=10, deadline=None)
def test_a_lower_threshold_never_rejects_more(seed):
    for rule in ("in_scope", "paper", "release"):
        found = detect_out_of_scope(reading(Hashed()), scoped_set(), shots=(1,), draws=2, seed=seed, rule=rule).figures
        assert found["oos_recall_1_shot_mean_minus_sd"] <= found["oos_recall_1_shot_mean"]
        assert found["in_accuracy_1_shot_mean_minus_sd"] >= found["in_accuracy_1_shot_mean"]
        assert set(map(type, found.values())) == {float}


@pytest.mark.parametrize(
    ("data", "rule", "message"),
    [
        (scoped_set(out=0), "in_scope", "toy has no out-of-scope test sentences; expected some"),
        (
            scoped_set(out_train=0),
            "release",
            "no out-of-scope training sentences, as the rule 'release' needs; expected",
        ),
        (scoped_set(out_train=1), "release", "1 training sentences of the intent 'oos'; expected at least 2"),
    ],
)
def test_data_without_what_the_rule_needs_is_refused(data, rule, message):
    with pytest.raises(CorpusError, match=message):
        detect_out_of_scope(reading(Hashed()), data, shots=(2,), seed=0, rule=rule)
