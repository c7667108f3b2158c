from pathlib import Path
from typing import Any

import pytest

from conversations.dialogue import Dialogue, Quarantined, Turn
from dial2vec.config import Read
from dial2vec.errors import CorpusError
from dial2vec_papers.corpora.doc2dial import Doc2dial
from tests.data.corpora.archives import read_corpus, write_archive


def record(name: str, *said: str) -> dict[str, Any]:
    """`record("d", "user: Hi", "agent: Hello")`."""
    turns = [
        {"turn_id": n, "role": line.split(": ")[0], "da": "x", "references": [], "utterance": line.split(": ")[1]}
        for n, line in enumerate(said or ("user: Hi", "agent: Yes?"), start=1)
    ]
    return {"dial_id": name, "doc_id": "Top 5 Mistakes. And how#1_0", "domain": "elsewhere", "turns": turns}


def data(**domains: list[object]) -> dict[str, Any]:
    return {domain: {f"A document. Of {domain}#1_0": dialogues} for domain, dialogues in domains.items()}


def pack(folder: Path, files: dict[str, object], *, top: str = "doc2dial/v1.0.1") -> Path:
    whole: dict[str, object] = {
        "doc2dial_dial_train.json": {"dial_data": data(ssa=[record("t")])},
        "doc2dial_dial_validation.json": {"dial_data": data(va=[record("v")])},
        "doc2dial_doc.json": "{never read",
        f"__MACOSX/{top}/doc2dial_dial_train.json": "not JSON",
    }
    return write_archive(folder / "doc2dial_v1.0.1.zip", {**whole, **files}, top=top)


def read(folder: Path, **options: Any) -> tuple[list[Dialogue], list[Quarantined]]:
    return read_corpus(Doc2dial(Read(**options)), folder)


@pytest.mark.parametrize("top", ["doc2dial/v1.0.1", "sharedtask-dialdoc2021-master/data/doc2dial/v1.0.1"])
def test_dev_and_test_are_both_the_validation_file(tmp_path: Path, top: str):
    dialogues, quarantine = read(pack(tmp_path / "doc2dial", {}, top=top))
    said = (Turn("user", "Hi"), Turn("agent", "Yes?"))
    assert dialogues == [
        Dialogue("train/t", said, ("ssa",), "train"),
        Dialogue("dev/v", said, ("va",), "dev"),
        Dialogue("test/v", said, ("va",), "test"),
    ]
    assert quarantine == []


def test_consecutive_turns_of_one_role_stay_two_turns(tmp_path: Path):
    said = ("user: One", "user: Two", "agent: Three", "agent: Four", "user: Five")
    folder = pack(tmp_path / "doc2dial", {"doc2dial_dial_train.json": {"dial_data": data(dmv=[record("t", *said)])}})
    assert [(turn.speaker, turn.text) for turn in read(folder)[0][0].turns] == [
        tuple(line.split(": ")) for line in said
    ]


def test_label_is_the_outer_key_in_all_documents(tmp_path: Path):
    domains = {"ssa": {"a#1": [record("1"), record("2")], "b#1": [record("3")]}, "studentaid": {"c#1": [record("4")]}}
    folder = pack(tmp_path / "doc2dial", {"doc2dial_dial_train.json": {"dial_data": domains}})
    labels = {d.dialogue_id: d.label for d in read(folder)[0] if d.split == "train"}
    assert labels == {"train/1": "ssa", "train/2": "ssa", "train/3": "ssa", "train/4": "studentaid"}


@pytest.mark.parametrize("wrapped", [True, False])
def test_test_file_of_the_shared_task_may_lack_the_outer_object(tmp_path: Path, wrapped: bool):
    prefixes = data(va=[record("p", "user: And?")], dmv=[record("q", "user: Why?")])
    files = {"doc2dial_dial_testdev.json": {"dial_data": prefixes} if wrapped else prefixes}
    dialogues, quarantine = read(pack(tmp_path / "doc2dial", files), doc2dial_test="testdev")
    assert [(d.dialogue_id, d.label) for d in dialogues if d.split != "train"] == [
        ("dev/v", "va"), ("test/p", "va"), ("test/q", "dmv"),
    ]  # fmt: skip
    assert quarantine == []


def test_the_archives_own_test_is_read_where_the_settings_name_it(tmp_path: Path):
    files = {"doc2dial_dial_test.json": {"dial_data": data(dmv=[record("own")])}}
    dialogues, _ = read(pack(tmp_path / "doc2dial", files, top="."), doc2dial_test="test")
    assert [d.dialogue_id for d in dialogues] == ["train/t", "dev/v", "test/own"]
    with pytest.raises(CorpusError, match=r"holds no doc2dial_dial_test.json; not every copy .* to validation"):
        read(pack(tmp_path / "without", {}), doc2dial_test="test")


