from pathlib import Path

import pytest

from conversations.dialogue import Dialogue, Turn
from dial2vec.errors import CorpusError
from tests.papers.corpora.upstream import WHOLE, read, taskmaster

SELF, WOZ = "TM-1-2019/self-dialogs.json", "TM-1-2019/woz-dialogs.json"
LIST = "TM-1-2019/train-dev-test/{}.csv"


def test_written_dialogues_follow_the_lists_and_spoken_ones_are_train(tmp_path: Path):
    dialogues, quarantine = read("taskmaster1", tmp_path, form="zip")
    assert dialogues == [
        Dialogue("self/dlg-1", (Turn("user", "A pizza."), Turn("assistant", "Which?")), ("pizza_ordering",), "train"),
        Dialogue(
            "self/dlg-2",
            (Turn("user", "A car."), Turn("user", "To town."), Turn("assistant", "Fine.")),
            ("uber_lyft",),
            "dev",
        ),
        Dialogue("self/dlg-3", (Turn("user", "Two seats."), Turn("assistant", "When?")), ("movie_ticket",), "test"),
        Dialogue("woz/dlg-1", (Turn("user", "Coffee."), Turn("assistant", "Hot?")), ("coffee_ordering",), "train"),
    ]
    assert quarantine == []


def test_what_is_listed_and_absent_or_present_and_unlisted_is_counted(tmp_path: Path):
    lists = {LIST.format("train"): "dlg-1,\r\ndlg-9,\r\n", LIST.format("test"): "\n"}
    dialogues, quarantine = read("taskmaster1", tmp_path, lists)
    assert [dialogue.dialogue_id for dialogue in dialogues] == ["self/dlg-1", "self/dlg-2", "woz/dlg-1"]
    assert [(found.origin.line, found.dialogue_id, found.reason) for found in quarantine] == [
        (3, "self/dlg-3", "no list of train-dev-test has it"),
        (2, "self/dlg-9", "it is listed for train, and self-dialogs.json has no such dialogue"),
    ]


def test_id_in_two_lists_is_refused(tmp_path: Path):
    with pytest.raises(CorpusError, match=r"test.csv:1: dlg-2 is also listed for dev; expected it in one list"):
        read("taskmaster1", tmp_path, {LIST.format("test"): "dlg-2,\n"})


@pytest.mark.parametrize("absent", [SELF, WOZ, LIST.format("dev")])
def test_each_file_of_the_first_corpus_is_needed(tmp_path: Path, absent: str):
    with pytest.raises(CorpusError, match="holds no file"):
        read("taskmaster1", tmp_path, {absent: None})


def test_unknown_task_and_speaker_are_quarantined(tmp_path: Path):
    odd = [
        taskmaster("dlg-7", "A boat.", instruction_id="boat-1"),
        taskmaster("dlg-8", "A car.", instruction_id="uber-lyft-2", speakers=("DRIVER", "USER")),
        taskmaster("dlg-9", "(deleted)", instruction_id="uber-lyft-2"),
    ]
    _, quarantine = read("taskmaster1", tmp_path, {WOZ: odd + list(WHOLE["taskmaster1"][WOZ])})
    tasks = "auto, coffee, movie, pizza, restaurant, uber"
    assert [found.reason for found in quarantine] == [
        f"'instruction_id' must start with one of {tasks}, found 'boat-1'",
        "'speaker' must be USER or ASSISTANT, found 'DRIVER'",
        "every turn is blank",
    ]


def test_second_corpus_is_labelled_by_file_and_third_and_fourth_by_vertical(tmp_path: Path):
    second, third, fourth = (read(f"taskmaster{number}", tmp_path)[0] for number in (2, 3, 4))
    assert [(d.dialogue_id, d.labels) for d in second[:2]] == [
        ("flights/dlg-1", ("flights",)),
        ("food-ordering/dlg-1", ("food-ordering",)),
    ]
    assert (third[0].dialogue_id, third[0].labels) == ("dlg-0", ("Movie Tickets",))
    assert (fourth[1].dialogue_id, fourth[1].labels) == ("dlg-1", ("Coffee",))


def test_one_archive_holds_all_four(tmp_path: Path):
    together = {path: content for number in range(1, 5) for path, content in WHOLE[f"taskmaster{number}"].items()}
    for number in range(1, 5):
        name = f"taskmaster{number}"
        assert read(name, tmp_path / "one") == read(name, tmp_path / "one")
        assert read(name, tmp_path / "all", together, form="zip")[0] == read(name, tmp_path / "one")[0]
