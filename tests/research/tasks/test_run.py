from __future__ import annotations

import numpy as np
import pytest

from dial2vec.dialogue import Dialogue, Turn, write_dialogues
from dial2vec.errors import Dial2vecError
from dial2vec.research.tasks.run import RUNNERS, run_tasks
from dial2vec.research.tasks.sources import OPTIONS, Sources
from dial2vec.training.augmentation import PERTURBATIONS
from research.tasks.fakes import reading


def encode(texts):
    """Count the words w0 to w9 of a text."""
    return np.array([[text.split().count(f"w{n}") for n in range(10)] for text in texts], dtype=np.float32)


@pytest.fixture
def dialogues(tmp_path):
    """Each answers with the very words that it was asked, which no other dialogue has in that number."""
    said = [" ".join([f"w{i % 10}"] * (1 + i // 10) + [f"w{(i + 3) % 10}"] * (i % 7 + 1)) for i in range(110)]
    talks = [Dialogue(f"d{i}", (Turn("a", text), Turn("b", text))) for i, text in enumerate(said)]
    write_dialogues(tmp_path / "talks.jsonl", talks)
    return tmp_path / "talks.jsonl"


@pytest.fixture
def pairs(tmp_path):
    (tmp_path / "sts.txt").write_text("5\tw1 w2\tw1 w2\n3\tw1 w2\tw1 w3\n1\tw1 w2\tw4\n")
    return tmp_path / "sts.txt"


def test_every_task_is_run_that_there_is_data_for(dialogues, pairs):
    results = list(run_tasks(reading(encode), [], Sources(dialogues=(("talks", dialogues),), pairs=pairs), seed=1))
    assert [(one.task, one.data) for one in results] == [
        ("sentence_pairs", "sts"),
        *[("response_selection", "talks")] * 3,
        ("robustness", "talks"),
    ]
    assert results[0].figures["spearman"] == 100
    assert [one.settings["negatives"] for one in results[1:4]] == [9, 50, 99]
    assert results[1].figures["mrr"] > results[2].figures["mrr"] > results[3].figures["mrr"] > 50
    assert results[1].figures.keys() == {"recall_at_1", "recall_at_3", "mrr"}
    assert {f"{name}_mrr_drop" for name in PERTURBATIONS} <= results[4].figures.keys()


def test_only_the_named_tasks_are_run_and_wrong_names_and_no_data_are_said(pairs, dialogues):
    sources = Sources(dialogues=(("talks", dialogues),), pairs=pairs)
    assert [one.task for one in run_tasks(reading(encode), ["sentence_pairs"], sources, seed=1)] == ["sentence_pairs"]
    with pytest.raises(Dial2vecError, match=r"no task 'intent'. Did you mean 'intents'\? Valid: intents, out_of_scope"):
        list(run_tasks(reading(encode), ["intent"], sources, seed=1))
    with pytest.raises(Dial2vecError, match=r"no data for the task 'intents'; expected --intents\. Give it, or leave"):
        list(run_tasks(reading(encode), ["sentence_pairs", "intents"], sources, seed=1))
    with pytest.raises(
        Dial2vecError, match=r"no data for any task\. Give --intents, --corpus, --pairs or --candidates"
    ):
        list(run_tasks(reading(encode), [], Sources(), seed=1))
    assert (
        set(RUNNERS)
        == set(OPTIONS)
        == {*("intents", "out_of_scope", "retrieval", "sentence_pairs", "response_selection", "robustness")}
    )
