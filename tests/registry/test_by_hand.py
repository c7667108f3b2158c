"""People move and delete in MLflow: a champion that is not ours is recorded, and what no longer works is healed."""

from __future__ import annotations

import shutil
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from conversations.files import write_json
from dial2vec.errors import BusyError, ModelError
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.registry import by_hand, decisions
from dial2vec.registry.by_hand import noticed
from dial2vec.registry.champions import history, promote, rollback
from dial2vec.registry.receipts import reconcile, standing_champion
from dial2vec.registry.records import Decision
from dial2vec.registry.store import open_store, store_uri
from dial2vec.registry.tracking import local_model, register_training, run_address
from tests.registry.conftest import points
from tests.registry.fake_client import FakeClient
from tests.registry.test_champions import MARGINS, aliases

NAME = "dial2vec-demo"


@pytest.fixture
def receipt(registered, record):
    """The receipt of stage register in a project in which version 2 was registered."""
    path = Artifacts(registered, "demo").registration
    write_json(path, asdict(register_training(registered, record)))
    return path


def decided(root):
    return [(one.kind, one.before, one.after) for one in history(root, "demo")]


def said_once(root):
    """What a command says, which the history then holds and no later command says again."""
    lines = noticed(root, "demo")
    assert [line.removeprefix(f"{NAME}: ") for line in lines] == [str(one) for one in history(root, "demo")][3:]
    assert noticed(root, "demo") == []
    return lines


def test_a_champion_moved_back_by_hand_stays_and_the_history_says_so(registered):
    assert promote(registered, "demo", MARGINS).promoted
    client = open_store(registered)
    client.set_registered_model_alias(NAME, "champion", "1")
    [reason] = promote(registered, "demo", MARGINS).reasons
    assert reason.startswith("version 2 was rolled back (20")
    assert ": by hand, in MLflow). " in reason
    assert aliases(registered) == {"candidate": "2", "champion": "1", "previous": "2"}
    assert decided(registered) == [("first", "", "1"), ("promoted", "1", "2"), ("moved by hand", "2", "1")]
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
    assert decided(registered)[2:] == [("moved by hand", "2", "1"), ("promoted", "1", "2")]


def test_a_candidate_made_champion_by_hand_is_champion(registered, make_record):
    open_store(registered).set_registered_model_alias(NAME, "champion", "2")
    assert promote(registered, "demo", MARGINS).reasons == ["version 2 is the champion already"]
    assert aliases(registered) == {"candidate": "2", "champion": "2", "previous": "1"}
    assert "rolled_back" not in open_store(registered).get_model_version(NAME, "1").tags
    assert decided(registered)[1:] == [("moved by hand", "1", "2")]


