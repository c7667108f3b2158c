from pathlib import Path

import pytest

from conversations.dialogue import Dialogue, Quarantined, Turn
from dial2vec.config import Read
from dial2vec.errors import CorpusError
from dial2vec_papers.corpora.sgd import Sgd
from tests.data.corpora.archives import read_corpus, write_archive


def record(dialogue_id: str, services: list[str], *utterances: str) -> dict[str, object]:
    turns = [
        {"speaker": ("USER", "SYSTEM")[n % 2], "utterance": text, "frames": []} for n, text in enumerate(utterances)
    ]
    return {"dialogue_id": dialogue_id, "services": services, "turns": turns}


def pack(folder: Path, files: dict[str, object], *, top: str = "dstc8-schema-guided-dialogue-master") -> Path:
    return write_archive(folder / f"{top}.zip", files, top=top)


def read(folder: Path) -> tuple[list[Dialogue], list[Quarantined]]:
    return read_corpus(Sgd(), folder)


@pytest.mark.parametrize("top", ["dstc8-schema-guided-dialogue-master", "sgd-main"])
def test_dialogue_has_its_split_services_and_speakers(tmp_path: Path, top: str):
    files = {
        "train/dialogues_001.json": [record("1_00000", ["Hotels_2", "Banks_1", "Hotels_2"], " Hello ", "Hi")],
        "train/schema.json": [{"service_name": "Banks_1"}],
        "README.md": "not JSON",
    }
    dialogues, quarantine = read(pack(tmp_path / "sgd", files, top=top))
    assert dialogues == [
        Dialogue("train/1_00000", (Turn("user", "Hello"), Turn("system", "Hi")), ("Banks_1", "Hotels_2"), "train")
    ]
    assert quarantine == []


def test_same_id_in_two_splits_is_two_dialogues(tmp_path: Path):
    files = {f"{split}/dialogues_001.json": [record("1", ["A_1"], split)] for split in ("train", "dev", "test")}
    dialogues, quarantine = read(pack(tmp_path / "sgd", files))
    assert {(d.dialogue_id, d.split, d.turns[0].text) for d in dialogues} == {
        (f"{split}/1", split, split) for split in ("train", "dev", "test")
    }
    assert quarantine == []


def test_blank_utterance_is_no_turn(tmp_path: Path):
    [dialogue], quarantine = read(
        pack(tmp_path / "sgd", {"test/dialogues_001.json": [record("3", ["A_1"], "Bye", "", "!", " ")]})
    )
    assert dialogue.turns == (Turn("user", "Bye"), Turn("user", "!"))
    assert quarantine == []


def test_unusable_records_are_quarantine_with_file_number_id_and_reason(tmp_path: Path):
    good = record("good", ["A_1"], "Hi")
    records = [good, record("silent", ["A_1"], " ", ""), {"dialogue_id": "bare"}, "text", {**good, "turns": [3]}, good]
    dialogues, quarantine = read(pack(tmp_path / "sgd", {"dev/dialogues_001.json": records}))
    assert [d.dialogue_id for d in dialogues] == ["dev/good"]
    assert [(s.origin.line, s.dialogue_id) for s in quarantine] == [
        (2, "dev/silent"), (3, "dev/bare"), (4, ""), (5, "dev/good"), (6, "dev/good"),
    ]  # fmt: skip
    assert [s.reason for s in quarantine] == [
        "every turn is blank",
        "the key 'turns' is missing",
        "the dialogue must be an object, found a string",
        "a turn must be an object, found a number",
        "the id 'dev/good' came before",
    ]
    assert quarantine[0].origin.source.endswith(
        "-master.zip/dstc8-schema-guided-dialogue-master/dev/dialogues_001.json"
    )


@pytest.mark.parametrize(
    ("option", "labels"),
    [("service", ("Hotels_1", "Hotels_2", "RideSharing_1")), ("domain", ("Hotels", "RideSharing"))],
)
def test_labels_are_services_or_their_domains(tmp_path: Path, option: str, labels: tuple[str, ...]):
    files = {"dev/dialogues_001.json": [record("1", ["Hotels_2", "RideSharing_1", "Hotels_1"], "Hi")]}
    reader = Sgd(Read(sgd_labels=option))  # type: ignore[arg-type]
    [dialogue] = reader.read(pack(tmp_path / "sgd", files), quarantine=[])
    assert dialogue.labels == labels


@pytest.mark.parametrize("wrong", [None, [], [None], {}, {"a": None}, 3, 1.5, "", "x", True, "\ud83d"])
def test_wrong_types_never_raise(tmp_path: Path, wrong: object):
    whole = record("1", ["A_1"], "Hi")
    odd = [wrong, *({**whole, key: wrong} for key in ("dialogue_id", "services", "turns")), {**whole, "turns": [wrong]}]
    odd += [{**whole, "services": [wrong]}]
    odd += [
        {**whole, "turns": [{"speaker": "USER", "utterance": "Hi", key: wrong}]} for key in ("speaker", "utterance")
    ]
    dialogues, quarantine = read(pack(tmp_path / "sgd", {"dev/dialogues_001.json": odd}))
    assert len(dialogues) + len(quarantine) == len(odd)
    assert len(quarantine) >= 5
    assert all(record.dialogue_id.encode() is not None for record in quarantine)


def test_reading_streams_member_after_member(tmp_path: Path):
    files = {"dev/dialogues_001.json": [record("1", ["A_1"], "Hi")], "dev/dialogues_002.json": "[half"}
    stream = Sgd().read(pack(tmp_path / "sgd", files), quarantine=[])
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
