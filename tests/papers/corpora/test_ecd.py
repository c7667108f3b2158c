from pathlib import Path

from conversations.dialogue import Dialogue, Quarantined, Turn
from dial2vec_papers.corpora.ecd import Ecd
from tests.papers.corpora.upstream import WHOLE, pack, read, tabs


def test_lines_with_one_context_are_one_dialogue_that_ends_with_the_right_response(tmp_path: Path):
    dialogues, quarantine = read("ecd", tmp_path)
    assert dialogues == [
        Dialogue("train/1", (Turn("customer", "有 货 吗"), Turn("shop", "有 的"), Turn("customer", "好")), (), "train"),
        Dialogue("dev/1", (Turn("customer", "多少 钱"), Turn("shop", "五 块")), (), "dev"),
        Dialogue("test/1", (Turn("customer", "发 什么 快递"), Turn("shop", "回复 7")), (), "test"),
    ]
    assert quarantine == []


def test_candidates_are_the_responses_of_all_lines(tmp_path: Path):
    folder = pack(tmp_path / "ecd", WHOLE["ecd"])
    (query,) = Ecd().queries(folder, split="test", quarantine=[])
    assert query.responses == tuple(f"回复 {n}" for n in range(10))
    assert (query.correct, query.speaker) == ((7,), "shop")


def test_dialogues_with_the_same_words_before_the_response_stay_apart(tmp_path: Path):
    table = tabs((1, "你好", "您好"), (0, "你好", "缺货"), (1, "你好", "在的"), (0, "你好", "明天"))
    dialogues, quarantine = read("ecd", tmp_path, {"train.txt": table})
    train = [(d.dialogue_id, d.turns[-1].text) for d in dialogues if d.split == "train"]
    assert train == [("train/1", "您好"), ("train/3", "在的")]
    assert quarantine == []


def test_blank_utterance_does_not_swap_the_speakers(tmp_path: Path):
    table = tabs((1, "在 吗", "", "几 点 发货", "五 点"), (0, "在 吗", "", "几 点 发货", "没有"))
    dialogues, _ = read("ecd", tmp_path, {"train.txt": table})
    assert dialogues[0].turns == (Turn("customer", "在 吗"), Turn("customer", "几 点 发货"), Turn("shop", "五 点"))


def test_files_may_be_named_as_in_the_sample_of_upstream(tmp_path: Path):
    names = {"train.txt": "train", "dev.txt": "valid", "test.txt": "test"}
    folder = pack(tmp_path / "ecd", {f"ECD_sample/{names[name]}": text for name, text in WHOLE["ecd"].items()})
    assert [d.split for d in Ecd().read(folder, quarantine=[])] == ["train", "dev", "test"]


def test_context_without_a_right_response_is_quarantined(tmp_path: Path):
    table = tabs((0, "a", "b"), (0, "a", "c"), (2, "d", "e"), (1, "f"), (1, "g", "h"))
    quarantine: list[Quarantined] = []
    dialogues, quarantine = read("ecd", tmp_path, {"train.txt": table})
    assert [d.dialogue_id for d in dialogues if d.split == "train"] == ["train/5"]
    assert [(found.origin.line, found.dialogue_id, found.reason) for found in quarantine] == [
        (1, "train/1", "none of its 2 responses is right"),
        (3, "train/3", "the label of line 3 must be 0 or 1, found '2'"),
        (4, "train/4", "line 4 has 2 cells, expected a label, a context and a response"),
    ]
