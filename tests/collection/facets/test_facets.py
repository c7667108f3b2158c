from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from dial2vec.cli import main
from dial2vec.collection import Collection
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.explorer.colouring import colourings
from dial2vec.collection.facets import FacetValue, facet
from dial2vec.collection.facets.facets import moved_by_examples
from dial2vec.collection.facets.likeness import FITTED
from dial2vec.collection.search import Filters
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.student import StudentEncoder, TokenTable
from dial2vec.errors import ArtifactError, CorpusError
from tests.collection.made import indexed

ANSWERS = [FacetValue("first", "w1 w2"), FacetValue("second", "w11 w12")]


def rows_of(result):
    table = result.table.astype(object)
    return table.where(table.notna(), None).to_dict("records")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """Each word has a direction of its own, so that a cosine is a share of common words."""
    from tests.students import tiny_student

    tiny = tiny_student()
    table = TokenTable(np.eye(41, dtype=np.float32), np.ones(41, dtype=np.float32))
    folder = tmp_path_factory.mktemp("encoder") / "student"
    StudentEncoder(table, tiny.tokenizer, name="tiny", teacher="tiny teacher").save_pretrained(folder)
    return load_encoder(folder)


@pytest.fixture
def collection(encoder, tmp_path, dialogue):
    lines = {
        "a": ("ann: w30 w31", "bob: w1 w2"),
        "b": ("ann: w11 w12", "bob: w30"),
        "c": ("ann: w20 w21", "bob: w22 w23 w24", "ann: w25"),
        "d": ("ann: w2 w1", "bob: w33"),
    }
    dialogues = [dialogue(name, *turns) for name, turns in lines.items()]
    return indexed(tmp_path / "calls", dialogues, encoder)


def test_each_dialogue_gets_the_answer_that_a_turn_gives_or_none(collection):
    result = facet(collection, "topic", ANSWERS)
    rows = {row["dialogue_id"]: row for row in rows_of(result)}
    assert [rows[name]["value"] for name in "abcd"] == ["first", "second", "none", "first"]
    assert (rows["a"]["turn"], rows["a"]["speaker"], rows["a"]["text"]) == (1, "bob", "w1 w2")
    assert (rows["c"]["turn"], rows["c"]["text"]) == (None, None)
    for row in rows.values():
        assert row["p_first"] + row["p_second"] + row["p_none"] == pytest.approx(1)
        assert row["probability"] == pytest.approx(row[f"p_{row['value']}"])
    assert result.sizes == {"first": 2, "second": 1, "none": 1}
    assert sum(result.shares.values()) == pytest.approx(1)


def test_the_figures_of_a_dialogue_are_those_computed_by_hand(collection):
    row = rows_of(facet(collection, "topic", ANSWERS))[0]
    # Of nine turns, two say "first" and one says "second"; of the two of this dialogue, one says "first".
    first = ((1 + 1 / 2) / 2 - 2 / 9) / (2 / 9 * 7 / 9) ** 0.25 + FITTED.cosine
    second = (0 - 1 / 9) / (1 / 9 * 8 / 9) ** 0.25
    assert np.log(row["p_first"] / row["p_second"]) == pytest.approx((first - second) / FITTED.scale, abs=0.1)


def test_the_answers_are_written_as_tables_and_as_a_record(collection):
    result = facet(collection, "topic", ANSWERS)
    folder = collection.folder / "facets"
    assert pq.read_table(folder / "topic.parquet").to_pylist() == rows_of(result)
    assert (folder / "topic.csv").read_text().splitlines()[0].startswith('"dialogue_id","value","probability"')
    record = json.loads((folder / "topic.json").read_text())
    assert record["values"][0] == {"label": "first", "text": "w1 w2", "examples": []}
    assert (record["dialogues"], record["sizes"]) == (4, result.sizes)


def test_an_example_has_its_answer_and_draws_what_is_like_it(collection, dialogue, encoder):
    # "w35" has nothing in common with the description of the second answer.
    grown = indexed(collection.folder, [dialogue("e", "ann: w35"), dialogue("f", "ann: w35")], encoder)
    before = rows_of(facet(grown, "topic", ANSWERS))
    after = rows_of(facet(grown, "topic", [ANSWERS[0], FacetValue("second", "w11 w12", ("e",))]))
    assert (before[5]["value"], after[5]["value"]) == ("none", "second")
    assert (after[4]["value"], after[4]["probability"]) == ("second", 1)


