from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from conversations.files import read_json, write_checked_json, write_json
from dial2vec.cli import main
from dial2vec.collection import Collection, formulas
from dial2vec.collection.clustering import cluster, clusters, describing, read_clusters, restore_clusters
from dial2vec.collection.clustering.clusters import read_assignment
from dial2vec.encoder.nearest import unit_rows
from dial2vec.errors import ArtifactError, CorpusError

D = 12


def topic_of(found, maker) -> list[set[int]]:
    ids = pq.read_table(maker.folder / "clusters" / "assignment.parquet")["cluster"].to_pylist()
    return [{topic for topic, id in zip(maker.topics, ids, strict=True) if id == one.id} for one in found.clusters]


def test_topics_are_found_counted_and_named_by_their_words(make):
    found = cluster(make.add(*[0, 1, 2] * 30, 0, 0))
    assert [one.size for one in found.clusters] == [32, 30, 30]
    assert topic_of(found, make)[0] == {0}
    assert found.clusters[0].name == "Topica worda"
    assert all(one.stability == pytest.approx(1) for one in found.clusters)
    table = pd.read_csv(make.folder / "clusters" / "assignment.csv")
    assert list(table.columns) == ["dialogue_id", "cluster", "similarity", "margin", "name", "area", "fine", "belongs"]
    assert len(table) == 92


def test_assignment_has_the_metadata_and_no_formulas(make):
    make.add(*[0, 1] * 10, csat=4, note="=1+2")
    cluster(make.add(0, 1), k=2)
    table = pd.read_csv(make.folder / "clusters" / "assignment.csv")
    assert list(table.columns)[-2:] == ["metadata.csat", "metadata.note"]
    assert table["metadata.csat"].tolist()[:20] == [4] * 20
    assert table["metadata.note"].tolist()[:20] == ["'=1+2"] * 20
    assert table["metadata.note"].isna().tolist()[20:] == [True, True]
    kept = pq.read_table(make.folder / "clusters" / "assignment.parquet")["metadata.note"].to_pylist()
    assert kept == ["=1+2"] * 20 + [None] * 2


def test_new_dialogues_go_to_the_clusters_that_are_there_and_these_stay_what_they_are(make):
    before = cluster(make.add(*[0] * 32, *[1] * 31, *[2] * 30))
    assert topic_of(before, make) == [{0}, {1}, {2}]
    after = cluster(make.add(*[1] * 12, 0))
    assert [(one.id, one.name) for one in after.clusters] == [(one.id, one.name) for one in before.clusters]
    assert [one.size for one in after.clusters] == [33, 43, 30]
    assert after.news == ()
    assert topic_of(after, make) == [{0}, {1}, {2}]


def test_a_group_that_is_far_from_all_becomes_a_cluster_of_its_own(make):
    before = cluster(make.add(*[0, 1, 2] * 30))
    after = cluster(make.add(*[5] * 30))
    assert [one.id for one in after.clusters] == [0, 1, 2, 3]
    assert after.clusters[3].size == 30
    assert topic_of(after, make)[3] == {5}
    assert after.news == ("Cluster 3 has appeared, with 30 new dialogues.",)
    assert [one.name for one in after.clusters[:3]] == [one.name for one in before.clusters]


def test_a_few_strange_dialogues_are_no_cluster(make):
    cluster(make.add(*[0, 1, 2] * 30))
    assert len(cluster(make.add(*[5] * 5)).clusters) == 3


def test_many_strange_dialogues_without_a_cluster_are_told(make):
    cluster(make.add(*[0, 1, 2] * 30))
    after = cluster(make.add(*[4, 5, 6, 7] * 6))
    assert len(after.clusters) == 3
    assert after.news == (
        "24 of 24 new dialogues are far from every cluster, perhaps of a new topic: clustering everything from "
        "scratch may find it (--from-scratch).",
    )
    assert cluster(make.add(*[0] * 800)).news == ()


