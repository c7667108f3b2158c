"""Topics go into a file without dialogues, and another collection takes them over."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from safetensors import safe_open

from conversations.files import read_json, write_json
from dial2vec.cli import main
from dial2vec.collection import Collection
from dial2vec.collection.adapting.adaptation import Adaptation
from dial2vec.collection.clustering import cluster, restore_clusters
from dial2vec.collection.clustering.clusters import read_assignment, read_stored
from dial2vec.collection.clustering.curation import curate
from dial2vec.collection.clustering.topics_file import load_topics, save_topics
from dial2vec.collection.collection_folder import Manifest
from dial2vec.errors import ArtifactError
from tests.collection.clustering.conftest import D, Maker

FOUR = [0] * 30 + [1] * 25 + [2] * 20 + [3] * 15


@pytest.fixture
def topics(make, tmp_path):
    """Four topics of a collection, of which people named the first, and their file."""
    collection = make.add(*FOUR)
    cluster(collection)
    curate(collection, "rename", 0, to="Lost cards")
    save_topics(collection, tmp_path / "topics.safetensors")
    return tmp_path / "topics.safetensors"


@pytest.fixture
def other(tmp_path, dialogue) -> Maker:
    return Maker(tmp_path / "other", dialogue)


def named(collection: Collection) -> dict[int, str]:
    return {group.id: group.name for group in read_stored(collection).clusters.clusters}


def test_another_collection_gets_the_same_ids_and_names(make, other, topics):
    first = Collection(make.folder)
    second = other.add(*[3] * 10, *[0] * 5, *[1] * 5)
    cluster(second, topics=topics)
    assert named(second) == named(first)
    assert named(second)[0] == "Lost cards"
    of_topic = dict(zip(FOUR, read_assignment(first).tolist(), strict=True))
    assert read_assignment(second).tolist() == [of_topic[topic] for topic in other.topics]
    centres = [read_stored(collection).state.centres for collection in (first, second)]
    assert np.array_equal(*centres)
    assert read_stored(second).clusters.lineage == read_stored(first).clusters.lineage
    # Dialogues that come later go on from there.
    cluster(other.add(2, 2, 1))
    assert named(Collection(other.folder)) == named(first)
    assert read_assignment(Collection(other.folder))[-3:].tolist() == [of_topic[topic] for topic in (2, 2, 1)]


def test_a_topic_of_its_own_gets_a_new_id(make, other, topics):
    second = other.add(*[0] * 20, *[5] * 20, *[1] * 20)
    clusters = cluster(second, topics=topics)
    assert clusters.news[0] == "Cluster 4 has appeared, with 20 new dialogues."
    assert (read_assignment(second) == 4).tolist() == [topic == 5 for topic in other.topics]
    assert "topicf" in named(second)[4].lower()


def test_what_is_scattered_or_of_a_known_topic_becomes_no_topic(make, other, topics):
    second = other.add(*[0] * 20, *[1] * 20, spread=0.45)
    assert set(named(Collection(make.folder))) == {group.id for group in cluster(second, topics=topics).clusters}


def test_the_file_holds_names_terms_and_centres_and_nothing_that_was_said(make, tmp_path, topics):
    collection = Collection(make.folder)
    with safe_open(topics, "np") as file:
        record = json.loads(file.metadata()["dial2vec"])
        assert set(file.keys()) == {"centres", "fine_centres", "fine_parents"}
    texts, places = set(), [record]
    while places:
        value = places.pop()
        places += value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
        texts |= {value} if isinstance(value, str) else set()
    shown = read_stored(collection).clusters
    groups = [*shown.clusters, *shown.areas, *shown.fine]
    kept = {group.name for group in groups} | {term.text for group in groups for term in group.terms}
    assert texts == kept | {record["model"], shown.fingerprint, shown.lineage, shown.by, ""}
    # The words that every dialogue says are in no name, and no id of a dialogue is there.
    assert not any(word in topics.read_bytes() for word in (b"yeah", b"okay", b"ann:", b'"d1"', b"bob"))
    assert topics.stat().st_size < 20_000


def test_the_map_and_the_descriptions_of_the_topics_are_taken_over(make, other, tmp_path, topics):
    first = Collection(make.folder)
    weight = np.linalg.qr(np.random.default_rng(1).normal(size=(D, D)))[0].astype(np.float32)
    Adaptation(np.full(D, 0.1, np.float32), weight, 90).write(first.folder, first.vectors)
    words = {"name": "Cards", "summary": "Cards that are lost.", "by": "model"}
    described = {"clusters": {"0": words}, "areas": {}}
    write_json(first.folder / "descriptions" / "descriptions.json", {"format": 1, "fingerprint": "f"} | described)
    save_topics(Collection(first.folder), topics)
    second = other.add(*[3] * 10, *[0] * 5)
    cluster(second, topics=topics)
    assert np.array_equal(second.adaptation.weight, weight)
    assert second.adaptation.dialogues == 90
    assert np.allclose(second.adapted, second.adaptation(second.vectors))
    assert named(second) == named(first)
    assert second.groups().loc[0, "summary"] == "Cards that are lost."
    assert read_json(second.folder / "descriptions" / "descriptions.json")["clusters"] == described["clusters"]


def test_the_clusters_before_come_back(other, topics):
    second = other.add(*[3] * 10, *[0] * 15)
    own, ids = cluster(second), read_assignment(second).tolist()
    cluster(second, topics=topics)
    assert [group.name for group in restore_clusters(second).clusters] == [group.name for group in own.clusters]
    assert read_assignment(second).tolist() == ids


def test_topics_of_another_encoder_and_damaged_files_are_refused_and_change_nothing(other, tmp_path, topics):
    second = other.add(*[3] * 10, *[0] * 5)
    manifest = Manifest.read(second.folder)
    replace(manifest, fingerprint="g").write(second.folder)
    with pytest.raises(ArtifactError, match=r"topics by the encoder m, and .* was indexed by another, m;"):
        load_topics(Collection(second.folder), topics)
    manifest.write(second.folder)
    content = topics.read_bytes()
    for damaged in (b"", content[:200], content[:-40]):
        topics.write_bytes(damaged)
        with pytest.raises(ArtifactError, match="expected a file of `dial2vec cluster"):
            cluster(Collection(second.folder), topics=topics)
    assert not (second.folder / "adapted").exists()
    assert read_stored(second) is None


def test_the_command_writes_topics_and_takes_them_over(make, other, tmp_path):
    make.add(*FOUR)
    other.add(*[3] * 10, *[0] * 5)
    file = str(tmp_path / "t.safetensors")
    run = CliRunner()
    result = run.invoke(main, ["cluster", str(make.folder), "--save-topics", file])
    assert f"Topics: {file}" in result.output.splitlines()
    assert run.invoke(main, ["cluster", str(other.folder), "--topics", file]).exit_code == 0
    assert named(Collection(other.folder)) == named(Collection(make.folder))
    refused = run.invoke(main, ["cluster", str(other.folder), "--topics", file, "--k", "3"])
    assert refused.output.startswith("Error: found two of --undo, --topics, and --k or --from-scratch")
