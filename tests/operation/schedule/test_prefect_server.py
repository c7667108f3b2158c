"""The password of Prefect's server: what is set for it, how it is kept, and that the server asks for it."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import textwrap

import pytest

from dial2vec.errors import Dial2vecError
from dial2vec.operation.pages import (
    as_scheduled_server,
    page_command,
    prefect_environment,
    prefect_password,
    use_prefect,
)
from dial2vec.operation.schedule.supervisor import environment_for

AUTH = ("PREFECT_SERVER_API_AUTH_STRING", "PREFECT_API_AUTH_STRING")
THEIRS, LOCAL = "http://prefect.example.com:4200/api", "http://127.0.0.1:4299/api"


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    """No variables of Prefect; those that a test sets are gone after it."""
    monkeypatch.setattr(os, "environ", {n: v for n, v in os.environ.items() if not n.startswith("PREFECT_")})


def passwords(variables: dict[str, str]) -> list[str | None]:
    """Of the server and of its clients."""
    return [variables.get(name) for name in AUTH]


def test_every_server_that_we_start_asks_for_the_password_of_its_checkout(tmp_path):
    password = prefect_password(tmp_path)
    started = (page_command("prefect", tmp_path, 5001)[1], environment_for(tmp_path, LOCAL))
    use_prefect(tmp_path)
    for variables in (*started, os.environ):
        assert passwords(variables) == [password, password]
        assert variables["PREFECT_SERVER_CSRF_PROTECTION_ENABLED"] == "true"
        assert variables["PREFECT_SERVER_UI_V2_ENABLED"] == "false"
    assert password not in " ".join(page_command("prefect", tmp_path, 5001)[0])


def test_a_server_that_the_user_has_named_never_gets_our_password(tmp_path):
    os.environ |= {"PREFECT_API_URL": THEIRS, "PREFECT_API_AUTH_STRING": "ann:own"}
    use_prefect(tmp_path)
    for variables in (os.environ, environment_for(tmp_path, THEIRS)):
        assert passwords(variables) == [None, "ann:own"]
    with as_scheduled_server(tmp_path, THEIRS, own=False):
        assert passwords(prefect_environment(tmp_path)) == [None, None]
        del os.environ["PREFECT_API_URL"]
        variables = prefect_environment(tmp_path)
    assert variables["PREFECT_API_URL"] == THEIRS
    assert passwords(variables) == [None, None]


@pytest.mark.parametrize("named", [{}, {"PREFECT_API_URL": LOCAL}])
def test_a_flow_beside_the_schedule_gets_its_password(tmp_path, named):
    os.environ |= named
    with as_scheduled_server(tmp_path, LOCAL, own=True):
        use_prefect(tmp_path)
    assert os.environ["PREFECT_API_URL"] == LOCAL
    assert os.environ["PREFECT_API_AUTH_STRING"] == prefect_password(tmp_path)


def test_a_password_for_the_teams_server_does_not_shut_a_flow_out_of_its_own(tmp_path):
    os.environ["PREFECT_API_AUTH_STRING"] = "ann:own"
    use_prefect(tmp_path)
    assert passwords(os.environ) == [prefect_password(tmp_path)] * 2


@pytest.mark.parametrize("before", ["new", "of an earlier version"])
def test_only_the_owner_may_enter_prefects_folder_and_read_its_database(tmp_path, before):
    home = tmp_path / ".prefect"
    if before != "new":
        home.mkdir(mode=0o755)
        for name in ("prefect.db", "prefect.db-wal"):
            (home / name).touch(mode=0o644)
    prefect_environment(tmp_path)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (home, *home.glob("prefect.db*"))}
    assert modes == {".prefect": 0o700, "prefect.db": 0o600} | ({} if before == "new" else {"prefect.db-wal": 0o600})


def test_the_password_is_random_and_for_its_owner_only(tmp_path):
    before = os.umask(0)
    try:
        found = {prefect_password(tmp_path / name) for name in ("one", "two", "two")}
    finally:
        os.umask(before)
    assert len(found) == 2
    assert all(len(password) > 30 for password in found)
    assert (tmp_path / "one" / ".prefect" / "secret").stat().st_mode & 0o777 == 0o600


def test_processes_that_start_together_agree_on_the_password(tmp_path):
    with multiprocessing.get_context("fork").Pool(8) as pool:
        assert len(set(pool.map(prefect_password, [tmp_path] * 40, chunksize=1))) == 1


@pytest.mark.parametrize("at_work", [False, True])
def test_a_password_that_others_could_read_is_replaced_unless_a_server_uses_it(tmp_path, at_work):
    password, path = prefect_password(tmp_path), tmp_path / ".prefect" / "secret"
    path.chmod(0o644)
    if at_work:
        with as_scheduled_server(tmp_path, LOCAL, own=True):
            assert prefect_password(tmp_path) == password
    else:
        assert prefect_password(tmp_path) != password
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_system_without_permissions_is_refused(tmp_path, monkeypatch):
    prefect_password(tmp_path)
    (tmp_path / ".prefect" / "secret").chmod(0o777)
    monkeypatch.setattr("os.fchmod", lambda *_: None)
    with pytest.raises(Dial2vecError, match=r"secret: others may read .* \(permissions 777\).*expected 600\. Move"):
        prefect_password(tmp_path)


@pytest.mark.services("prefect")
def test_pages_of_other_sites_cannot_make_the_server_run_anything_and_our_client_can(tmp_path):
    # Prefect reads its environment while it is imported, so a process of its own asks.
    script = textwrap.dedent("""
        import asyncio, json, os, sys
        from pathlib import Path
        from dial2vec import telemetry
        from dial2vec.operation.pages import prefect_environment

        telemetry.switch_off()
        os.environ.update(prefect_environment(Path(sys.argv[1])))
        import httpx
        from prefect.client.orchestration import PrefectClient
        from prefect.server.api.server import create_app
        from prefect.settings import PREFECT_API_AUTH_STRING

        TRIGGER = {"type": "event", "posture": "Reactive", "expect": ["prefect.*"], "threshold": 1, "within": 0}
        ACTION = {"type": "run-deployment", "source": "inferred", "job_variables": {"command": "touch owned"}}
        BODY = json.dumps({"name": "intruder", "trigger": TRIGGER, "actions": [ACTION]}).encode()

        async def main():
            app, password = create_app(ephemeral=True), PREFECT_API_AUTH_STRING.value()
            async with PrefectClient(app, auth_string=password) as ours:
                evil, transport = "http://evil.example", httpx.ASGITransport(app)
                async with httpx.AsyncClient(transport=transport, base_url=evil, headers={"Origin": evil}) as theirs:
                    posted = await theirs.post("/api/automations/", content=BODY)
                    # A page whose name leads here may read answers, and ask for the token first.
                    token = await theirs.get("/api/csrf-token?client=x")
                    read = await theirs.post("/api/flows/filter", content=b"{}", headers={"Content-Type": "text/plain"})
                    health = await theirs.get("/api/health")
                flow = await ours.read_flow(await ours.create_flow_from_name("nightly"))
                return [answer.status_code for answer in (posted, token, read, health)], flow.name

        print(json.dumps(asyncio.run(main())))
    """)
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        cwd=tmp_path, env=os.environ, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [[403, 401, 403, 200], "nightly"]
    assert (tmp_path / ".prefect" / "secret").read_text().strip() not in done.stdout + done.stderr
