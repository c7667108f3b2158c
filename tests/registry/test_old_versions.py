"""Old versions: which ones stay and why, and what a removal leaves, also after a kill."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from dial2vec.cli import main
from dial2vec.config import Prune
from dial2vec.errors import ModelError
from dial2vec.project.dvc_cache import object_path
from dial2vec.project.prune import plan_prune
from dial2vec.registry.by_hand import noticed
from dial2vec.registry.champions import history
from dial2vec.registry.old_versions import old_versions, orphans, remove
from dial2vec.registry.records import size_of
from dial2vec.registry.store import open_store
from dial2vec.registry.tracking import local_model, register_training, registered_versions
from tests.registry.conftest import points
from tests.registry.fake_client import FakeClient

NAME = "dial2vec-demo"
NOTHING_BY_AGE = Prune(keep_last=0, keep_days=0)


@pytest.fixture
def five(project, make_record):
    """Versions 4 and 5 are later trainings that nobody promoted; 5 is the candidate."""
    for number in ("f3", "f4"):
        register_training(project, make_record(fingerprint=number, dev_scores={"trained": points(60, 30, 50)}))
    return project


def going(root, rules, **chosen):
    return [old.version for old in old_versions(root, "demo", rules, **chosen) if not old.why]


def numbers(root):
    return [version.version for version in registered_versions(root, "demo")]


def test_what_is_in_use_stays_whatever_the_rules_say(five):
    old = {version.version: version for version in old_versions(five, "demo", NOTHING_BY_AGE)}
    assert {number: version.why for number, version in old.items()} == {
        "1": ("it is the base encoder",),
        "2": ("it was champion before, for a rollback",),
        "3": ("it is champion",),
        "4": (),
        "5": ("it is the candidate",),
    }
    assert str(old["4"]).startswith("remove    4  trained, 20")
    assert old["4"].size > 10_000


def test_a_version_with_an_alias_or_a_stage_of_ones_own_stays(five):
    open_store(five).set_registered_model_alias(NAME, "website", "4")
    assert going(five, NOTHING_BY_AGE) == []


def test_the_last_versions_and_the_young_ones_stay(five):
    assert going(five, Prune(keep_last=2, keep_days=0)) == []
    assert going(five, Prune(keep_last=1, keep_days=0)) == ["4"]
    assert going(five, Prune(keep_last=0, keep_days=1)) == []


def test_a_chosen_version_goes_unless_it_is_in_use(five):
    assert going(five, Prune(), chosen=["4"]) == ["4"]
    assert going(five, Prune(), chosen=["3"]) == []
    with pytest.raises(ModelError, match=r"dial2vec-demo has no version 9\. It has: 1, 2, 3, 4, 5\."):
        old_versions(five, "demo", Prune(), chosen=["9"])


def test_a_removed_version_leaves_a_line_and_no_file(five):
    folder = local_model(f"models:/{NAME}/4", root=five).parents[1]
    run = open_store(five).get_model_version(NAME, "4").run_id
    assert remove(five, old_versions(five, "demo", NOTHING_BY_AGE)) == []
    assert numbers(five) == ["1", "2", "3", "5"]
    assert not folder.exists()
    assert not list((five / "mlruns" / "artifacts").glob(f"{run}*"))
    assert len(list((five / "mlruns" / "artifacts" / "models").iterdir())) == 4
    last = history(five, "demo")[-1]
    assert "version 4 pruned; champion stays version 3. `dial2vec prune` removed this trained version of 20" in str(
        last
    )
    # What dial2vec removes itself is no change by hand.
    assert noticed(five, "demo") == []
    assert local_model(f"models:/{NAME}@champion", root=five).is_dir()


@pytest.mark.parametrize("step", ["create_run", "delete_model_version", "delete_logged_model", "set_terminated"])
def test_a_kill_while_a_version_is_removed_leaves_nothing_broken(five, monkeypatch, step):
    done = getattr(FakeClient, step)

    def die(*arguments: object, **named: object) -> None:
        done(*arguments, **named)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(FakeClient, step, die)
        with pytest.raises(KeyboardInterrupt):
            remove(five, old_versions(five, "demo", NOTHING_BY_AGE))
    for number in numbers(five):
        assert local_model(f"models:/{NAME}/{number}", root=five).is_dir()
    assert noticed(five, "demo") == []
    remove(five, old_versions(five, "demo", NOTHING_BY_AGE))
    assert numbers(five) == ["1", "2", "3", "5"]
    assert [one.kind for one in history(five, "demo")][3:] == ["pruned"]
    assert orphans(open_store(five), five) == []
    assert len(list((five / "mlruns" / "artifacts" / "registered").iterdir())) == 4


def test_a_version_that_got_an_alias_meanwhile_stays(five):
    plan = old_versions(five, "demo", NOTHING_BY_AGE)
    open_store(five).set_registered_model_alias(NAME, "website", "4")
    [sentence] = remove(five, plan)
    assert sentence == "version 4 of dial2vec-demo stays: somebody has changed it meanwhile"
    assert "4" in numbers(five)


def test_files_that_another_version_uses_stay(five):
    client = open_store(five)
    folder = local_model(f"models:/{NAME}/4", root=five)
    client.create_model_version(NAME, client.get_model_version_download_uri(NAME, "4"))
    client.set_registered_model_alias(NAME, "copy", "6")
    remove(five, old_versions(five, "demo", NOTHING_BY_AGE))
    assert "4" not in numbers(five)
    assert folder.is_dir()


def test_the_data_of_all_versions_but_those_that_go_stays_also_of_other_corpora(five, make_record):
    for corpus, number in (("demo", "f5"), ("calls", "f6")):
        register_training(five, make_record(corpus=corpus, fingerprint=number, data_hash=f"{number}-hash.dir"))
    objects = five / ".dvc" / "cache" / "files" / "md5"
    for name in ("f5-hash.dir", "f6-hash.dir", "f7-hash.dir"):
        path = object_path(objects, name)
        path.parent.mkdir(parents=True)
        path.write_text("[]")
    plan = plan_prune(five, ["demo"], NOTHING_BY_AGE, young=-10)
    assert [path.parent.name for path in plan.objects] == ["f7"]
    open_store(five).set_registered_model_alias(NAME, "candidate", "5")
    plan = plan_prune(five, ["demo"], NOTHING_BY_AGE, young=-10)
    assert [path.parent.name for path in plan.objects] == ["f5", "f7"]


def test_sizes_count_hard_links_once(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "weights").write_bytes(b"x" * 1000)
    os.link(tmp_path / "a" / "weights", tmp_path / "b" / "weights")
    assert size_of([tmp_path / "a", tmp_path / "b", tmp_path / "none"]) == 1000


def test_the_folder_of_leftovers_is_removed(five):
    left = five / "mlruns" / "artifacts" / "registered" / ".m-1.tmp"
    shutil.copytree(Path(five / "mlruns" / "artifacts" / "registered").iterdir().__next__(), left)
    remove(five, old_versions(five, "demo", Prune()))
    assert not left.exists()


def test_the_command_shows_what_would_go_and_why_the_rest_stays(five, monkeypatch):
    (five / "params.yaml").write_text("corpora: [demo]\n")
    (five / "dvc.yaml").write_text("stages: {}\n")
    (five / "operation.yaml").write_text("prune: {keep_last: 0, keep_days: 0}\n")
    monkeypatch.chdir(five)
    dry = CliRunner().invoke(main, ["prune"])
    assert dry.exit_code == 0, dry.output
    assert "dial2vec-demo\n  keep      1  start, 20" in dry.output
    assert ": it was champion before, for a rollback\n" in dry.output
    assert "\n  remove    4  trained, 20" in dry.output
    assert dry.output.endswith("Dry run: nothing is removed. With --yes all of this is removed.\n")
    assert numbers(five) == ["1", "2", "3", "4", "5"]
    done = CliRunner().invoke(main, ["prune", "demo", "--version", "3", "--version", "4", "--yes"])
    assert "Version 3 stays: it is champion." in done.output
    assert numbers(five) == ["1", "2", "3", "5"]
