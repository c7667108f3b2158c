from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from dial2vec.config import Prepare, Read, Settings
from dial2vec.data.stats import Count, Statistics, corpus_table, count_corpus
from dial2vec.errors import CorpusError
from dial2vec_papers.corpora import CORPORA
from dial2vec_papers.tables.published import COUNTS

EMPTY = Count(0, 0.0, 0.0, 0)


def sgd(data: Path) -> Path:
    """SGD with three dialogues of train, and in dev and test one with one service and one with two."""

    def record(name: str, services: list[str], *said: str) -> dict[str, object]:
        turns = [{"speaker": ("USER", "SYSTEM")[n % 2], "utterance": text} for n, text in enumerate(said)]
        return {"dialogue_id": name, "services": services, "turns": turns}

    several = [record("1", ["A_1", "B_1"], "one two", "three"), record("2", ["C_1"], "one")]
    splits: dict[str, list[object]] = {
        "train": [record("3", ["A_1"], "a  b c", "d"), record("4", ["A_1", "D_1"], "a"), record("5", ["A_1"], "a")],
        "dev": [*several, {}],
        "test": [*several, record("1", ["A_1"], "again"), {}],
    }
    (data / "sgd").mkdir(parents=True)
    with zipfile.ZipFile(data / "sgd" / "sgd.zip", "w") as archive:
        for split, records in splits.items():
            archive.writestr(f"top/{split}/dialogues_001.json", json.dumps(records))
    return data


def calls(data: Path, *said: list[str]) -> Path:
    (data / "calls").mkdir(parents=True)
    records = [
        {"dialogue_id": str(n), "turns": [{"speaker": "a", "text": text} for text in texts], "labels": ["x"]}
        for n, texts in enumerate(said)
    ]
    (data / "calls" / "calls.jsonl").write_text("\n".join(map(json.dumps, records)))
    return data


def test_official_splits_are_counted_without_dialogues_of_several_labels_in_dev_and_test(tmp_path: Path):
    found = count_corpus("sgd", data=sgd(tmp_path), settings=Settings())
    assert found.splits == {
        "train": Count(3, 4 / 3, 2.0, 2),
        "dev": Count(1, 1.0, 1.0, 1),
        "test": Count(1, 1.0, 1.0, 1),
    }
    assert found.whole == Count(7, 10 / 7, 14 / 7, 4)
    assert found.left_out == 2
    assert found.reasons == {"the key 'turns' is missing": 2, "the id ... came before": 1}


def test_options_of_reading_count_as_in_the_pipeline(tmp_path: Path):
    read = Read(merge_turns=True)
    found = count_corpus("calls", data=calls(tmp_path, ["a b", "c"], ["d"]), settings=Settings(read=read))
    assert found.whole == Count(2, 1.0, 2.0, 1)


def test_characters_of_scripts_without_blanks_are_words(tmp_path: Path):
    found = count_corpus("calls", data=calls(tmp_path, ["我的卡丢了", "ok fine"]), settings=Settings())
    assert found.whole.words == 7


def test_shares_and_seed_of_the_settings_split_what_has_no_official_splits(tmp_path: Path):
    data = calls(tmp_path, *([str(n)] for n in range(40)))
    sizes = [
        [count.dialogues for count in count_corpus("calls", data=data, settings=settings).splits.values()]
        for settings in (Settings(seed=1), Settings(seed=2), Settings(prepare=Prepare(dev_share=0, test_share=0)))
    ]
    assert [sum(found) for found in sizes] == [40, 40, 40]
    assert sizes[0] != sizes[1]
    assert sizes[2] == [40, 0, 0]


def test_published_figures_stand_beside_those_counted(tmp_path: Path):
    lines = corpus_table(count_corpus("sgd", data=sgd(tmp_path), settings=Settings())).splitlines()
    cells = [line.split() for line in lines]
    assert ["train", "3", "1.33", "2.00", "2", "16,142", "20", "199"] in cells
    assert ["whole", "7", "1.43", "2.00", "4", "45"] in cells
    assert "2 dialogues of dev and test have several labels and are left out of them." in lines
    assert "3 records quarantined:" in lines
    assert "       2  the key 'turns' is missing" in lines
    assert [line for line in lines if line.startswith("- ")][-1].startswith("- The paper's means are rounded down")


def test_corpus_of_ones_own_has_the_table_only(tmp_path: Path):
    lines = corpus_table(count_corpus("calls", data=calls(tmp_path, ["a b"]), settings=Settings())).splitlines()
    assert [line.split()[0] for line in lines] == ["calls", "train", "dev", "test", "whole", "0"]
    assert lines[-1] == "0 records quarantined."
    assert "paper" not in lines[0]


def test_every_published_corpus_has_a_reader_and_a_word_on_what_differs():
    assert set(COUNTS) <= set(CORPORA)
    assert all(len(published["remarks"]) > 1 for published in COUNTS.values())
    assert sum(n for published in COUNTS.values() for n, _, _ in published["splits"].values()) == 98_879


def test_rare_reasons_are_only_counted():
    reasons = {f"reason {n}": 20 - n for n in range(12)}
    lines = corpus_table(
        Statistics("calls", dict.fromkeys(("train", "dev", "test"), EMPTY), EMPTY, 0, 0, reasons)
    ).splitlines()
    assert lines[-1] == "      19  for 2 further reasons"
    assert lines[-2] == "      11  reason 9"


def test_reason_of_a_record_without_an_id_is_kept_whole(tmp_path: Path):
    data = calls(tmp_path, ["a b"])
    with (data / "calls" / "calls.jsonl").open("a") as lines:
        lines.write('\n{"dialogue_id": "", "turns": []}' * 2)
    found = count_corpus("calls", data=data, settings=Settings())
    assert found.reasons == {"'dialogue_id' must be a non-empty string, found the string ''": 2}


def test_corpus_that_was_not_fetched_says_which_command_does(tmp_path: Path):
    for name in COUNTS:
        with pytest.raises(CorpusError, match=rf"data/{name} does not exist; .* Run `dial2vec fetch {name}`"):
            count_corpus(name, data=tmp_path / "data", settings=Settings())
