from pathlib import Path

import pytest

from conversations.dialogue import Dialogue, Turn
from dial2vec.errors import CorpusError
from dial2vec_papers.corpora.dstc2 import Dstc2
from tests.data.corpora.archives import read_corpus
from tests.papers.corpora.upstream import WHOLE, dstc2_call, pack, read

LIST = "scripts/config/dstc2_{}.flist"


def test_what_people_transcribed_is_read_and_silence_is_no_turn(tmp_path: Path):
    dialogues, quarantine = read("dstc2", tmp_path, form="tar.gz")
    assert dialogues[1] == Dialogue(
        "dev/Mar13_S1A0/voip-2", (Turn("system", "Welcome."), Turn("system", "Sorry?"), Turn("user", "bye")), (), "dev"
    )
    assert [d.dialogue_id for d in dialogues] == [
        *("train/Mar13_S0A0/voip-1", "dev/Mar13_S1A0/voip-2", "test/Mar13_S2A0/voip-1")
    ]
    assert quarantine == []


def test_both_archives_of_upstream_are_read_together_and_equal_lists_count_once(tmp_path: Path):
    test = {name: content for name, content in WHOLE["dstc2"].items() if "S2A0" in name or "test" in name}
    train = {name: content for name, content in WHOLE["dstc2"].items() if name not in test}
    shared = {LIST.format("train"): WHOLE["dstc2"][LIST.format("train")]}
    pack(tmp_path / "dstc2", train, form="tar.gz", top="")
    (tmp_path / "dstc2" / "corpus.tar.gz").rename(tmp_path / "dstc2" / "dstc2_traindev.tar.gz")
    pack(tmp_path / "dstc2", test | shared, form="tar.gz", top="")
    assert read_corpus(Dstc2(), tmp_path / "dstc2")[0] == read("dstc2", tmp_path / "whole")[0]


def test_calls_without_list_or_files_and_calls_whose_files_differ_are_counted(tmp_path: Path):
    longer = dstc2_call("Mar13_S2A0/voip-1", ("Hello.", "thai"), ("Yes?", "bye"))
    changes = {
        LIST.format("train"): "Mar13_S0A0/voip-1\nMar13_S0A0/voip-9\n",
        LIST.format("dev"): "\n",
        "data/Mar13_S2A0/voip-1/log.json": longer["data/Mar13_S2A0/voip-1/log.json"],
    }
    with pytest.raises(CorpusError, match=r"test.flist:1: Mar13_S0A0/voip-1 is also listed for train"):
        read("dstc2", tmp_path / "twice", {LIST.format("test"): "Mar13_S0A0/voip-1\n"})
    dialogues, quarantine = read("dstc2", tmp_path, changes)
    assert [d.dialogue_id for d in dialogues] == ["train/Mar13_S0A0/voip-1"]
    assert [(found.dialogue_id, found.reason) for found in quarantine] == [
        ("train/Mar13_S0A0/voip-9", "it is listed for train, and there is no log.json of it"),
        ("test/Mar13_S2A0/voip-1", "log.json has 2 turns, and label.json has 1"),
        ("Mar13_S1A0/voip-2", "it is in no dstc2_<split>.flist"),
    ]
