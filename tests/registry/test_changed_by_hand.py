"""Changes by hand in MLflow that leave the champion in place, and registries that were replaced as a whole."""

from __future__ import annotations

import shutil
import warnings

import pytest

from dial2vec.errors import ModelError
from dial2vec.registry.by_hand import noticed
from dial2vec.registry.champions import history, promote, rollback
from dial2vec.registry.records import CANDIDATE
from dial2vec.registry.store import hard_delete, open_store
from dial2vec.registry.tracking import local_model, register_training, run_address
from tests.registry.test_champions import MARGINS

NAME = "dial2vec-demo"


def said_once(root):
    """What a command says, which the history then holds and no later command says again."""
    lines = noticed(root, "demo")
    assert [line.removeprefix(f"{NAME}: ") for line in lines] == [str(one) for one in history(root, "demo")][3:]
    assert noticed(root, "demo") == []
    assert all(" by hand; " in line for line in lines)
    return lines


def test_nothing_is_said_of_what_dial2vec_did_itself(project):
    assert noticed(project, "demo") == []
    assert noticed(project, "mistyped") == []
    assert open_store(project).get_experiment_by_name("dial2vec-mistyped") is None


def test_a_moved_candidate_is_told(project):
    open_store(project).set_registered_model_alias(NAME, CANDIDATE, "2")
    [line] = said_once(project)
    assert (
        "version 2 changed by hand; champion stays version 3. Somebody moved the alias `candidate` from version 3 "
        in line
    )
    assert line.endswith("The gate judges version 2 from now on.")


def test_a_deleted_candidate_alias_is_told(project):
    open_store(project).delete_registered_model_alias(NAME, CANDIDATE)
    [line] = said_once(project)
    assert line.endswith(
        "deleted the alias `candidate` of version 3 in MLflow; noticed at this time. Stage register sets it again."
    )


def test_a_moved_and_a_deleted_previous_are_told(project):
    client = open_store(project)
    client.set_registered_model_alias(NAME, "previous", "1")
    [line] = said_once(project)
    assert line.endswith("`dial2vec rollback demo` goes to version 1 now.")
    client.delete_registered_model_alias(NAME, "previous")
    [line] = noticed(project, "demo")
    assert line.endswith("`dial2vec rollback demo` needs --to now.")


def test_a_stage_changes_nothing_and_the_way_out_is_told(project):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        open_store(project).transition_model_version_stage(NAME, "2", "Production")
    [line] = said_once(project)
    assert "put it to stage Production in MLflow (before: None)" in line
    assert line.endswith("To make it champion: dial2vec rollback demo --to 2.")


def test_a_version_made_by_hand_is_told(project):
    client = open_store(project)
    client.create_model_version(NAME, str(project))
    assert "version 4 changed by hand" in said_once(project)[0]


def test_a_deleted_old_version_is_told(project):
    open_store(project).delete_model_version(NAME, "2")
    lines = said_once(project)
    assert "version 2 removed by hand; champion stays version 3. Somebody deleted it in MLflow" in lines[0]
    with pytest.raises(ModelError, match=r"no earlier champion\. Name a version"):
        rollback(project, "demo")


def test_a_champion_without_files_is_replaced_by_the_one_before(project):
    shutil.rmtree(local_model(f"models:/{NAME}/3", root=project).parents[1])
    [line] = said_once(project)
    assert (
        "version 3 removed by hand; champion is version 2 (before: 3). Somebody deleted the files of version 3" in line
    )
    assert local_model(f"models:/{NAME}@champion", root=project).is_dir()


def test_a_registry_without_any_files_keeps_its_champion(project):
    shutil.rmtree(project / "mlruns" / "artifacts")
    lines = said_once(project)
    assert "champion stays version 3" in lines[0]
    assert "Restore them from a backup, or run `dial2vec run`." in lines[0]
    assert len(lines) == 3


def test_a_renamed_model_is_named_with_the_way_out(project, record):
    client = open_store(project)
    client.rename_registered_model(NAME, "dial2vec-old")
    with pytest.raises(ModelError, match=r"somebody renamed it to dial2vec-old in MLflow\. Give it its old name back"):
        promote(project, "demo", MARGINS)
    [line] = said_once(project)
    assert "there is no champion (before: 3). Somebody renamed the model to dial2vec-old in MLflow" in line
    client.rename_registered_model("dial2vec-old", NAME)
    assert "champion moved by hand; champion is version 3. " in noticed(project, "demo")[0]


def test_a_deleted_training_run_leaves_its_version_and_an_address(project):
    client = open_store(project)
    version = client.get_model_version(NAME, "3")
    hard_delete(client, run_id=version.run_id)
    assert run_address(project, "demo") == f"/#/models/{NAME}/versions/3"
    assert noticed(project, "demo") == []


def decision_runs(client):
    experiment = client.get_experiment_by_name(NAME)
    return client.search_runs([experiment.experiment_id], "tags.kind = 'decision'", order_by=["start_time DESC"])


def test_deleted_decisions_are_kept_until_they_are_gone_for_good(project):
    client = open_store(project)
    newest = decision_runs(client)[0].info.run_id
    client.delete_run(newest)
    assert [one.kind for one in history(project, "demo")] == ["first", "promoted", "promoted"]
    hard_delete(client, run_id=newest)
    lines = noticed(project, "demo")
    assert (
        "registry changed by hand; champion stays version 3. Somebody deleted decisions of this history (numbers: 3)"
        in lines[0]
    )
    assert len(lines) == 1
    assert noticed(project, "demo") == []


def test_a_champion_that_moves_while_its_decision_is_deleted_is_not_promoted_again(project):
    client = open_store(project)
    hard_delete(client, run_id=decision_runs(client)[0].info.run_id)
    client.set_registered_model_alias(NAME, "champion", "1")
    lost, moved = noticed(project, "demo")
    assert "Somebody deleted decisions of this history (numbers: 3)" in lost
    assert "champion moved by hand; champion is version 1 (before: 3)" in moved
    assert "was rolled back" in promote(project, "demo", MARGINS).reasons[0]


def test_an_older_backup_is_noticed_and_what_it_lacks_is_told(project, registered_store):
    shutil.rmtree(project / "mlruns")
    shutil.copytree(registered_store / "mlruns", project / "mlruns")
    lines = noticed(project, "demo")
    assert "has only 1 of the 3 decisions, so it was restored from an older state" in lines[0]
    assert "Before that, version 3 was champion." in lines[0]
    assert noticed(project, "demo") == []
    assert [one.kind for one in history(project, "demo")] == ["first", "changed by hand"]


def test_a_database_that_is_gone_is_noticed(project, record):
    shutil.rmtree(project / "mlruns")
    lines = noticed(project, "demo")
    assert "registry changed by hand; there is no champion. The registry has none of the 3 decisions" in lines[0]
    register_training(project, record)
    assert [one.kind for one in history(project, "demo")] == ["changed by hand", "first"]
    assert noticed(project, "demo") == []
