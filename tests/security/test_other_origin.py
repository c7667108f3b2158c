"""A page of another origin, in Chromium, tries every server that we start: it reads nothing and changes nothing.

It lies at another port of this machine, and under another name that leads to this machine (`OTHER_NAME`); the second
also stands for DNS rebinding, where the browser takes page and server for one origin.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from browser import Page, browser
from dial2vec.addresses import address_of, listen, silence
from dial2vec.collection.explorer.maps import maps_of
from dial2vec.collection.explorer.server import application
from dial2vec.collection.lenses import asking
from dial2vec.operation.pages import page_command, prefect_password
from tests.collection.explorer.conftest import EVIL, collection, encoder, grow
from tests.operation.receiving.conftest import Command, messages, otlp
from tests.operation.serving.conftest import served
from tests.registry.conftest import encoders, record, registered_store

__all__ = ["collection", "encoder", "encoders", "grow", "record", "registered_store", "served"]
pytestmark = pytest.mark.services("chromium", "mlflow", "prefect")
OTHER_NAME = "other.example"
DIALOGUE = json.dumps({"inputs": [{"turns": [{"speaker": "a", "text": "w1"}, {"speaker": "b", "text": "w2"}]}]})
# What is worth reading or changing at each server: method, path, body.
GOALS = {
    "explorer": [
        ("GET", "/content", None),
        ("GET", "/dialogue/3", None),
        ("POST", "/search", '{"text": "w1", "way": "words"}'),
        ("POST", "/export/csv", "[1]"),
        ("POST", "/curate", '{"hide": [0]}'),
    ],
    "lens": [("GET", "/questions", None), ("POST", "/answer", '{"place": 0, "label": "none"}')],
    "receive": [
        ("POST", "/v1/traces", json.dumps(otlp(1, messages("stranger", 1)))),
        ("POST", "/webhook", '{"type": "url_verification", "challenge": "stranger"}'),
    ],
    "mcp": [("POST", "/mcp", '{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}')],
    "serve": [("GET", "/version", None), ("GET", "/v1/models", None), ("POST", "/invocations", DIALOGUE)],
    "mlflow": [
        ("GET", "/ajax-api/2.0/mlflow/experiments/search?max_results=9", None),
        ("GET", "/ajax-api/2.0/mlflow/registered-models/search", None),
        ("POST", "/ajax-api/2.0/mlflow/experiments/create", '{"name": "stranger"}'),
        ("POST", "/api/2.0/mlflow/experiments/create", '{"name": "stranger"}'),
    ],
    "prefect": [
        ("GET", "/api/admin/version", None),
        ("POST", "/api/flow_runs/filter", "{}"),
        ("POST", "/api/variables/", '{"name": "stranger", "value": "1"}'),
        ("POST", "/api/automations/", '{"name": "stranger", "enabled": true}'),
    ],
}
# Every way in which a page can send a request without being asked; each returns what the page learns.
TRIES = """async (method, address, body) => {
  const said = [];
  const sent = async options => fetch(address, { method, credentials: "include", ...options }).then(
    async one => said.push([one.type, one.status, await one.text()]), () => said.push(["refused", 0, ""]));
  if (method === "GET") {
    await sent({});
    await sent({ mode: "no-cors" });
  } else {
    await sent({ mode: "no-cors", body: new Blob([body]) });
    await sent({ mode: "no-cors", body, headers: { "Content-Type": "text/plain" } });
    await sent({ mode: "no-cors", body, headers: { "Content-Type": "application/x-www-form-urlencoded" } });
    await sent({ body, headers: { "Content-Type": "application/json" } });
    await new Promise(done => {
      const frame = document.createElement("iframe"), form = document.createElement("form");
      const field = document.createElement("input"), [start, end] = [body.slice(0, -1), body.slice(-1)];
      frame.name = "hidden" + Math.random();
      Object.assign(form, { action: address, method: "POST", enctype: "text/plain", target: frame.name });
      Object.assign(field, { name: start + ',"x":"', value: '"' + end });
      form.append(field);
      document.body.append(frame, form);
      frame.onload = () => setTimeout(done, 100);
      setTimeout(done, 3000);
      form.submit();
    });
  }
  return said;
}"""


@dataclass
class Answered:
    """An application, and what it answered: method, path and status of each request.

    :param application: application (ASGI).
    """

    application: Any
    answers: list[tuple[str, str, int]] = field(default_factory=list)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def noted(message: Any) -> None:
            if message["type"] == "http.response.start":
                self.answers.append((scope["method"], scope["path"], message["status"]))
            await send(message)

        await self.application(scope, receive, noted)


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """Serve an application in a thread, and yield its address."""
    with listen("127.0.0.1", 0) as listening:
        server = uvicorn.Server(uvicorn.Config(app, ws="none", lifespan="off", log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        yield address_of(listening)
        server.should_exit = True
        thread.join()


def free_port() -> int:
    with closing(listen("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


@contextmanager
def page_of(which: Any, root: Path) -> Iterator[str]:
    """Run the command of `dial2vec page`, and yield the address."""
    port = free_port()
    arguments, variables = page_command(which, root, port)
    log = (root / f"{which}.log").open("w")
    with log, subprocess.Popen([sys.executable, *arguments], env=os.environ | variables, stdout=log, stderr=log) as one:
        try:
            address = f"http://127.0.0.1:{port}"
            deadline = time.monotonic() + 240
            while silence(f"{address}/{'api/' if which == 'prefect' else ''}health", seconds=5) is not None:
                running = one.poll() is None and time.monotonic() < deadline
                assert running, (root / f"{which}.log").read_text()[-2000:]
                time.sleep(0.5)
            yield address
        finally:
            one.terminate()


@contextmanager
def receiving(inbox: Path) -> Iterator[str]:
    """Run `dial2vec receive`, and yield its address."""
    (command := Command(inbox)).start()
    yield command.url
    command.end()


@contextmanager
def answering_agents(collection: Path) -> Iterator[str]:
    """Run `dial2vec mcp --http`, and yield its address."""
    command = [sys.executable, "-m", "dial2vec.cli", "mcp", str(collection), "--http", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield next(line for line in process.stdout if " at http" in line).split(" at ")[1].split("/mcp")[0]
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def inbox(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("received") / "inbox" / "calls"


@pytest.fixture(scope="module")
def questions(collection, tmp_path_factory) -> asking.Questions:
    path = tmp_path_factory.mktemp("asked") / "outcome.examples.csv"
    return asking.Questions(collection, ["booked"], {}, path, n=3, seed=0)


@pytest.fixture(scope="module")
def applications(collection, questions, served) -> dict[str, Answered]:
    return {
        "explorer": Answered(application(collection, maps_of(collection))),
        "lens": Answered(asking.application(questions, "outcome", lambda: None)),
        "serve": Answered(served),
    }


@pytest.fixture(scope="module")
def servers(applications, collection, inbox, registered_store) -> Iterator[dict[str, str]]:
    """Addresses of all servers that we start."""
    with ExitStack() as stack:
        found = {name: stack.enter_context(serving(app)) for name, app in applications.items()}
        found |= {which: stack.enter_context(page_of(which, registered_store)) for which in ("mlflow", "prefect")}
        found["receive"] = stack.enter_context(receiving(inbox))
        found["mcp"] = stack.enter_context(answering_agents(collection.folder))
        yield found


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[int]:
    """Port of a web server that has nothing to do with us."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><body>elsewhere")

        def log_message(self, format: str, *args: Any) -> None:
            """Keep the test's output clean."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Page]:
    rules = f"--host-resolver-rules=MAP {OTHER_NAME} 127.0.0.1"
    with browser(rules) as page:
        yield page


def tried(page: Page, server: str, name: str) -> list[tuple[str, Any]]:
    """Return what the open page learns by each try at each goal of a server."""
    return [
        (path, said)
        for method, path, body in GOALS[name]
        for said in page.value(f"({TRIES})({json.dumps(method)}, {json.dumps(server + path)}, {json.dumps(body)})")
    ]


def prefect_says(server: str, path: str, root: Path) -> Any:
    """Ask as a client that knows the password; a question by POST needs a token too."""
    user, _, password = prefect_password(root).partition(":")
    with httpx.Client(base_url=f"{server}/api/", auth=(user, password), timeout=60) as client:
        token = client.get("csrf-token", params={"client": "test"}).json()["token"]
        headers = {"Prefect-Csrf-Client": "test", "Prefect-Csrf-Token": token}
        return client.post(path, json={}, headers=headers).raise_for_status().json()


@pytest.mark.parametrize("name", GOALS)
@pytest.mark.parametrize("host", ["127.0.0.1", OTHER_NAME])
def test_a_page_of_another_origin_reads_nothing(name, host, chromium, servers, elsewhere):
    chromium.open(f"http://{host}:{elsewhere}/")
    chromium.until("document.body?.textContent === 'elsewhere'")
    learned = tried(chromium, servers[name], name)
    assert len(learned) >= 2 * len(GOALS[name])
    # "opaque": the browser shows the page neither status nor content.
    assert [one for one in learned if one[1] not in (["refused", 0, ""], ["opaque", 0, ""])] == []


@pytest.mark.parametrize("name", GOALS)
def test_a_name_that_was_led_to_this_machine_reads_nothing(name, chromium, servers):
    address = servers[name].replace("127.0.0.1", OTHER_NAME)
    chromium.open(f"{address}/")
    chromium.until(f"location.hostname === '{OTHER_NAME}' && !!document.body")
    for path, (kind, status, text) in tried(chromium, address, name):
        # A page may also forbid its own scripts to ask.
        assert kind == "refused" or status >= 400, (path, status, text[:200])
        assert "w1" not in text
        assert EVIL not in text


def test_only_pages_themselves_were_answered(applications, servers, chromium):
    """The last of the tests above: what our own servers answered to all of it."""
    asked = {name: [one for one in app.answers if one[1] != "/"] for name, app in applications.items()}
    assert all(asked.values())
    assert [one for answers in asked.values() for one in answers if one[2] < 400] == []


def test_no_page_changed_anything(servers, questions, inbox, registered_store):
    assert not questions.path.exists()
    assert [path for path in inbox.rglob("*") if path.suffix == ".jsonl"] == []
    with urllib.request.urlopen(f"{servers['mlflow']}/api/2.0/mlflow/experiments/search?max_results=99") as answer:
        assert "stranger" not in [one["name"] for one in json.load(answer)["experiments"]]
    for kind in ("variables", "automations"):
        assert prefect_says(servers["prefect"], f"{kind}/filter", registered_store) == []


def test_a_websocket_of_another_origin_brings_prefect_no_event(chromium, servers, elsewhere, registered_store):
    chromium.open(f"http://{OTHER_NAME}:{elsewhere}/")
    chromium.until("document.body?.textContent === 'elsewhere'")
    event = {
        "occurred": "2026-01-01T00:00:00Z",
        "event": "stranger",
        "resource": {"prefect.resource.id": "stranger"},
        "id": "7b0b1f5e-0000-4000-8000-000000000000",
    }
    address = servers["prefect"].replace("http", "ws") + "/api/events/in"
    script = f"""new Promise(done => {{
      const socket = new WebSocket({json.dumps(address)});
      socket.onopen = () => {{ socket.send({json.dumps(json.dumps(event))}); setTimeout(() => done("sent"), 1000); }};
      socket.onerror = socket.onclose = () => done("closed");
    }})"""
    chromium.value(script)
    time.sleep(2)
    found = prefect_says(servers["prefect"], "events/filter", registered_store)
    assert "stranger" not in [one["event"] for one in found["events"]]
