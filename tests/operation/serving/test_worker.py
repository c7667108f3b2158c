"""The command with a real registry and a real worker."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import textwrap
import threading
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from dial2vec.cli import main
from dial2vec.config import Serve
from dial2vec.errors import Dial2vecError, ModelError
from dial2vec.operation.serving.address import Address
from dial2vec.operation.serving.job import Job
from dial2vec.operation.serving.worker import load_gate
from dial2vec.registry.champions import history
from dial2vec.registry.store import open_store
from tests.students import run_without_torch


@pytest.fixture
def project(registered_store, tmp_path, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    root = shutil.copytree(registered_store, tmp_path / "project")
    (root / "dvc.yaml").touch()
    (root / "params.yaml").write_text("")
    (root / "operation.yaml").write_text("serve: {check_seconds: 1}")
    monkeypatch.chdir(root)
    return root


def test_an_address_means_a_version_at_a_moment(project):
    champion = Address.of("models:/dial2vec-demo@champion", root=project)
    assert (champion.current(project), Address.of("models:/dial2vec-demo/2", root=project).current(project)) == (
        "1",
        "2",
    )
    client = open_store(project)
    client.set_registered_model_alias("dial2vec-demo", "champion", "2")
    assert champion.current(project) == "2"
    # What somebody does to the champion is noticed while it is served; a deleted one has a successor.
    client.delete_registered_model_alias("dial2vec-demo", "champion")
    assert champion.current(project) == "1"
    assert [decision.kind for decision in history(project, "demo")] == ["first", "moved by hand", "removed by hand"]
    client.set_registered_model_alias("dial2vec-demo", "website", "1")
    website = Address.of("models:/dial2vec-demo@website", root=project)
    client.delete_registered_model_alias("dial2vec-demo", "website")
    with pytest.raises(ModelError, match="no alias 'website' any more"):
        website.current(project)


def test_a_job_reaches_the_worker_whole():
    job = Job(3, 4, "/a b", "dial2vec-demo", "7", "champion", Serve(max_dialogues=5))
    assert Job.from_json(job.to_json()) == job


def test_the_command_serves_the_champion_and_its_curl_line_works(project, monkeypatch):
    said: list[str] = []
    found: list[dict] = []
    monkeypatch.setattr(click, "echo", lambda text, err=False: said.append(text))

    def scenario() -> None:
        try:
            deadline = time.monotonic() + 300
            while len(said) < 2 and time.monotonic() < deadline:
                time.sleep(0.05)
            command = said[1].splitlines()[1]
            done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
            found.append(json.loads(done.stdout))
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=scenario)
    thread.start()
    done = CliRunner().invoke(main, ["serve", "demo", "--port", "0"])
    thread.join()
    assert done.exit_code == 0, (done.output, said)
    assert said[1].startswith("dial2vec-demo version 1 (champion) answers at http://127.0.0.1:")
    assert len(found[0]["predictions"][0]) == 16


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dmo"], "nothing is registered as dial2vec-dmo. Did you mean 'dial2vec-demo'?"),
        (["models:/dial2vec-demo@champoin"], "has no alias 'champoin'"),
        (["models:/dial2vec-demo/9"], "has no version 9"),
        (["a b"], "is no corpus name"),
    ],
)
def test_what_cannot_be_served_is_one_sentence(project, arguments, message):
    done = CliRunner().invoke(main, ["serve", *arguments])
    assert done.exit_code == 1
    assert done.output.startswith("Error: ")
    assert message in done.output


def test_a_taken_port_is_found_before_the_model_is_loaded(project):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = CliRunner().invoke(main, ["serve", "demo", "--port", str(taken.getsockname()[1])])
    assert "is taken. Choose another: --port" in done.output


def test_a_student_is_served_without_torch_and_mlflow_and_has_no_limit(student_folder, tmp_path):
    script = textwrap.dedent("""
        import json, sys
        from pathlib import Path
        from dial2vec.config import Serve
        from dial2vec.operation.serving.address import Address
        from dial2vec.operation.serving.job import Job
        from dial2vec.operation.serving.worker import load_gate
        address = Address.of(sys.argv[1], root=Path.cwd())
        version = address.current(Path.cwd())
        folder = address.folder(version, Path.cwd())
        gate = load_gate(Job(0, 0, str(folder), address.model, version, "", Serve()))
        print(json.dumps({**gate.about, "mlflow": "mlflow" in sys.modules}))
    """)
    about = json.loads(run_without_torch(script.replace("sys.argv[1]", repr(student_folder)), tmp_path))
    assert (about["dimension"], about["max_tokens"], about["mlflow"]) == (16, None, False)
    assert (about["model"], len(about["version"])) == (Path(student_folder).name, 8)


def test_a_folder_without_a_model_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["serve", "./nothing"])
    assert (done.exit_code, done.output.startswith("Error: ./nothing is not a folder with a model")) == (1, True)


def test_a_version_without_files_cannot_be_served_and_the_reason_is_told(project):
    job = Job(0, 0, "", "dial2vec-demo", "7", "", Serve(), missing="its files are gone.")
    with pytest.raises(Dial2vecError, match="its files are gone"):
        load_gate(job)
