from pathlib import Path
from typing import Any

import pytest

from conversations.dialogue import Dialogue, Quarantined, Turn
from dial2vec.config import Read
from dial2vec.errors import CorpusError
from dial2vec_papers.corpora.multiwoz import POOL_DEV, POOL_TEST, Multiwoz, draw
from tests.data.corpora.archives import read_corpus, write_archive

DOMAINS = ("attraction", "hotel", "restaurant", "taxi", "train", "hospital", "police")


def record(*goal: str, said: tuple[str, ...] = ("A taxi?", "Where to?")) -> dict[str, Any]:
    """A dialogue as in `data.json`: all seven domains in its goal, those named filled."""
    empty: dict[str, Any] = {domain: {} for domain in DOMAINS}
    state = {"taxi": {"book": {"booked": []}, "semi": {"destination": "", "leaveAt": "not mentioned"}}}
    log = [
        {"text": text, "metadata": state if n % 2 else {}, "dialog_act": {}, "span_info": []}
        for n, text in enumerate(said)
    ]
    filled = {domain: {"info": {"area": "north"}, "fail_info": {}} for domain in goal}
    return {"goal": empty | filled | {"message": ["You are <b>here</b>."], "topic": {"taxi": True}}, "log": log}


def pack(
    folder: Path,
    dialogues: object,
    *,
    dev: str = "SNG1.json\n",
    test: str = "MUL1.json\r\n\r\n",
    top: str = "MultiWOZ_2.1",
    ending: str = "txt",
) -> Path:
    files = {f"__MACOSX/{top}/data.json": "not JSON", "data.json": dialogues, "hotel_db.json": "[]"}
    lists = {f"valListFile.{ending}": dev, f"testListFile.{ending}": test}
    return write_archive(folder / "MultiWOZ_2.1.zip", files | lists, top=top)


def read(folder: Path, **options: Any) -> tuple[list[Dialogue], list[Quarantined]]:
    return read_corpus(Multiwoz(Read(**options)), folder)


WHOLE = {"SNG1.json": record("taxi"), "MUL1.json": record("train", "hotel"), "PMUL2.json": record("police")}


@pytest.mark.parametrize("top", ["MultiWOZ_2.1", "MULTIWOZ2.1", "multiwoz-master/data/MultiWOZ_2.1"])
@pytest.mark.parametrize("ending", ["txt", "json"])
def test_lists_name_dev_and_test_and_the_goal_the_labels(tmp_path: Path, top: str, ending: str):
    dialogues, quarantine = read(pack(tmp_path / "multiwoz", WHOLE, top=top, ending=ending))
    said = (Turn("user", "A taxi?"), Turn("system", "Where to?"))
    assert dialogues == [
        Dialogue("dev/SNG1.json", said, ("taxi",), "dev"),
        Dialogue("test/MUL1.json", said, ("hotel", "train"), "test"),
        Dialogue("train/PMUL2.json", said, ("police",), "train"),
    ]
    assert quarantine == []


def test_list_may_be_json_and_leave_out_the_endings(tmp_path: Path):
    dialogues, _ = read(pack(tmp_path / "multiwoz", WHOLE, dev='\n["SNG1"]', test="\ufeffMUL1\n"))
    assert [d.split for d in dialogues] == ["dev", "test", "train"]


@pytest.mark.parametrize("splits", ["official", "pooled"])
def test_listed_id_that_the_data_lack_is_quarantined(tmp_path: Path, splits: str):
    _, quarantine = read(pack(tmp_path / "multiwoz", WHOLE, dev="SNG1.json\n\nSNG7.json"), multiwoz_splits=splits)
    assert [(s.origin.line, s.dialogue_id, s.reason) for s in quarantine] == [
        (3, "dev/SNG7", "it is listed for dev, and data.json has no such dialogue")
    ]


def test_acts_in_a_file_of_their_own_are_not_taken_for_none(tmp_path: Path):
    bare = record("taxi")
    for turn in bare["log"]:
        del turn["dialog_act"]
    dialogues, quarantine = read(pack(tmp_path / "multiwoz", WHOLE | {"PMUL3.json": bare}), multiwoz_labels="acts")
    assert len(dialogues) == 3
    assert [(s.dialogue_id, s.reason) for s in quarantine] == [("train/PMUL3.json", "the key 'dialog_act' is missing")]