def test_domain_that_only_the_final_test_has_is_quarantined(tmp_path: Path):
    files = {"doc2dial_dial_finaltest.json": {"dial_data": data(cdccov19=[record("c")], va=[record("f")])}}
    dialogues, quarantine = read(pack(tmp_path / "doc2dial", files), doc2dial_test="finaltest")
    assert [d.dialogue_id for d in dialogues if d.split == "test"] == ["test/f"]
    assert [(s.dialogue_id, s.reason) for s in quarantine] == [
        ("test/c", "of the domain cdccov19, which the shared task added and no other split has")
    ]


def test_test_file_that_is_not_there_says_who_has_it(tmp_path: Path):
    folder = pack(tmp_path / "doc2dial", {})
    with pytest.raises(
        CorpusError, match=r"holds no doc2dial_dial_testdev.json; the shared task DialDoc 2021 .*validation"
    ):
        read(folder, doc2dial_test="testdev")
    assert Doc2dial(Read(doc2dial_test="testdev")).missing(folder) == ["doc2dial_dial_testdev.json"]


def test_unusable_records_are_quarantined_with_member_number_id_and_reason(tmp_path: Path):
    odd = [record("good"), "text", {"dial_id": "bare"}, record("blank", "user:  "), record("good")]
    files = {"doc2dial_dial_train.json": {"dial_data": data(va=odd)}}
    dialogues, quarantine = read(pack(tmp_path / "doc2dial", files))
    assert [d.dialogue_id for d in dialogues] == ["train/good", "dev/v", "test/v"]
    assert [(s.origin.line, s.dialogue_id, s.reason) for s in quarantine] == [
        (2, "", "the dialogue must be an object, found a string"),
        (3, "train/bare", "the key 'turns' is missing"),
        (4, "train/blank", "every turn is blank"),
        (5, "train/good", "the id 'train/good' came before"),
    ]
    assert quarantine[0].origin.source.endswith("v1.0.1.zip/doc2dial/v1.0.1/doc2dial_dial_train.json")


@pytest.mark.parametrize("wrong", [None, [], [None], {}, {"a": None}, 3, 1.5, "", "x", True])
def test_wrong_types_never_raise(tmp_path: Path, wrong: object):
    whole = record("w", "user: Hi")
    odd = [wrong, *({**whole, key: wrong} for key in ("dial_id", "turns")), {**whole, "dial_id": "t", "turns": [wrong]}]
    odd += [{**whole, "dial_id": key, "turns": [{**whole["turns"][0], key: wrong}]} for key in ("role", "utterance")]
    domains = {"va": {"a#1": odd, "b#1": wrong}, "ssa": wrong}
    dialogues, quarantine = read(pack(tmp_path / "doc2dial", {"doc2dial_dial_train.json": {"dial_data": domains}}))
    assert len(quarantine) >= 4
    usable = {f"train/{name}" for name in ("x", "role", "utterance")} if isinstance(wrong, str) else set()
    # A number names a role as well as a text does.
    numbered = {"train/role"} if wrong == 3 else set()
    assert {d.dialogue_id for d in dialogues} <= {"dev/v", "test/v", *usable, *numbered}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"dial_data": {"va"', r"doc2dial_dial_validation.json is not JSON"),
        ([], r"doc2dial_dial_validation.json is no JSON object with entries"),
        ({"dial_data": {}}, r"doc2dial_dial_validation.json holds no dialogues by domain and document"),
        ({"dial_data": [record("a")]}, r"doc2dial_dial_validation.json holds no dialogues by domain and document"),
        ({"va": {}}, r"doc2dial_dial_validation.json holds no dialogues by domain and document"),
        (None, r"holds no doc2dial_dial_validation.json; expected the archive of https.* `dial2vec fetch doc2dial`"),
    ],
)
def test_absent_or_damaged_file_is_refused_by_name(tmp_path: Path, content: object, message: str):
    with pytest.raises(CorpusError, match=message):
        read(pack(tmp_path / "doc2dial", {"doc2dial_dial_validation.json": content}))


def test_missing_names_each_absent_file_once(tmp_path: Path):
    assert Doc2dial().missing(pack(tmp_path / "whole", {})) == []
    part = pack(tmp_path / "part", {"doc2dial_dial_validation.json": None})
    assert Doc2dial().missing(part) == ["doc2dial_dial_validation.json"]
