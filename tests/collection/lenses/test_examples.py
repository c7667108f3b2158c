from __future__ import annotations

from dataclasses import replace

import pytest

from dial2vec.collection.clustering.clustering import cluster
from dial2vec.collection.clustering.clusters import read_assignment
from dial2vec.collection.forgetting import forget_in_collection
from dial2vec.collection.lenses.examples import examples_file, of_metadata, read_examples, varied, write_examples
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.names import GENERAL, resolve
from dial2vec.errors import CorpusError
from tests.collection.lenses.made import calls
from tests.collection.made import indexed


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    folder = tmp_path_factory.mktemp("asked")
    return indexed(folder / "calls", calls(40)[0], load_encoder(resolve(GENERAL)))


def test_examples_are_written_and_read_also_those_that_look_like_formulas(tmp_path):
    examples = {"a,b": "booked", "=cmd|' /C calc'!A1": "none", "ü\nx": "failed"}
    write_examples(path := tmp_path / "end.examples.csv", examples)
    assert "\n'=cmd" in path.read_text()
    assert read_examples(path) == examples
    assert read_examples(tmp_path / "missing.csv") == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,label\na,b\n", "columns id, label; expected dialogue_id and label"),
        ("", "columns of an empty file"),
        ("dialogue_id,label\na,\n", ":2 has the dialogue 'a' and the label ''"),
        ("dialogue_id,label\na,x\na,y\n", ":3 has the dialogue 'a' and the label 'y'; expected one label"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_a_sentence(tmp_path, text, message):
    (path := tmp_path / "bad.csv").write_text(text)
    with pytest.raises(CorpusError, match=message):
        read_examples(path)


def test_those_asked_about_are_of_all_topics_and_never_examples(collection):
    before = varied(collection, (), 40, seed=1)
    assert sorted(before) == list(range(40))
    cluster(collection, k=3)
    topics = read_assignment(collection)
    rows = varied(collection, ("call-0-3", "call-0-5", "not there"), 3, seed=1)
    assert len({int(topics[row]) for row in rows}) == 3
    assert not {3, 5} & set(varied(collection, ("call-0-3", "call-0-5"), 40, seed=1))
    assert varied(collection, (), 10, seed=2) != varied(collection, (), 10, seed=1)


def test_a_key_with_too_many_values_or_of_another_name_gives_no_examples(collection, tmp_path, dialogue):
    with pytest.raises(CorpusError, match="has 'code' in its metadata; expected one of no keys"):
        of_metadata(collection, "code")
    many = [replace(one, metadata={"number": number, "won": number < 3}) for number, one in enumerate(calls(30)[0])]
    numbered = indexed(tmp_path / "calls", many, load_encoder(collection.folder / "model"))
    with pytest.raises(CorpusError, match="'number' has 30 values; expected at most 20"):
        of_metadata(numbered, "number")
    assert list(of_metadata(numbered, "won").values()) == ["true"] * 3 + ["false"] * 27


def test_the_examples_of_others_stay_when_a_dialogue_is_forgotten(tmp_path):
    made = indexed(tmp_path / "calls", calls(12)[0], load_encoder(resolve(GENERAL)))
    path = examples_file(made.folder, "end")
    path.parent.mkdir()
    write_examples(path, {"call-0-1": "failed", "call-0-2": "none"})
    assert forget_in_collection(made.folder, {"call-0-1"}) == ["call-0-1"]
    assert read_examples(path) == {"call-0-2": "none"}
