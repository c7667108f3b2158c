from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from conversations.files import read_json
from dial2vec.cli import main
from dial2vec.collection.clustering import cluster
from dial2vec.collection.clustering.clusters import stored_clusters
from dial2vec.collection.describing import describe_groups, questions_of
from dial2vec.collection.describing.audit import MARGIN
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.names import GENERAL
from tests.collection.describing.conftest import Reply
from tests.collection.made import indexed
from tests.collection.planted import TOPICS, planted


@pytest.fixture
def desk(tmp_path):
    """400 calls of a help desk in clusters; the id of each call ends with its topic."""
    calls = [replace(one, dialogue_id=f"{one.dialogue_id} {one.labels[0]}", labels=()) for one in planted(quiet=True)]
    collection = indexed(tmp_path / "desk", calls[:400], load_encoder(GENERAL))
    cluster(collection)
    return collection


def test_a_wrong_name_is_nearer_to_another_cluster_and_right_ones_are_not(desk, server):
    def audit(*options: str):
        return CliRunner().invoke(main, ["describe", str(desk.folder), "--audit", *options])

    assert "has no descriptions; expected those of `dial2vec describe" in audit().stderr
    groups, topics = stored_clusters(desk).state.groups, [id.split()[-1] for id in desk.rows["dialogue_id"].to_pylist()]
    names = []
    for place in range(groups.max() + 1):
        [(topic, _)] = Counter(topics[row] for row in np.flatnonzero(groups == place)).most_common(1)
        names.append(TOPICS[topic][0].partition(" ")[2])
    server.replies = [Reply(json.dumps({"name": name, "summary": "A sentence."})) for name in names]
    questions = questions_of(desk, server.settings(), masks=None)
    describe_groups(desk, server.settings(), questions, masked=False)
    assert audit().stdout == f"0 of {len(names)} names are clearly nearer to another cluster's dialogues\n"

    path = desk.folder / "descriptions" / "descriptions.json"
    record = read_json(path)
    first, second, *_ = record["clusters"].values()
    first["name"] = second["name"]
    path.write_text(json.dumps(record))
    wrong, right, *_ = json.loads(audit("--json").stdout)
    assert wrong["nearest"] == right["nearest"] == right["cluster"] != wrong["cluster"]
    assert wrong["cosine"] + MARGIN < wrong["highest"] == right["cosine"]
    assert (wrong["doubtful"], right["doubtful"]) == (True, False)
    lines = audit().stdout.splitlines()
    assert lines[0].startswith(f"cluster {wrong['cluster']:>4}  {wrong['name']}: cosine {wrong['cosine']:.2f}, and ")
    assert lines[1:] == [f"1 of {len(names)} names are clearly nearer to another cluster's dialogues"]
