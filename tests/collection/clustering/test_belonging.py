from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from conversations.dialogue import Dialogue, Turn
from dial2vec.cli import main
from dial2vec.collection import Collection
from dial2vec.collection.clustering import cluster
from dial2vec.collection.clustering.belonging import belonging
from dial2vec.collection.clustering.curation import curate
from dial2vec.data.corpora.demo import generate_demo
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.names import GENERAL
from dial2vec.encoder.nearest import unit_rows
from tests.collection.made import indexed
from tests.collection.planted import planted

TOPICS, NOTHING = ("passwords", "screens", "seats", "bills", "insurance"), 95


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """300 calls of five topics, and 95 of nothing: random turns of another corpus."""
    calls = [Dialogue(one.dialogue_id, one.turns) for one in planted(quiet=True) if one.labels[0] in TOPICS][:300]
    rng, demo = np.random.default_rng(1), generate_demo(n_dialogues=300)
    others = [turn.text for one in demo for turn in one.turns]
    nothing = [
        Dialogue(f"nothing {at}", tuple(Turn("AB"[n % 2], others[rng.integers(len(others))]) for n in range(3)))
        for at in range(NOTHING)
    ]
    every = [*calls, *nothing]
    order = rng.permutation(len(every))
    folder = tmp_path_factory.mktemp("mixed") / "calls"
    return indexed(folder, [every[at] for at in order], load_encoder(GENERAL))


def test_latent_scope_143_what_belongs_to_nothing_is_said_to_and_changes_no_group(mixed):
    """enjalot/latent-scope #143: 24 % of nothing silently join a group, and one step of a parameter makes 3 of 53."""
    clusters = cluster(mixed)
    table = pq.read_table(mixed.folder / "clusters" / "assignment.parquet").to_pylist()
    nothing = {row["dialogue_id"] for row in table if row["dialogue_id"].startswith("nothing")}
    outside = {row["dialogue_id"] for row in table if not row["belongs"]}
    assert len(outside & nothing) >= 0.95 * len(nothing)
    assert len(outside & nothing) >= 0.9 * len(outside)
    assert clusters.outside == pytest.approx(len(outside) / 395)
    assert all(row["cluster"] is not None for row in table)
    shown = CliRunner().invoke(main, ["cluster", str(mixed.folder)]).output
    assert f"{clusters.outside:.1%} belong to nothing, and are in the nearest cluster: column `belongs`." in shown


def test_what_a_person_moves_belongs_to_its_topic(mixed):
    before = cluster(mixed)
    table = pq.read_table(mixed.folder / "clusters" / "assignment.parquet").to_pylist()
    row = next(row for row in table if not row["belongs"])
    to = next(one.id for one in before.clusters if one.id != row["cluster"])
    after = curate(Collection(mixed.folder), "move", to, dialogue=row["dialogue_id"]).after
    assert after.outside == pytest.approx(before.outside - 1 / 395)


def test_one_that_belonged_to_nothing_belongs_to_a_topic_when_others_like_it_come(make):
    make.add(*[0, 1, 2] * 40, 5, spread=0.05)
    assert cluster(Collection(make.folder)).outside == pytest.approx(1 / 121)
    assert cluster(make.add(*[5] * 40, spread=0.05)).outside == 0


def test_few_dialogues_and_copies_belong():
    units = unit_rows(np.random.default_rng(1).normal(size=(99, 8))).astype(np.float32)
    assert belonging(units, np.arange(99), seed=1).all()
    copies = np.repeat(units[:10], 20, axis=0) + np.float32(1e-6)
    assert belonging(copies, np.arange(200), seed=1).all()
