from __future__ import annotations

import json
import sys
from dataclasses import replace
from shutil import copytree

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from dial2vec.cli import main
from dial2vec.collection import Collection
from dial2vec.collection.clustering import cluster
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.explorer.colouring import colourings
from dial2vec.collection.lenses import LensLabel, lens, read_new
from dial2vec.collection.lenses.examples import examples_file, read_examples, write_examples
from dial2vec.collection.lenses.lens import is_current, lens_names
from dial2vec.collection.lenses.likeness import FITTED
from dial2vec.collection.search import Filters
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.student import StudentEncoder, TokenTable
from dial2vec.errors import ArtifactError, CorpusError
from tests.collection.lenses.made import calls as made_calls
from tests.collection.made import indexed

module = sys.modules["dial2vec.collection.lenses.lens"]
LABELS = [LensLabel("first", ("w1 w2",)), LensLabel("second", ("w11 w12",))]


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
    result = lens(collection, "topic", LABELS)
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
    row = rows_of(lens(collection, "topic", LABELS))[0]
    # Of nine turns, two say "first" and one says "second"; of the two of this dialogue, one says "first".
    first = ((1 + 1 / 2) / 2 - 2 / 9) / (2 / 9 * 7 / 9) ** 0.25 + FITTED.cosine
    second = (0 - 1 / 9) / (1 / 9 * 8 / 9) ** 0.25
    assert np.log(row["p_first"] / row["p_second"]) == pytest.approx((first - second) / FITTED.scale, abs=0.1)


def test_the_answers_are_written_as_tables_and_as_a_record(collection):
    result = lens(collection, "topic", LABELS)
    folder = collection.folder / "lenses"
    assert pq.read_table(folder / "topic.parquet").to_pylist() == rows_of(result)
    assert (folder / "topic.csv").read_text().splitlines()[0].startswith('"dialogue_id","value","probability"')
    record = json.loads((folder / "topic.json").read_text())
    assert record["labels"][0] == {"label": "first", "descriptions": ["w1 w2"]}
    assert (record["dialogues"], record["sizes"]) == (4, result.sizes)


def test_an_example_has_its_answer_and_draws_what_is_like_it(collection, dialogue, encoder):
    # "w35" has nothing in common with the description of the second answer.
    grown = indexed(collection.folder, [dialogue("e", "ann: w35"), dialogue("f", "ann: w35")], encoder)
    before = rows_of(lens(grown, "topic", LABELS))
    after = rows_of(lens(grown, "topic", LABELS, {"e": "second"}))
    assert (before[5]["value"], after[5]["value"]) == ("none", "second")
    assert (after[4]["value"], after[4]["probability"]) == ("second", 1)


