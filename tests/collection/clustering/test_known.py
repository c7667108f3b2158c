from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml

from conversations.dialogue import Dialogue
from dial2vec.collection import Collection
from dial2vec.collection.clustering import Clusters, cluster
from dial2vec.collection.clustering.curation import curate
from dial2vec.collection.clustering.known import read_topics
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.names import GENERAL
from dial2vec.errors import ArtifactError
from tests.collection.made import indexed
from tests.collection.planted import TOPICS, planted

PARROTS = {"name": "Parrots", "description": "My parrot bites the vet."}


def topic(name: str, /, **more: object) -> dict[str, object]:
    """A topic of the help desk as a person would list it."""
    about, opening, *_ = TOPICS[name]
    return {
        "name": f"Our {name}",
        "description": f"So it is about {about}?",
        "examples": [opening.split("[")[0]],
    } | more


@pytest.fixture(scope="module")
def encoder():
    return load_encoder(GENERAL)


@pytest.fixture(scope="module")
def calls() -> list[Dialogue]:
    """Calls of eleven topics; the id of each ends with its topic."""
    return [replace(one, dialogue_id=f"{one.dialogue_id} {one.labels[0]}", labels=()) for one in planted(quiet=True)]


@pytest.fixture(scope="module")
def made(encoder, calls, tmp_path_factory):
    return indexed(tmp_path_factory.mktemp("known") / "desk", calls[:400], encoder).folder


@pytest.fixture
def desk(made, tmp_path):
    return shutil.copytree(made, tmp_path / "desk")


def listed(folder, *topics, **how) -> Clusters:
    (folder / "topics.yaml").write_text(yaml.safe_dump(list(topics)), encoding="utf-8")
    return cluster(Collection(folder), **how)


def named(folder) -> dict[str, str]:
    """Name of the cluster of each dialogue."""
    table = pq.read_table(folder / "clusters" / "assignment.parquet")
    return dict(zip(table["dialogue_id"].to_pylist(), table["name"].to_pylist(), strict=True))


def members(folder, name: str) -> set[str]:
    """Topics that the dialogues of a cluster are about."""
    return {id.split()[-1] for id, cluster in named(folder).items() if cluster == name}


def ids(clusters: Clusters) -> dict[str, int]:
    return {one.name: one.id for one in clusters.clusters}


def test_known_topics_get_their_dialogues_and_the_rest_is_discovered(desk):
    before = cluster(Collection(desk))
    (desk / "clusters" / "clusters.json").unlink()
    clusters = listed(desk, topic("cards"), topic("screens"), topic("passwords"))
    assert [members(desk, f"Our {name}") for name in ("cards", "screens", "passwords")] == [
        {"cards"}, {"screens"}, {"passwords"},
    ]  # fmt: skip
    assert {one.known for one in clusters.clusters} == {"Our cards", "Our screens", "Our passwords", ""}
    assert [ids(clusters)[f"Our {name}"] for name in ("cards", "screens", "passwords")] == [0, 1, 2]
    assert {one.name for one in clusters.clusters} >= {one.name for one in before.clusters if "pizza" in one.name}


def test_a_topic_without_dialogues_has_its_id_and_name_and_later_its_dialogues(desk, calls, encoder):
    first = listed(desk, PARROTS, topic("cards"))
    assert [(one.id, one.size) for one in first.clusters if one.name == "Parrots"] == [(0, 0)]
    for folder, how in ((desk, {}), (desk, {"from_scratch": True})):
        assert ids(cluster(Collection(folder), **how))["Parrots"] == 0
    parrots = [
        replace(calls[at], dialogue_id=f"p{at} parrots", turns=tuple(replace(turn, text=PARROTS["description"])
        for turn in calls[at].turns[:at % 3 + 1])) for at in range(20)
    ]  # fmt: skip
    assert {one.id: one.size for one in cluster(indexed(desk, parrots, encoder)).clusters}[0] == 20
    assert members(desk, "Parrots") == {"parrots"}


def test_a_topic_is_added_and_removed_without_clustering_from_scratch(desk):
    before = listed(desk, topic("cards"))
    added = listed(desk, topic("cards"), topic("seats"))
    assert members(desk, "Our seats") == {"seats"}
    assert [one for one in added.news if "Our seats" in one] == [
        f"Cluster {ids(added)['Our seats']} (Our seats) is new, from topics.yaml."
    ]
    assert {one.id for one in added.clusters} - {one.id for one in before.clusters} == {ids(added)["Our seats"]}
    removed = listed(desk, topic("cards"))
    assert {one.known for one in removed.clusters} == {"Our cards", ""}
    assert ids(removed)["Our cards"] == ids(before)["Our cards"]


