from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from dial2vec.cli import main
from dial2vec.collection import add
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.search import Filters, near_duplicates
from dial2vec.collection.search.near_duplicates import find_near_duplicates
from dial2vec.data.duplicates import shingles
from dial2vec.encoder.loading import load_encoder
from dial2vec.errors import CorpusError


def texts() -> dict[str, str]:
    """60 dialogues of 30 random words; of two of them there are copies."""
    rng = np.random.default_rng(1)
    made = {f"d{number}": " ".join(f"w{word}" for word in rng.integers(0, 40, 30)) for number in range(60)}
    # One word in the middle changes three of 28 triples: 25 / 31 = 0.81.
    for place, name in enumerate(("x1", "x2"), start=14):
        words = made["d3"].split()
        words[place] = "changed"
        made[name] = " ".join(words)
    return made | {"copy1": made["d7"].upper(), "copy2": made["d7"], "copy3": f" {made['d7']} "}


@pytest.fixture(scope="module")
def collection(tmp_path_factory, student_folder) -> CollectionFolder:
    place = tmp_path_factory.mktemp("copies")
    with (place / "a.jsonl").open("w") as handle:
        for number, (name, text) in enumerate(texts().items()):
            record = {"dialogue_id": name, "turns": [{"speaker": f"s{number % 3}", "text": text}], "labels": [name]}
            handle.write(json.dumps(record) + "\n")
    add(place / "c", place / "a.jsonl", encoder=load_encoder(student_folder))
    return CollectionFolder(place / "c")


@pytest.mark.parametrize("most", [5_000, 10], ids=["every pair", "by signatures"])
def test_copies_come_in_groups_with_the_share_of_triples_that_they_have_in_common(collection, most, monkeypatch):
    monkeypatch.setattr(near_duplicates, "MOST_EXACT", most)
    copies, changed = find_near_duplicates(collection)
    assert copies.dialogue_ids == ("d7", "copy1", "copy2", "copy3")
    assert copies.similarities == (1, 1, 1, 1)
    assert changed.dialogue_ids == ("d3", "x1", "x2")
    assert changed.similarities == pytest.approx((1, 25 / 31, 25 / 31))


def test_each_dialogue_of_a_group_is_as_similar_to_its_first_as_asked(collection):
    # x1 and x2 differ in four of 28 triples, so 24 / 32 = 0.75; both are linked by d3 only.
    only = Filters(where=("label in x1, x2",))
    assert find_near_duplicates(collection, similarity=0.76, filters=only) == []
    [group] = find_near_duplicates(collection, similarity=0.75, filters=only)
    one, other = (set(shingles(next(collection.dialogues([collection.row(name)])))) for name in ("x1", "x2"))
    assert group.similarities[1] == pytest.approx(len(one & other) / len(one | other))


@pytest.mark.parametrize("similarity", [0, 1.2])
def test_a_similarity_out_of_range_is_refused(collection, similarity):
    with pytest.raises(CorpusError, match="expected more than 0 and at most 1"):
        find_near_duplicates(collection, similarity=similarity)


def call(*arguments: object):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_the_command_shows_groups_and_prints_records(collection):
    shown = call("duplicates", collection.folder, "-k", 1)
    assert shown.exit_code == 0, shown.output
    assert "1. 4 dialogues like d7" in shown.stdout
    assert "1.00  copy3" in shown.stdout
    assert "2 groups with 7 of 65 dialogues" in shown.stderr
    records = call("duplicates", collection.folder, "--json").stdout
    assert call("search", collection.folder, "--near-duplicates", "--json").stdout == records
    [first, second] = map(json.loads, records.splitlines())
    assert (first["size"], second["size"]) == (4, 3)
    assert first["dialogues"][3] == {"dialogue_id": "copy3", "similarity": 1.0}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["text", "--near-duplicates"], "unexpected extra argument (text)"), (["--similarity", "0.5"], "--similarity")],
)
def test_what_does_not_fit_is_refused(collection, arguments, said):
    done = call("search", collection.folder, *arguments)
    assert done.exit_code == 2
    assert said in done.stderr
