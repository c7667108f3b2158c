"""People move and delete in MLflow; the registry notices, writes it down, and heals what no longer works."""

from __future__ import annotations

import time

import mlflow
import pytest

from dial2vec.errors import BusyError
from dial2vec.registry import decisions
from dial2vec.registry.champions import history, promote, rollback
from dial2vec.registry.records import Decision
from dial2vec.registry.store import open_store, store_uri
from registry.test_champions import MARGINS, aliases, third

NAME = "dial2vec-demo"


def told(root):
    return [(one.kind, one.before, one.after) for one in history(root, "demo")]


def test_a_champion_moved_back_by_hand_stays_and_the_history_says_so(registered):
    assert promote(registered, "demo", MARGINS).promoted
    client = open_store(registered)
    client.set_registered_model_alias(NAME, "champion", "1")
    [reason] = promote(registered, "demo", MARGINS).reasons
    assert reason.startswith("version 2 was rolled back (20")
    assert ": by hand, in MLflow). " in reason
    assert aliases(registered) == {"candidate": "2", "champion": "1", "previous": "2"}
    assert told(registered) == [("first", "", "1"), ("promoted", "1", "2"), ("moved by hand", "2", "1")]
    assert "  champion moved by hand; champion is version 1 (before: 2). " in str(history(registered, "demo")[-1])
    experiment = client.get_experiment_by_name(NAME).experiment_id
    [run] = client.search_runs([experiment], "tags.`decision.kind` = 'moved by hand'")
    assert (run.info.run_name, run.info.status) == ("champion moved by hand", "FINISHED")
    assert client.get_registered_model(NAME).description.startswith("Champion: version 1, since 20")
    # `previous` is a place to go back to, as after any other move.
    rollback(registered, "demo")
    assert aliases(registered) == {"candidate": "2", "champion": "2", "previous": "1"}


def test_a_promotion_that_is_told_has_moved_the_alias(registered):
    assert promote(registered, "demo", MARGINS).promoted
    client = open_store(registered)
    client.set_registered_model_alias(NAME, "champion", "1")
    history(registered, "demo")
    client.delete_model_version_tag(NAME, "2", "rolled_back")
    assert promote(registered, "demo", MARGINS).promoted
    assert aliases(registered)["champion"] == "2"
    assert told(registered)[2:] == [("moved by hand", "2", "1"), ("promoted", "1", "2")]


def test_a_candidate_made_champion_by_hand_is_champion(registered, make_record):
    open_store(registered).set_registered_model_alias(NAME, "champion", "2")
    assert promote(registered, "demo", MARGINS).reasons == ["version 2 is the champion already"]
    assert aliases(registered) == {"candidate": "2", "champion": "2", "previous": "1"}
    assert "rolled_back" not in open_store(registered).get_model_version(NAME, "1").tags
    assert told(registered)[1:] == [("moved by hand", "1", "2")]


def test_a_previous_that_was_set_by_hand_with_the_champion_stays(registered, make_record):
    third(registered, make_record)
    client = open_store(registered)
    client.set_registered_model_alias(NAME, "champion", "2")
    client.set_registered_model_alias(NAME, "previous", "1")
    history(registered, "demo")
    assert aliases(registered) == {"candidate": "3", "champion": "2", "previous": "1"}


def test_an_alias_that_does_not_move_is_no_promotion(registered, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(mlflow.MlflowClient, "set_registered_model_alias", lambda *_: None)
        with pytest.raises(BusyError, match="the champion of dial2vec-demo has changed meanwhile"):
            promote(registered, "demo", MARGINS)
    assert told(registered) == [("first", "", "1")]


@pytest.mark.parametrize("call", ["create_run", "set_registered_model_alias", "set_tag", "set_terminated"])
def test_a_kill_while_a_move_by_hand_is_written_down_leaves_no_trace(registered, make_record, monkeypatch, call):
    third(registered, make_record)
    open_store(registered).set_registered_model_alias(NAME, "champion", "1")
    done = getattr(mlflow.MlflowClient, call)

    def die(*arguments: object, **named: object) -> None:
        done(*arguments, **named)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(mlflow.MlflowClient, call, die)
        with pytest.raises(KeyboardInterrupt):
            history(registered, "demo")
    assert told(registered)[3:] == [("moved by hand", "3", "1")]
    assert aliases(registered) == {"candidate": "3", "champion": "1", "previous": "3"}


def test_a_move_of_another_machine_is_not_taken_for_one_by_hand(registered, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store_uri(registered))
    client = open_store(registered)
    experiment = client.get_experiment_by_name(NAME).experiment_id
    with monkeypatch.context() as patch:
        # It has written its decision down, and not moved the alias yet.
        patch.setattr(mlflow.MlflowClient, "set_registered_model_alias", lambda *_: 1 / 0)
        begun = Decision("promoted", "2", "1", "2", "better", time.time())
        with pytest.raises(ZeroDivisionError):
            decisions.record(client, experiment, "demo", begun)
    decisions.settle(client, experiment, "demo")
    client.set_registered_model_alias(NAME, "champion", "2")
    assert decisions.notice(client, experiment, "demo") is None
    assert told(registered) == [("first", "", "1"), ("promoted", "1", "2")]
