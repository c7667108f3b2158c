from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dial2vec.config import Promote
from dial2vec.errors import BusyError, ModelError
from dial2vec.evaluation.intervals import Contributions
from dial2vec.registry import decisions
from dial2vec.registry.champions import history, promote, rollback
from dial2vec.registry.records import Decision, Figures
from dial2vec.registry.store import open_store
from dial2vec.registry.tracking import local_model, register_training, registered_versions
from tests.registry.conftest import points
from tests.registry.fake_client import FakeClient

MARGINS = Promote(confidence=0.0)


def aliases(root: Path) -> dict[str, str]:
    return {alias: one.version for one in registered_versions(root, "demo") for alias in one.aliases}


def test_a_champion_that_is_rolled_back_gives_way_to_the_one_before(project):
    done = rollback(project, "demo", because="answers were odd")
    assert (done.kind, done.version, done.before, done.after) == ("rolled back", "3", "3", "2")
    # The one before version 2 is version 1, and version 3 is no place to go back to.
    assert aliases(project) == {"candidate": "3", "champion": "2", "previous": "1"}
    rollback(project, "demo")
    assert aliases(project) == {"candidate": "3", "champion": "1"}
    with pytest.raises(ModelError, match=r"no earlier champion\. Name a version: dial2vec rollback demo --to N"):
        rollback(project, "demo")


def test_what_was_rolled_back_is_not_promoted_again_by_itself(project):
    rollback(project, "demo", because="answers were odd")
    [reason] = promote(project, "demo", MARGINS).reasons
    assert reason.startswith("version 3 was rolled back (")
    assert "answers were odd" in reason
    assert aliases(project)["champion"] == "2"


def test_what_was_rolled_back_can_be_brought_back_by_hand(project):
    rollback(project, "demo")
    rollback(project, "demo", to="3")
    assert aliases(project) == {"candidate": "3", "champion": "3", "previous": "2"}
    assert "rolled_back" not in open_store(project).get_model_version("dial2vec-demo", "3").tags


def test_rolling_back_to_nothing_is_one_sentence(registered):
    with pytest.raises(ModelError, match=r"dial2vec-demo has no version 9\. It has: 1, 2\."):
        rollback(registered, "demo", to="9")
    with pytest.raises(ModelError, match="version 1 of dial2vec-demo is the champion already"):
        rollback(registered, "demo", to="1")


def test_history_tells_who_was_champion_and_why(project, make_record):
    worse = {"start": points(68, 38, 54), "trained": points(60, 30, 50)}
    register_training(project, make_record(fingerprint="f3", dev_scores=worse))
    promote(project, "demo", MARGINS)
    rollback(project, "demo", because="answers were odd")
    told = history(project, "demo")
    assert [(one.kind, one.version, one.before, one.after) for one in told] == [
        ("first", "1", "", "1"),
        ("promoted", "2", "1", "2"),
        ("promoted", "3", "2", "3"),
        ("refused", "4", "3", "3"),
        ("rolled back", "3", "3", "2"),
    ]
    assert told[3].reason.startswith("purity 60.00 on dev is 8.00 below the base encoder's 68.00")
    assert str(told[4]).endswith("version 3 rolled back; champion is version 2 (before: 3). answers were odd")


def test_the_same_refusal_is_remembered_once(root, make_record):
    worse = {"start": points(68, 38, 54), "trained": points(69, 39, 53)}
    register_training(root, make_record(dev_scores=worse))
    for _ in range(3):
        promote(root, "demo", MARGINS)
    assert [one.kind for one in history(root, "demo")] == ["first", "refused"]


def test_the_page_of_the_model_says_who_is_champion_and_the_version_why(registered):
    promote(registered, "demo", MARGINS)
    client = open_store(registered)
    assert client.get_registered_model("dial2vec-demo").description.startswith("Champion: version 2, since 20")
    card, verdict = client.get_model_version("dial2vec-demo", "2").description.split("## Verdict")
    assert "## Intended use" in card
    assert "**Promoted**: version 2 is champion in place of version 1." in verdict
    assert "| MAP | 55.00 | 54.00 | not compared |" in verdict


def test_a_verdict_with_the_dialogues_at_hand_shows_its_intervals(registered):
    def rescore(folder: Path) -> Figures:
        trained = folder == local_model("models:/dial2vec-demo/2", root=registered)
        share = 0.6 if trained else 0.5
        rows = np.full((3, 30), share) + np.linspace(-0.1, 0.1, 30)
        return Figures(points(*[100 * share] * 3), Contributions(*rows))

    assert promote(registered, "demo", Promote(), rescore=rescore, dev_hash="dev-1").promoted
    text = open_store(registered).get_model_version("dial2vec-demo", "2").description
    assert "| MAP | 60.00 | 50.00 | +10.00 [+10.00, +10.00] |" in text
    experiment = open_store(registered).get_experiment_by_name("dial2vec-demo").experiment_id
    [run] = open_store(registered).search_runs([experiment], "tags.`decision.kind` = 'promoted'")
    assert run.data.metrics["gain_over_champion_map_low"] == pytest.approx(10)