def test_of_an_example_the_turn_near_to_the_description_weighs_most():
    turns, starts = np.eye(3, dtype=np.float32), np.array([0, 2, 3])
    moved = moved_by_examples(turns[[0]], turns.__getitem__, starts, [[0]])[0]
    # Cosines 1 and 0: the second turn has e^-10 of the weight of the first; the other dialogue has no part.
    np.testing.assert_allclose(moved[1] / moved[0], np.exp(-10) * 0.5 / 1.5, rtol=1e-3)
    assert moved[2] == 0
    np.testing.assert_array_equal(moved_by_examples(turns[[0]], turns.__getitem__, starts, [[]]), turns[[0]])


@pytest.mark.parametrize(
    ("name", "descriptions", "message"),
    [
        ("a/b", ANSWERS, "called 'a/b'"),
        ("turns", ANSWERS, "called 'turns'"),
        ("x", [], "no description"),
        ("x", [ANSWERS[0], ANSWERS[0]], "the label 'first' 2 times"),
        ("x", [FacetValue("none", "w1")], "label 'none'"),
        ("x", [FacetValue("first", "w1", ("nobody",))], "no dialogue 'nobody'"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_a_sentence(collection, name, descriptions, message):
    with pytest.raises(CorpusError, match=message):
        facet(collection, name, descriptions)


def test_a_facet_is_metadata_for_filters_and_colours(collection, dialogue, encoder):
    facet(collection, "topic", ANSWERS)
    grown = indexed(collection.folder, [dialogue("e", "ann: w35")], encoder)
    assert Filters(where=("topic == first",)).rows(grown).tolist() == [0, 3]
    assert Filters(where=("topic in second, none",)).rows(grown).tolist() == [1, 2]
    # Added after the question.
    assert Filters(where=("topic is missing",)).rows(grown).tolist() == [4]
    facet(grown, "topic", ANSWERS)
    facet(grown, "even", [FacetValue("yes", "w1")])
    again = CollectionFolder(grown.folder)
    assert set(again.metadata_kinds) == {"topic", "even"}
    assert Filters(where=("topic is missing",)).rows(again).tolist() == []


def test_colours_of_the_explorer_offer_a_facet(collection, dialogue, encoder):
    # A key with few values is one whose values repeat.
    more = [dialogue(f"more{number}", "ann: w1 w2") for number in range(4)]
    grown = indexed(collection.folder, more, encoder)
    facet(grown, "topic", ANSWERS)
    ways = {way.title: way for way in colourings(CollectionFolder(grown.folder), np.arange(8))}
    assert dict(zip(ways["topic"].names, ways["topic"].counts, strict=True)) == {"first": 6, "none": 1, "second": 1}


def test_a_damaged_facet_is_named_with_the_way_out(collection):
    facet(collection, "topic", ANSWERS)
    (collection.folder / "facets" / "topic.parquet").write_bytes(b"PAR1")
    with pytest.raises(ArtifactError, match=r"topic.parquet cannot be read .* Remove it, and ask again"):
        CollectionFolder(collection.folder).rows  # noqa: B018


def test_a_question_cannot_have_the_name_of_a_key_of_the_import(encoder, tmp_path, dialogue):
    spoken = replace(dialogue("a", "ann: w1"), metadata={"topic": "x"})
    collection = indexed(tmp_path / "calls", [spoken], encoder)
    with pytest.raises(CorpusError, match="so is a key of the metadata"):
        facet(collection, "topic", ANSWERS)


def run(*words):
    return CliRunner().invoke(main, ["facet", *words])


def test_the_command_shows_sizes_and_turns_and_where_the_rest_is(collection):
    folder = str(collection.folder)
    done = run(folder, "--name", "topic", "--is", "first: w1 w2", "--is", "second: w11 w12")
    assert done.exit_code == 0, done.output
    assert "bob: w1 w2  a" in done.output
    assert done.output.splitlines()[-1].endswith("topic.csv")
    done = run(folder, "--name", "topic", "--is", "first: w1 w2", "--example", "first=d", "--json")
    assert json.loads(done.stdout)["values"][0]["examples"] == ["d"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--is", "no colon"], 'found --is "no colon"'),
        (["--is", "first: w1", "--example", "frist=a"], "Did you mean 'first'?"),
    ],
)
def test_the_command_says_what_is_wrong_with_an_option(collection, options, message):
    done = run(str(collection.folder), "--name", "topic", *options)
    assert done.exit_code == 1
    assert message in done.output


def test_a_collection_gives_the_answers_as_a_table(collection):
    values = {value.label: value.text for value in ANSWERS}
    table = Collection(collection.folder).facet("topic", values)
    assert table.equals(facet(collection, "topic", ANSWERS).table)
