"""A project in a folder of one's own: the repository's files, on the installed code."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from dial2vec.cli import main
from dial2vec.files import find_root
from dial2vec.params import load_operation, load_settings
from dial2vec.project import new as project
from dial2vec.project.new import do_without_git, make_project, write_code_hashes

ROOT = Path(__file__).parents[2]


@pytest.fixture
def new(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "100% o'neil" / "our calls"
    assert CliRunner().invoke(main, ["new", str(folder)]).exit_code == 0
    return folder


def hashes(folder: Path) -> dict[str, str]:
    write_code_hashes(folder)
    return {path.name: path.read_text() for path in (folder / ".code").iterdir()}


def test_a_new_project_has_the_settings_of_the_repository_and_a_corpus_with_its_name(new):
    assert find_root(new / "data") == new
    own, repository = ((at / "params.yaml").read_text() for at in (new, ROOT))
    assert own == repository.replace("corpora: [demo] ", "corpora: [our_calls] ")
    assert load_settings(new / "params.yaml").corpora == ("our_calls",)
    assert load_operation(new / "operation.yaml") == load_operation(ROOT / "operation.yaml")
    for name in ("operation.yaml", "flows/retrain.py", ".dvcignore", ".dvc/config", ".dvc/.gitignore"):
        assert (new / name).read_bytes() == (ROOT / name).read_bytes()


def test_git_takes_no_conversation_of_it(new):
    held = [new / "data" / "our_calls" / "a.jsonl", new / ".dvc" / "cache" / "a", new / "artifacts" / "our_calls" / "a"]
    for path in held:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("My card is lost.")
    for command in (["init", "-q"], ["add", "--all"]):
        subprocess.run(["git", *command], cwd=new, check=True)
    staged = subprocess.run(["git", "ls-files"], cwd=new, check=True, capture_output=True, text=True).stdout
    assert set(staged.split()) == set((ROOT / "src/dial2vec/project/template.txt").read_text().split())


def test_its_stages_are_those_of_the_repository_but_depend_on_the_installed_code(new):
    own, repository = (yaml.safe_load((at / "dvc.yaml").read_text())["stages"] for at in (new, ROOT))
    for stage, block in repository.items():
        expected = [name for name in block["deps"] if not name.startswith("src/")] + [f".code/{stage}"]
        assert sorted(own[stage].pop("deps")) == sorted(expected)
        assert own[stage].pop("cmd") == block["cmd"].replace('"$DVC_ROOT/.venv/bin/python"', "python")
        assert own[stage] == {name: value for name, value in block.items() if name not in ("deps", "cmd")}
    assert own.keys() == repository.keys()
    written = (new / "dvc.yaml").read_text()
    assert "src/" not in written
    assert yaml.safe_load(written).keys() == {"stages"}, "it names files of other corpora"


def test_every_target_of_its_makefile_calls_the_installed_package(new):
    text = (new / "Makefile").read_text()
    assert "$(BIN)" not in text
    assert ".venv" not in text
    for target in ("run", "retrain", "schedule", "mlflow", "prefect"):
        done = subprocess.run(
            ["make", "--no-print-directory", "-n", target], cwd=new, capture_output=True, text=True, check=True
        )
        assert re.match(r"python (-m dial2vec\.cli |flows/retrain\.py)", done.stdout), target
    listed = subprocess.run(["make"], cwd=new, capture_output=True, text=True, check=True).stdout
    assert "make schedule" in listed


def test_changed_code_changes_the_stages_that_depend_on_it(new, monkeypatch, tmp_path):
    before = hashes(new)
    assert before.keys() == yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"].keys()
    copy = shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    monkeypatch.setattr(project, "SOURCE", copy)
    assert hashes(new) == before
    with (copy / "dial2vec" / "evaluation" / "scores.py").open("a") as handle:
        handle.write("# changed\n")
    after = hashes(new)
    assert {stage for stage in after if after[stage] != before[stage]} == {"select", "distil", "evaluate", "register"}


def test_the_repository_itself_has_no_hashes():
    write_code_hashes(ROOT)
    assert not (ROOT / ".code").exists()


def test_without_git_dvc_is_told_so_until_there_is_one(new):
    local = new / ".dvc" / "config.local"
    do_without_git(new)
    assert "no_scm = true" in local.read_text()
    (new / ".git").mkdir()
    do_without_git(new)
    assert not local.exists()


def test_a_local_configuration_of_dvc_by_somebody_else_stays(new):
    local = new / ".dvc" / "config.local"
    local.write_text("[cache]\n    dir = /cache\n")
    do_without_git(new)
    assert local.read_text() == "[cache]\n    dir = /cache\n"


def test_in_the_folder_itself_nobody_is_sent_into_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "\nNext: cd calls\n      dial2vec import" in CliRunner().invoke(main, ["new", "calls"]).output
    assert "\nNext: dial2vec import" in CliRunner().invoke(main, ["new", "."]).output


def test_files_of_a_project_are_not_overwritten_and_other_files_do_not_matter(tmp_path):
    (tmp_path / "calls.csv").touch()
    make_project(tmp_path)
    (tmp_path / "params.yaml").write_text("corpora: [mine]")
    done = CliRunner().invoke(main, ["new", str(tmp_path)])
    assert done.exit_code == 1
    assert f"{tmp_path} has params.yaml already" in done.output
    assert (tmp_path / "params.yaml").read_text() == "corpora: [mine]"
