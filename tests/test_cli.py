from __future__ import annotations

import json
import socket
import subprocess
import sys

import pytest
from click.testing import CliRunner

from dial2vec.cli import main
from dial2vec.encoder.loading import load_encoder
from dial2vec.errors import Dial2vecError
from dial2vec.operation.pages import page_command


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Call the command in an empty project."""
    (tmp_path / "dvc.yaml").touch()
    (tmp_path / "params.yaml").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DIAL2VEC_MIRROR", raising=False)
    return lambda *arguments: CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_help_lists_every_command():
    done = CliRunner().invoke(main, ["--help"])
    for command in [
        *("run", "results", "embed", "drift", "page", "schedule", "serve"),
        *("promote", "rollback", "history", "versions", "prune", "forget", "verify"),
        *("index", "search", "cluster", "explore"),
        *("fetch", "add", "import", "stats"),
        *("explain", "papers"),
    ]:
        assert f"\n  {command} " in done.output


def test_help_of_the_papers_lists_their_commands_which_have_their_old_names_too():
    listed = CliRunner().invoke(main, ["papers", "--help"]).output
    for command in ("tables", "evaluate", "preset", "queries"):
        assert f"\n  {command} " in listed
        new, old = (CliRunner().invoke(main, [*names, command, "--help"]) for names in (["papers"], []))
        assert (new.exit_code, old.exit_code) == (0, 0)
        assert old.output.partition("\n")[2] == new.output.partition("\n")[2]


def test_outside_a_project_the_error_says_where_to_go(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["run"])
    assert done.exit_code == 1
    assert "no project at or above" in done.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fetch", "sgdx"], "Did you mean 'sgd'?"),
        (["add", "calls"], "put JSON Lines"),
        (["stats", "sgd"], "Run `dial2vec fetch sgd`"),
        (["stats", "sgdx"], "Did you mean 'sgd'?"),
        (["promote", "calls"], "dial2vec run"),
        (["versions", "calls"], "dial2vec run"),
        (["results"], "Run `dial2vec run`"),
        (["versions", "a b'"], "is no corpus name"),
        (["embed", "none.jsonl", "--model", "./none", "--output", "v.parquet"], "none.jsonl does not exist"),
        (["embed", "one.jsonl", "--model", "./none", "--output", "v.parquet"], "is not a folder with a model"),
        (
            ["embed", "one.jsonl", "--model", "models:/dial2vec-demo@champion", "--output", "v.parquet"],
            "dial2vec-demo",
        ),
    ],
)
def test_errors_are_one_sentence_without_a_traceback(run, tmp_path, arguments, message):
    (tmp_path / "one.jsonl").write_text(json.dumps({"dialogue_id": "d", "turns": [{"speaker": "a", "text": "w1"}]}))
    done = run(*arguments)
    assert done.exit_code == 1, done.output
    assert done.output.startswith("Error: ")
    assert message in done.output
    assert "Traceback" not in done.output


def test_missing_mirror_is_named(run, monkeypatch):
    monkeypatch.setenv("DIAL2VEC_MIRROR", "/no/such/mirror")
    done = run("fetch", "sgd")
    assert done.exit_code == 1
    assert "/no/such/mirror" in done.output
    assert "DIAL2VEC_MIRROR" in done.output


def test_wrong_settings_stop_before_anything_runs(run, tmp_path):
    (tmp_path / "params.yaml").write_text("train: {epoch: 3}")
    done = run("run")
    assert "unknown key 'train.epoch'. Did you mean 'epochs'?" in done.output


def test_a_folder_of_other_files_is_named_with_what_it_holds(run, tmp_path):
    (tmp_path / "data" / "calls").mkdir(parents=True)
    (tmp_path / "data" / "calls" / "export.txt").touch()
    assert "holds no JSON Lines, only export.txt" in run("add", "calls").output


def test_debug_shows_the_traceback(run):
    done = run("--debug", "results")
    assert done.exception is not None
    assert type(done.exception).__name__ == "ArtifactError"


def test_embed_reports_what_was_read_in_windows_and_what_is_in_quarantine(run, tmp_path, tiny_folder):
    long = {"dialogue_id": "long", "turns": [{"speaker": "a", "text": "w1 " * 100}]}
    (tmp_path / "calls.jsonl").write_text(json.dumps(long) + "\n{broken\n")
    done = run("embed", "calls.jsonl", "--model", tiny_folder, "--output", "v.parquet")
    assert done.exit_code == 0, done.output
    assert "v.parquet: 1 vectors of length 16" in done.output
    assert "1 dialogues are longer than 64 tokens and were read in windows" in done.output
    assert "1 records could not be used" in done.output


def test_embed_names_the_encoder_that_nobody_asked_for(run, tmp_path, tiny_folder, monkeypatch):
    encoder = load_encoder(tiny_folder, device="cpu")
    monkeypatch.setattr("dial2vec.encoder.loading.load_encoder", lambda _: encoder)
    (tmp_path / "calls.jsonl").write_text(json.dumps({"dialogue_id": "d", "turns": [{"speaker": "a", "text": "w1"}]}))
    assert "They come from all-MiniLM-L6-v2" in run("embed", "calls.jsonl", "--output", "v.parquet").output
    named = run("embed", "calls.jsonl", "--model", tiny_folder, "--output", "w.parquet").output
    assert "They come from" not in named


def test_embed_into_a_folder_without_permission_says_so(run, tmp_path, tiny_folder):
    (tmp_path / "calls.jsonl").write_text(json.dumps({"dialogue_id": "d", "turns": [{"speaker": "a", "text": "w1"}]}))
    (tmp_path / "file").touch()
    done = run("embed", "calls.jsonl", "--model", tiny_folder, "--output", "file/v.parquet")
    assert done.exit_code == 1
    assert "cannot write file/v.parquet" in done.output


def test_one_new_folder_may_hold_an_output_and_a_wrong_path_is_told(run, tmp_path):
    (tmp_path / "calls.jsonl").write_text(json.dumps({"dialogue_id": "d", "turns": [{"speaker": "a", "text": "w1"}]}))
    assert run("import", "calls.jsonl", "--output", "new/x.jsonl").exit_code == 0
    done = run("import", "calls.jsonl", "--output", "no/such/dir/x.jsonl")
    assert done.exit_code == 1
    assert f"no/such/dir/x.jsonl cannot be written: there is no folder {tmp_path / 'no/such'}" in done.output
    assert not (tmp_path / "no").exists()


def test_a_taken_port_is_named_with_the_way_to_another(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(Dial2vecError, match=rf"port {port} is taken.*page prefect --port {port + 1}"):
            page_command("prefect", tmp_path, port)


def test_vectors_are_written_to_parquet_only(run, tmp_path):
    done = run("embed", "calls.jsonl", "--model", "x", "--output", "v.csv")
    assert "does not end in .parquet" in done.output


def test_add_says_where_a_run_would_stop(run, tmp_path, monkeypatch):
    monkeypatch.setattr("dial2vec.project.dvc.add_data", lambda root: None)
    (tmp_path / "params.yaml").write_text("seed: 1")
    (tmp_path / "data" / "few").mkdir(parents=True)
    lines = [{"dialogue_id": i, "turns": [{"speaker": s, "text": "w1"} for s in "ab"]} for i in range(3)]
    (tmp_path / "data" / "few" / "few.jsonl").write_text("\n".join(map(json.dumps, lines)))
    done = run("add", "few")
    assert "3 dialogues can be used, 0 records cannot." in done.output
    assert "This would stop a run: expected at least 10 dialogues; found 3" in done.output


def test_stats_count_corpus_after_corpus(run, tmp_path):
    for name, turns in (("one", 1), ("two", 2)):
        (tmp_path / "data" / name).mkdir(parents=True)
        record = {"dialogue_id": "d", "turns": [{"speaker": "a", "text": "w1 w2"}] * turns}
        (tmp_path / "data" / name / "calls.jsonl").write_text(json.dumps(record))
    done = run("stats", "two", "one")
    assert done.exit_code == 0, done.output
    assert [line.split() for line in done.output.splitlines() if line.startswith("whole")] == [
        ["whole", "1", "2.00", "4.00", "0"],
        ["whole", "1", "1.00", "2.00", "0"],
    ]


def test_a_name_with_a_dash_is_named_as_the_problem(run):
    assert "'my-calls' is no corpus name; use letters, digits and '_' only" in run("add", "my-calls").output


def test_pages_listen_on_this_machine_only(tmp_path):
    for which in ("mlflow", "prefect"):
        command, _ = page_command(which, tmp_path, 5001)
        assert command[command.index("--host") + 1] == "127.0.0.1"
        assert command[command.index("--port") + 1] == "5001"


def test_prefects_page_asks_the_server_that_serves_it(tmp_path):
    assert page_command("prefect", tmp_path, 5001)[1]["PREFECT_API_URL"] == "http://127.0.0.1:5001/api"


@pytest.mark.parametrize(("which", "variable"), [("prefect", "PREFECT_API_URL"), ("mlflow", "MLFLOW_TRACKING_URI")])
def test_a_page_that_is_elsewhere_is_named(tmp_path, monkeypatch, which, variable):
    monkeypatch.setenv(variable, "http://elsewhere:42/api")
    with pytest.raises(Dial2vecError, match=rf"{variable} is set: .* page of this project is at http://elsewhere:42\."):
        page_command(which, tmp_path, 5001)


def test_help_is_instant_for_it_imports_no_library():
    names = ("torch", "numpy", "pandas", "transformers", "mlflow", "prefect")
    script = (
        "import sys; from dial2vec.cli import main; main(['--help'], standalone_mode=False); "
        f"print([name for name in {names!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "dialogue encoder" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


CALLS = """conversation_id,speaker,text
c1,Anna Smith,"Hello, my mail is anna@example.org"
c1,agent,Thank you Anna
c2,,Who is this?
"""


@pytest.fixture
def versioned(monkeypatch):
    """How often `data/` was versioned."""
    calls = []
    monkeypatch.setattr("dial2vec.project.dvc.add_data", calls.append)
    monkeypatch.setattr("dial2vec.project.dvc.restore_data", lambda root: None)
    return calls


def test_a_dry_run_of_an_import_shows_what_is_understood_and_writes_nothing(run, tmp_path, versioned):
    (tmp_path / "may.csv").write_text(CALLS)
    before = sorted(tmp_path.rglob("*"))
    done = run("import", "may.csv", "--name", "calls", "--dry-run")
    assert done.exit_code == 0, done.output
    for shown in (
        "may.csv: csv, UTF-8, delimiter comma",
        "conversation_id  is the dialogue id",
        "dialogues    1 can be used, 1 quarantined",
        "no turn names its speaker (first: may.csv:4)",
        "Anna Smith: Hello, my mail is anna@example.org",
    ):
        assert shown in done.output
    assert sorted(tmp_path.rglob("*")) == before
    assert versioned == []


def test_an_import_writes_a_corpus_versions_it_and_says_what_is_next(run, tmp_path, versioned):
    (tmp_path / "may.csv").write_text(CALLS)
    done = run("import", "may.csv", "--name", "calls", "--redact")
    assert done.exit_code == 0, done.output
    written = (tmp_path / "data" / "calls" / "may.jsonl").read_text()
    assert json.loads(written) == {
        "dialogue_id": "c1",
        "turns": [
            {"speaker": "speaker 1", "text": "Hello, my mail is [EMAIL]"},
            {"speaker": "agent", "text": "Thank you [NAME]"},
        ],
        "labels": [],
    }
    assert "1 [EMAIL], 1 [NAME]" in done.output
    assert "\n  Hello, my mail is [EMAIL]\n" in done.output
    record = json.loads((tmp_path / "artifacts" / "calls" / "import" / "may.json").read_text())
    assert record["masked"]["NAME"] == {"times": 1, "samples": ["Thank you [NAME]"]}
    assert "Anna" not in done.output
    assert "put `corpora: [calls]` into params.yaml" in done.output
    assert '"line": 4' in (tmp_path / "artifacts" / "calls" / "import" / "may.quarantine.jsonl").read_text()
    assert versioned == [tmp_path]


def test_a_file_without_masks_beside_masked_ones_is_told(run, tmp_path, versioned):
    (tmp_path / "may.csv").write_text(CALLS)
    (tmp_path / "june.csv").write_text(CALLS.replace("c1", "d1"))
    assert "Nothing is masked" not in run("import", "may.csv", "--name", "calls", "--redact").output
    told = "Nothing is masked in it, unlike in may.jsonl of this corpus; import again with --redact"
    assert told in run("import", "june.csv", "--name", "calls").output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["may.csv", "--name", "sgd"], "comes with its own reader"),
        (["none.csv", "--name", "calls"], "none.csv does not exist"),
        (["may.csv", "--name", "calls", "--text", "txt"], "Did you mean 'text'?"),
        (["may.csv", "--name", "calls", "--delimiter", "::"], "is no delimiter"),
        (["may.csv", "--name", "calls", "--redact", "--phone-country", "XX"], "is no country"),
    ],
)
def test_an_import_that_cannot_be_is_one_sentence_and_leaves_no_trace(run, tmp_path, versioned, arguments, message):
    (tmp_path / "may.csv").write_text(CALLS)
    done = run("import", *arguments)
    assert done.exit_code == 1
    assert done.output.startswith("Error: ")
    assert message in done.output
    assert not (tmp_path / "data").exists()


def test_a_corpus_is_read_as_before_unless_another_reading_is_allowed(run, tmp_path, versioned):
    (tmp_path / "may.csv").write_text(CALLS)
    (tmp_path / "june.csv").write_text(CALLS.replace("c1,", "c7,"))
    (tmp_path / "call.txt").write_text("Agent: Hello\nCustomer: Hi\n")
    for name in ("may.csv", "june.csv"):
        assert run("import", name, "--name", "calls").exit_code == 0
    refused = run("import", "call.txt", "--name", "calls")
    assert refused.exit_code == 1
    assert "does not fit the way in which this corpus was read so far: columns conversation_id" in refused.output
    assert not (tmp_path / "data" / "calls" / "call.jsonl").exists()
    assert run("import", "call.txt", "--name", "calls", "--new-reading").exit_code == 0
    (tmp_path / "more.txt").write_text("Agent: Good day\nCustomer: Bye\n")
    assert run("import", "more.txt", "--name", "calls").exit_code == 0


def test_the_next_file_of_a_corpus_is_read_with_the_options_of_the_first(run, tmp_path, versioned):
    table = "call_id,speaker,text,kind\nc1,agent,Hello there,msg\nc1,agent,She is angry,aside\nc1,caller,Hi you,msg\n"
    (tmp_path / "may.csv").write_text(table)
    (tmp_path / "june.csv").write_text(table.replace("c1,", "c2,"))
    assert run("import", "may.csv", "--name", "calls", "--drop", "kind == aside", "--merge-turns").exit_code == 0
    done = run("import", "june.csv", "--name", "calls")
    assert "Read with the options of earlier files of this corpus: drop=('kind == aside',)" in done.output
    [june] = map(json.loads, (tmp_path / "data" / "calls" / "june.jsonl").read_text().splitlines())
    assert [turn["text"] for turn in june["turns"]] == ["Hello there", "Hi you"]
    afresh = run("import", "june.csv", "--name", "calls", "--new-reading", "--dry-run")
    assert "turns        3" in afresh.output


def test_turns_in_a_row_by_one_speaker_are_kept_unless_they_are_to_be_merged(run, tmp_path, versioned):
    (tmp_path / "may.csv").write_text("call_id,speaker,text\nc,a,one\nc,a,two\nc,b,three\n")
    assert "turns        3" in run("import", "may.csv", "--name", "calls", "--dry-run").output
    assert "turns        2" in run("import", "may.csv", "--name", "calls", "--dry-run", "--merge-turns").output


def test_an_import_of_one_side_only_recommends_no_training(run, tmp_path, versioned):
    (tmp_path / "may.csv").write_text("call_id,speaker,text\nc,a,one\nc,a,two\nd,a,three\n")
    done = run("import", "may.csv", "--name", "calls")
    assert done.exit_code == 0, done.output
    assert "Nothing can be trained on it: each of its dialogues has one speaker only." in done.output
    assert "dial2vec run" not in done.output
