"""The pages of MLflow and Prefect on this machine's own address."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from dial2vec.errors import BusyError, Dial2vecError

PREFECT_SERVER = "PREFECT_API_URL"


def page_command(which: Literal["mlflow", "prefect"], root: Path, port: int) -> tuple[list[str], dict[str, str]]:
    """Return the arguments after `python` that serve a page on 127.0.0.1, and the environment that they need.

    :raises Dial2vecError: when the port is taken, or the page is elsewhere because a variable names a server.
    """
    if which == "prefect":
        if address := scheduled_server(root):
            raise Dial2vecError(f"the schedule's server shows it already: open {address.removesuffix('/api')}.")
        _check_here(PREFECT_SERVER, "Prefect")
        check_port(port, "page prefect")
        command = ["-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
        # Its page asks for what it shows at the address that this variable names.
        return command, prefect_environment(root) | {PREFECT_SERVER: f"http://127.0.0.1:{port}/api"}
    from dial2vec.registry.store import SERVER, open_store, store_uri

    _check_here(SERVER, "MLflow")
    check_port(port, "page mlflow")
    open_store(root)
    artifacts = root / "mlruns" / "artifacts"
    return [
        *("-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"),
        *("--backend-store-uri", store_uri(root), "--artifacts-destination", str(artifacts)),
    ], {}


def _check_here(variable: str, name: str) -> None:
    if server := os.environ.get(variable):
        server = server.removesuffix("/api")
        raise Dial2vecError(f"{variable} is set: {name}'s page of this project is at {server}. Open that, or unset it.")


def check_port(port: int, command: str) -> None:
    """Make sure that nothing listens on a port of this machine.

    :param command: of dial2vec, which wants to.
    :raises Dial2vecError: when something does.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise Dial2vecError(
                f"port {port} is taken. Choose another: .venv/bin/dial2vec {command} --port {port + 1}"
            ) from error


def prefect_environment(root: Path) -> dict[str, str]:
    """Return where Prefect keeps its database: in the checkout, so that the page shows this project's runs.

    Where `dial2vec schedule` is at work, its server is named: two servers on one database get into each other's way.
    """
    address = scheduled_server(root)
    return {
        "PREFECT_HOME": str(root / ".prefect"),
        # Making the database takes longer than the 20 seconds that Prefect allows its temporary server.
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
        # Slots that are kept in the server's memory are never given back when it is killed.
        "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
        # Every page of the web that is open in a browser here may ask it otherwise, and a worker runs what it is told.
        # Its own page is of the same origin and needs no leave.
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": "http://127.0.0.1",
    } | ({PREFECT_SERVER: address} if address else {})


@contextlib.contextmanager
def as_scheduled_server(root: Path, address: str) -> Iterator[None]:
    """Hold the schedule of a checkout, and say where its server is.

    :raises BusyError: when another process holds it.
    """
    path = _schedule_lock(root)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BusyError(f"a schedule is at work in {root} already, at {scheduled_server(root)}.") from error
        handle.truncate(0)
        handle.write(address)
        handle.flush()
        yield


def scheduled_server(root: Path) -> str | None:
    """Return the address of the server of `dial2vec schedule`; None while none is at work in this checkout."""
    try:
        with _schedule_lock(root).open("r+", encoding="utf-8") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return handle.read() or None
    except OSError:
        pass
    return None


def _schedule_lock(root: Path) -> Path:
    return root / ".prefect" / "schedule.lock"
