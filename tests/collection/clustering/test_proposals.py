from __future__ import annotations

import pytest
from click.testing import CliRunner

from dial2vec.cli import main
from dial2vec.collection import Collection
from dial2vec.collection.clustering import cluster, read_clusters
from dial2vec.collection.clustering import proposals as module
from dial2vec.collection.clustering.curation import curate
from dial2vec.collection.clustering.decisions import Edit, read_decisions
from dial2vec.collection.clustering.proposals import open_proposals, propose, read_proposals, settle_proposal
from dial2vec.errors import ArtifactError, CorpusError
from tests.collection.clustering.conftest import Maker


@pytest.fixture
def calls(tmp_path, dialogue) -> Collection:
    """Clusters 0 and 1, of dialogues d0 to d19 and d20 to d39."""
    maker = Maker(tmp_path / "c", dialogue)
    cluster(maker.add(*[0] * 20, *[1] * 20), k=2)
    return Collection(maker.folder)


def names(calls: Collection) -> list[str]:
    return [cluster.name for cluster in read_clusters(Collection(calls.folder))[0].clusters]


def test_a_proposal_waits_and_is_carried_out_once_when_it_is_accepted(calls):
    before = names(calls)
    made = propose(calls, Edit("rename", 1, to="Lost  cards\x07"), "d20, turn 0\nsays\x1b so")
    assert (made.number, made.decision.to, made.reason) == (1, "Lost cards", "d20, turn 0 says so")
    assert names(calls) == before
    assert read_proposals(calls.folder) == [made]
    settle_proposal(Collection(calls.folder), 1, accepted=True)
    assert names(calls) == [before[0], "Lost cards"]
    assert [made.state for made in read_proposals(calls.folder)] == ["accepted"]
    with pytest.raises(CorpusError, match="no proposal 1 waits; expected one of none"):
        settle_proposal(Collection(calls.folder), 1, accepted=True)


def test_the_same_proposal_waits_once(calls):
    assert propose(calls, Edit("hide", 0), "noise") == propose(calls, Edit("hide", 0), "still noise")
    assert len(read_proposals(calls.folder)) == 1


def test_a_proposal_that_is_dismissed_changes_nothing_and_is_kept(calls):
    before = names(calls)
    propose(calls, Edit("hide", 0), "noise")
    propose(calls, Edit("merge", 1, other=0), "alike")
    assert settle_proposal(calls, 1, accepted=False) is None
    assert names(calls) == before
    assert read_decisions(calls.folder).made == ()
    assert [made.state for made in read_proposals(calls.folder)] == ["dismissed", "open"]


@pytest.mark.parametrize(
    ("action", "options", "message"),
    [
        ("rename", {}, "found `rename` without a new name"),
        ("hide", {"to": "a"}, "found `hide` with a new name"),
        ("merge", {"other": 7}, "has no cluster 7"),
        ("move", {"dialogue": "d99"}, "has no dialogue 'd99'"),
        ("move", {"dialogue": "d0"}, "is in cluster 0"),
        ("rename", {"to": " "}, "blank name"),
        ("merge", {"other": 0}, "a cluster cannot join itself"),
        ("split", {}, "has no fine topics"),
        ("explode", {}, "found the action 'explode'; expected one of rename"),
    ],
)
def test_what_could_not_be_carried_out_is_refused(calls, action, options, message):
    with pytest.raises(CorpusError, match=message):
        propose(calls, Edit(action, 0, **options), "why")
    assert read_proposals(calls.folder) == []


def test_a_proposal_about_topics_that_have_changed_waits_no_more(calls):
    propose(calls, Edit("merge", 1, other=0), "alike")
    # A new clustering may give an id to other dialogues, too.
    curate(calls, "rename", 0, to="Lost cards")
    assert open_proposals(Collection(calls.folder)) == []
    with pytest.raises(CorpusError, match="no proposal 1 waits"):
        settle_proposal(Collection(calls.folder), 1, accepted=True)
    assert propose(Collection(calls.folder), Edit("merge", 1, other=0), "alike").number == 2


def test_a_line_that_was_removed_by_hand_moves_no_number(calls):
    for cluster_id in (0, 1):
        propose(calls, Edit("hide", cluster_id), "noise")
    path = calls.folder / "proposals.jsonl"
    path.write_text(path.read_text(encoding="utf-8").split("\n", 1)[1], encoding="utf-8")
    settle_proposal(calls, 2, accepted=False)
    propose(calls, Edit("hide", 0), "noise")
    assert [(made.number, made.state) for made in read_proposals(calls.folder)] == [(2, "dismissed"), (3, "open")]


def test_no_more_wait_than_a_person_can_read(calls, monkeypatch):
    monkeypatch.setattr(module, "MOST", 1)
    propose(calls, Edit("hide", 0), "noise")
    with pytest.raises(CorpusError, match="1 proposals wait already"):
        propose(calls, Edit("hide", 1), "noise")


def test_a_damaged_file_is_named(calls):
    (calls.folder / "proposals.jsonl").write_text("{\n", encoding="utf-8")
    with pytest.raises(ArtifactError, match=r"proposals\.jsonl cannot be read"):
        read_proposals(calls.folder)


def test_the_shell_lists_accepts_and_dismisses(calls):
    before = names(calls)
    propose(calls, Edit("rename", 1, to="Lost cards"), "more exact")
    propose(calls, Edit("hide", 0), "noise")

    def said(*options: str) -> str:
        result = CliRunner().invoke(main, ["curate", str(calls.folder), "proposals", *options])
        assert result.exit_code == 0, result.output
        return result.output

    assert f"rename “{before[1]}” to “Lost cards”\n     more exact" in said()
    assert f"“{before[1]}” is called “Lost cards” now." in said("--accept", "1")
    assert "Proposal 2 is dismissed.\n0 proposals of agents" in said("--dismiss", "2")
