from __future__ import annotations

import json
import zipfile

import pytest

from dial2vec.errors import CorpusError
from dial2vec_papers.tasks.actions import ActionExample, read_actions
from tests.papers.tasks.fakes import context


def write(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return folder


def sgd(*acts):
    frames = [{"service": "Hotels_1", "actions": [{"act": act, "slot": "", "values": []} for act in acts]}]
    turns = [
        {"speaker": "USER", "utterance": "a room  please", "frames": [{"actions": [{"act": "INFORM_INTENT"}]}]},
        {"speaker": "SYSTEM", "utterance": "which city?", "frames": frames},
        {"speaker": "USER", "utterance": "here", "frames": []},
        {"speaker": "SYSTEM", "utterance": "done", "frames": [{"actions": [{"act": "NOTIFY_SUCCESS"}]}]},
    ]
    return [{"dialogue_id": "1_00000", "services": ["Hotels_1"], "turns": turns}]


SGD = {"top/train/dialogues_001.json": sgd("REQUEST", "OFFER"), "top/test/dialogues_001.json": sgd("REQUEST")}


def gsim(text):
    turns = [
        {"user_acts": [{"type": "GREETING"}], "user_utterance": {"text": text, "tokens": []}},
        {
            "system_acts": [
                {"slot": "time", "type": "REQUEST"},
                {"slot": "date", "type": "REQUEST"},
                {"type": "OFFER"},
            ],
            "system_utterance": {"text": "when ?", "tokens": []},
            "user_acts": [{"type": "INFORM"}],
            "user_utterance": {"text": "now", "tokens": []},
        },
    ]
    return [{"dialogue_id": "movies_1", "turns": turns}]


GSIM = {
    f"data/{name}.json": gsim(name)
    for name in ("sim-M/train", "sim-M/dev", "sim-M/test", "sim-R/train", "sim-R/dev", "sim-R/test")
}


def dstc2():
    """Two calls, as in `dstc2_traindev` and `dstc2_test`."""
    files = {
        "traindev/scripts/config/dstc2_train.flist": "Mar13_S0A0/voip-1\n\n",
        "test/scripts/config/dstc2_test.flist": "Mar13_S2A0/voip-2\n",
    }
    for part, call in (("traindev", "Mar13_S0A0/voip-1"), ("test", "Mar13_S2A0/voip-2")):
        acts = [
            [{"act": "welcomemsg", "slots": []}],
            [{"act": "request", "slots": [["slot", "area"]]}, {"act": "offer", "slots": []}],
        ]
        turns = [
            {"output": {"transcript": said, "dialog-acts": done}, "input": {}}
            for said, done in zip(("hello", "where ?"), acts, strict=True)
        ]
        files[f"{part}/data/{call}/log.json"] = {"session-id": call, "turns": turns}
        files[f"{part}/data/{call}/label.json"] = {"turns": [{"transcription": "cheap food"}, {"transcription": ""}]}
    return files


def test_the_systems_turns_of_sgd_with_the_acts_of_their_frames(tmp_path):
    found = read_actions(write(tmp_path, SGD))
    asked = context("a room please")
    assert found.name == "sgd"
    assert found.train == (
        ActionExample(asked, frozenset({"REQUEST", "OFFER"})),
        ActionExample(context("a room please", "which city?", "here"), frozenset({"NOTIFY_SUCCESS"})),
    )
    assert found.test[0] == ActionExample(asked, frozenset({"REQUEST"}))
    assert found.actions == ["NOTIFY_SUCCESS", "OFFER", "REQUEST"]


def test_both_parts_of_gsim_without_dev(tmp_path):
    found = read_actions(write(tmp_path, GSIM))
    assert found.name == "gsim"
    assert found.train == tuple(
        ActionExample(context(name), frozenset({"REQUEST", "OFFER"})) for name in ("sim-M/train", "sim-R/train")
    )
    assert len(found.test) == 2


def test_the_calls_that_the_lists_of_dstc2_name(tmp_path):
    found = read_actions(write(tmp_path, dstc2()))
    assert found.name == "dstc2"
    # The welcome has nothing before it; the system spoke first.
    assert found.train == (ActionExample(context("hello", "cheap food"), frozenset({"request", "offer"})),)
    assert found.test == found.train


def test_a_zip_is_read_like_a_folder(tmp_path):
    with zipfile.ZipFile(tmp_path / "sgd.zip", "w") as archive:
        for name, content in SGD.items():
            archive.writestr(name, json.dumps(content))
    assert read_actions(tmp_path / "sgd.zip") == read_actions(write(tmp_path / "sgd", SGD))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"notes.txt": "x"}, "holds no dialogues with actions; expected the files of sgd, gsim, dstc2"),
        ({"train/dialogues_001.json": sgd("REQUEST")}, "has no turn of the system with actions in its test part"),
        ({"train/dialogues_001.json": "{"}, r"train/dialogues_001\.json is not JSON"),
        ({"train/dialogues_001.json": {}}, r"dialogues_001\.json is no JSON list with elements"),
        ({"train/dialogues_001.json": [{}]}, r"dialogues_001\.json, dialogue 1: 'turns' is no list of objects"),
        (
            {"train/dialogues_001.json": [{"turns": [{"speaker": "SYSTEM", "utterance": 3, "frames": []}]}]},
            r"dialogue 1: 'utterance' is a number \(3\); expected a text",
        ),
        (
            {"sim-R/train.json": [{"turns": [{"user_utterance": "hi"}]}]},
            "'user_utterance' is the string 'hi'; expected an",
        ),
        (
            {
                "dstc2_train.flist": "a/b\n\nc/d\n",
                "data/a/b/log.json": {"turns": []},
                "data/a/b/label.json": {"turns": []},
            },
            r"dstc2_train\.flist:3: found the call 'c/d', expected its folder",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path, files, message):
    with pytest.raises(CorpusError, match=message):
        read_actions(write(tmp_path, files))


def test_no_folder_is_said_in_the_words_of_the_task(tmp_path):
    with pytest.raises(CorpusError, match="nowhere does not exist; expected a folder or a zip of files with actions"):
        read_actions(tmp_path / "nowhere")
