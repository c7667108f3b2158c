from pathlib import Path

import pytest

from conversations.dialogue import Dialogue, Quarantined, Turn
from dial2vec.errors import CorpusError
from dial2vec_papers.corpora.dstc7 import Dstc7Advising, Dstc7Ubuntu
from tests.papers.corpora.upstream import ADVISING, UBUNTU, WHOLE, dstc7, pack, read, tabs

ONE, TWO = "participant_1", "participant_2"
TEST, ANSWERS = "ubuntu_test_subtask_1.json", "ubuntu_responses_subtask_1.tsv"


def test_response_is_the_last_turn_and_the_answers_of_test_come_from_the_table(tmp_path: Path):
    dialogues, quarantine = read("dstc7_ubuntu", tmp_path)
    assert dialogues[0] == Dialogue(
        "train/1", (Turn(ONE, "a ?"), Turn(TWO, "b"), Turn(ONE, "c ?"), Turn(TWO, "reply 1 0")), (), "train"
    )
    assert dialogues[3] == Dialogue("test/4", (Turn(ONE, "g ?"), Turn(TWO, "reply 4 1")), (), "test")
    assert quarantine == []


def test_candidates_keep_upstreams_order_and_their_right_place(tmp_path: Path):
    folder = pack(tmp_path / "dstc7_ubuntu", WHOLE["dstc7_ubuntu"])
    queries = [
        query for split in ("train", "test") for query in Dstc7Ubuntu().queries(folder, split=split, quarantine=[])
    ]
    assert [(query.query_id, query.correct) for query in queries] == [
        ("train/1", (0,)),
        ("train/2", (2,)),
        ("test/4", (1,)),
    ]
    assert queries[2].responses == tuple(f"reply 4 {n}" for n in range(4))


def test_both_test_sets_of_advising_are_read_each_with_its_answers(tmp_path: Path):
    dialogues, _ = read("dstc7_advising", tmp_path)
    test = [dialogue for dialogue in dialogues if dialogue.split == "test"]
    assert [(d.dialogue_id, d.turns[-1]) for d in test] == [
        ("test_case_1/3", Turn("advisor", "reply 3 0")),
        ("test_case_2/3", Turn("advisor", "reply 3 2")),
    ]
    folder = pack(tmp_path / "again", WHOLE["dstc7_advising"])
    assert len(list(Dstc7Advising().queries(folder, split="test", quarantine=[]))) == 2


def test_records_without_the_right_response_or_of_another_subtask_are_quarantined(tmp_path: Path):
    elsewhere = dstc7(6, 0, "hm ?", **UBUNTU)
    elsewhere["options-for-correct-answers"] = [{"candidate-id": "X", "utterance": "not offered"}]
    other = dstc7(7, 0, "hm ?", **UBUNTU) | {"scenario": 4}
    files = {
        **WHOLE["dstc7_ubuntu"],
        TEST: [dstc7(5, None, "hm ?", **UBUNTU), elsewhere, other, dstc7(8, 1, "a", **UBUNTU)],
    }
    folder, quarantine = pack(tmp_path / "dstc7_ubuntu", files), list[Quarantined]()
    queries = list(Dstc7Ubuntu().queries(folder, split="test", quarantine=quarantine))
    assert [query.query_id for query in queries] == ["test/8"]
    assert [(found.dialogue_id, found.reason) for found in quarantine] == [
        ("test/5", "its right response is unknown"),
        ("test/6", "its right response is not among its candidates"),
        ("test/7", "of subtask 4, expected 1"),
    ]


def test_table_of_answers_with_too_few_cells_is_refused(tmp_path: Path):
    with pytest.raises(CorpusError, match=r"responses_subtask_1.tsv:1 has 2 cells; expected example id"):
        read("dstc7_ubuntu", tmp_path, {ANSWERS: tabs((4, "C41"))})


def test_files_of_advising_may_be_named_as_upstream_names_them(tmp_path: Path):
    files = {
        "advising.scenario-1.train.json/may30.train.scenario-1.json": [dstc7(1, 1, "a ?", **ADVISING)],
        "advising.scenario-1.dev.json": [dstc7(2, 1, "b ?", **ADVISING)],
        "advising.scenario-4.train.json": [dstc7(9, 1, "z ?", **ADVISING)],
        "may30.train.scenario-4.json": [dstc7(9, 1, "z ?", **ADVISING)],
        "scenario4.train.json": [dstc7(9, 1, "z ?", **ADVISING)],
        "ubuntu14_train.json": [dstc7(9, 1, "z ?", **ADVISING)],
        "advising_test_subtask_1.json": [dstc7(3, None, "c ?", **ADVISING)],
        "advising_test_subtask_1_case2.json": [dstc7(3, None, "d ?", **ADVISING)],
        "advising_responses_subtask_1_case_1.tsv": tabs((3, "C30", "reply 3 0")),
        "advising_responses_subtask_1_case_2.tsv": tabs((3, "C32", "reply 3 2")),
    }
    quarantine: list[Quarantined] = []
    dialogues = list(Dstc7Advising().read(pack(tmp_path / "dstc7_advising", files), quarantine=quarantine))
    assert [(d.dialogue_id, d.split, d.turns[-1].text) for d in dialogues] == [
        ("train/1", "train", "reply 1 1"),
        ("dev/2", "dev", "reply 2 1"),
        ("test/3", "test", "reply 3 0"),
        ("test_case_2/3", "test", "reply 3 2"),
    ]
    assert quarantine == []


def test_files_of_advising_may_be_named_as_other_copies_name_them(tmp_path: Path):
    files = {
        "advising-train.json": [dstc7(1, 1, "a ?", **ADVISING)],
        "advising.valid.json": [dstc7(2, 1, "b ?", **ADVISING)],
        "advising_test_subtask1.json": [dstc7(3, 0, "c ?", **ADVISING)],
        "advising_responses.tsv": "\n",
    }
    folder = pack(tmp_path / "dstc7_advising", files)
    assert [d.split for d in Dstc7Advising().read(folder, quarantine=[])] == ["train", "dev", "test"]