def test_a_cluster_that_falls_into_two_is_told(make):
    cluster(make.add(*[0] * 60, *[1] * 60, spread=0.12), k=2)
    # New dialogues are nearer to cluster 0 than to 1, and form a group next to it.
    maker_vectors = unit_rows(np.eye(D)[[0] * 60] * 0.8 + np.eye(D)[[3] * 60] * 0.6).astype(np.float32)
    collection = make.add(*[0] * 60, spread=0.02)
    raw = np.fromfile(make.folder / "vectors.f32", dtype=np.float32).reshape(-1, D)
    raw[120:] = maker_vectors
    raw.tofile(make.folder / "vectors.f32")
    found, _ = read_clusters(collection)
    # No limit, and no level at which a group appears.
    calm = [one.far - 1 for one in found.clusters]
    path = make.folder / "clusters" / "clusters.json"
    record = read_json(path)
    for one, far in zip(record["clusters"], calm, strict=True):
        one["far"] = far
    write_checked_json(path, record)
    after = cluster(Collection(make.folder), level=0)
    assert any("splits into two now" in sentence for sentence in after.news)


def test_clustered_anew_ids_stay_with_what_stays_together(make):
    before = cluster(make.add(*[0, 1, 2] * 30))
    by_topic = {next(iter(topics)): one.id for topics, one in zip(topic_of(before, make), before.clusters, strict=True)}
    after = cluster(make.add(*[2] * 40, *[4] * 30), from_scratch=True)
    found = {next(iter(topics)): one.id for topics, one in zip(topic_of(after, make), after.clusters, strict=True)}
    assert {topic: found[topic] for topic in (0, 1, 2)} == by_topic
    assert found[4] == 3
    fewer = cluster(Collection(make.folder), k=2)
    assert sum("is gone" in sentence for sentence in fewer.news) == 2


def test_clusters_before_come_back_and_go_again(make):
    collection = make.add(*[0] * 40, *[1] * 30, *[2] * 20)
    one = cluster(collection)
    table = (make.folder / "clusters" / "assignment.csv").read_text()
    two = cluster(collection, k=2)
    assert restore_clusters(collection) == one == read_clusters(collection)[0]
    assert (make.folder / "clusters" / "assignment.csv").read_text() == table
    assert restore_clusters(collection) == two
    assert len(list((make.folder / "clusters").glob("centres-*.npz"))) == 2


def test_undo_shows_the_clusters_of_fewer_dialogues_than_there_are(make):
    one = cluster(make.add(*[0, 1, 2] * 30))
    cluster(make.add(*[0] * 10))
    assert restore_clusters(Collection(make.folder)) == one
    assert len(pd.read_csv(make.folder / "clusters" / "assignment.csv")) == 90
    assert cluster(Collection(make.folder)).seen == 100


def test_nothing_to_undo_is_one_sentence(make):
    collection = make.add(*[0, 1, 2] * 30)
    with pytest.raises(ArtifactError, match="There is nothing to undo"):
        restore_clusters(collection)
    cluster(collection)
    with pytest.raises(ArtifactError, match="There is nothing to undo"):
        restore_clusters(collection)


def test_the_same_again_is_the_same_to_the_byte(make):
    collection = make.add(*[0, 1, 2] * 30)
    path = make.folder / "clusters" / "clusters.json"
    cluster(collection, from_scratch=True)
    first = path.read_bytes()
    cluster(collection, from_scratch=True)
    assert path.read_bytes() == first


def test_fewer_dialogues_than_clusters_are_refused(make):
    with pytest.raises(CorpusError, match="found --k 9; expected at most 3"):
        cluster(make.add(0, 1, 2), k=9)


def test_damaged_clusters_are_named(make):
    collection = make.add(*[0, 1] * 20)
    cluster(collection, k=2)
    [centres] = (make.folder / "clusters").glob("centres-*.npz")
    centres.write_bytes(b"no")
    with pytest.raises(ArtifactError, match="--from-scratch` makes new ones"):
        cluster(collection)
    assert [one.size for one in cluster(collection, from_scratch=True).clusters] == [20, 20]