@pytest.mark.parametrize(
    ("name", "descriptions", "message"),
    [
        ("a/b", LABELS, "called 'a/b'"),
        ("turns", LABELS, "called 'turns'"),
        ("x", [], "no label"),
        ("x", [LABELS[0], LABELS[0]], "the label 'first' 2 times"),
        ("x", [LensLabel("none", ("w1",))], "no label"),
        ("x", [LensLabel("unsure", ("w1",))], "the label 'unsure'"),
        ("x", [LensLabel("first")], "no description"),
        ("x", [LensLabel("a b"), LensLabel(" ")], "the label ' '"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_a_sentence(collection, name, descriptions, message):
    with pytest.raises(CorpusError, match=message):
        lens(collection, name, descriptions)


@pytest.mark.parametrize(
    ("examples", "message"),
    [({"nobody": "first"}, "no dialogue 'nobody'"), ({"a": "third"}, "'a' is an example of 'third'; expected one of")],
)
def test_examples_that_fit_nothing_are_refused_in_a_sentence(collection, examples, message):
    with pytest.raises(CorpusError, match=message):
        lens(collection, "topic", LABELS, examples)


def test_a_lens_is_metadata_for_filters_and_colours(collection, dialogue, encoder):
    lens(collection, "topic", LABELS)
    grown = indexed(collection.folder, [dialogue("e", "ann: w35")], encoder)
    assert Filters(where=("topic == first",)).rows(grown).tolist() == [0, 3]
    assert Filters(where=("topic in second, none",)).rows(grown).tolist() == [1, 2]
    # Added after the question.
    assert Filters(where=("topic is missing",)).rows(grown).tolist() == [4]
    lens(grown, "topic", LABELS)
    lens(grown, "even", [LensLabel("yes", ("w1",))])
    again = CollectionFolder(grown.folder)
    assert set(again.metadata_kinds) == {"topic", "even"}
    assert Filters(where=("topic is missing",)).rows(again).tolist() == []


def test_colours_of_the_explorer_offer_a_lens(collection, dialogue, encoder):
    # A key with few values is one whose values repeat.
    more = [dialogue(f"more{number}", "ann: w1 w2") for number in range(4)]
    grown = indexed(collection.folder, more, encoder)
    lens(grown, "topic", LABELS)
    ways = {way.title: way for way in colourings(CollectionFolder(grown.folder), np.arange(8))}
    assert dict(zip(ways["topic"].names, ways["topic"].counts, strict=True)) == {"first": 6, "none": 1, "second": 1}


def test_a_damaged_lens_is_named_with_the_way_out(collection):
    lens(collection, "topic", LABELS)
    (collection.folder / "lenses" / "topic.parquet").write_bytes(b"PAR1")
    with pytest.raises(ArtifactError, match=r"topic.parquet cannot be read .* Remove it, and make it again"):
        CollectionFolder(collection.folder).rows  # noqa: B018


def test_a_lens_cannot_have_the_name_of_a_key_of_the_import(encoder, tmp_path, dialogue):
    spoken = replace(dialogue("a", "ann: w1"), metadata={"topic": "x"})
    collection = indexed(tmp_path / "calls", [spoken], encoder)
    with pytest.raises(CorpusError, match="so is a key of the metadata"):
        lens(collection, "topic", LABELS)


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    """150 calls, of which 60 are examples."""
    from tests.students import tiny_student

    folder = tmp_path_factory.mktemp("lens")
    tiny_student().save_pretrained(folder / "student")
    dialogues, ends = made_calls(150)
    spoken = [replace(one, metadata={"channel": ("phone", "chat")[row % 2]}) for row, one in enumerate(dialogues)]
    collection = indexed(folder / "calls", spoken, load_encoder(folder / "student"))
    return collection, ends, {name: ends[name] for name in list(ends)[:60]}


DESCRIBED = ("--is", "booked: it is reserved", "--is", "failed: it did not work")
ENDS = [LensLabel("booked", ("it is reserved",)), LensLabel("failed", ("it did not work",))]


def test_with_examples_labels_are_learnt_and_told_with_the_turn(calls):
    collection, ends, examples = calls
    result = lens(collection, "end", ENDS, examples)
    rows = {row["dialogue_id"]: row for row in rows_of(result)}
    others = [name for name in ends if name not in examples]
    assert np.mean([rows[name]["value"] == ends[name] for name in others]) > 0.95
    assert all(rows[name]["value"] == ends[name] and rows[name]["probability"] == 1 for name in examples)
    assert {rows[name]["turn"] is None for name in others if rows[name]["value"] == "none"} == {True}
    assert (result.examples, set(result.quality)) == (60, {"booked", "failed"})
    # All examples with the end "failed" say "not".
    assert any("'not' alone" in warning for warning in result.warnings)
    assert read_examples(examples_file(collection.folder, "end")) == examples


def test_how_well_labels_are_told_by_topic_and_by_channel(calls, tmp_path):
    collection, _, examples = calls
    copytree(collection.folder, copy := tmp_path / "calls")
    topics = {each.name for each in cluster(CollectionFolder(copy), k=2).clusters}
    groups = lens(CollectionFolder(copy), "end", ENDS, examples).quality["booked"].groups
    assert {"channel phone", "channel chat"} < set(groups) <= topics | {"channel phone", "channel chat"}
    assert sum(n for name, (_, n) in groups.items() if name.startswith("channel")) == 60
    stored = json.loads((copy / "lenses" / "end.json").read_text())["quality"]["booked"]["groups"]
    assert stored == {name: list(each) for name, each in groups.items()}
    done = run(str(copy), "--name", "end")
    assert ", lowest in " in done.output, done.output


def test_new_dialogues_are_read_by_what_was_learnt(calls, tmp_path):
    collection, _, examples = calls
    copy = tmp_path / "calls"
    copytree(collection.folder, copy)
    lens(CollectionFolder(copy), "end", ENDS, examples)
    before = (copy / "lenses" / "end.safetensors").read_bytes()
    more, new_ends = made_calls(30, seed=9)
    grown = indexed(copy, more, load_encoder(copy / "model"))
    result = read_new(grown, "end")
    rows = {row["dialogue_id"]: row["value"] for row in rows_of(result)}
    assert len(rows) == 180
    assert np.mean([rows[name] == end for name, end in new_ends.items()]) > 0.95
    assert (copy / "lenses" / "end.safetensors").read_bytes() == before
    assert sum(result.shares.values()) == pytest.approx(1)
    assert pq.read_table(copy / "lenses" / "end.parquet").num_rows == 180


def test_new_examples_are_learnt_at_the_next_look(calls, tmp_path):
    collection, _, examples = calls
    copytree(collection.folder, copy := tmp_path / "calls")
    some = dict(list(examples.items())[:30])
    lens(CollectionFolder(copy), "end", ENDS, some)
    assert is_current(CollectionFolder(copy), "end")
    # Not the file of their checksums.
    assert lens_names(CollectionFolder(copy)) == ["end"]
    write_examples(examples_file(copy, "end"), examples)
    assert not is_current(CollectionFolder(copy), "end")
    assert read_new(CollectionFolder(copy), "end").examples == 60
    assert is_current(CollectionFolder(copy), "end")


def test_few_examples_warn_and_what_is_not_probable_is_unsure(calls):
    collection, _, examples = calls
    few = dict(list(examples.items())[:24])
    assert any("24 examples are few" in warning for warning in lens(collection, "few", ENDS, few).warnings)
    # Ends that follow no rule cannot be told.
    shuffled = dict(zip(examples, np.random.default_rng(3).permutation(list(examples.values())), strict=True))
    result = lens(collection, "noise", ENDS, {name: str(end) for name, end in shuffled.items()})
    assert result.sizes["unsure"] > 30
    assert any("no better than by chance" in warning for warning in result.warnings)


def test_a_lens_that_learnt_nothing_compares_new_dialogues_too(collection, dialogue, encoder):
    lens(collection, "topic", LABELS, {"d": "second"})
    grown = indexed(collection.folder, [dialogue("e", "ann: w1 w2")], encoder)
    rows = {row["dialogue_id"]: row["value"] for row in rows_of(read_new(grown, "topic"))}
    assert (rows["e"], rows["d"]) == ("first", "second")


def test_processes_read_as_one_does(calls, monkeypatch):
    collection, _, examples = calls
    alone = lens(collection, "one", ENDS, examples)
    monkeypatch.setattr(module, "PART", 40)
    monkeypatch.setattr(module, "FEWEST_PARTS", 1)
    monkeypatch.setattr("dial2vec.data.workers.processors", lambda: 2)
    assert lens(collection, "one", ENDS, examples).rows.equals(alone.rows)


def run(*words):
    return CliRunner().invoke(main, ["lens", *words])


def test_the_command_shows_sizes_and_turns_and_where_the_rest_is(collection):
    folder = str(collection.folder)
    done = run(folder, "--name", "topic", "--is", "first: w1 w2", "--is", "second: w11 w12")
    assert done.exit_code == 0, done.output
    assert "bob: w1 w2  a" in done.output
    assert done.output.splitlines()[-1].endswith("topic.csv")
    done = run(folder, "--name", "topic", "--is", "first: w1 w2", "--example", "first=d", "--json")
    assert json.loads(done.stdout)["labels"][0]["descriptions"] == ["w1 w2"]
    assert (collection.folder / "lenses" / "topic.examples.csv").read_text().split() == ["dialogue_id,label", "d,first"]


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


def test_a_collection_gives_the_labels_as_a_table(collection):
    given = {label.label: label.descriptions for label in LABELS}
    table = Collection(collection.folder).lens("topic", given).table
    assert table.equals(lens(collection, "topic", LABELS).table)


def test_examples_from_python_are_added_to_those_that_are_there(collection):
    first, second = collection.rows["dialogue_id"].to_pylist()[:2]
    opened, given = Collection(collection.folder), {label.label: label.descriptions for label in LABELS}
    opened.lens("topic", given, {first: LABELS[0].label})
    opened.lens("topic", given, {second: "none"})
    found = read_examples(examples_file(collection.folder, "topic"))
    assert found == {first: LABELS[0].label, second: "none"}


def keyed(monkeypatch, keys):
    pressed = iter(keys)
    monkeypatch.setattr("click.getchar", lambda: next(pressed))


def test_a_person_is_asked_with_a_key_for_each_label_and_a_way_back(calls, tmp_path, monkeypatch):
    copytree(calls[0].folder, copy := tmp_path / "calls")
    keyed(monkeypatch, "1x2u0s1q")
    done = run(str(copy), "--name", "asked", *DESCRIBED, "--ask")
    assert done.exit_code == 0, done.output
    assert "1 of 20" in done.output
    assert "1 booked  2 failed  0 none  s skip  u undo  q end" in done.output
    # The second answer was taken back and given again; the third dialogue was left out.
    assert list(read_examples(examples_file(copy, "asked")).values()) == ["booked", "none", "booked"]
    keyed(monkeypatch, "2q")
    assert run(str(copy), "--name", "asked", "--ask").exit_code == 0
    assert list(read_examples(examples_file(copy, "asked")).values()) == ["booked", "none", "booked", "failed"]


def test_what_a_person_answered_is_kept_when_the_command_is_killed(calls, tmp_path, monkeypatch):
    copytree(calls[0].folder, copy := tmp_path / "calls")
    keyed(monkeypatch, "12")
    done = run(str(copy), "--name", "asked", *DESCRIBED, "--ask")
    assert isinstance(done.exception, (StopIteration, RuntimeError))
    assert list(read_examples(examples_file(copy, "asked")).values()) == ["booked", "failed"]


def test_examples_come_from_a_file_and_from_metadata(calls, tmp_path):
    collection, _, examples = calls
    dialogues, _ = made_calls(150)
    given = [replace(one, metadata={"code": examples.get(one.dialogue_id, "")}) for one in dialogues]
    keyed_calls = indexed(tmp_path / "calls", given, load_encoder(collection.folder / "model"))
    done = run(str(keyed_calls.folder), "--name", "end", "--from", "code")
    assert done.exit_code == 0, done.output
    assert "AUROC" in done.output
    file = tmp_path / "examples.csv"
    file.write_text("dialogue_id,label\n" + "".join(f"{name},{end}\n" for name, end in examples.items()))
    done = run(str(keyed_calls.folder), "--name", "other", "--examples", str(file), "--json")
    assert json.loads(done.stdout)["examples"] == 60
    done = run(str(keyed_calls.folder), "--name", "other", "--from", "kode")
    assert "Did you mean 'code'?" in done.output
