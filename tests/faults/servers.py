"""Servers of the faults' tests: started, waited for, ended."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

OFF = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}


def free_port() -> int:
    """A port of loopback that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for_page(address: str) -> None:
    """Wait until a server answers."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=5):
            return
        time.sleep(0.5)
    raise AssertionError(f"{address} did not answer")


@contextlib.contextmanager
def running(log: Path, *command: str | Path, variables: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command in the folder of its log for a while."""
    with log.open("ab") as said:
        process = subprocess.Popen(command, cwd=log.parent, env=os.environ | variables, stdout=said, stderr=said)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


@contextlib.contextmanager
def mlflow_server(folder: Path, host: str = "127.0.0.1") -> Iterator[int]:
    """A registry server with a database and files in a folder; its port."""
    port = free_port()
    stores = ("--backend-store-uri", f"sqlite:///{folder}/mlflow.db", "--artifacts-destination", str(folder / "files"))
    listen = ("--host", host, "--port", str(port), "--workers", "1")
    command = (sys.executable, "-m", "mlflow", "server", *listen, *stores, "--allowed-hosts", "*")
    with running(folder / "mlflow.log", *command, variables=OFF):
        wait_for_page(f"http://{host}:{port}/health")
        yield port


@contextlib.contextmanager
def prefect_server(folder: Path, host: str) -> Iterator[int]:
    """A server of runs with its database in a folder; its port."""
    port = free_port()
    own = {"PREFECT_HOME": str(folder / "prefect-home"), "PREFECT_SERVER_ANALYTICS_ENABLED": "false"}
    command = (sys.executable, "-m", "prefect", "server", "start", "--host", host, "--port", str(port))
    with running(folder / "prefect.log", *command, variables=own):
        wait_for_page(f"http://{host}:{port}/api/health")
        yield port
