import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from conversations.dialogue import Dialogue, Quarantined, Turn
from dial2vec.errors import CorpusError
from dial2vec_papers.corpora.metalwoz import Metalwoz
from tests.data.corpora.archives import read_corpus

GREETING = "Hello how may I help you?"


def record(name: str, domain: str, *said: str) -> dict[str, Any]:
    people = {"user_id": "u", "bot_id": "b", "task_id": "t"}
    return {"id": name, **people, "domain": domain, "turns": [GREETING, *said]}


def lines(*records: object) -> str:
    return "".join(f"{found if isinstance(found, str) else json.dumps(found)}\n" for found in records)


def zipped(files: dict[str, str | bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return packed.getvalue()


TASKS = lines({"task_id": "t", "domain": "BANK_BOT", "bot_role": ""}, {"task_id": "u", "domain": "PIZZA"}, "{half", 3)
WHOLE: dict[str, str | bytes] = {
    "tasks.txt": TASKS,
    "LICENSE.pdf": b"%PDF",
    "dialogues/PIZZA.txt": lines(record("00ab", "PIZZA", "One, please.")),
    "dialogues/BANK_BOT.txt": lines(record("00ab", "BANK_BOT", "My card is lost.", "Which?")),
}


def pack(folder: Path, files: dict[str, str | bytes]) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "metalwoz-v1.zip").write_bytes(zipped(files))
    return folder


def read(folder: Path) -> tuple[list[Dialogue], list[Quarantined]]:
    return read_corpus(Metalwoz(), folder)


@pytest.mark.parametrize("top", ["", "metalwoz-v1/"])
def test_bot_greets_first_and_the_domain_is_label_and_part_of_the_id(tmp_path: Path, top: str):
    files = {f"{top}{path}": content for path, content in WHOLE.items()}
    dialogues, quarantine = read(pack(tmp_path / "metalwoz", files | {f"__MACOSX/{top}dialogues/PIZZA.txt": "\x00"}))
    greeting = Turn("bot", GREETING)
    assert dialogues == [
        Dialogue("BANK_BOT/00ab", (greeting, Turn("user", "My card is lost."), Turn("bot", "Which?")), ("BANK_BOT",)),
        Dialogue("PIZZA/00ab", (greeting, Turn("user", "One, please.")), ("PIZZA",)),
    ]
    assert quarantine == []


def test_order_of_the_members_makes_no_difference(tmp_path: Path):
    turned = dict(reversed(WHOLE.items()))
    assert read(pack(tmp_path / "a", WHOLE)) == read(pack(tmp_path / "b", turned))


def test_archives_within_the_archive_are_read(tmp_path: Path):
    inner = zipped({"tasks.txt": "", "dialogues/SKI.txt": lines(record("1", "SKI", "Skis!"))})
    wrapped = zipped({"heldout/dialogues/BUS.txt": lines(record("1", "BUS", "Bus!"), "x")})
    folder = pack(
        tmp_path / "metalwoz",
        {"dstc8_metalwoz_heldout.zip": inner, "test/metalwoz.zip": wrapped, "dstc8_multiwoz2.0.zip": "x"},
    )
    dialogues, quarantine = read(folder)
    assert [d.dialogue_id for d in dialogues] == ["SKI/1", "BUS/1"]
    assert [str(s.origin) for s in quarantine] == [
        f"{folder}/metalwoz-v1.zip/test/metalwoz.zip/heldout/dialogues/BUS.txt:2"
    ]


def test_damaged_archive_within_the_archive_is_named_with_the_command_that_replaces_the_whole(tmp_path: Path):
    with pytest.raises(
        CorpusError, match=r"zip/test/metalwoz.zip cannot be read as a zip .* `dial2vec fetch metalwoz`"
    ):
        read(pack(tmp_path / "metalwoz", WHOLE | {"test/metalwoz.zip": b"half"}))


def test_unusable_lines_are_quarantined_with_their_number(tmp_path: Path):
    good = record("1", "SKI", "Skis!")
    odd = lines(good, "", "{half", "[]", {"id": "2"}, {**good, "id": "3", "turns": []}, good)
    dialogues, quarantine = read(pack(tmp_path / "metalwoz", {"dialogues/SKI.txt": odd}))
    assert [d.dialogue_id for d in dialogues] == ["SKI/1"]
    assert [(s.origin.line, s.dialogue_id, s.reason.split(" (")[0]) for s in quarantine] == [
        (3, "", "not valid JSON"),
        (4, "", "the dialogue must be an object, found a list"),
        (5, "", "the key 'domain' is missing"),
        (6, "SKI/3", "it has no turns"),
        (7, "SKI/1", "the id 'SKI/1' came before"),
    ]


@pytest.mark.parametrize("wrong", [None, [], [None], {}, {"a": None}, 3, 1.5, "", True])
def test_wrong_types_never_raise(tmp_path: Path, wrong: object):
    good = record("1", "SKI", "Skis!")
    odd = [json.dumps(wrong), *({**good, key: wrong} for key in ("id", "turns")), {**good, "id": "4", "turns": [wrong]}]
    content = lines(good, *odd, {**good, "id": "5", "domain": wrong})
    dialogues, quarantine = read(pack(tmp_path / "metalwoz", {"dialogues/SKI.txt": content}))
    assert dialogues[0].dialogue_id == "SKI/1"
    assert len(dialogues) + len(quarantine) == 6
    assert len(quarantine) >= 4


def test_line_that_is_not_utf8_is_quarantined(tmp_path: Path):
    good = lines(record("1", "SKI", "Skis!")).encode()
    _, quarantine = read(
        pack(tmp_path / "metalwoz", {"dialogues/SKI.txt": b"\xef\xbb\xbf" + good + b'{"id": "\xff"}\n'})
    )
    assert [(s.origin.line, s.reason[:14]) for s in quarantine] == [(2, "not valid JSON")]


def test_archive_of_something_else_is_refused(tmp_path: Path):
    with pytest.raises(CorpusError, match=r"holds no usable dialogues/<DOMAIN>.txt; expected the archive of https"):
        read(pack(tmp_path / "metalwoz", {"README.md": "hello", "dialogues/SKI.txt": "{}\n"}))


def test_missing_names_the_absent_domains_of_the_tasks(tmp_path: Path):
    assert Metalwoz().missing(pack(tmp_path / "whole", WHOLE)) == []
    part = {path: content for path, content in WHOLE.items() if "PIZZA" not in path}
    assert Metalwoz().missing(pack(tmp_path / "part", part)) == ["dialogues/PIZZA.txt"]
    assert Metalwoz().missing(pack(tmp_path / "bare", {"dialogues/SKI.txt": ""})) == ["tasks.txt"]