@pytest.mark.parametrize(("dialogues", "by_figures"), [(3, False), (39, False), (40, True)])
def test_figures_of_a_handful_of_labelled_dialogues_decide_nothing(registered, dialogues, by_figures):
    """Of three gains that agree an interval is above 0, and that is chance in a quarter of all cases."""

    def rescore(folder: Path) -> Figures:
        share = 0.6 if folder == local_model("models:/dial2vec-demo/2", root=registered) else 0.5
        return Figures(points(*[100 * share] * 3), Contributions(*np.full((3, dialogues), share)))

    verdict = promote(
        registered, "demo", Promote(), rescore=rescore, compare=lambda rival, model: "not clearly ahead", dev_hash="d"
    )
    assert verdict.promoted == by_figures
    if not by_figures:
        said = "with fewer than 40 labelled dialogues, against version 1: not clearly ahead"
        assert verdict.reasons == [said]


def test_a_kill_in_the_middle_of_a_rollback_leaves_a_champion_to_go_back_to(project, monkeypatch):
    move = FakeClient.set_registered_model_alias

    def die(client: FakeClient, name: str, alias: str, version: str) -> None:
        move(client, name, alias, version)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(FakeClient, "set_registered_model_alias", die)
        with pytest.raises(KeyboardInterrupt):
            rollback(project, "demo")
    assert history(project, "demo")[-1].kind == "rolled back"
    assert aliases(project) == {"candidate": "3", "champion": "2", "previous": "1"}


def test_a_champion_that_another_machine_has_moved_is_not_overruled(registered):
    client = open_store(registered)
    experiment = client.get_experiment_by_name("dial2vec-demo").experiment_id
    with pytest.raises(BusyError, match="the champion of dial2vec-demo has changed meanwhile"):
        decisions.record(client, experiment, "demo", Decision("promoted", "2", "7", "2", "better", 1000.0))
    assert aliases(registered)["champion"] == "1"
    assert [one.kind for one in history(registered, "demo")] == ["first"]


def test_without_a_champion_a_better_candidate_becomes_it(registered):
    open_store(registered).delete_registered_model_alias("dial2vec-demo", "champion")
    assert promote(registered, "demo", MARGINS).promoted
    assert aliases(registered)["champion"] == "2"


@pytest.mark.parametrize("moved", [False, True])
def test_a_kill_while_the_alias_moves_is_settled_by_the_next(registered, monkeypatch, moved: bool):
    move = FakeClient.set_registered_model_alias

    def die(client: FakeClient, name: str, alias: str, version: str) -> None:
        if moved and alias == "champion":
            return move(client, name, alias, version)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(FakeClient, "set_registered_model_alias", die)
        with pytest.raises(KeyboardInterrupt):
            promote(registered, "demo", MARGINS)
    kinds = [one.kind for one in history(registered, "demo")]
    assert kinds == (["first", "promoted"] if moved else ["first"])
    assert aliases(registered).get("previous") == ("1" if moved else None)
    assert promote(registered, "demo", MARGINS).promoted != moved
    assert aliases(registered) == {"candidate": "2", "champion": "2", "previous": "1"}


def test_decisions_keep_their_order_when_the_clock_is_set_back(registered):
    client = open_store(registered)
    experiment = client.get_experiment_by_name("dial2vec-demo").experiment_id
    for when, after in ((2000.0, "2"), (1000.0, "1")):
        decision = Decision("rolled back", "1", "1" if after == "2" else "2", after, "why not", when)
        decisions.record(client, experiment, "demo", decision)
    assert [one.when for one in history(registered, "demo")][1:] == [2000.0, 1000.0]


def test_a_champion_that_moved_while_the_candidate_was_measured_is_not_overruled(project, make_record):
    better = {"start": points(68, 38, 54), "trained": points(80, 45, 70)}
    register_training(project, make_record(fingerprint="f3", dev_scores=better))

    def rescore(folder: Path) -> Figures:
        if aliases(project)["champion"] == "3":
            rollback(project, "demo")
        return Figures(points(80, 45, 70))

    with pytest.raises(BusyError, match="has changed meanwhile; run `dial2vec promote demo` again"):
        promote(project, "demo", MARGINS, rescore=rescore)