def test_topic_and_message_of_a_goal_are_no_domains(tmp_path: Path):
    [first, *_], _ = read(pack(tmp_path / "multiwoz", WHOLE | {"SNG1.json": record()}))
    assert first.labels == ()


def test_dialogue_that_upstream_calls_invalid_is_quarantined(tmp_path: Path):
    dialogues, quarantine = read(pack(tmp_path / "multiwoz", WHOLE | {"SNG01862.json": record("taxi")}))
    assert len(dialogues) == 3
    assert [str(s).partition("data.json")[2] for s in quarantine] == [
        ":4: dialogue 'train/SNG01862.json': invalid according to upstream (notes to MultiWOZ 2.2)"
    ]


def acting() -> dict[str, Any]:
    found = record("taxi", "hotel", said=("a", "b", "c", "d", "e"))
    acts = [{"Taxi-Inform": [["dest", "x"]]}, {"Booking-Book": [], "general-bye": []}, "No Annotation", None, {}]
    for turn, act in zip(found["log"], acts, strict=True):
        turn["dialog_act"] = act
    found["log"][3]["metadata"] = {
        "train": {"book": {"booked": [{"reference": "X"}], "people": "2"}, "semi": {"day": ""}},
        "hotel": {"book": {"booked": []}, "semi": {"area": "", "name": "not mentioned"}},
        "bus": {"book": {}, "semi": {"day": "friday"}},
    }
    del found["log"][4]["dialog_act"], found["log"][4]["metadata"]
    return found


@pytest.mark.parametrize(
    ("definition", "labels"),
    [
        ("goal", {"SNG1": ("hotel", "taxi"), "MUL1": ("police",)}),
        ("acts", {"SNG1": ("taxi",), "MUL1": ()}),
        ("acts_and_booking", {"SNG1": ("booking", "taxi"), "MUL1": ()}),
        ("slots", {"SNG1": ("train",), "MUL1": ()}),
        ("file", {"SNG1": ("hotel",), "MUL1": ("police", "several")}),
    ],
)
def test_labels_follow_the_option(tmp_path: Path, definition: str, labels: dict[str, tuple[str, ...]]):
    folder = pack(tmp_path / "multiwoz", {"SNG1.json": acting(), "MUL1.json": record("police")})
    dialogues, _ = read(folder, multiwoz_labels=definition)
    assert {d.dialogue_id.split("/")[1].removesuffix(".json"): d.labels for d in dialogues} == labels


def pool(tmp_path: Path) -> Path:
    """Twelve dialogues with one domain and four with two; two of each in the official dev, and two in the test."""
    whole = {f"SNG{n:02}.json": record("taxi") for n in range(12)}
    whole |= {f"MUL{n}.json": record("taxi", "train") for n in range(4)} | {"SNG99.json": {"log": 3}}
    dev, test = ("".join(f"SNG0{n}.json\nMUL{n}.json\n" for n in ids) for ids in ((0, 1), (2, 3)))
    return pack(tmp_path / "multiwoz", whole, dev=dev + "SNG99.json", test=test)


def by_split(dialogues: list[Dialogue]) -> dict[str, list[str]]:
    return {split: sorted(d.dialogue_id for d in dialogues if d.split == split) for split in ("train", "dev", "test")}


def test_pool_has_one_domain_and_is_taken_out_of_train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dial2vec_papers.corpora.multiwoz.POOL_DEV", 3)
    monkeypatch.setattr("dial2vec_papers.corpora.multiwoz.POOL_TEST", 4)
    dialogues, quarantine = read(pool(tmp_path), multiwoz_splits="pooled")
    found = by_split(dialogues)
    assert (len(found["dev"]), len(found["test"])) == (3, 4)
    drawn = {name.split("/")[1] for name in found["dev"] + found["test"]}
    assert len(drawn) == 7
    assert all(name.startswith("SNG") for name in drawn)
    assert found["train"] == sorted(f"train/SNG{n:02}.json" for n in range(4, 12) if f"SNG{n:02}.json" not in drawn)
    assert [s.dialogue_id for s in quarantine] == ["dev/SNG99.json"]