@pytest.mark.parametrize("at", ["write_table", "write_csv", "write_checked_json"])
def test_a_kill_while_clusters_are_written_leaves_those_that_were_there(make, monkeypatch, at):
    before = cluster(make.add(*[0] * 40, *[1] * 30, *[2] * 20), k=3)
    was = read_assignment(Collection(make.folder)).tolist()
    # The largest cluster comes first, so mixing up both orders would give wrong ids.
    collection = make.add(*[2] * 60)
    where = {"write_table": clusters.pq, "write_csv": formulas, "write_checked_json": clusters}[at]
    with monkeypatch.context() as patch:
        patch.setattr(where, at, lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            cluster(collection, k=3)
    assert read_clusters(collection)[0] == before
    assert read_assignment(collection).tolist() == was
    after = cluster(collection, k=3)
    assert read_assignment(collection)[:90].tolist() == was
    assert [one.id for one in after.clusters] == [2, 0, 1]
    assert len(list((make.folder / "clusters").glob("centres-*.npz"))) == 2


def test_a_topic_that_grows_by_a_few_a_night_is_found(make):
    cluster(make.add(*[0] * 60, *[1] * 60, *[2] * 60))
    found = [cluster(make.add(*[5] * 6)) for _ in range(4)]
    assert [len(one.clusters) for one in found] == [3, 4, 4, 4]
    assert "Cluster 3 has appeared, with 12 new dialogues" in found[1].news[0]
    assert found[3].clusters[3].size in (23, 24)


def test_what_is_far_from_all_and_from_each_other_is_no_cluster(make, monkeypatch):
    before = cluster(make.add(*[0] * 60, *[1] * 60, *[2] * 60))
    make.add(*[3, 4, 5, 6, 7] * 8)
    raw = np.fromfile(make.folder / "vectors.f32", dtype=np.float32).reshape(-1, D)
    raw[180:] = unit_rows(np.random.default_rng(1).normal(size=(40, D)) * (np.arange(D) > 2))
    raw.tofile(make.folder / "vectors.f32")
    assert [one.id for one in cluster(Collection(make.folder)).clusters] == [one.id for one in before.clusters]


def test_command_prints_names_and_where_the_assignment_is(make):
    make.add(*[0, 1, 2] * 30)
    done = CliRunner().invoke(main, ["cluster", str(make.folder)])
    assert done.exit_code == 0, done.output
    assert "topica worda" in done.stdout
    assert "assignment.csv" in done.stdout
    record = json.loads(CliRunner().invoke(main, ["cluster", str(make.folder), "--json"]).stdout)
    assert len(record["clusters"]) == 3
    assert "previous" not in record
    both = CliRunner().invoke(main, ["cluster", str(make.folder), "--k", "3", "--undo"])
    assert (both.exit_code, "expected one of them" in both.stderr) == (1, True)
    assert CliRunner().invoke(main, ["cluster", str(make.folder), "--k", "2"]).exit_code == 0
    undone = CliRunner().invoke(main, ["cluster", str(make.folder), "--undo"])
    assert undone.stdout == done.stdout


def test_terms_are_read_from_a_sample_of_bounded_size(make, monkeypatch):
    monkeypatch.setattr(describing, "READ", 30)
    assert len(cluster(make.add(*[0, 1, 2] * 30)).clusters) == 3


def test_groups_are_a_table_of_the_clusters(make):
    collection = make.add(*[0] * 40, *[1] * 30, *[2] * 20)
    table = collection.groups()
    assert table["size"].tolist() == [40, 30, 20]
    assert table["share"].tolist() == pytest.approx([4 / 9, 3 / 9, 2 / 9])
    assert table.loc[0, "name"] == "Topica worda" == table.loc[0, "area"]
    assert table.loc[0, "fine"] == ["Topica worda"]
    path = make.folder / "clusters" / "clusters.json"
    before = path.stat().st_mtime_ns
    assert collection.groups().equals(table)
    assert path.stat().st_mtime_ns == before
    assert make.add(*[1] * 15).groups()["size"].tolist() == [45, 40, 20]
    assert len(Collection(make.folder).groups(k=2)) == 2


def test_the_table_of_groups_has_what_a_language_model_wrote(make):
    collection = make.add(*[0] * 40, *[1] * 30)
    assert "summary" not in collection.groups()
    record = {"format": 1, "fingerprint": collection.manifest.fingerprint, "areas": {}}
    clusters = {
        "0": {"name": "Lost cards", "summary": "Cards are blocked.", "by": "model"},
        "1": {"name": "a, b", "summary": "", "by": "terms"},
    }
    (make.folder / "descriptions").mkdir()
    write_json(make.folder / "descriptions" / "descriptions.json", record | {"clusters": clusters})
    table = collection.groups()
    assert table.loc[0, ["described", "summary"]].tolist() == ["Lost cards", "Cards are blocked."]
    assert table.loc[1, ["described", "summary"]].isna().all()
