from __future__ import annotations

import random
import shutil
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from conversations.dialogue import Dialogue, Turn, read_dialogues, write_dialogues
from dial2vec.cli import main
from dial2vec.collection import Collection
from dial2vec.collection.clustering import cluster, read_clusters, restore_clusters
from dial2vec.collection.clustering.clusters import read_assignment
from dial2vec.collection.clustering.curation import curate, decisions_of, undo_decision
from dial2vec.collection.clustering.decisions import path_of, read_decisions
from dial2vec.errors import ArtifactError, CorpusError
from dial2vec.params import settings_from_dict
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.pipeline.prepare import prepare
from dial2vec.pipeline.validate import validate


def id_of(make, topic: int) -> int:
    """Return the id of the cluster that holds most dialogues of a topic."""
    ids = read_assignment(Collection(make.folder))
    return int(np.bincount(ids[np.array(make.topics)[: len(ids)] == topic]).argmax())


def names(clusters) -> dict[int, str]:
    return {one.id: one.name for one in clusters.clusters}


def table(make) -> pd.DataFrame:
    return pd.read_csv(make.folder / "clusters" / "assignment.csv")


def state_of(make) -> tuple[Any, ...]:
    collection = Collection(make.folder)
    found, centres = read_clusters(collection)
    # Ids that were given are not given again.
    return replace(found, next_id=0), centres.tolist(), read_assignment(collection).tolist(), table(make).to_csv()


@pytest.fixture
def four(make):
    """Four topics, of which k-means makes cluster 1 of one and cluster 0 of three, which are its fine topics."""
    cluster(make.add(*[0] * 44, *[1] * 42, *[2] * 40, *[3] * 38), k=2)
    return make


def test_a_name_stays_with_new_data_and_a_new_clustering(make):
    cluster(make.add(*[0, 1, 2] * 30))
    id = id_of(make, 1)
    change = curate(Collection(make.folder), "rename", id, to="Lost  cards")
    assert names(change.after)[id] == "Lost cards"
    assert names(change.after) | {id: ""} == names(change.before) | {id: ""}
    assert table(make)["name"][1] == "Lost cards"
    assert names(cluster(make.add(*[1] * 5)))[id] == "Lost cards"
    assert names(cluster(Collection(make.folder), from_scratch=True))[id] == "Lost cards"
    assert id_of(make, 1) == id


def test_half_of_a_character_in_a_name_is_a_question_mark_and_breaks_no_clustering(four):
    curate(Collection(four.folder), "rename", 0, to="lost \udcff")
    assert names(cluster(Collection(four.folder)))[0] == "lost ?"


def test_merged_clusters_stay_merged_and_new_dialogues_of_either_join_them(make):
    before = cluster(make.add(*[0] * 32, *[1] * 31, *[2] * 30))
    first, second = id_of(make, 0), id_of(make, 2)
    after = curate(Collection(make.folder), "merge", first, other=second).after
    assert {one.id: one.size for one in after.clusters} == {first: 62, id_of(make, 1): 31}
    assert names(after)[first] == names(before)[first]
    grown = cluster(make.add(*[2] * 7, *[0] * 3))
    assert {one.id: one.size for one in grown.clusters}[first] == 72
    anew = cluster(Collection(make.folder), from_scratch=True)
    assert {one.id: one.size for one in anew.clusters} == {first: 72, id_of(make, 1): 31}
    assert set(table(make)["cluster"][np.array(make.topics) != 1]) == {first}


def test_a_split_makes_clusters_of_fine_topics_which_keep_their_ids(four):
    before, _ = read_clusters(Collection(four.folder))
    parts = {topic.name for topic in before.fine if topic.cluster == 0}
    after = curate(Collection(four.folder), "split", 0).after
    assert sorted(one.id for one in after.clusters) == [0, 1, 2, 3]
    assert {one.name for one in after.clusters if one.id != 1} == parts
    by_topic = [id_of(four, topic) for topic in range(4)]
    assert sorted(by_topic) == [0, 1, 2, 3]
    curate(Collection(four.folder), "rename", 2, to="Part two")
    grown = cluster(four.add(*[0, 1, 2, 3] * 3))
    assert [id_of(four, topic) for topic in range(4)] == by_topic
    anew = cluster(Collection(four.folder), k=2)
    assert [id_of(four, topic) for topic in range(4)] == by_topic
    assert names(grown)[2] == names(anew)[2] == "Part two"


