import json
from pathlib import Path

import pytest

from dial2vec.data.corpora import get_corpus
from dial2vec.data.corpora.joint import Joint, write_digests
from dial2vec.errors import CorpusError
from tests.data.corpora.archives import read_corpus
from tests.papers.corpora.upstream import WHOLE, pack


def calls(folder: Path, *lines: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "a.jsonl").write_text("\n".join(lines))
    return folder


LINE = json.dumps({"dialogue_id": "1", "turns": [{"speaker": "a", "text": "Hi"}], "labels": ["greeting"]})


def test_dialogues_and_quarantined_records_are_named_by_their_corpus(tmp_path: Path):
    pack(tmp_path / "frames", WHOLE["frames"])
    calls(tmp_path / "calls", LINE, "{half")
    joint = get_corpus("frames+calls", data=tmp_path)
    assert isinstance(joint, Joint)
    assert joint.splittings == {"frames": "shuffled", "calls": "hashed"}
    dialogues, quarantine = read_corpus(joint, tmp_path / "frames+calls")
    assert [(d.dialogue_id, d.labels) for d in dialogues] == [
        ("frames/f1", ()),
        ("frames/f2", ()),
        ("calls/1", ("greeting",)),
    ]
    assert [found.dialogue_id for found in quarantine] == ["calls/"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("calls+calls", "joins a corpus with itself"),
        ("calls+", "'' is no corpus name"),
        ("calls+../calls", "is no corpus name"),
        ("calls+sgdx", "unknown corpus 'sgdx'. Did you mean 'sgd'"),
    ],
)
def test_name_that_joins_nothing_sensible_is_refused(tmp_path: Path, name: str, message: str):
    calls(tmp_path / "calls", LINE)
    with pytest.raises(CorpusError, match=message):
        get_corpus(name, data=tmp_path)


def test_digests_change_with_the_data_of_a_part_and_only_then(tmp_path: Path):
    calls(tmp_path / "calls", LINE)
    calls(tmp_path / "chats", LINE)
    folder = tmp_path / "calls+chats"
    assert write_digests(folder, ["calls", "chats"])
    assert not write_digests(folder, ["calls", "chats"])
    before = json.loads((folder / "corpora.json").read_text())
    (tmp_path / "chats" / "b.jsonl").write_text("")
    assert write_digests(folder, ["calls", "chats"])
    after = json.loads((folder / "corpora.json").read_text())
    assert after["calls"] == before["calls"]
    assert after["chats"] != before["chats"]
