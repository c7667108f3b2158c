"""A gate in front of a tiny model, and readers that need no model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from dial2vec.addresses import Hosts
from dial2vec.config import Serve
from dial2vec.operation.serving.gate import Gate
from tests.registry.conftest import encoders as encoders
from tests.registry.conftest import record as record
from tests.registry.conftest import registered_store as registered_store

Ask = Callable[..., httpx.Response]
HOSTS = Hosts.of("here")


@pytest.fixture(scope="session")
def served(registered_store: Path) -> Gate:
    """What a worker serves: version 1 of the tiny model."""
    from dial2vec.operation.serving.address import Address
    from dial2vec.operation.serving.job import Job
    from dial2vec.operation.serving.worker import load_gate

    folder = Address.of("models:/dial2vec-demo/1", root=registered_store).folder("1", registered_store)
    return load_gate(Job(0, 0, str(folder), "dial2vec-demo", "1", "champion", Serve()))


@pytest.fixture
def gate(served: Gate) -> Callable[..., Gate]:
    """Return the served gate with other settings."""
    reader = served.scheduler.batcher.reader
    return lambda tokens=None, hosts=HOSTS, **limits: Gate(
        reader, about=served.about, settings=Serve(**limits), hosts=hosts, tokens=tokens
    )


@pytest.fixture
def ask() -> Ask:
    """Send one request to a gate."""

    def send(gate: Gate, content: Any = b"", *, path="/invocations", method="POST", kind="application/json", **headers):
        sent = {"content-type": kind} | {name.replace("_", "-"): value for name, value in headers.items()}

        async def answer() -> httpx.Response:
            transport = httpx.ASGITransport(app=gate)
            async with httpx.AsyncClient(transport=transport, base_url="http://here:5601") as client:
                return await client.request(method, path, content=content, headers=sent)

        return asyncio.run(answer())

    return send
