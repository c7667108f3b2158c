from __future__ import annotations

import json
import re
from collections import Counter
from shutil import copytree

import numpy as np
import pytest
from click.testing import CliRunner

from conversations.dialogue import write_dialogues
from dial2vec.cli import main
from dial2vec.collection.clustering import cluster
from dial2vec.collection.clustering.clusters import read_assignment, read_clusters
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.lenses import LensLabel, lens
from dial2vec.collection.lenses.as_encoder import dialogues_with_values, encoder_of
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.names import GENERAL
from dial2vec.errors import ArtifactError, CorpusError
from tests.collection.lenses.made import calls
from tests.collection.made import indexed


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A collection with a lens of two labels, one of one label, and one that has learnt nothing."""
    dialogues, ends = calls(150)
    collection = indexed(tmp_path_factory.mktemp("made") / "calls", dialogues, load_encoder(GENERAL))
    known = dict(list(ends.items())[:60])
    lens(collection, "end", [LensLabel("booked"), LensLabel("failed")], known)
    once = {name: "failed" if end == "failed" else "none" for name, end in known.items()}
    lens(collection, "failed", [LensLabel("failed")], once)
    lens(collection, "mood", [LensLabel("cross", ("this is bad",))])
    return collection, ends


def test_vectors_are_the_probabilities_of_the_lens_less_their_means(made):
    collection, _ = made
    encoder = encoder_of(collection, ["end", "failed"])
    record = json.loads((collection.folder / "lenses" / "end.json").read_text())
    np.testing.assert_allclose(encoder.mean[:3], list(record["shares"].values()), atol=1e-6)
    assert list(record["shares"]) == ["booked", "failed", "none"]
    vectors = encoder.encode(list(collection.dialogues(range(60, 150))))
    told = np.array(["booked", "failed", "none"])[(vectors[:, :3] + encoder.mean[:3]).argmax(1)]
    values = {each.dialogue_id: each.metadata["end"] for each in dialogues_with_values(collection, ["end"])}
    assert [value for value in list(values.values())[60:] if value != "unsure"] == [
        one for one, value in zip(told, list(values.values())[60:], strict=True) if value != "unsure"
    ]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["ends"], "lens 'ends' of .* does not exist; expected one that has learnt .* Did you mean 'end'"),
        (["end", "mood"], "lens 'mood' of .* has learnt nothing; expected one that has learnt .*end, failed"),
        (["failed"], "lens 'failed' tells one label, .*expected 2 labels or more"),
    ],
)
def test_a_lens_without_a_map_is_refused(made, names, said):
    with pytest.raises(CorpusError, match=said):
        encoder_of(made[0], names)


def test_a_damaged_table_of_a_lens_is_said(made, tmp_path):
    copy = CollectionFolder(copytree(made[0].folder, tmp_path / "calls"))
    (copy.folder / "lenses" / "end.parquet").write_bytes(b"x")
    with pytest.raises(ArtifactError, match=r"end\.parquet cannot be read .*Remove it, and make it again"):
        list(dialogues_with_values(copy, ["end"]))


def test_look_groups_by_what_a_lens_tells_and_names_the_groups_by_it(made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    collection, ends = made
    arguments = ["look", str(collection.folder), "--lens", "end", "--static", "map.html"]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    found = CollectionFolder(tmp_path / "calls.end.look")
    clusters, _ = read_clusters(found)
    groups = read_assignment(found)
    for each in clusters.clusters:
        rows = np.flatnonzero(groups == each.id)
        told = Counter(ends[found.rows["dialogue_id"][int(row)].as_py()] for row in rows)
        assert re.sub(r" \(\d+\)$", "", each.name) == told.most_common(1)[0][0]
        assert told.most_common(1)[0][1] >= 0.95 * len(rows)
    assert {re.sub(r" \(\d+\)$", "", each.name) for each in clusters.clusters} == {"booked", "failed", "none"}
    assert set(found.metadata("end").to_pylist()) == {"booked", "failed", "none"}
    # A second look finds nothing new; other examples do.
    assert "is unchanged" in CliRunner().invoke(main, arguments).output


@pytest.mark.parametrize("more", [["--model", "general"], ["--sample", "10"], ["--redact"], ["--merge-turns"]])
def test_a_lens_is_looked_at_as_it_is(tmp_path, monkeypatch, more):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["look", "calls", "--lens", "end", *more])
    assert done.exit_code == 1
    assert "look was given --lens end and an option that reads" in done.output
    assert list(tmp_path.iterdir()) == []


def test_a_lens_that_fell_back_to_descriptions_has_learnt_nothing(made, tmp_path):
    copy = CollectionFolder(copytree(made[0].folder, tmp_path / "calls"))
    lens(copy, "end", [LensLabel("booked", ("all set",)), LensLabel("failed", ("sorry",))])
    with pytest.raises(CorpusError, match=r"lens 'end' of .* has learnt nothing"):
        encoder_of(copy, ["end"])


def test_a_grown_collection_is_read_by_its_lens_first_and_its_map_stays(made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    copytree(made[0].folder, tmp_path / "calls")
    arguments = ["look", "calls", "--lens", "end", "--static", "map.html"]
    CliRunner().invoke(main, arguments)
    found = CollectionFolder(tmp_path / "calls.end.look")
    before = found.manifest.fingerprint, [each.id for each in read_clusters(found)[0].clusters]
    write_dialogues(tmp_path / "more.jsonl", calls(31, seed=2)[0])
    CliRunner().invoke(main, ["index", "more.jsonl", "--output", "calls"])
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    found = CollectionFolder(tmp_path / "calls.end.look")
    assert (len(found), found.manifest.fingerprint) == (181, before[0])
    assert [each.id for each in read_clusters(found)[0].clusters][: len(before[1])] == before[1]
    assert found.metadata("end").null_count == 0


def test_a_map_never_replaces_the_collection_that_it_is_made_of(made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    copy = copytree(made[0].folder, tmp_path / "calls")
    (copy / ".look").mkdir()
    done = CliRunner().invoke(main, ["look", "calls", "--lens", "end", "--output", "calls"])
    assert done.exit_code == 1
    assert "expected a folder outside" in done.output
    assert (copy / "lenses" / "end.examples.csv").exists()


def test_a_map_takes_dialogues_that_have_no_value_yet(made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    CliRunner().invoke(main, ["look", str(made[0].folder), "--lens", "end", "--static", "map.html"])
    write_dialogues(tmp_path / "more.jsonl", calls(90, seed=1)[0])
    done = CliRunner().invoke(main, ["index", "more.jsonl", "--output", "calls.end.look"])
    assert done.exit_code == 0, done.output
    found = CollectionFolder(tmp_path / "calls.end.look")
    assert found.adaptation is None
    cluster(found, from_scratch=True)
    names = {re.sub(r" \(\d+\)$", "", each.name) for each in read_clusters(found)[0].clusters}
    assert (len(found), names) == (240, {"booked", "failed", "none"})