def test_ids_of_dialogues_are_examples_and_an_example_has_its_topic(desk, calls):
    odd = next(one.dialogue_id for one in calls if one.dialogue_id.endswith("pizza"))
    cards = [one.dialogue_id for one in calls[:300] if one.dialogue_id.endswith("cards")][:3]
    listed(desk, {"name": "Mine", "examples": [*cards, odd]})
    assert named(desk)[odd] == "Mine"
    assert {named(desk)[id] for id in cards} == {"Mine"}


def test_decisions_of_people_go_before_the_file(desk, calls):
    cards = listed(desk, topic("cards"))
    pizza = next(one.id for one in cards.clusters if "pizza" in one.name.lower())
    moved = next(one.dialogue_id for one in calls if one.dialogue_id.endswith("cards"))
    curate(Collection(desk), "move", pizza, dialogue=moved)
    curate(Collection(desk), "rename", ids(cards)["Our cards"], to="Plastic")
    curate(Collection(desk), "pin", pizza)
    for how in ({}, {"from_scratch": True}):
        after = listed(desk, topic("cards"), topic("pizza"), **how)
        assert ids(after)["Plastic"] == ids(cards)["Our cards"]
        names = named(desk)
        assert {one.id: one.name for one in after.clusters}[pizza] == names[moved]
        # The pinned cluster keeps its dialogues, so the topic has none.
        assert members(desk, "Our pizza") == set()


def test_a_listed_name_of_a_cluster_keeps_its_id(desk):
    before = cluster(Collection(desk))
    pizza = next(one for one in before.clusters if "pizza" in one.name.lower())
    after = listed(desk, topic("pizza", name=pizza.name), from_scratch=True)
    assert {one.id: one.known for one in after.clusters}[pizza.id] == pizza.name


@pytest.mark.parametrize(
    "text",
    [
        "- name: [", "a sentence", "- a sentence", "- {name: A}", "- {description: a}", "- {name: ' ', description: a}",
        "- {name: A, descriptoin: a}", "- {name: A, examples: a: b}", "- {name: A, description: [a]}",
        "- {name: A, description: a}\n- {name: A, description: b}",
    ],
)  # fmt: skip
def test_a_file_that_lists_no_topics_is_refused_in_one_sentence(tmp_path, text):
    path = tmp_path / "topics.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(
        ArtifactError, match=r"topics\.yaml cannot be read \(.*\); expected a list of topics, .* Mend it"
    ):
        read_topics(path)
    path.write_text("- {name: A, description: a}\n- {name: B, examples: [7, b]}", encoding="utf-8")
    assert read_topics(path) == {"A": ["a"], "B": ["", "7", "b"]}


def test_bertopic_2409_three_near_descriptions_keep_apart_and_none_is_merged_away(desk):
    """MaartenGr/BERTopic #2409: near topics of the list are merged when topics are reduced, or are missing."""
    near = [topic("bills"), topic("internet"), topic("television")]
    for k in (None, 2):
        clusters = listed(desk, *near, PARROTS, k=k, from_scratch=True)
        assert {one.known for one in clusters.clusters} - {""} == {one["name"] for one in (*near, PARROTS)}
        assert [members(desk, one["name"]) for one in near] == [{"bills"}, {"internet"}, {"television"}]


def test_bertopic_2447_and_2164_names_are_those_of_the_list_when_all_dialogues_are_of_listed_topics(desk):
    """MaartenGr/BERTopic #2447, #2164: other names, or other topics, than those of the list."""
    clusters = listed(desk, *(topic(name, examples=example_ids(desk, name)) for name in TOPICS if name != "keyboards"))
    sizes = {one.name: one.size for one in clusters.clusters if one.size}
    assert {name for name in sizes if name.startswith("Our ")} == {
        f"Our {name}" for name in TOPICS if name != "keyboards"
    }
    assert sum(size for name, size in sizes.items() if name.startswith("Our ")) >= 0.95 * 400