def test_a_moved_dialogue_is_in_its_cluster_after_every_clustering_and_no_cluster_is_measured_again(make):
    before = cluster(make.add(*[0] * 40, *[1] * 30, *[2] * 20))
    first, second = id_of(make, 0), id_of(make, 1)
    typical = next(one.typical[0] for one in before.clusters if one.id == first)
    row = int(typical[1:])
    collection, halves = Collection(make.folder), []
    change = curate(collection, "move", second, dialogue=typical, done=halves.append)
    assert halves == []
    assert (str(change.decision), change.decision.other_name) == (f"move {typical} {second}", names(before)[first])
    assert {one.id: one.size for one in change.after.clusters}[second] == 31
    assert all(typical not in one.typical for one in change.after.clusters if one.id == first)
    assert sum(topic.size for topic in change.after.fine if topic.cluster == second) == 31
    assert table(make)["cluster"][row] == second
    assert read_assignment(collection)[row] == second
    cluster(make.add(*[2] * 7))
    cluster(Collection(make.folder), from_scratch=True)
    assert table(make)["cluster"][row] == second
    undo_decision(Collection(make.folder))
    assert table(make)["cluster"][row] == first


def test_a_move_of_a_dialogue_that_is_gone_is_said(make):
    cluster(make.add(*[0] * 40, *[1] * 30))
    curate(Collection(make.folder), "move", id_of(make, 1), dialogue="d0")
    path = path_of(make.folder)
    path.write_text(path.read_text().replace("dialogue: d0", "dialogue: e0"))
    after = cluster(make.add(0))
    assert "Not applied: move e0" in " ".join(after.news)
    assert [problem for _, problem in decisions_of(Collection(make.folder))] == [
        "dialogue e0 is not among those that were clustered"
    ]


def test_a_hidden_cluster_is_in_no_table_but_kept(make):
    cluster(make.add(*[0, 1, 2] * 30))
    id = id_of(make, 1)
    name = names(read_clusters(Collection(make.folder))[0])[id]
    after = curate(Collection(make.folder), "hide", id).after
    assert id not in [one.id for one in after.shown]
    assert id in [one.id for one in after.clusters]
    assert all(area.name != name for area in after.areas)
    assert table(make)["name"].isna().tolist()[:3] == [False, True, False]
    shown = CliRunner().invoke(main, ["cluster", str(make.folder)])
    assert name not in shown.stdout
    assert "Hidden: 1" in shown.stdout
    assert read_assignment(Collection(make.folder)).tolist().count(id) == 30


def test_a_pinned_cluster_stays_together_with_its_id_and_its_name(make):
    before = cluster(make.add(*[0] * 40, *[1] * 30, *[2] * 20))
    id = id_of(make, 2)
    curate(Collection(make.folder), "pin", id)
    # Without the pin, one cluster would hold all dialogues.
    after = cluster(make.add(*[2] * 5, *[0] * 5), k=1)
    assert names(after)[id] == names(before)[id]
    rows = table(make)
    assert set(rows["cluster"][70:90]) == {id}
    assert id not in set(rows["cluster"][:70])


def test_new_dialogues_join_the_pinned_cluster_that_most_of_their_group_is_in(make):
    cluster(make.add(*[0] * 40, *[1] * 30, *[2] * 20))
    id = id_of(make, 2)
    curate(Collection(make.folder), "pin", id)
    cluster(make.add(*[2] * 5), from_scratch=True)
    assert set(table(make)["cluster"][np.array(make.topics) == 2]) == {id}


