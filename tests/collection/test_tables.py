"""The tables of a collection: every query of docs/sql.md runs, and what they say is what the collection says."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from dial2vec.cli import main
from dial2vec.collection import Collection
from dial2vec.collection.clustering import cluster
from dial2vec.collection.clustering.curation import curate
from dial2vec.collection.explorer.maps import maps_of
from dial2vec.collection.lenses import LensLabel, lens
from dial2vec.collection.segments import find_segments
from dial2vec.collection.tables import tables_of
from dial2vec.encoder.loading import load_encoder
from tests.collection.made import indexed
from tests.collection.planted import planted

PAGE = Path(__file__).parents[2] / "docs" / "sql.md"
QUERIES = re.findall(r"^```sql\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A help desk with topics, segments, an answered question and a map, and its tables beside it."""
    folder = tmp_path_factory.mktemp("sql")
    collection = indexed(folder / "calls", planted()[-300:], load_encoder("general"))
    cluster(collection)
    find_segments(collection)
    lens(collection, "outcome", [LensLabel("solved", ("thank you",)), LensLabel("open", ("they will call back",))])
    maps_of(collection, progress=False)
    arguments = ["export", str(folder / "calls"), "--as", "tables", "--output", str(folder / "tables")]
    result = CliRunner().invoke(main, arguments)
    assert f"{folder / 'tables' / 'conversations'}.parquet: 300 rows" in result.output.splitlines()
    return folder


@pytest.mark.parametrize("query", QUERIES)
def test_each_query_of_the_page_has_an_answer(query, folder, monkeypatch):
    monkeypatch.chdir(folder)
    rows = duckdb.sql(query).fetchall()
    assert rows
    assert any(value is not None for value in rows[0])


def test_the_tables_say_what_the_collection_says_and_hold_no_text_of_a_turn(folder):
    collection, tables = Collection(folder / "calls"), tables_of(Collection(folder / "calls"))
    assert {path.stem for path in (folder / "tables").iterdir()} == set(tables)
    groups, topics = collection.groups(), tables["topics"].to_pandas().set_index("id")
    assert topics["size"].to_dict() == groups["size"].to_dict()
    conversations = pq.read_table(folder / "tables" / "conversations.parquet").to_pandas()
    assert conversations.groupby("topic").size().to_dict() == groups.set_index("name")["size"].to_dict()
    assert conversations["x"].nunique() > 100
    areas = tables["areas"].to_pandas().set_index("id")["name"]
    assert [areas[id] for id in topics["area_id"]] == topics["name"].map(groups.set_index("name")["area"]).tolist()
    names = {name for table in tables.values() for name in table.column_names}
    assert names & {"text", "turns.text"} == set()
    written = " ".join(str(table.to_pydict()) for table in tables.values())
    assert not any(turn.text in written for dialogue in collection.dialogues() for turn in dialogue.turns)


def test_a_collection_that_has_grown_and_was_curated_has_empty_cells(tmp_path, dialogue):
    calls = planted()[-120:]
    encoder = load_encoder("general")
    collection = indexed(tmp_path / "calls", calls[:100], encoder)
    clusters = cluster(collection)
    curate(collection, "hide", clusters.clusters[0].id)
    indexed(tmp_path / "calls", calls[100:], encoder)
    tables = tables_of(Collection(tmp_path / "calls"))
    rows = tables["conversations"].to_pylist()
    assert [row["belongs"] for row in rows[100:]] == [None] * 20
    assert sum(row["topic"] is None for row in rows[:100]) == clusters.clusters[0].size
    assert {row["x"] for row in rows} == {None}
    assert clusters.clusters[0].id not in tables["topics"]["id"].to_pylist()


def test_a_folder_with_other_files_and_a_choice_of_conversations_are_refused(folder, tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    begin = ["export", str(folder / "calls"), "--as", "tables", "--output"]
    for more, sentence in (
        ([str(tmp_path)], "holds other files, which writing would remove"),
        ([str(tmp_path / "t"), "--where", "CSAT <= 2"], "found a choice of dialogues with --as tables"),
        ([str(tmp_path / "t"), "--sample", "3"], "found a choice of dialogues with --as tables"),
    ):
        result = CliRunner().invoke(main, begin + more)
        assert result.exit_code == 1
        assert sentence in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    (tmp_path / "thesis.txt").rename(tmp_path / "thesis.parquet")
    assert CliRunner().invoke(main, [*begin, str(tmp_path)]).exit_code == 1
    assert (tmp_path / "thesis.parquet").exists()