def example_ids(folder, name: str) -> list[str]:
    return [id for id in Collection(folder).row_of if id.endswith(name)][:5]


def test_bertopic_1958_four_dialogues_of_no_listed_topic_are_said_to_belong_to_nothing(calls, encoder, tmp_path):
    """MaartenGr/BERTopic #1958: four documents of no topic of the list stop the run; wanted are outliers."""
    own = [one for one in calls if one.dialogue_id.endswith(("screens", "insurance"))][:120]
    odd = [one for one in calls if one.dialogue_id.endswith("seats")][:4]
    folder = indexed(tmp_path / "few", [*own, *odd], encoder).folder
    known = [topic(name, examples=example_ids(folder, name)) for name in ("screens", "insurance")]
    clusters = listed(folder, *known)
    assert [one.known for one in clusters.clusters] == ["Our screens", "Our insurance"]
    table = pq.read_table(folder / "clusters" / "assignment.parquet").to_pylist()
    assert {row["dialogue_id"] for row in table if not row["belongs"]} == {one.dialogue_id for one in odd}
    assert clusters.outside == pytest.approx(4 / 124)
    later = cluster(indexed(folder, [replace(odd[0], dialogue_id="later", turns=odd[0].turns[::-1])], encoder))
    assert later.outside == pytest.approx(5 / 125)


def test_bertopic_1946_and_1771_belonging_to_nothing_is_no_cluster_and_shifts_no_id(desk):
    """MaartenGr/BERTopic #1946, #1771: with a list, -1 becomes a number, and labels and names differ in number."""
    without = cluster(Collection(desk))
    clusters = listed(desk, topic("cards"), PARROTS)
    assert {one.id for one in without.clusters} <= {one.id for one in clusters.clusters}
    table = pq.read_table(desk / "clusters" / "assignment.parquet")
    assert table["belongs"].type == "bool"
    assert set(table["cluster"].to_pylist()) <= {one.id for one in clusters.clusters}
    assert min(one.id for one in clusters.clusters) == 0


def test_bertopic_1809_copies_are_in_the_groups_of_their_originals(desk, calls, encoder):
    """MaartenGr/BERTopic #1809: a model that was loaded again gives numbers shifted by one."""
    found = cluster(Collection(desk))
    first, second, third = (one.id for one in found.clusters[:3])
    curate(Collection(desk), "merge", first, other=second)
    moved = next(one for one in calls if named(desk)[one.dialogue_id] == {c.id: c.name for c in found.clusters}[third])
    curate(Collection(desk), "move", first, dialogue=moved.dialogue_id)
    before = named(desk)
    known = [moved, *(one for one in calls[:10] if one is not moved)][:10]
    indexed(desk, [*calls[:400], *(replace(one, dialogue_id=f"copy {one.dialogue_id}") for one in known)], encoder)
    code = f"from dial2vec.collection import Collection, clustering; clustering.cluster(Collection({str(desk)!r}))"
    subprocess.run([sys.executable, "-c", code], check=True)
    after = named(desk)
    assert {id: after[id] for id in before} == before
    assert [after[f"copy {one.dialogue_id}"] for one in known] == [before[one.dialogue_id] for one in known]
    assert len(after) == 410


class HalfPrecision:
    """An encoder whose vectors are rounded to bfloat16."""

    def __init__(self, encoder) -> None:
        self.encoder = encoder

    def __getattr__(self, name):
        return getattr(self.encoder, name)

    def encode_marking_long(self, *args, **how):
        vectors, long = self.encoder.encode_marking_long(*args, **how)
        return ((vectors.astype(np.float32).view(np.uint32) + 0x8000) & 0xFFFF0000).view(np.float32), long


def test_bertopic_559_bfloat16_and_another_number_of_threads_give_the_same_groups_and_names(calls, encoder, tmp_path):
    """MaartenGr/BERTopic #559: other topics on another machine."""
    from threadpoolctl import threadpool_limits

    results = []
    for threads, reader in ((1, encoder), (2, HalfPrecision(encoder))):
        with threadpool_limits(threads):
            clusters = cluster(indexed(tmp_path / str(threads), calls, reader))
        results.append((named(tmp_path / str(threads)), ids(clusters)))
    # Groups with equal names of all dialogues have an adjusted Rand index of 1.
    assert results[0] == results[1]
    assert not np.array_equal(*(Collection(tmp_path / name).vectors for name in "12"))
