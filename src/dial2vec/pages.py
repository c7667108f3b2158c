"""The pages of MLflow and Prefect on this machine's own address."""

from __future__ import annotations

from pathlib import Path
from typing import Literal


def page_command(which: Literal["mlflow", "prefect"], root: Path, port: int) -> tuple[list[str], dict[str, str]]:
    """Return the arguments after `python` that serve a page on 127.0.0.1, and the environment that they need."""
    if which == "prefect":
        command = ["-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
        return command, prefect_environment(root)
    from dial2vec.tracking import open_store, store_uri

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
