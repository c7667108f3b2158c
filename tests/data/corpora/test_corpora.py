from pathlib import Path

import pytest

from dial2vec.data.corpora import get_corpus, known_corpora
from dial2vec.data.corpora.transcripts import Transcripts
from dial2vec.errors import CorpusError


def test_known_name_gives_its_reader_whatever_lies_in_the_folder(tmp_path: Path):
    (tmp_path / "sgd").mkdir()
    (tmp_path / "sgd" / "own.jsonl").write_text("{}\n")
    for name, corpus in known_corpora().items():
        assert get_corpus(name, data=tmp_path) == corpus()


def test_how_each_corpus_is_split():
    splitting = {name: corpus.splitting for name, corpus in known_corpora().items()}
    official = ("sgd", "bitod", "doc2dial", "multiwoz", "taskmaster1", "smd", "woz", "dstc2", "gsim", "ubuntu_v2")
    official += ("dstc7_ubuntu", "dstc7_advising", "ecd")
    shuffled = ("self_dialogue", "metalwoz", "taskmaster2", "taskmaster3", "taskmaster4", "msr_e2e", "frames")
    shuffled += ("camrest676", "amazon_qa", "jddc")
    assert splitting == {"demo": "hashed"} | dict.fromkeys(official, "official") | dict.fromkeys(shuffled, "shuffled")
    assert Transcripts().splitting == "hashed"


@pytest.mark.parametrize("file", ["export.jsonl", "export.jsonl.gz"])
def test_other_name_with_json_lines_is_read_as_transcripts(tmp_path: Path, file: str):
    (tmp_path / "calls_2026").mkdir()
    (tmp_path / "calls_2026" / file).write_bytes(b"")
    assert isinstance(get_corpus("calls_2026", data=tmp_path), Transcripts)


def test_unknown_name_suggests_lists_and_tells_how_to_add_transcripts(tmp_path: Path):
    with pytest.raises(CorpusError) as raised:
        get_corpus("sgdx", data=tmp_path)
    message = str(raised.value)
    assert "unknown corpus 'sgdx'. Did you mean 'sgd'? Known: demo, sgd, self_dialogue, bitod, doc2dial, " in message
    assert "run `dial2vec import FILE --name sgdx`" in message
    assert f"put JSON Lines (*.jsonl or *.jsonl.gz) into {tmp_path}/<name>/" in message


@pytest.mark.parametrize("name", ["..", "../calls", "calls/2026", "my-calls", "", "/"])
def test_name_that_is_a_path_is_no_corpus(tmp_path: Path, name: str):
    for folder in (tmp_path, tmp_path / "calls", tmp_path / "data" / "calls" / "2026", tmp_path / "data" / "my-calls"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "own.jsonl").write_text("{}\n")
    with pytest.raises(CorpusError, match="is no corpus name"):
        get_corpus(name, data=tmp_path / "data")