def test_a_pinned_merge_is_one_cluster_in_the_next_clustering(make):
    cluster(make.add(*[0] * 40, *[1] * 30, *[2] * 20))
    first, second = id_of(make, 0), id_of(make, 2)
    for action, other in (("merge", second), ("pin", None)):
        curate(Collection(make.folder), action, first, other=other)
    after = cluster(Collection(make.folder), from_scratch=True)
    assert {one.id: one.size for one in after.clusters} == {first: 60, id_of(make, 1): 30}
    assert [problem for _, problem in decisions_of(Collection(make.folder))] == ["", ""]


def test_a_decision_whose_cluster_is_gone_is_kept_said_and_never_applied_to_another(make):
    cluster(make.add(*[0] * 40, *[1] * 30, *[2] * 20))
    id = id_of(make, 2)
    curate(Collection(make.folder), "rename", id, to="Lost cards")
    after = cluster(Collection(make.folder), k=1)
    assert "Lost cards" not in names(after).values()
    assert f'Not applied: rename {id} "Lost cards"' in " ".join(after.news)
    assert "NOT APPLIED: cluster" in CliRunner().invoke(main, ["curate", str(make.folder), "list"]).stdout
    more = cluster(Collection(make.folder), from_scratch=True)
    assert "Lost cards" not in names(more).values()
    assert id not in names(more)
    assert [one.to for one in read_decisions(make.folder).made] == ["Lost cards"]


def test_after_clusters_were_removed_no_decision_is_applied_to_those_with_the_same_numbers(make):
    cluster(make.add(*[0] * 40, *[1] * 30, *[2] * 20))
    curate(Collection(make.folder), "rename", 0, to="Lost cards")
    shutil.rmtree(make.folder / "clusters")
    after = cluster(make.add(*[5] * 80))
    assert "Lost cards" not in names(after).values()
    assert "has 1 decisions about clusters that are gone" in " ".join(after.news)
    with pytest.raises(ArtifactError, match="Move the file away"):
        curate(Collection(make.folder), "hide", 0)


def test_earlier_clusters_come_back_with_the_decisions_of_today(four):
    curate(Collection(four.folder), "split", 0)
    one = state_of(four)
    cluster(Collection(four.folder), k=1)
    two = state_of(four)
    restore_clusters(Collection(four.folder))
    assert state_of(four) == one
    restore_clusters(Collection(four.folder))
    assert state_of(four) == two
    assert len(list((four.folder / "clusters").glob("centres-*.npz"))) <= 4


@pytest.mark.parametrize("seed", range(4))
def test_after_any_decisions_each_dialogue_has_one_cluster_and_undo_gives_back_exactly_what_was_there(four, seed):
    rng, collection, states = random.Random(seed), Collection(four.folder), [state_of(four)]
    while len(states) < 7:
        ids = [one.id for one in states[-1][0].clusters]
        action = rng.choice(["rename", "merge", "split", "split", "pin", "hide", "move", "move"])
        fields = {
            "rename": {"to": f"name {len(states)}"},
            "merge": {"other": rng.choice(ids)},
            "move": {"dialogue": f"d{rng.randrange(len(collection))}"},
        }.get(action, {})
        try:
            after = curate(collection, action, rng.choice(ids), **fields).after
        except CorpusError:
            continue
        states.append(state_of(four))
        assert sum(one.size for one in after.clusters) == len(collection)
        assert {*states[-1][2]} <= {one.id for one in after.clusters}
        assert {one.id: one.size for one in after.clusters} == dict(
            zip(*(values.tolist() for values in np.unique(states[-1][2], return_counts=True)), strict=True)
        )
        assert sum(area.size for area in after.areas) == sum(one.size for one in after.shown)
    if seed % 2:
        # A new clustering without new dialogues changes nothing.
        cluster(collection)
        assert state_of(four) == states[-1]
    for state in reversed(states[:-1]):
        undo_decision(collection)
        assert state_of(four) == state
    with pytest.raises(CorpusError, match="There is nothing to undo"):
        undo_decision(collection)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rename", "9", "x"], "has no cluster 9; expected one of 0, 1."),
        (["rename", "0", "  "], "found a blank name for cluster 0"),
        (["merge", "0", "0"], "a cluster cannot join itself"),
        (["hide", "0"], "cluster 0 is hidden already"),
        (["move", "d0", "9"], "has no cluster 9; expected one of 0, 1."),
        (["move", "e0", "1"], "has no dialogue 'e0'"),
        (["move", "d0", "1"], "dialogue d0 is in cluster 1"),
    ],
)
def test_what_cannot_be_decided_is_one_sentence_and_changes_nothing(four, arguments, message):
    curate(Collection(four.folder), "hide", 0)
    before = state_of(four)
    result = CliRunner().invoke(main, ["curate", str(four.folder), *arguments])
    assert result.exit_code == 1
    assert message in result.stderr
    assert state_of(four) == before
    assert len(read_decisions(four.folder).made) == 1