def test_an_alias_that_does_not_move_is_no_promotion(registered, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(FakeClient, "set_registered_model_alias", lambda *_: None)
        with pytest.raises(BusyError, match="the champion of dial2vec-demo has changed meanwhile"):
            promote(registered, "demo", MARGINS)
    assert decided(registered) == [("first", "", "1")]


@pytest.mark.parametrize("call", ["create_run", "set_registered_model_alias", "set_terminated"])
@pytest.mark.parametrize(
    ("change", "decision", "left"),
    [
        (("set_registered_model_alias", "champion", "1"), ("moved by hand", "3", "1"), ("3", "1", "3")),
        (("delete_model_version", "3"), ("removed by hand", "3", "2"), (None, "2", "1")),
    ],
)
def test_a_kill_while_a_change_by_hand_is_recorded_leaves_no_trace(project, monkeypatch, call, change, decision, left):
    method, *arguments = change
    getattr(open_store(project), method)(NAME, *arguments)
    done = getattr(FakeClient, call)

    def die(*arguments: object, **named: object) -> None:
        done(*arguments, **named)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(FakeClient, call, die)
        with pytest.raises(KeyboardInterrupt):
            history(project, "demo")
    assert decided(project)[3:] == [decision]
    assert tuple(map(aliases(project).get, ("candidate", "champion", "previous"))) == left


def test_a_move_of_another_machine_is_not_taken_for_one_by_hand(registered, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store_uri(registered))
    client = open_store(registered)
    experiment = client.get_experiment_by_name(NAME).experiment_id
    with monkeypatch.context() as patch:
        # It has written its decision down, and not moved the alias yet.
        patch.setattr(FakeClient, "set_registered_model_alias", lambda *_: 1 / 0)
        begun = Decision("promoted", "2", "1", "2", "better", time.time())
        with pytest.raises(ZeroDivisionError):
            decisions.record(client, experiment, "demo", begun)
    decisions.settle(client, experiment, "demo")
    client.set_registered_model_alias(NAME, "champion", "2")
    assert by_hand.notice(client, experiment, "demo") is None
    assert decided(registered) == [("first", "", "1"), ("promoted", "1", "2")]


def test_a_deleted_champion_alias_goes_to_the_champion_before(project):
    open_store(project).delete_registered_model_alias(NAME, "champion")
    assert decided(project)[3:] == [("removed by hand", "3", "2")]
    assert aliases(project) == {"candidate": "3", "champion": "2", "previous": "1"}
    line = str(history(project, "demo")[-1])
    assert (
        "  version 3 removed by hand; champion is version 2 (before: 3). Somebody deleted the alias `champion`" in line
    )
    # Nobody said that version 3 is bad.
    assert promote(project, "demo", MARGINS).promoted


def test_a_deleted_alias_of_the_first_champion_goes_to_the_start_again(registered):
    open_store(registered).delete_registered_model_alias(NAME, "champion")
    assert decided(registered)[1:] == [("removed by hand", "1", "1")]
    assert aliases(registered) == {"candidate": "2", "champion": "1"}


def test_a_champion_whose_predecessors_cannot_be_loaded_is_followed_by_the_start(project):
    shutil.rmtree(local_model(f"models:/{NAME}/2", root=project).parents[1])
    open_store(project).delete_model_version(NAME, "3")
    assert decided(project)[3:] == [("removed by hand", "3", "1")]
    assert aliases(project) == {"champion": "1"}


def test_a_deleted_candidate_is_registered_again(registered, receipt, record):
    open_store(registered).delete_model_version(NAME, "2")
    with pytest.raises(ModelError, match=r"no version under the alias 'candidate'\. Run `dial2vec run` first"):
        run_address(registered, "demo")
    [note] = reconcile(registered, ["demo"])
    assert note == f"{NAME}: version 2 is no longer in the registry, so stage register runs again"
    assert not receipt.exists()
    assert register_training(registered, record).version == "3"
    assert promote(registered, "demo", MARGINS).promoted
    assert aliases(registered) == {"candidate": "3", "champion": "3", "previous": "1"}


def test_a_kill_before_the_receipt_is_gone_records_the_removal_once(registered, receipt, monkeypatch):
    open_store(registered).delete_model_version(NAME, "1")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            reconcile(registered, ["demo"])
    reconcile(registered, ["demo"])
    assert decided(registered)[1:] == [("removed by hand", "1", "")]
    assert not receipt.exists()


def test_a_deleted_start_is_registered_again_and_the_candidate_names_the_new_one(registered, receipt, record):
    client = open_store(registered)
    client.delete_model_version(NAME, "1")
    reconcile(registered, ["demo"])
    assert not receipt.exists()
    done = register_training(registered, record)
    assert (done.version, done.start_version, done.champion_version, done.created) == ("2", "3", "3", False)
    assert decided(registered)[1:] == [("removed by hand", "1", ""), ("first", "", "3")]
    assert promote(registered, "demo", MARGINS).promoted
    assert aliases(registered) == {"candidate": "2", "champion": "2", "previous": "3"}


def test_a_deleted_model_is_made_again_with_its_history(registered, receipt, record, make_record):
    assert promote(registered, "demo", MARGINS).promoted
    better = {"start": points(68, 38, 54), "trained": points(70, 40, 60)}
    register_training(registered, make_record(fingerprint="f2", dev_scores=better))
    assert promote(registered, "demo", MARGINS).promoted
    open_store(registered).delete_registered_model(NAME)
    assert standing_champion(registered, "demo") == ""
    reconcile(registered, ["demo"])
    assert not receipt.exists()
    assert register_training(registered, record).version == "2"
    assert decided(registered)[3:] == [("removed by hand", "3", ""), ("first", "", "1")]
    line = str(history(registered, "demo")[3])
    assert "there is no champion (before: 3). Somebody deleted or renamed the model in MLflow" in line
    # Numbers of the old model mean nothing in the new one.
    assert promote(registered, "demo", MARGINS).promoted
    rollback(registered, "demo")
    assert aliases(registered) == {"candidate": "2", "champion": "1"}


def test_a_version_without_files_is_registered_again(registered, receipt, record):
    shutil.rmtree(local_model(f"models:/{NAME}/2", root=registered).parents[1])
    [note] = reconcile(registered, ["demo"])
    assert note.startswith("dial2vec-demo: the files of version 2 are gone")
    assert register_training(registered, record).version == "3"


@pytest.mark.parametrize("text", ["{broken", "[]", "{}"])
def test_a_receipt_that_cannot_be_read_is_written_again(registered, receipt, text):
    receipt.write_text(text)
    reconcile(registered, ["demo"])
    assert not receipt.exists()


def test_a_whole_registry_is_left_alone(registered, receipt, monkeypatch):
    assert reconcile(registered, ["demo", "never_trained"]) == []
    assert standing_champion(registered, "demo") == "1"
    assert receipt.exists()


def test_a_champion_without_files_is_replaced_by_the_one_before(project):
    shutil.rmtree(local_model(f"models:/{NAME}/3", root=project).parents[1])
    [line] = said_once(project)
    assert "version 3 removed by hand; champion is version 2 (before: 3). Somebody deleted the files of" in line
    assert local_model(f"models:/{NAME}@champion", root=project).is_dir()


def test_a_registry_without_any_files_keeps_its_champion_and_loading_it_is_one_sentence(project):
    shutil.rmtree(project / "mlruns" / "artifacts")
    assert noticed(project, "demo") == []
    assert aliases(project)["champion"] == "3"
    with pytest.raises(ModelError, match=r"the files of dial2vec-demo version 3 are gone: .* Restore them, or run"):
        local_model(f"models:/{NAME}@champion", root=project)


def test_a_renamed_model_is_told_and_comes_back(project):
    client = open_store(project)
    client.rename_registered_model(NAME, "dial2vec-old")
    with pytest.raises(ModelError, match=r"nothing is registered as dial2vec-demo\..* Registered: dial2vec-old"):
        promote(project, "demo", MARGINS)
    [line] = said_once(project)
    assert "there is no champion (before: 3). Somebody deleted or renamed the model in MLflow" in line
    client.rename_registered_model("dial2vec-old", NAME)
    assert "champion moved by hand; champion is version 3. " in noticed(project, "demo")[0]


def test_nothing_is_said_of_what_dial2vec_did_itself(project):
    assert noticed(project, "demo") == []
    assert noticed(project, "mistyped") == []
    assert open_store(project).get_experiment_by_name("dial2vec-mistyped") is None


@pytest.mark.parametrize("alias", ["candidate", "previous"])
def test_other_aliases_may_be_moved_and_deleted(project, alias):
    client = open_store(project)
    client.set_registered_model_alias(NAME, alias, "1")
    assert noticed(project, "demo") == []
    client.delete_registered_model_alias(NAME, alias)
    assert noticed(project, "demo") == []


def test_a_registry_that_is_gone_is_told_and_made_again(registered, receipt, record):
    shutil.rmtree(registered / "mlruns" / "artifacts")
    vars(open_store(registered)).update(vars(FakeClient(registered)))
    [note] = reconcile(registered, ["demo"])
    assert note == f"{NAME}: nothing is registered, so stage register runs again"
    assert register_training(registered, record).champion_version == "1"
