"""The pages of MLflow and Prefect on this machine's own address."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Literal

from dial2vec.errors import Dial2vecError


def page_command(which: Literal["mlflow", "prefect"], root: Path, port: int) -> tuple[list[str], dict[str, str]]:
    """Return the arguments after `python` that serve a page on 127.0.0.1, and the environment that they need.

    :raises Dial2vecError: when the port is taken, or MLflow's page is elsewhere because its variable names a server.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise Dial2vecError(
                f"port {port} is taken. Choose another: .venv/bin/dial2vec page {which} --port {port + 1}"
            ) from error
    if which == "prefect":
        command = ["-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
        return command, prefect_environment(root)
    from dial2vec.store import SERVER, open_store, store_uri

    if server := os.environ.get(SERVER):
        raise Dial2vecError(f"{SERVER} is set: the MLflow page of this project is at {server}. Open that, or unset it.")
    open_store(root)
    artifacts = root / "mlruns" / "artifacts"
    return [
        *("-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"),
        *("--backend-store-uri", store_uri(root), "--artifacts-destination", str(artifacts)),
    ], {}


def prefect_environment(root: Path) -> dict[str, str]:
    """Return where Prefect keeps its database: in the checkout, so that the page shows this project's runs."""
    return {
        "PREFECT_HOME": str(root / ".prefect"),
        # Making the database takes longer than the 20 seconds that Prefect allows its temporary server.
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    }