def test_a_collection_without_clusters_says_how_to_get_them(make):
    make.add(0, 1)
    with pytest.raises(ArtifactError, match="expected those of `dial2vec cluster"):
        curate(Collection(make.folder), "hide", 0)


def test_exported_labels_are_those_that_the_stages_of_the_corpus_read(make, tmp_path):
    cluster(make.add(*[0, 1, 2] * 30))
    curate(Collection(make.folder), "rename", id_of(make, 0), to='Cards, "lost"')
    curate(Collection(make.folder), "hide", id_of(make, 2))
    make.add(0)
    data = tmp_path / "data" / "calls"
    data.mkdir(parents=True)
    turns = [(Turn("ann", "hi"), Turn("bob", " ".join(f"w{row}x{at}" for at in range(9)))) for row in range(91)]
    write_dialogues(data / "calls.jsonl", [Dialogue(f"d{row}", own, ("own",)) for row, own in enumerate(turns)])
    (tmp_path / "dvc.yaml").touch()
    result = CliRunner().invoke(
        main, ["export", str(make.folder), "--as", "labels", "--output", str(data / "labels.csv")]
    )
    assert result.stdout.startswith("60 conversations: ")
    artifacts, settings = Artifacts(tmp_path, "calls"), settings_from_dict({})
    validate(artifacts, settings)
    prepare(artifacts, settings)
    labels = {
        dialogue.dialogue_id: dialogue.labels
        for split in ("train", "dev", "test")
        for dialogue in read_dialogues(artifacts.splits / f"{split}.jsonl")
    }
    name = names(read_clusters(Collection(make.folder))[0])[id_of(make, 1)]
    of_topic = {0: ('Cards, "lost"',), 1: (name,), 2: ()}
    # The last dialogue came after the clustering.
    assert labels.pop("d90") == ()
    assert len(labels) == 90
    assert all(own == of_topic[int(id[1:]) % 3] for id, own in labels.items())
    assert {*labels.values()} == {*of_topic.values()}
    assert artifacts.quarantine.read_text() == ""


def test_the_command_says_what_was_done_and_how_to_take_it_back(four):
    def said(*words: str) -> str:
        result = CliRunner().invoke(main, ["curate", str(four.folder), *words])
        assert result.exit_code == 0, result.stderr
        return result.stdout

    assert "is called “Lost cards” now" in said("rename", "0", "Lost cards")
    assert "is 3 clusters now" in said("split", "0")
    assert "is called “Lost cards” now" in said("rename", "2", "Lost cards")
    assert "joined cluster 2 (Lost cards), which has" in said("merge", "2", "3")
    assert "stays together" in said("pin", "2")
    assert "is hidden" in said("hide", "1")
    assert "d0 is in cluster 2 (Lost cards) now" in said("move", "d0", "2")
    assert "The note on d0 is kept." in said("note", "d0", "call back")
    assert "1 note in" in said("list")
    assert "call back" in said("note", "d0")
    assert "The note on d0 is removed." in said("note", "d0", "")
    assert said("list").count("\n") == 8
    assert "Taken back: move d0 2" in said("undo")
    assert "Taken back: hide 1" in said("undo")
    last = read_decisions(four.folder).made[-1]
    assert (str(last), last.name) == ("pin 2", "Lost cards")
    assert path_of(four.folder).read_text().count("terms:") == 5
