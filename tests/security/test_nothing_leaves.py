"""Every page that we start, opened in Chromium: no request of it leaves the machine."""

from __future__ import annotations

import base64
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Literal
from urllib.request import urlopen

import pytest

from browser import Page, browser
from dial2vec.addresses import silence
from dial2vec.operation.pages import FIRST, page_command, prefect_password
from tests.collection.explorer.conftest import encoder as encoder
from tests.collection.explorer.conftest import grow as grow
from tests.collection.explorer.test_browser import addresses as addresses
from tests.security.test_nights import answering
from tests.test_accessibility import collection as collection
from tests.test_accessibility import files as files

pytestmark = pytest.mark.services("chromium", "mlflow", "prefect")
# A page that asks nobody. It has a field, because Chromium asks its maker about the fields of a served page.
EMPTY = "<!doctype html><title>Empty</title><input name=search>"
# A server makes its database first, which takes minutes on a busy machine.
PATIENCE = 600
SHOWN = "document.body && document.body.innerText.trim().length > 20"


def hosts_of(requests: list[bytes]) -> set[str]:
    """Return the hosts that a proxy was asked for."""
    asked = (words[1].decode() for words in map(bytes.split, requests) if len(words) > 1)
    return {address.removeprefix("http://").partition("/")[0].partition(":")[0] for address in asked}


@pytest.fixture(scope="module")
def servers(tmp_path_factory) -> Iterator[dict[str, tuple[str, Path]]]:
    """Address and project of the pages of MLflow and Prefect."""
    found = {}
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "MLFLOW_T"))}
    with ExitStack() as stack:
        which: Literal["mlflow", "prefect"]
        for which in ("prefect", "mlflow"):
            root = tmp_path_factory.mktemp(which)
            with socket.create_server(("127.0.0.1", 0)) as free:
                port = free.getsockname()[1]
            command, environment = page_command(which, root, port)
            process = subprocess.Popen(
                [sys.executable, *command],
                cwd=root,
                env=clean | environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.STDOUT,
            )
            stack.callback(process.wait)
            stack.callback(process.terminate)
            found[which] = (f"http://127.0.0.1:{port}", root)
        for which, (address, _) in found.items():
            deadline = time.monotonic() + PATIENCE
            while (fault := silence(f"{address}/{'api/health' if which == 'prefect' else ''}", seconds=5)) is not None:
                assert time.monotonic() < deadline, f"{which}: {fault}"
                time.sleep(0.5)
        yield found


@contextmanager
def recording_browser() -> Iterator[tuple[Page, list[bytes]]]:
    """A browser, and what its proxy, which answers nothing, was asked; the proxy also hears workers of a page."""
    with answering() as (proxy, requests), browser(f"--proxy-server={proxy}") as page:
        yield page, requests


@pytest.fixture(scope="module")
def empty_page(tmp_path_factory) -> Iterator[str]:
    """Address of a served page that asks nobody."""
    folder = tmp_path_factory.mktemp("empty")
    (folder / "index.html").write_text(EMPTY)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@contextmanager
def nothing_leaves(empty_page: str, *, patience: float = 30) -> Iterator[Page]:
    """A browser of which every request must stay here, but for what another asks with an empty page meanwhile.

    `patience`: seconds that the other has to ask what the first has asked.
    """
    with recording_browser() as (empty, by_itself):
        empty.open(empty_page)
        with recording_browser() as (page, asked):
            yield page
            page.value("new Promise(done => setTimeout(done, 1000))")
            here = ("http://127.0.0.1:", "ws://127.0.0.1:", "file:", "data:", "blob:", "about:")
            assert [address for address in page.requests if not address.startswith(here)] == []
            assert page.requests
        deadline = time.monotonic() + patience
        while not hosts_of(asked) <= hosts_of(by_itself) and time.monotonic() < deadline:
            time.sleep(0.1)
    assert hosts_of(asked) <= hosts_of(by_itself)


def test_a_request_of_the_page_is_told_from_those_of_the_browser(empty_page, tmp_path):
    page_file = tmp_path / "page.html"
    page_file.write_text("<script>new Worker('data:,fetch(\"http://worker.example/\")')</script>")
    with (
        pytest.raises(AssertionError, match=r"worker\.example"),
        nothing_leaves(empty_page, patience=1) as page,
    ):
        page.open(page_file.as_uri())


def test_the_record_holds_what_a_page_and_its_workers_ask(tmp_path):
    page_file = tmp_path / "page.html"
    page_file.write_text(
        "<script>fetch('http://analytics.example/page');"
        "new Worker(URL.createObjectURL(new Blob(['fetch(\"http://worker.example/\")'])))</script>"
    )
    with recording_browser() as (page, asked):
        page.open(page_file.as_uri())
        wanted = {"analytics.example", "worker.example", "http://analytics.example/page"}
        deadline = time.monotonic() + 30
        while not wanted <= {*hosts_of(asked), *page.requests} and time.monotonic() < deadline:
            page.value("1")
            time.sleep(0.1)
        assert wanted <= {*hosts_of(asked), *page.requests}


def test_nothing_leaves_prefects_page(servers, empty_page):
    address, root = servers["prefect"]
    with nothing_leaves(empty_page) as page:
        page.open(address)
        page.until(SHOWN, seconds=120)
        login = base64.b64encode(prefect_password(root).encode()).decode()
        page.value(f"localStorage.setItem('prefect-password', '{login}')")
        for path in ("/dashboard", "/runs", "/deployments", "/settings"):
            page.open(address + path)
            page.until(f"location.pathname === '{path}' && {SHOWN}", seconds=120)
        # The newer page, which asks an analytics host, is one click away otherwise.
        assert "Switch to V2" not in page.value("document.body.innerText")
        page.open(f"{address}/v2/dashboard")
        page.value("new Promise(done => setTimeout(done, 3000))")
    with urlopen(f"{address}/ui-settings", timeout=60) as answer:
        assert b'"available_uis":["v1"]' in answer.read()


def test_nothing_leaves_mlflows_page(servers, empty_page):
    address, _ = servers["mlflow"]
    with nothing_leaves(empty_page) as page:
        for path in ("/", "/#/experiments/0"):
            page.open(address + path)
            page.until(SHOWN, seconds=120)
        page.open(address + FIRST["mlflow"])
        page.until("document.body.innerText.includes('Registered Models')", seconds=120)


def test_nothing_leaves_the_explorer_and_the_pages_that_are_files(addresses, files, empty_page):
    with nothing_leaves(empty_page) as page:
        for address in (*addresses.values(), *files.values()):
            page.open(address)
            page.until(f"document.readyState === 'complete' && {SHOWN}", seconds=60)
