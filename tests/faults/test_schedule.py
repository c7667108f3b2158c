"""A real server, worker and schedule: runs are created and run, and go on after everything was killed."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import psutil
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from servers import free_port

from dial2vec.operation.pages import scheduled_server
from project import CORPUS, call, dialogues, drop, make_project, registry_faults, start

# On a busy machine; on an idle one it takes a tenth.
PATIENCE = 900


def wait_for(what: str, found: Callable[[], bool]) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + PATIENCE
    while not found():
        assert time.monotonic() < deadline, f"waited {PATIENCE} seconds for {what}"
        time.sleep(0.2)


def runs(project: Path, state: str) -> int:
    """How many runs that the schedule made are in a state; none while the server makes its database, or writes it."""
    address = f"file:{project / '.prefect' / 'prefect.db'}?mode=ro"
    asked = "select count(*) from flow_run where auto_scheduled and state_name = ?"
    with contextlib.suppress(sqlite3.OperationalError), contextlib.closing(sqlite3.connect(address, uri=True)) as found:
        return int(found.execute(asked, (state,)).fetchone()[0])
    return 0


def processes(project: Path, words: str) -> list[psutil.Process]:
    """Processes of this project whose command has these words."""
    found, home = [], str(project / ".prefect")
    for process in psutil.process_iter(["cmdline", "environ"]):
        command = " ".join(process.info["cmdline"] or ())
        if re.search(words, command) and (process.info["environ"] or {}).get("PREFECT_HOME") == home:
            found.append(process)
    return found


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project whose schedule comes every minute, at work."""
    folder = make_project(tmp_path_factory.mktemp("nightly"), cron="* * * * *")
    supervisor = start(folder, "dial2vec", "schedule", "--port", str(free_port()))
    yield folder
    supervisor.send_signal(signal.SIGTERM)
    supervisor.wait(60)
    assert not processes(folder, "prefect"), "the server or the worker outlived the schedule"


def test_the_schedule_creates_a_run_that_trains_and_promotes(project):
    wait_for("a scheduled run", lambda: runs(project, "Completed") > 0)
    assert "promoted; champion is version 2" in call(project, "dial2vec", "history", CORPUS).stdout
    assert registry_faults(project) == []


def test_a_page_of_another_site_cannot_ask_the_schedules_server(project):
    address = scheduled_server(project)
    # Without Content-Type, as a browser sends a Blob.
    posted = httpx.post(f"{address}/flows/filter", content=b"{}", headers={"Origin": "http://evil.example"})
    assert posted.status_code == 403
    assert httpx.get(f"{address}/csrf-token?client=x", headers={"Host": "evil.example"}).status_code == 401
    assert httpx.get(f"{address}/health").status_code == 200
    password = (project / ".prefect" / "secret").read_text().strip()
    for process in processes(project, "."):
        assert password not in " ".join(process.cmdline())
    said = [project / "said.log", project / "prefect.yaml", *(project / ".prefect" / "logs").iterdir()]
    assert not [path for path in said if password in path.read_text()]


def test_after_a_kill_of_server_worker_and_flow_the_next_scheduled_run_succeeds(project):
    drop(project, "tuesday.jsonl", dialogues(60, first=5000))
    wait_for("training", lambda: bool(processes(project, "dial2vec.pipeline.train")))
    for words in ("prefect server", "prefect worker", "prefect.engine"):
        for process in processes(project, words):
            os.kill(process.pid, signal.SIGKILL)
    assert registry_faults(project) == []
    before = runs(project, "Completed")
    wait_for("the next run", lambda: runs(project, "Completed") > before)
    assert runs(project, "Crashed") >= 1
    assert "version 3 promoted" in call(project, "dial2vec", "history", CORPUS).stdout
    assert registry_faults(project) == []


def test_a_champion_is_taken_back_and_the_next_run_leaves_it_so(project):
    before = runs(project, "Completed")
    done = call(project, "dial2vec", "rollback", CORPUS, "--because", "a test")
    assert "version 2 is champion again, in place of version 3" in done.stdout
    wait_for("the next run", lambda: runs(project, "Completed") > before + 1)
    told = call(project, "dial2vec", "history", CORPUS).stdout.splitlines()
    assert "version 3 rolled back; champion is version 2" in told[-1]
