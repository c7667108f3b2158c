"""Gate of the server: who may ask, what is answered at which path, and a one-sentence reason for every refusal."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from starlette.responses import JSONResponse, Response

from dial2vec.addresses import Hosts
from dial2vec.config import Serve
from dial2vec.operation.serving.batching import PieceReader
from dial2vec.operation.serving.bodies import Message, Receive, decode, read_body
from dial2vec.operation.serving.forms import EncodingRequest, read_embeddings, read_invocation, read_rerank
from dial2vec.operation.serving.metrics import CONTENT_TYPE, Metrics
from dial2vec.operation.serving.openapi import description, page
from dial2vec.operation.serving.refusals import GoneError, RefusedRequestError, refusal_answer
from dial2vec.operation.serving.scheduler import Scheduler
from dial2vec.operation.serving.tokens import AccessTokens

Send = Callable[[Message], Awaitable[None]]
Handler = Callable[[Message, Receive], Awaitable[Response]]
Form = Callable[[Any, dict[str, Any], int], EncodingRequest]

CLOSE = (b"connection", b"close")
MODEL = "/v1/models/"
# Paths that need no token: they tell nothing about the model.
OPEN = ("/", "/openapi.json", "/livez", "/readyz", "/health", "/ping")
# Bodies over this size are read in a thread: others would wait.
LARGE = 100_000
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
}

log = logging.getLogger(__name__)


class Gate:
    """The ASGI application: checks a request, reads it, has it encoded, and answers.

    :param tokens: Bearer tokens; None asks for none.

    Attribute `leaving`: True once this server shall end; every answer then asks the client to connect again.
    """

    def __init__(
        self,
        reader: PieceReader,
        *,
        about: dict[str, Any],
        settings: Serve,
        hosts: Hosts | None = None,
        tokens: AccessTokens | None = None,
    ) -> None:
        self.about, self.settings, self.tokens = about, settings, tokens
        self.hosts = hosts or Hosts.of()
        self.leaving = False
        self.metrics = Metrics(about)
        self.scheduler = Scheduler(reader, settings, self.metrics)
        self._started = int(time.time())
        self.handlers: dict[str, tuple[str, Handler]] = {
            "/": ("GET", self._page),
            "/invocations": ("POST", partial(self._encode, read_invocation)),
            "/v1/embeddings": ("POST", partial(self._encode, read_embeddings)),
            "/v1/rerank": ("POST", partial(self._encode, read_rerank)),
            "/v1/models": ("GET", self._models),
            f"{MODEL}{about.get('model')}": ("GET", self._model),
            "/version": ("GET", self._version),
            "/livez": ("GET", self._alive),
            "/readyz": ("GET", self._ready),
            "/health": ("GET", self._alive),
            "/ping": ("GET", self._alive),
            "/metrics": ("GET", self._metrics),
            "/openapi.json": ("GET", self._openapi),
        }

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request."""
        began, path = time.perf_counter(), scope["path"]
        try:
            answer = await self._answer(scope, receive)
        except RefusedRequestError as refusal:
            self.metrics.refusal(refusal.kind)
            answer = refusal_answer(refusal, path)
        except GoneError:
            self.metrics.refusal("gone")
            return
        except Exception:
            log.exception("a request failed")
            self.metrics.refusal("failed")
            failed = RefusedRequestError(500, "failed", "the request failed; the server's log says why.")
            answer = refusal_answer(failed, path)
        answer.headers.update(HEADERS)
        # Of two lengths of a body, a proxy may believe the other one, so that what follows is not the next request of
        # the same client (RFC 9112, 6.1).
        two_lengths = {b"content-length", b"transfer-encoding"} <= dict(scope["headers"]).keys()
        if self.leaving or two_lengths:
            answer.headers["connection"] = "close"
        known = path if path in self.handlers else "other"
        self.metrics.request(known, answer.status_code, time.perf_counter() - began)
        await answer(scope, receive, send)

    async def _answer(self, scope: Message, receive: Receive) -> Response:
        path, headers = scope["path"], dict(scope["headers"])
        address = (scope.get("server") or ("",))[0]
        if refused := self.hosts.refusal(scope["headers"], server=address, page=path == "/"):
            advice = " Start it with --allow-host for another." if refused.kind == "host" else ""
            raise RefusedRequestError(refused.status, refused.kind, refused.reason + advice)
        if self.tokens and path not in OPEN and not self.tokens.accept(headers.get(b"authorization", b"")):
            reason = "expected the header 'Authorization: Bearer' with a token of this server."
            raise RefusedRequestError(401, "token", reason, www_authenticate='Bearer realm="dial2vec"')
        method, handler = self.handlers.get(path, ("", self._alive))
        if not method:
            if path.startswith(MODEL):
                reason = f"there is no such model; expected {self.about['model']!r}."
                raise RefusedRequestError(404, "model_not_found", reason)
            reason = f"there is no {path[:100]}; expected one of {', '.join(self.handlers)}."
            raise RefusedRequestError(404, "not_found", reason)
        # HEAD is GET without the body, which uvicorn leaves out.
        if scope["method"] != method and (scope["method"], method) != ("HEAD", "GET"):
            raise RefusedRequestError(405, "method", f"{path} takes {method}, found {scope['method']}.", allow=method)
        return await handler(scope, receive)

    async def _encode(self, form: Form, scope: Message, receive: Receive) -> Response:
        body = await read_body(dict(scope["headers"]), receive, self.settings)

        def read() -> EncodingRequest:
            return form(decode(body), self.about, self.settings.max_dialogues)

        request = read() if len(body) < LARGE else await asyncio.to_thread(read)
        gone = asyncio.ensure_future(_disconnect(receive))
        try:
            work = await self.scheduler.encode(request.dialogues, gone)
        finally:
            gone.cancel()
        self.metrics.dialogues(len(work.dialogues))
        headers = {"X-Dialogues-Long": str(work.long)} if work.long else None
        return JSONResponse(request.answer(work.vectors, work.tokens), headers=headers)

    async def _models(self, scope: Message, receive: Receive) -> Response:
        return JSONResponse({"object": "list", "data": [self._described()]})

    async def _model(self, scope: Message, receive: Receive) -> Response:
        return JSONResponse(self._described())

    def _described(self) -> dict[str, Any]:
        return {"id": self.about["model"], "object": "model", "created": self._started, "owned_by": "dial2vec"}

    async def _version(self, scope: Message, receive: Receive) -> Response:
        return JSONResponse(self.about)

    async def _alive(self, scope: Message, receive: Receive) -> Response:
        return Response("\n")

    async def _ready(self, scope: Message, receive: Receive) -> Response:
        if self.leaving:
            raise RefusedRequestError(503, "leaving", "this server is ending; connect again.", retry_after="1")
        self.scheduler.refuse_if_full()
        return Response("\n")

    async def _metrics(self, scope: Message, receive: Receive) -> Response:
        return Response(self.metrics.text(), media_type=CONTENT_TYPE)

    async def _openapi(self, scope: Message, receive: Receive) -> Response:
        return JSONResponse(description(self.settings))

    async def _page(self, scope: Message, receive: Receive) -> Response:
        host = dict(scope["headers"])[b"host"].decode("latin-1")
        return Response(page(self.settings, f"{scope['scheme']}://{host}"), media_type="text/html")


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
