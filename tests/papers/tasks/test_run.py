from __future__ import annotations

import numpy as np
import pytest

from conversations.dialogue import Dialogue, Turn, write_dialogues
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import Dial2vecError
from dial2vec.training.augmentation import PERTURBATIONS
from dial2vec_papers.tasks.encoding import reader_of_encoder
from dial2vec_papers.tasks.run import RUNNERS, run_tasks
from dial2vec_papers.tasks.sources import OPTIONS, TRAINING, Sources
from tests.papers.tasks.fakes import reading
from tests.papers.tasks.test_actions import SGD, write


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
        *[("response_selection", "talks")] * 4,
        ("robustness", "talks"),
    ]
    assert results[0].figures["spearman"] == 100
    assert [one.settings["negatives"] for one in results[1:5]] == [9, 50, 99, 99]
    assert [one.settings.get("turns") for one in results[1:5]] == [None, None, None, 1]
    # Every context has one turn here.
    assert results[4].figures == results[3].figures
    assert results[1].figures["mrr"] > results[2].figures["mrr"] > results[3].figures["mrr"] > 50
    assert results[1].figures.keys() == {"recall_at_1", "recall_at_3", "mrr"}
    assert {f"{name}_mrr_drop" for name in PERTURBATIONS} <= results[5].figures.keys()


def test_only_the_named_tasks_are_run_and_wrong_names_and_no_data_are_said(pairs, dialogues):
    sources = Sources(dialogues=(("talks", dialogues),), pairs=pairs)
    assert [one.task for one in run_tasks(reading(encode), ["sentence_pairs"], sources, seed=1)] == ["sentence_pairs"]
    with pytest.raises(Dial2vecError, match=r"no task 'intent'. Did you mean 'intents'\? Valid: intents, out_of_scope"):
        list(run_tasks(reading(encode), ["intent"], sources, seed=1))
    with pytest.raises(Dial2vecError, match=r"no data for the task 'intents'; expected --intents\. Give it, or leave"):
        list(run_tasks(reading(encode), ["sentence_pairs", "intents"], sources, seed=1))
    with pytest.raises(
        Dial2vecError,
        match=r"no data for any task\. Give --intents, --candidates, --pairs, --inferences, --corpus, --queries or",
    ):
        list(run_tasks(reading(encode), [], Sources(), seed=1))
    assert set(RUNNERS) == set(OPTIONS)
    assert set(TRAINING) < set(OPTIONS)


def test_a_task_that_trains_is_run_only_if_it_is_named_and_not_with_a_baseline(dialogues, tmp_path):
    with pytest.raises(
        Dial2vecError, match=r"found data for --actions only; .* Name some of fine_tuning, answers, act"
    ):
        list(run_tasks(reading(encode), [], Sources(actions=tmp_path), seed=1))
    for name, sources in (
        ("answers", Sources(dialogues=(("talks", dialogues),), training={"talks": (dialogues, dialogues)})),
        ("fine_tuning", Sources(intents=tmp_path)),
        ("actions", Sources(actions=tmp_path)),
    ):
        with pytest.raises(Dial2vecError, match=f"the task '{name}' trains an encoder, but found a baseline; expected"):
            list(run_tasks(reading(encode), [name], sources, seed=1))


def test_the_tasks_that_train_take_shots_draws_limit_loss_and_runs_from_the_command(dialogues, tmp_path, tiny_folder):
    write(tmp_path / "sgd", SGD)
    reader = reader_of_encoder(DialogueEncoder.from_pretrained(tiny_folder))
    sources = Sources(
        dialogues=(("talks", dialogues),),
        training={"talks": (dialogues, dialogues)},
        actions=tmp_path / "sgd",
        limit=3,
        shots=(1,),
        draws=2,
        loss="release",
        runs=tmp_path / "runs.jsonl",
    )
    found = list(run_tasks(reader, ["answers", "actions"], sources, seed=1))
    assert [(one.task, one.data, one.settings["draws"]) for one in found] == [
        ("answer_fine_tuning", "talks", 2),
        ("action_prediction", "sgd", 2),
    ]
    assert found[0].n == 3
    assert found[0].settings["loss"] == "release"
    assert len((tmp_path / "runs.jsonl").read_text().splitlines()) == 4
    again = list(run_tasks(reader, ["answers", "actions"], sources, seed=1))
    assert [one.figures for one in again] == [one.figures for one in found]


def test_given_lists_with_more_than_thirty_relevant_candidates_are_ranked_with_thirty_too(tmp_path):
    rows = [
        f"{row}\tw{row % 10}\t\t{','.join(str(other) for other in range(40) if other != row)}\t" for row in range(40)
    ]
    (tmp_path / "select.txt").write_text("\n".join(rows))
    found = list(run_tasks(reading(encode), ["retrieval"], Sources(candidates=tmp_path / "select.txt"), seed=1))
    assert [one.settings for one in found] == [{}, {"positives": 30}]
    assert found[1].figures == {"map": 100.0, "mrr": 100.0}
    rows = [f"{row}\tw{row % 10}\t\t{1 - row}\t" for row in range(2)]
    (tmp_path / "select.txt").write_text("\n".join(rows))
    assert len(list(run_tasks(reading(encode), [], Sources(candidates=tmp_path / "select.txt"), seed=1))) == 1
