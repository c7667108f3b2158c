"""Topics in scikit-learn's manner, on the help desk whose topics are known."""

from __future__ import annotations

import pickle
import subprocess
import sys
import textwrap
from dataclasses import replace

import datasets
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from conversations.dialogue import Dialogue
from dial2vec import DialogueTopics
from dial2vec.cli import main
from dial2vec.errors import ArtifactError, CorpusError
from tests.collection.planted import SINCE, planted
from tests.students import without


@pytest.fixture(scope="module")
def desk() -> list[Dialogue]:
    return planted()


@pytest.fixture(scope="module")
def fitted(desk) -> DialogueTopics:
    return DialogueTopics().fit(desk)


def test_topics_are_those_that_were_planted(desk, fitted):
    assert adjusted_rand_score([dialogue.label for dialogue in desk], fitted.topics_) > 0.98
    assert {"Lost card", "Order of pizza"} < set(fitted.names_.values())
    info = fitted.get_topic_info()
    assert info["name"].to_dict() == fitted.names_
    assert info["size"].to_dict() == pd.Series(fitted.topics_).value_counts().to_dict()
    assert fitted.belongs_.mean() > 0.95


def test_new_dialogues_get_the_topic_whose_centre_is_nearest(desk, fitted):
    texts = ["Somebody stole my bank card", "two pizzas with olives, please"]
    assert [fitted.names_[id] for id in fitted.predict(texts)] == ["Lost card", "Order of pizza"]
    cosines = fitted.transform(desk)
    assert cosines.shape == (len(desk), len(fitted.names_))
    np.testing.assert_allclose(cosines, DialogueTopics().fit_transform(desk), atol=1e-5)
    np.testing.assert_array_equal(np.array([*fitted.names_])[cosines.argmax(axis=1)], fitted.predict(desk))
    assert (fitted.predict(desk) == fitted.labels_).mean() > 0.99
    with pytest.raises(NotFittedError):
        DialogueTopics().predict(texts)


def test_every_form_of_the_same_dialogues_has_the_same_topics(desk, fitted):
    turns = [(dialogue.dialogue_id, turn.speaker, turn.text) for dialogue in desk for turn in dialogue.turns]
    table = pa.table(dict(zip(("dialogue_id", "speaker", "text"), zip(*turns, strict=True), strict=True)))
    chats = [[{"role": turn.speaker, "content": turn.text} for turn in dialogue.turns] for dialogue in desk]
    for given in (table, table.to_pandas(), pl.from_arrow(table), datasets.Dataset(table), chats):
        np.testing.assert_array_equal(DialogueTopics().fit_predict(given), fitted.topics_)


def test_a_dialogue_of_two_topics_has_half_of_each(desk, fitted):
    by_topic = {dialogue.label: dialogue for dialogue in desk}
    two = replace(by_topic["cards"], turns=by_topic["cards"].turns + by_topic["pizza"].turns)
    shares = fitted.approximate_distribution([by_topic["cards"], two])
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-6)
    named = [dict(zip(fitted.names_.values(), row.tolist(), strict=True)) for row in shares]
    assert named[0]["Lost card"] == 1
    assert min(named[1]["Lost card"], named[1]["Order of pizza"]) > 0.25
    assert fitted.approximate_distribution([]).shape == (0, len(fitted.names_))


def test_topics_over_time_go_by_dates_or_by_timestamps(desk, fitted):
    own, dates = fitted.topics_over_time(over="month"), [dialogue.date for dialogue in desk]
    cards = own[own["name"] == "Lost card"]
    assert "grew" in set(cards["change"])
    undated = DialogueTopics().fit([replace(dialogue, date=None) for dialogue in desk])
    for given in (dates, pd.to_datetime(pd.Series(dates)), pl.Series(dates).str.to_datetime()):
        pd.testing.assert_frame_equal(undated.topics_over_time(given, over="month"), own)
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[1008, 2\]"):
        undated.topics_over_time(dates[:2])
    with pytest.raises(CorpusError, match="has a date"):
        undated.topics_over_time()


