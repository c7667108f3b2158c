from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from dial2vec import Dialogue, DialogueVectorizer, load_encoder
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import CorpusError, ModelError
from tests.encoder.test_encoder import some_dialogues


def test_vectors_are_those_of_the_encoder_at_length_one(tiny_folder):
    dialogues = some_dialogues()
    vectors = DialogueVectorizer(tiny_folder, pooling="mean", device="cpu").fit_transform(dialogues)
    expected = DialogueEncoder.from_pretrained(tiny_folder, pooling="mean", device="cpu").encode(dialogues)
    np.testing.assert_allclose(vectors, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-6)
    raw = DialogueVectorizer(tiny_folder, pooling="mean", normalize=False, device="cpu").fit_transform(dialogues)
    np.testing.assert_allclose(raw, expected, atol=1e-6)


def test_lines_of_json_lines_are_taken_as_they_are(tiny_folder):
    dialogues = some_dialogues()
    vectorizer = DialogueVectorizer(tiny_folder, device="cpu").fit(dialogues)
    records = [one.to_record() for one in dialogues]
    for record in records:
        del record["dialogue_id"]
    np.testing.assert_array_equal(vectorizer.transform(records), vectorizer.transform(dialogues))


def test_lists_of_chat_messages_are_taken_as_they_are(tiny_folder):
    dialogues = some_dialogues()
    chats = [[{"role": turn.speaker, "content": turn.text} for turn in one.turns] for one in dialogues]
    vectorizer = DialogueVectorizer(tiny_folder, device="cpu").fit(chats)
    np.testing.assert_array_equal(vectorizer.transform(chats), vectorizer.transform(dialogues))
    labels = np.arange(4 * len(chats)) % 2
    assert len(cross_val_score(make_pipeline(vectorizer, LogisticRegression()), chats * 4, labels, cv=2)) == 2


def test_it_is_a_step_of_pipelines_and_searches(tiny_folder):
    dialogues = some_dialogues() * 4
    vectorizer = DialogueVectorizer(tiny_folder, device="cpu")
    groups = make_pipeline(vectorizer, KMeans(2, n_init=1, random_state=0)).fit_predict(dialogues)
    assert len(groups) == len(dialogues)
    search = GridSearchCV(
        make_pipeline(vectorizer, LogisticRegression()), {"dialoguevectorizer__pooling": ["role", "mean"]}, cv=2
    )
    search.fit(dialogues, np.arange(len(dialogues)) % 2)
    assert set(search.cv_results_["rank_test_score"]) <= {1, 2}


def test_it_is_cloned_without_the_encoder_and_pickled_with_it(tiny_folder):
    fitted = DialogueVectorizer(tiny_folder, pooling="mean", batch_size=2, device="cpu").fit([])
    other = clone(fitted)
    assert other.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        other.transform(some_dialogues())
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(some_dialogues()), fitted.transform(some_dialogues()))
    assert list(fitted.get_feature_names_out())[:2] == ["dialoguevectorizer0", "dialoguevectorizer1"]


def test_a_table_of_it_has_named_columns(tiny_folder):
    vectorizer = DialogueVectorizer(tiny_folder, device="cpu").set_output(transform="pandas")
    assert vectorizer.fit_transform(some_dialogues()).columns[0] == "dialoguevectorizer0"


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (Dialogue("d", ()), TypeError, "found one dialogue; expected a sequence"),
        ([3], CorpusError, "found a list that holds an int"),
        ([{"role": "user", "content": "w1"}], TypeError, "found one dialogue; expected a sequence"),
        (None, CorpusError, "found None to encode"),
        ("calls.csv", CorpusError, "found a text to encode; .*dial2vec.read"),
        (pd.DataFrame({"text": ["w1"]}), TypeError, "found a table, whose rows would count as samples; "),
        ([[{"role": "user", "content": 3}]], CorpusError, "message 1 of conversation '0' has as content a number"),
        ([{"turns": "hello"}], CorpusError, "dialogue '0' cannot be used: 'turns' must be a list"),
    ],
)
def test_what_is_no_dialogue_is_named(tiny_folder, given, error, message):
    with pytest.raises(error, match=message):
        DialogueVectorizer(tiny_folder, device="cpu").fit(given)


def test_a_student_vectorizes_and_takes_no_pooling(student_folder):
    dialogues = some_dialogues()
    vectorizer = DialogueVectorizer(student_folder).fit(dialogues)
    expected = load_encoder(student_folder).encode(dialogues)
    np.testing.assert_allclose(vectorizer.transform(dialogues), expected, atol=1e-6)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(vectorizer)).transform(dialogues), expected, atol=1e-6)
    with pytest.raises(ModelError, match="student"):
        DialogueVectorizer(student_folder, pooling="mean").fit(dialogues)
