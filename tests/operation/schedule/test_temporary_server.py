from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

import psutil
import pytest

from dial2vec.errors import Dial2vecError


def ended(pid: int) -> bool:
    """Whether a process has ended within some seconds."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.services("prefect")
def test_the_server_answers_and_ends_with_a_killed_process(tmp_path):
    script = textwrap.dedent("""
        import sys, time
        from pathlib import Path
        from dial2vec import telemetry
        from dial2vec.operation.pages import use_prefect

        telemetry.switch_off()
        use_prefect(Path(sys.argv[1]))
        from prefect import flow
        from prefect.server.api.server import SubprocessASGIServer
        from dial2vec.operation.schedule.temporary_server import start_temporary_server

        @flow
        def hello():
            print(SubprocessASGIServer().server_process.pid, len(SubprocessASGIServer._instances), flush=True)
            time.sleep(600)

        start_temporary_server()
        hello()
    """)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    command = [sys.executable, "-c", script, str(tmp_path)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pid, servers = map(int, process.stdout.readline().split())
        assert psutil.pid_exists(pid)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert servers == 1
    assert ended(pid)


@pytest.mark.services("prefect")
def test_a_flow_whose_server_was_killed_ends_in_seconds_with_one_sentence(tmp_path):
    script = textwrap.dedent("""
        import sys, time
        from pathlib import Path
        from dial2vec import telemetry
        from dial2vec.operation.pages import use_prefect

        telemetry.switch_off()
        use_prefect(Path(sys.argv[1]))
        from prefect import flow
        from prefect.server.api.server import SubprocessASGIServer
        from dial2vec.operation.schedule.temporary_server import run_now

        @flow
        def hello():
            server = SubprocessASGIServer().server_process
            server.kill()
            server.wait()
            print("done", time.time(), flush=True)

        run_now(Path(sys.argv[1]), hello)
    """)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    command = [sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=240)
    word, at = done.stdout.split()
    assert (done.returncode, word) == (0, "done")
    assert time.time() - float(at) < 20
    assert "what the run did stands." in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("command", "fault"), [("sleep 60", "did not answer in time"), ("exit 4", "ended with status 4")]
)
def test_a_server_that_does_not_start_is_one_sentence(monkeypatch, command, fault):
    from dial2vec.operation.schedule import temporary_server

    started: list[subprocess.Popen[bytes]] = []

    def run(self: object) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen(["sh", "-c", f"exec {command}" if "sleep" in command else command]))
        return started[-1]

    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    monkeypatch.setattr(temporary_server._Server, "_run_uvicorn_command", run)
    monkeypatch.setattr(temporary_server, "READY_SECONDS", 0.5)
    with pytest.raises(Dial2vecError, match=rf"temporary server {fault}, so nothing was begun.*try again"):
        temporary_server.start_temporary_server()
    assert started[0].poll() is not None


def test_a_server_that_does_not_answer_is_named_in_one_sentence(monkeypatch):
    from dial2vec.operation.schedule.temporary_server import start_temporary_server

    monkeypatch.setenv("PREFECT_API_URL", "http://user:secret@127.0.0.1:9/api")
    with pytest.raises(Dial2vecError, match=r"the Prefect server http://127.0.0.1:9/api does not answer .*Start it"):
        start_temporary_server()