def test_a_saved_folder_is_a_collection_that_commands_open(fitted, desk, tmp_path):
    folder = tmp_path / "desk"
    fitted.save(folder)
    loaded = DialogueTopics.load(folder)
    assert loaded.names_ == fitted.names_
    np.testing.assert_array_equal(loaded.topics_, fitted.topics_)
    np.testing.assert_array_equal(loaded.transform(desk[:9]), fitted.transform(desk[:9]))
    commands = [
        ["cluster", str(folder)],
        ["search", str(folder), "my card was stolen"],
        ["compare", str(folder), "--after", SINCE],
        ["segments", str(folder)],
        ["report", str(folder), "--output", str(tmp_path / "report.html")],
        ["explore", str(folder), "--static", str(tmp_path / "page.html")],
    ]
    for command in commands:
        done = CliRunner().invoke(main, command)
        assert done.exit_code == 0, (command, done.output)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").touch()
    with pytest.raises(ArtifactError, match="other is there and no collection"):
        fitted.save(tmp_path / "other")
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["letter.txt"]


def test_a_folder_of_ones_own_grows_and_its_topics_keep_their_ids(desk, fitted, tmp_path):
    topics = DialogueTopics(folder=tmp_path / "desk").fit(desk[:900])
    before = topics.topics_
    np.testing.assert_array_equal(topics.fit(desk).topics_[:900], before)
    assert len(topics.collection_) == len(desk)
    with pytest.raises(CorpusError, match=r"1 of 2 dialogues .* 'T-0001' .* with other words"):
        topics.fit([replace(desk[0], turns=desk[1].turns), desk[1]])


def test_dialogues_that_are_there_twice_share_a_topic_and_ids_have_one_meaning(desk):
    topics = DialogueTopics(n_topics=4).fit([*desk, *desk[:5]])
    assert (len(topics.topics_), len(topics.collection_), len(topics.names_)) == (len(desk) + 5, len(desk), 4)
    np.testing.assert_array_equal(topics.topics_[-5:], topics.topics_[:5])
    with pytest.raises(CorpusError, match=r"1 of 1009 dialogues cannot be used: the id 'T-0001' came before"):
        topics.fit([*desk, replace(desk[1], dialogue_id="T-0001")])


def test_a_temporary_folder_goes_with_the_topics_and_a_pickle_predicts_without_it(desk):
    topics = DialogueTopics().fit(desk[:200])
    folder, pickled, predicted = topics.collection_.folder, pickle.dumps(topics), topics.predict(desk)
    del topics
    assert not folder.exists()
    np.testing.assert_array_equal(pickle.loads(pickled).predict(desk), predicted)


def test_it_is_a_step_of_a_pipeline(desk):
    columns = make_pipeline(DialogueTopics(), StandardScaler()).set_output(transform="pandas").fit_transform(desk)
    assert columns.columns[0] == "dialoguetopics0"


def test_topics_need_no_pandas(tmp_path):
    script = without("pandas", "torch") + textwrap.dedent("""
        from dial2vec import DialogueTopics
        texts = [f"my {thing} is {how}" for thing in ("card", "dog") for how in ("lost", "gone", "away", "missing")]
        topics = DialogueTopics(2).fit(texts)
        print(len(set(topics.predict(texts))))""")
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "2\n", done.stderr


class TopicsOfNumbers(DialogueTopics):
    """Takes a row of numbers for a text of words, because scikit-learn checks estimators on numbers."""

    def fit(self, dialogues, y=None):
        return super().fit(texts_of(dialogues))

    def transform(self, dialogues):
        # The last digits of float32 depend on the other rows.
        return super().transform(texts_of(dialogues)).round(5)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        return tags


def texts_of(rows) -> list[str]:
    return [" ".join(f"w{int(abs(number) * 7) % 9}" for number in row) for row in np.asarray(rows)]


def test_it_passes_the_checks_of_scikit_learn_that_are_not_about_numbers():
    numbers = "dialogues are no rows of numbers"
    known = {
        "check_estimator_sparse_tag": numbers,
        "check_estimator_sparse_array": numbers,
        "check_estimator_sparse_matrix": numbers,
        "check_transformer_general": f"{numbers}: those to transform may be longer",
        "check_clustering": "words of numbers are not as near as the numbers",
        "check_fit2d_1sample": "a topic needs two dialogues; the error says so in its own words",
    }
    results = check_estimator(TopicsOfNumbers(), expected_failed_checks=known, on_skip=None)
    assert {result["check_name"] for result in results if result["status"] == "xfail"} == set(known)
    assert sum(result["status"] == "passed" for result in results) > 30
