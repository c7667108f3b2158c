"""What all commands have in common: help that reads well, examples that work, completion, one sentence for an error."""

from __future__ import annotations

import json
import shlex

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from dial2vec.cli import SECTIONS, main
from dial2vec.evaluation.intervals import Gain
from dial2vec.extension import papers
from dial2vec.registry.promotion import Verdict
from dial2vec.registry.records import RegisteredVersion

COMMANDS = [*(command for commands in SECTIONS.values() for command in commands), *papers("commands").values()]


def examples_of(command: click.Command) -> list[list[str]]:
    lines = [line.strip() for line in (command.epilog or "").splitlines()]
    return [shlex.split(line, comments=True) for line in lines if line.startswith("dial2vec ")]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_says_in_one_short_line_what_one_gets(command):
    said = command.get_short_help_str(limit=200)
    assert said.endswith(".")
    # With the longest name beside it, in a terminal of 80 columns.
    assert len(said) <= 80 - 4 - max(len(one.name) for one in COMMANDS)


@pytest.mark.parametrize(
    "command", [one for one in COMMANDS if one.name != "completion"], ids=lambda command: command.name
)
def test_every_command_has_an_example_whose_options_and_arguments_exist(command):
    found = examples_of(command)
    assert found
    path = ["dial2vec", *(["papers"] if command.name in papers("commands") else []), command.name]
    for example in found:
        assert example[: len(path)] == path
        with command.make_context(command.name, example[len(path) :]) as context:
            if not isinstance(command, click.Group):
                assert context.args == []
                continue
            _, action, words = command.resolve_command(context, [*context._protected_args, *context.args])
            with action.make_context(action.name, words, parent=context) as inner:
                assert inner.args == []


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "dvc.yaml").touch()
    (tmp_path / "params.yaml").touch()
    for name in ("calls", "chats"):
        (tmp_path / "data" / name).mkdir(parents=True)
    (tmp_path / "data" / "calls.dvc").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def offered(*words: str, begun: str = "") -> list[str]:
    return [one.value for one in ShellComplete(main, {}, "dial2vec", "_").get_completions(list(words), begun)]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_that_asks_this_command(shell):
    done = CliRunner().invoke(main, ["completion", shell])
    assert done.exit_code == 0, done.output
    assert f"_DIAL2VEC_COMPLETE={shell}_complete" in done.output


@pytest.mark.usefixtures("project")
def test_a_shell_is_offered_commands_options_and_corpora():
    assert offered(begun="pro") == ["promote"]
    assert "--json" in offered("stats", begun="--")
    assert offered("stats", "calls") == offered("prune") == ["calls", "chats"]
    assert offered("promote") == offered("serve") == ["calls", "calls-small", "chats", "chats-small"]
    assert offered("history", begun="ch") == ["chats", "chats-small"]
    assert offered("fetch", begun="s") == ["self_dialogue", "sgd", "smd"]


def test_a_shell_outside_a_project_is_offered_no_corpora(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert offered("promote") == []


def raising(error: BaseException):
    def fail(*_, **__):
        raise error

    return fail


@pytest.mark.usefixtures("project")
def test_a_file_that_cannot_be_used_is_named_in_one_line(monkeypatch):
    monkeypatch.setattr("dial2vec.cli.pipeline.find_root", raising(PermissionError(13, "x", "/data/calls/may.jsonl")))
    done = CliRunner().invoke(main, ["results"])
    assert done.exit_code == 1
    assert (
        done.output == "Error: /data/calls/may.jsonl: Permission denied. Nothing more was done; --debug shows where.\n"
    )
    assert isinstance(CliRunner().invoke(main, ["--debug", "results"]).exception, PermissionError)


@pytest.mark.usefixtures("project")
def test_control_c_ends_a_command_without_a_traceback(monkeypatch):
    monkeypatch.setattr("dial2vec.cli.pipeline.find_root", raising(KeyboardInterrupt()))
    done = CliRunner().invoke(main, ["results"])
    assert (done.exit_code, done.output) == (130, "\nStopped.\n")


def test_a_verdict_on_a_corpus_names_the_command_for_its_student(project, monkeypatch):
    verdict = Verdict(promoted=False, reasons=["map is not above"])
    monkeypatch.setattr("dial2vec.project.promotion.promote_candidate", lambda *_: verdict)
    receipt = project / "mlruns" / "registrations" / "calls.json"
    receipt.parent.mkdir(parents=True)
    numbers = {"version": "2", "start_version": "1"}
    for small, lines in ((None, 2), (numbers, 3)):
        receipt.write_text(json.dumps(numbers | {"small": small}))
        shown = CliRunner().invoke(main, ["promote", "calls"]).stdout.splitlines()
        assert len(shown) == lines
    assert shown[2] == "  Its student is judged by: dial2vec promote calls-small"
    assert (
        CliRunner().invoke(main, ["promote", "calls-small"]).stdout.startswith("dial2vec-calls-small: the champion st")
    )


@pytest.mark.usefixtures("project")
def test_versions_and_verdicts_are_printed_as_json(monkeypatch):
    version = RegisteredVersion(version="3", aliases=(), kind="trained", dev_scores={"map": 70.5}, created=1.0)
    monkeypatch.setattr("dial2vec.registry.tracking.registered_versions", lambda root, corpus: [version])
    done = CliRunner().invoke(main, ["versions", "calls", "--json"])
    assert json.loads(done.stdout)[0]["dev_scores"] == {"map": 70.5}
    verdict = Verdict(promoted=False, reasons=["map is not above"], gains={"start": {"map": Gain(0.5, -0.1, 1.1)}})
    monkeypatch.setattr("dial2vec.project.promotion.promote_candidate", lambda *_: verdict)
    done = CliRunner().invoke(main, ["promote", "calls", "--json"])
    assert json.loads(done.stdout)["promoted"] is False
    assert json.loads(done.stdout)["gains"]["start"]["map"]["low"] == -0.1


def test_figures_and_counts_are_printed_as_json(project):
    record = {"dialogue_id": "d", "turns": [{"speaker": "a", "text": "w1 w2"}]}
    (project / "data" / "calls" / "calls.jsonl").write_text(json.dumps(record))
    done = CliRunner().invoke(main, ["stats", "calls", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["whole"] == {"dialogues": 1, "turns": 1.0, "words": 2.0, "labels": 0}
    (project / "params.yaml").write_text("corpora: [calls]")
    folder = project / "artifacts" / "calls"
    for name in ("model", "selection.json", "metrics.json"):
        (folder / name).mkdir(parents=True) if name == "model" else (folder / name).write_text('{"start": {}}')
    (project / "mlruns" / "registrations").mkdir(parents=True)
    (project / "mlruns" / "registrations" / "calls.json").write_text("{}")
    done = CliRunner().invoke(main, ["results", "--json"])
    assert json.loads(done.stdout) == {"calls": {"start": {}}}
