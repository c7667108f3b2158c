from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from conversations.dialogue import write_dialogues
from dial2vec.cli import main
from dial2vec.collection import Collection, add
from dial2vec.collection.search.turns import complete_turns
from dial2vec.collection.segments import (
    dialogue_topics,
    find_segments,
    read_segments,
    segments,
    segments_table,
    topics_table,
)
from dial2vec.collection.segments import segments as turn_vectors
from dial2vec.encoder.nearest import unit_rows
from dial2vec.errors import ArtifactError, CorpusError
from tests.collection.made import indexed
from tests.students import tiny_student

# Words of two topics, and where each dialogue changes from one to the other.
TOPICS = ("w1 w2 w3 w4", "w21 w22 w23 w24")


def made(folder, dialogue, n=40):
    """Dialogues d0, d1, ... of 12 turns; every second one changes its topic after 6 turns."""
    rng = np.random.default_rng(1)

    def lines(at):
        topics = [at // 2 % 2] * 6 + [(at // 2 + at) % 2] * 6
        return [
            f"{'ab'[turn % 2]}: {' '.join(rng.permutation(TOPICS[topic].split()))}" for turn, topic in enumerate(topics)
        ]

    return indexed(folder / "c", [dialogue(f"d{at}", *lines(at)) for at in range(n)], tiny_student())


def test_dialogues_are_cut_where_their_topic_changes_and_get_each_topic_with_its_share(tmp_path, dialogue):
    collection = made(tmp_path, dialogue)
    steps: list[int] = []
    found = find_segments(collection, done=steps.append)
    assert read_segments(collection) == found
    assert sum(steps) <= len(collection) + 1
    assert sum(steps) >= 40
    table = segments_table(collection)
    assert list(table.columns) == ["dialogue_id", "first_turn", "last_turn", "topic", "topic_name", "share"]
    first = table[table["dialogue_id"] == "d1"]
    assert first[["first_turn", "last_turn"]].values.tolist() == [[0, 5], [6, 11]]
    assert first["share"].tolist() == [0.5, 0.5]
    assert first["topic"].nunique() == 2
    assert (table["dialogue_id"].value_counts()[[f"d{at}" for at in range(0, 40, 2)]] == 1).all()
    assert (found.segments, found.seen, found.several) == (60, 40, 0.5)
    topics = topics_table(collection)
    assert topics["segments"].tolist() == [30, 30]
    assert topics["share"].tolist() == [0.5, 0.5]
    assert {name[:2] for name in topics["name"]} == {"w1", "w2"} or topics["name"].nunique() == 2


def test_the_topics_of_a_dialogue_sum_to_one_and_the_largest_comes_first(tmp_path, dialogue):
    collection = made(tmp_path, dialogue)
    find_segments(collection)
    table = dialogue_topics(collection)
    assert table.groupby("dialogue_id")["share"].sum().to_numpy() == pytest.approx(1)
    assert list(dict.fromkeys(table["dialogue_id"])) == [f"d{at}" for at in range(40)]
    assert table[table["dialogue_id"] == "d0"]["share"].tolist() == [1]


def test_the_sample_does_not_change_the_order_and_a_repeated_run_gives_the_same(tmp_path, dialogue, monkeypatch):
    collection = made(tmp_path, dialogue)
    monkeypatch.setattr(segments, "SAMPLE", 20)
    find_segments(collection)
    table = segments_table(collection)
    assert list(dict.fromkeys(table["dialogue_id"])) == [f"d{at}" for at in range(40)]
    find_segments(collection)
    pd.testing.assert_frame_equal(segments_table(collection), table)


def test_ids_in_the_table_for_spreadsheets_are_no_formulas(tmp_path, dialogue):
    lines = [f"{'ab'[turn % 2]}: {TOPICS[0]}" for turn in range(12)]
    write_dialogues(tmp_path / "d.jsonl", [dialogue(f"=cmd{at}", *lines) for at in range(2)])
    add(tmp_path / "c", tmp_path / "d.jsonl", encoder=tiny_student(), progress=False)
    find_segments(Collection(tmp_path / "c"))
    table = pd.read_csv(tmp_path / "c" / "segments" / "segments.csv")
    assert set(table["dialogue_id"]) == {"'=cmd0", "'=cmd1"}
    assert set(segments_table(Collection(tmp_path / "c"))["dialogue_id"]) == {"=cmd0", "=cmd1"}


def test_a_failed_run_leaves_the_old_segments(tmp_path, dialogue, monkeypatch):
    collection = made(tmp_path, dialogue)
    found = find_segments(collection)

    def broken(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(segments, "find_levels", broken)
    with pytest.raises(KeyboardInterrupt):
        find_segments(collection, seed=2)
    assert read_segments(collection) == found
    assert sorted(path.name for path in (tmp_path / "c" / "segments").iterdir()) == [
        *("checksums.json", "segments.csv", "segments.parquet", "topics.json")
    ]


def test_missing_segments_and_too_few_dialogues_are_said_in_one_sentence(tmp_path, dialogue):
    collection = made(tmp_path, dialogue, n=1)
    with pytest.raises(ArtifactError, match=r"has no segments; expected .* `dial2vec segments .*` makes them"):
        segments_table(collection)
    with pytest.raises(CorpusError, match="has 1 dialogues; expected at least 2"):
        find_segments(collection)


def test_damaged_segments_are_said_in_one_sentence(tmp_path, dialogue):
    collection = made(tmp_path, dialogue)
    find_segments(collection)
    (tmp_path / "c" / "segments" / "topics.json").write_text("{")
    with pytest.raises(ArtifactError, match=r"topics.json is damaged: it has 1 bytes; .* segments .* makes them"):
        read_segments(collection)
    (tmp_path / "c" / "segments" / "checksums.json").unlink()
    with pytest.raises(ArtifactError, match="cannot be read"):
        read_segments(collection)


def test_the_command_prints_topics_and_then_the_segments_of_a_dialogue(tmp_path, dialogue):
    made(tmp_path, dialogue)
    folder = str(tmp_path / "c")
    done = CliRunner().invoke(main, ["segments", folder], catch_exceptions=False)
    assert "60 segments in 40 dialogues; 50% of the dialogues have several topics" in done.output
    shown = CliRunner().invoke(main, ["segments", folder, "--dialogue", "d1"], catch_exceptions=False).output
    assert shown.count("50%") == 2
    assert shown.count("\n") == 14
    rows = json.loads(CliRunner().invoke(main, ["segments", folder, "--dialogue", "d1", "--json"]).output)
    assert [(row["first_turn"], row["last_turn"]) for row in rows] == [(0, 5), (6, 11)]
    record = json.loads(CliRunner().invoke(main, ["segments", folder, "--json"]).output)
    assert record["segments"] == 60


def test_a_dialogue_that_was_added_later_is_asked_to_be_cut(tmp_path, dialogue):
    find_segments(made(tmp_path, dialogue))
    write_dialogues(tmp_path / "e.jsonl", [dialogue("late", "a: w1 w2", "b: w1 w3")])
    add(tmp_path / "c", tmp_path / "e.jsonl", encoder=tiny_student(), progress=False)
    done = CliRunner().invoke(main, ["segments", str(tmp_path / "c"), "--dialogue", "late"])
    assert done.exit_code == 1
    assert "because it was added later" in done.output


def test_a_collection_gives_its_segments_as_a_table_and_cuts_only_if_needed(tmp_path, dialogue, monkeypatch):
    collection = made(tmp_path, dialogue)
    table = collection.segments()
    pd.testing.assert_frame_equal(table, segments_table(collection))
    monkeypatch.setattr(segments, "fit_cutter", None)
    pd.testing.assert_frame_equal(collection.segments(), table)


def test_each_turn_is_read_alone_in_blocks_and_the_order_stays(tmp_path, dialogue, monkeypatch):
    monkeypatch.setattr(turn_vectors, "AT_ONCE", 3)
    dialogues = [dialogue(f"d{at}", f"a: w{at} w2", "b: w3") for at in range(5)]
    collection = indexed(tmp_path / "c", dialogues, tiny_student())
    counts: list[int] = []
    blocks = list(turn_vectors.turn_blocks(collection, complete_turns(collection), [4, 0, 2], done=counts.append))
    assert [rows for rows, _, _ in blocks] == [[4, 0], [2]]
    assert counts == [2, 1]
    expected = unit_rows(tiny_student().encode_utterances(["w4 w2", "w3", "w0 w2", "w3"]))
    np.testing.assert_allclose(blocks[0][2], expected, atol=1e-2)
