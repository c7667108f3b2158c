"""A server on a shared socket, which can end without losing a request and closes slow connections."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from dial2vec.config import Serve
from dial2vec.errors import Dial2vecError
from dial2vec.operation.serving.gate import Gate
from dial2vec.operation.serving.job import message

# Seconds until a connection without requests is closed.
KEEP_ALIVE = 5

log = logging.getLogger(__name__)


class Connection(H11Protocol):
    """Closes a connection if the head of a request does not arrive in time; uvicorn itself waits for ever."""

    seconds = 30.0
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start the clock."""
        super().connection_made(transport)
        self._deadline = self.loop.call_later(self.seconds, transport.close)

    def data_received(self, data: bytes) -> None:
        """Stop the clock when a head is complete, and start it when another begins."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self.seconds, self.transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._stop()
        super().connection_lost(exc)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


async def serve(gate: Gate, listening: socket.socket, control: socket.socket, settings: Serve) -> None:
    """Answer requests until the other end of `control` closes, then finish running requests.

    :param listening: Socket that listens already.
    :param control: Socket that gets a line of JSON, `{"ready": ...}`, once requests are answered. A byte from its other
        end asks to read the tokens again.
    """
    loop = asyncio.get_running_loop()
    # One thread only, because each thread that calls torch starts its own team of threads.
    loop.set_default_executor(ThreadPoolExecutor(1))
    server = uvicorn.Server(
        uvicorn.Config(
            gate,
            http=type("TimedConnection", (Connection,), {"seconds": settings.receive_seconds}),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE,
            limit_concurrency=settings.max_connections,
        )
    )
    # uvicorn's warnings are about clients, which get an answer with the reason.
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.02)
    control.setblocking(False)
    with contextlib.suppress(BrokenPipeError):  # the keeper was killed meanwhile
        await loop.sock_sendall(control, message(ready=gate.about))
    dismissed = asyncio.create_task(_dismissed(gate, control))
    await asyncio.wait({dismissed, serving}, return_when=asyncio.FIRST_COMPLETED)
    if not serving.done():
        await _leave(server, gate, listening)
    dismissed.cancel()
    await serving


async def _dismissed(gate: Gate, control: socket.socket) -> None:
    """Wait until the other end closes; anything that it sends means that the tokens shall be read again."""
    while await asyncio.get_running_loop().sock_recv(control, 1):
        try:
            if gate.tokens:
                gate.tokens.reload()
        except Dial2vecError as error:
            log.error("The tokens stay as they are: %s", error)


async def _leave(server: uvicorn.Server, gate: Gate, listening: socket.socket) -> None:
    """Accept no more connections, answer requests on open ones, and end when all are closed.

    uvicorn alone would close idle connections at once, even if a request is on its way. Here every answer closes its
    connection, and idle connections are closed after `KEEP_ALIVE`.
    """
    gate.leaving = True
    asyncio.get_running_loop().remove_reader(listening.fileno())
    # Let connections that were just accepted open before the socket is closed.
    await asyncio.sleep(0.1)
    for listener in server.servers:
        listener.close()
    while server.server_state.connections:
        await asyncio.sleep(0.05)
    server.should_exit = True
