import json
import zipfile
from pathlib import Path

import pytest

from dial2vec.corpora.sgd import Sgd
from dial2vec.dialogue import Dialogue, SetAside, Turn
from dial2vec.errors import CorpusError


def record(dialogue_id: str, services: list[str], *utterances: str) -> dict[str, object]:
    turns = [
        {"speaker": ("USER", "SYSTEM")[n % 2], "utterance": text, "frames": []} for n, text in enumerate(utterances)
    ]
    return {"dialogue_id": dialogue_id, "services": services, "turns": turns}


def pack(folder: Path, files: dict[str, object], *, top: str = "dstc8-schema-guided-dialogue-master") -> Path:
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / f"{top}.zip", "w") as archive:
        for path, content in files.items():
            archive.writestr(f"{top}/{path}", content if isinstance(content, str) else json.dumps(content))
    return folder


def read(folder: Path) -> tuple[list[Dialogue], list[SetAside]]:
    set_aside: list[SetAside] = []
    return list(Sgd().read(folder, set_aside=set_aside)), set_aside


@pytest.mark.parametrize("top", ["dstc8-schema-guided-dialogue-master", "sgd-main"])
def test_dialogue_has_its_split_services_and_speakers(tmp_path: Path, top: str):
    files = {
        "train/dialogues_001.json": [record("1_00000", ["Hotels_2", "Banks_1", "Hotels_2"], " Hello ", "Hi")],
        "train/schema.json": [{"service_name": "Banks_1"}],
        "README.md": "not JSON",
    }
    dialogues, set_aside = read(pack(tmp_path / "sgd", files, top=top))
    assert dialogues == [
        Dialogue("train/1_00000", (Turn("user", "Hello"), Turn("system", "Hi")), ("Banks_1", "Hotels_2"), "train")
    ]
    assert set_aside == []


def test_same_id_in_two_splits_is_two_dialogues(tmp_path: Path):
    files = {f"{split}/dialogues_001.json": [record("1", ["A_1"], split)] for split in ("train", "dev", "test")}
    dialogues, set_aside = read(pack(tmp_path / "sgd", files))
    assert {(d.dialogue_id, d.split, d.turns[0].text) for d in dialogues} == {
        (f"{split}/1", split, split) for split in ("train", "dev", "test")
    }
    assert set_aside == []


def test_blank_utterance_is_no_turn(tmp_path: Path):
    [dialogue], set_aside = read(
        pack(tmp_path / "sgd", {"test/dialogues_001.json": [record("3", ["A_1"], "Bye", "", "!", " ")]})
    )
    assert dialogue.turns == (Turn("user", "Bye"), Turn("user", "!"))
    assert set_aside == []


def test_unusable_records_are_set_aside_with_file_number_id_and_reason(tmp_path: Path):
    good = record("good", ["A_1"], "Hi")
    records = [good, record("silent", ["A_1"], " ", ""), {"dialogue_id": "bare"}, "text", {**good, "turns": [3]}, good]
    dialogues, set_aside = read(pack(tmp_path / "sgd", {"dev/dialogues_001.json": records}))
    assert [d.dialogue_id for d in dialogues] == ["dev/good"]
    assert [(s.line, s.dialogue_id) for s in set_aside] == [
        (2, "dev/silent"), (3, "dev/bare"), (4, ""), (5, "dev/good"), (6, "dev/good"),
    ]  # fmt: skip
    assert [s.reason for s in set_aside] == [
        "every turn is blank",
        "the key 'turns' is missing",
        "expected an object with 'dialogue_id', 'services' and 'turns'",
        "'turns' must be a list of objects with 'speaker' and 'utterance', both strings",
        "the id 'dev/good' came before",
    ]
    assert set_aside[0].source.endswith("-master.zip/dstc8-schema-guided-dialogue-master/dev/dialogues_001.json")


def test_reading_streams_member_after_member(tmp_path: Path):
    files = {"dev/dialogues_001.json": [record("1", ["A_1"], "Hi")], "dev/dialogues_002.json": "[half"}
    stream = Sgd().read(pack(tmp_path / "sgd", files), set_aside=[])
    assert next(stream).dialogue_id == "dev/1"
    with pytest.raises(CorpusError, match=r"dev/dialogues_002.json is not JSON"):
        next(stream)


def test_member_that_is_no_list_is_refused(tmp_path: Path):
    with pytest.raises(CorpusError, match="expected a JSON list of dialogues"):
        read(pack(tmp_path / "sgd", {"dev/dialogues_001.json": {}}))


def test_archive_of_something_else_is_refused(tmp_path: Path):
    with pytest.raises(
        CorpusError, match=r"holds no <top folder>/train/dialogues_NNN.json; expected the archive of https"
    ):
        read(pack(tmp_path / "sgd", {"sgd_x/data/v1/train/dialogues_001.json": []}))


def test_missing_names_the_absent_files_out_of_184(tmp_path: Path):
    every = [f"train/dialogues_{n:03}.json" for n in range(1, 128)] + [
        f"dev/dialogues_{n:03}.json" for n in range(1, 21)
    ]
    every += [f"test/dialogues_{n:03}.json" for n in range(1, 35)]
    every += [f"{split}/schema.json" for split in ("train", "dev", "test")]
    assert Sgd().missing(pack(tmp_path / "whole", dict.fromkeys(every, "[]"))) == []
    absent = ["train/dialogues_127.json", "dev/dialogues_001.json", "test/schema.json"]
    assert Sgd().missing(pack(tmp_path / "part", {path: [] for path in every if path not in absent})) == absent
    assert len(Sgd().missing(pack(tmp_path / "bare", {"README.md": ""}))) == 184
