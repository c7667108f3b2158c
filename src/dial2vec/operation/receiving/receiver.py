"""The server of `dial2vec receive`: who may send, what is stored, and when it goes to the inbox."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dial2vec.addresses import Hosts, address_of
from dial2vec.config import Serve
from dial2vec.operation.receiving.reading import JSON, PROTOBUF, Mask, failure, is_signed, read_traces, read_webhook
from dial2vec.operation.receiving.store import Store
from dial2vec.operation.serving.bodies import decode, read_body
from dial2vec.operation.serving.refusals import GoneError, RefusedRequestError
from dial2vec.operation.serving.server import Connection
from dial2vec.operation.serving.tokens import AccessTokens

# Bodies of 20 MB at most, as OpenTelemetry's collector takes them. More connections get 503.
LIMITS, CONNECTIONS = Serve(max_body_bytes=20_000_000), 64
# Seconds between two looks for conversations that are quiet.
LOOK_S = 5.0

log = logging.getLogger(__name__)


class Receiver:
    """The answers; 200 means that what was sent is on disk.

    Requests are stored one after the other in the loop that takes them: the others wait in their connections.

    :param secret: Secret of the signatures of webhooks; b"" for none.
    """

    def __init__(self, store: Store, hosts: Hosts, tokens: AccessTokens, mask: Mask, secret: bytes) -> None:
        self.store, self._hosts, self._tokens, self._mask, self._secret = store, hosts, tokens, mask, secret
        self.handed_over = 0

    async def traces(self, request: Request) -> Response:
        """Take spans."""
        body = await self._body(request, JSON, PROTOBUF)
        items, answer = read_traces(body, form := _form(request), self._mask)
        self.store.put(items)
        return Response(answer, media_type=form)

    async def webhook(self, request: Request) -> Response:
        """Take a body as a chat service sends it; Slack first asks for the text of a challenge."""
        content = decode(await self._body(request, JSON))
        if isinstance(content, dict) and content.get("type") == "url_verification":
            return Response(str(content.get("challenge")))
        self.store.put(read_webhook(content, self._mask))
        return JSONResponse({})

    async def _body(self, request: Request, *forms: str) -> bytes:
        """Return the body of a request with a token, in a header or in the path, or of a webhook with a signature."""
        headers, (server, _) = dict(request.scope["headers"]), request.scope.get("server") or ("", 0)
        if refused := self._hosts.refusal(request.scope["headers"], server=server):
            raise RefusedRequestError(refused.status, refused.kind, refused.reason)
        given = request.path_params.get("token", "")
        known = self._tokens.accept(headers.get(b"authorization", f"Bearer {given}".encode()))
        signed = self._secret and forms[-1] == JSON
        body = await read_body(headers, request.receive, LIMITS, forms) if known or signed else b""
        if not known and not (signed and is_signed(headers, body, self._secret)):
            reason = "expected 'Authorization: Bearer' and a token of this server, or the signature of a webhook."
            raise RefusedRequestError(401, "token", reason, www_authenticate='Bearer realm="dial2vec"')
        return body

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                self.handed_over += self.store.hand_over()
            except Exception as error:
                log.error("The inbox gets nothing at the moment: %s", error)

    def run(self, listening: socket.socket, say: Callable[[str], None]) -> None:
        """Answer requests until Ctrl-C or SIGTERM."""
        address = address_of(listening)

        @asynccontextmanager
        async def looking(_: Starlette) -> AsyncIterator[None]:
            # Conversations are handed over while the server runs; from here on it ends by a signal in order.
            say(f"Receiving at {address}/v1/traces and {address}/webhook into {self.store.inbox}; Ctrl-C ends it.")
            task = asyncio.create_task(self._look())
            yield
            task.cancel()

        webhooks = [Route(path, self.webhook, methods=["POST"]) for path in ("/webhook", "/webhook/{token}")]
        app = Starlette(
            routes=[Route("/v1/traces", self.traces, methods=["POST"]), *webhooks],
            exception_handlers={RefusedRequestError: _refuse, GoneError: lambda *_: Response()},
            lifespan=looking,
        )
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        config = uvicorn.Config(app, http=Connection, ws="none", log_level="error", server_header=False)
        config.limit_concurrency = CONNECTIONS
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])
        # What they say after the next start is appended.
        self.handed_over += self.store.hand_over(everything=True)
        say(f"Ended; conversations handed over to {self.store.inbox}: {self.handed_over}")


def _form(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _refuse(request: Request, refusal: Any) -> Response:
    form = PROTOBUF if _form(request) == PROTOBUF else JSON
    return Response(failure(str(refusal), form), refusal.status, refusal.headers, media_type=form)
