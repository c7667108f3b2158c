from pathlib import Path
from typing import Any

import pytest

from conversations.dialogue import Dialogue, Quarantined, Turn
from dial2vec.config import Read
from dial2vec.errors import CorpusError
from dial2vec_papers.corpora.bitod import Bitod
from tests.data.corpora.archives import read_corpus, write_archive

GOAL = ("hotels_en_US_search", "hotels_en_US_booking", "HKMTR_en")


def user(text: str, intent: str = "hotels_en_US_search") -> dict[str, Any]:
    return {"Agent": "User", "Text": text, "Actions": [], "active_intent": intent, "state": {}}


def wizard(text: str) -> dict[str, Any]:
    return {"Agent": "Wizard", "Text": text, "Actions": [], "PrimaryItem": {}, "SecondaryItem": {}}


QUERY = {"Agent": "Wizard", "Actions": "query", "API": "hotels_en_US_search", "Constraints": [{"stars": 5}]}
ANSWER = {"Agent": "KnowledgeBase", "Item": {"name": "Y", "_id": 1.5}, "TotalItems": 3, "Topic": "hotels_en_US_search"}
EVENTS = [user(" A hotel? "), QUERY, ANSWER, wizard("The Y."), user("Hello", "chat"), wizard("Bye.")]


def record(*events: dict[str, Any], goal: tuple[str, ...] = GOAL) -> dict[str, Any]:
    scenario = {
        "UserTask": "Find a <b>hotel</b>.<br>Then a train.",
        "WizardTask": "",
        "WizardCapabilities": [{"Task": "hotels_en_US_search", "SchemaURL": "x.json"}],
        "User_Goal": {intent: {"hotels": {}} for intent in goal},
    }
    return {"Scenario": scenario, "Events": list(events or EVENTS)}


def pack(folder: Path, files: dict[str, object], *, top: str = "BiToD-main") -> Path:
    whole = {f"data/en_{part}.json": {"first": record()} for part in ("train", "valid", "test")}
    return write_archive(folder / f"{top}.zip", {**whole, **files}, top=top)


def read(folder: Path, **options: Any) -> tuple[list[Dialogue], list[Quarantined]]:
    return read_corpus(Bitod(Read(**options)), folder)


@pytest.mark.parametrize("top", ["BiToD-main", "BiToD-master"])
def test_turns_are_the_events_with_text_and_never_the_html_of_the_task(tmp_path: Path, top: str):
    dialogues, quarantine = read(pack(tmp_path / "bitod", {}, top=top))
    said = (Turn("user", "A hotel?"), Turn("system", "The Y."), Turn("user", "Hello"), Turn("system", "Bye."))
    assert dialogues == [
        Dialogue(f"{split}/first", said, ("HKMTR", "hotels"), split) for split in ("train", "dev", "test")
    ]
    assert quarantine == []


def test_blank_text_of_who_does_not_speak_costs_nothing(tmp_path: Path):
    records = {"blank": record({**ANSWER, "Text": ""}, user("Hi"))}
    dialogues, quarantine = read(pack(tmp_path / "bitod", {"data/en_valid.json": records}))
    assert [turn.text for turn in dialogues[1].turns] == ["Hi"]
    assert quarantine == []


def test_chinese_and_fewshot_files_are_not_read(tmp_path: Path):
    lists = {f"data/{language}_fewshot_dials.json": {"fewshot_dials": ["first"]} for language in ("en", "zh")}
    others: dict[str, object] = {"data/zh_train.json": "{half", **lists}
    dialogues, quarantine = read(pack(tmp_path / "bitod", others))
    assert (len(dialogues), quarantine) == (3, [])


@pytest.mark.parametrize(
    ("definition", "labels"),
    [
        ("goal", ("HKMTR", "hotels")),
        ("active", ("hotels",)),
        ("active_and_chat", ("chat", "hotels")),
        ("intents", ("HKMTR_en", "hotels_en_US_booking", "hotels_en_US_search")),
    ],
)
def test_labels_follow_the_option(tmp_path: Path, definition: str, labels: tuple[str, ...]):
    dialogues, _ = read(pack(tmp_path / "bitod", {}), bitod_labels=definition)
    assert {dialogue.labels for dialogue in dialogues} == {labels}


def test_unusable_records_are_quarantined_with_member_number_id_and_reason(tmp_path: Path):
    records = {
        "good": record(),
        "text": "no object",
        "bare": {"Events": []},
        "silent": record(QUERY, ANSWER),
        "elsewhere": record({**ANSWER, "Text": "I know."}),
        "numbered": record({**QUERY, "Text": 3}),
    }
    dialogues, quarantine = read(pack(tmp_path / "bitod", {"data/en_valid.json": records}))
    assert [d.dialogue_id for d in dialogues] == ["train/first", "dev/good", "test/first"]
    assert [(s.origin.line, s.dialogue_id, s.reason) for s in quarantine] == [
        (2, "dev/text", "the dialogue must be an object, found a string"),
        (3, "dev/bare", "the key 'Scenario' is missing"),
        (4, "dev/silent", "it has no turns"),
        (5, "dev/elsewhere", "'Agent' of an event with 'Text' must be User or Wizard, found 'KnowledgeBase'"),
        (6, "dev/numbered", "turn 1: 'text' must be a string, found a number (3)"),
    ]
    assert quarantine[0].origin.source.endswith("BiToD-main.zip/BiToD-main/data/en_valid.json")


@pytest.mark.parametrize("wrong", [None, [], [None], {}, {"a": None}, 3, 1.5, "", "x", True])
@pytest.mark.parametrize("definition", ["goal", "active"])
def test_wrong_types_never_raise(tmp_path: Path, wrong: object, definition: str):
    scenario = {**record()["Scenario"], "User_Goal": wrong}
    records = [
        wrong,
        {**record(), "Scenario": wrong},
        {**record(), "Scenario": scenario},
        {**record(), "Events": wrong},
        record(wrong),  # type: ignore[arg-type]
        *(record({**user("Hi"), key: wrong}) for key in ("Agent", "Text", "active_intent")),
    ]
    named = {str(number): found for number, found in enumerate(records)} | {"": record()}
    dialogues, quarantine = read(pack(tmp_path / "bitod", {"data/en_train.json": named}), bitod_labels=definition)
    assert len(dialogues) + len(quarantine) == len(named) + 2
    assert {"train/0", "train/3", "train/4", "train/5", "train/"} <= {record.dialogue_id for record in quarantine}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"first": {"Scenario"', "data/en_test.json is not JSON"),
        ([], "data/en_test.json is no JSON object with entries"),
        (None, r"holds no en_test.json; expected the archive of https"),
    ],
)
def test_absent_or_damaged_file_is_refused_by_name(tmp_path: Path, content: object, message: str):
    with pytest.raises(CorpusError, match=message):
        read(pack(tmp_path / "bitod", {"data/en_test.json": content}))


def test_missing_names_the_absent_english_files(tmp_path: Path):
    assert Bitod().missing(pack(tmp_path / "whole", {})) == []
    assert Bitod().missing(pack(tmp_path / "part", {"data/en_valid.json": None})) == ["en_valid.json"]