def test_pool_with_overlap_leaves_the_official_train_whole(tmp_path: Path):
    apart = by_split(read(pool(tmp_path), multiwoz_splits="pooled")[0])
    overlapping = by_split(read(pool(tmp_path), multiwoz_splits="pooled", multiwoz_overlap=True)[0])
    assert (overlapping["dev"], overlapping["test"]) == (apart["dev"], apart["test"])
    assert overlapping["train"] == [f"train/SNG{n:02}.json" for n in range(4, 12)]
    assert apart["train"] == []


def test_drawing_takes_the_papers_sizes_or_the_whole_of_a_smaller_pool():
    ids = [f"SNG{n:04}.json" for n in range(3406)]
    drawn = draw(ids)
    assert [list(drawn.values()).count(split) for split in ("dev", "test")] == [POOL_DEV, POOL_TEST] == [1077, 1084]
    assert draw(ids[::-1]) == drawn
    smaller = draw(ids[:100])
    assert [list(smaller.values()).count(split) for split in ("dev", "test")] == [49, 51]
    assert draw([]) == {}


@pytest.mark.parametrize("wrong", [None, [], [None], {}, {"a": None}, 3, 1.5, "", "x", True])
@pytest.mark.parametrize("definition", ["goal", "acts", "slots", "file"])
def test_wrong_types_never_raise(tmp_path: Path, wrong: object, definition: str):
    good = record("taxi")
    odd = [wrong, *({**good, key: wrong} for key in ("goal", "log")), {**good, "log": [wrong]}]
    odd += [{**good, "log": [{**good["log"][0], key: wrong}]} for key in ("text", "metadata", "dialog_act")]
    odd += [{**good, "log": [{**good["log"][0], "metadata": {"taxi": wrong}}]}]
    named = {f"SNG{n}.json": found for n, found in enumerate(odd)} | {"good": good, "": good}
    named |= {"listed.json": good, "MUL1.json": good}
    for splits in ("official", "pooled"):
        options = {"multiwoz_labels": definition, "multiwoz_splits": splits, "multiwoz_overlap": True}
        dialogues, quarantine = read(pack(tmp_path / "multiwoz", named, dev="listed"), **options)
        assert {"train/SNG0.json", "train/SNG2.json", "train/SNG3.json", "train/"} <= {
            s.dialogue_id for s in quarantine
        }
        assert "train/good" in {d.dialogue_id for d in dialogues}


@pytest.mark.parametrize(
    ("dialogues", "dev", "message"),
    [
        ('{"SNG1.json": {"goal"', "", r"MultiWOZ_2.1/data.json is not JSON"),
        ([record()], "", r"MultiWOZ_2.1/data.json is no JSON object with entries"),
        (WHOLE, "[half", r"MultiWOZ_2.1/valListFile.txt is no list of ids"),
        (WHOLE, "", r"no id in .*MultiWOZ_2.1/valListFile.txt is one of data.json"),
        (WHOLE, "sng1.json\n", r"no id in .*MultiWOZ_2.1/valListFile.txt is one of data.json"),
    ],
)
def test_damaged_member_is_refused_by_name(tmp_path: Path, dialogues: object, dev: str, message: str):
    with pytest.raises(CorpusError, match=message):
        read(pack(tmp_path / "multiwoz", dialogues, dev=dev))


def test_missing_names_what_is_absent_and_reading_stops_there(tmp_path: Path):
    assert Multiwoz().missing(pack(tmp_path / "whole", WHOLE)) == []
    bare = pack(tmp_path / "bare", WHOLE, ending="csv")
    assert Multiwoz().missing(bare) == ["valListFile.txt", "testListFile.txt"]
    with pytest.raises(CorpusError, match=r"holds no valListFile.txt; expected the archive of https"):
        read(bare)
