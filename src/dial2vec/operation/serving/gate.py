"""Gate in front of MLflow's scoring server: limits, a queue, and a one-sentence reason for every refusal."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from http import HTTPStatus
from typing import Any

from starlette.responses import JSONResponse

from dial2vec.config import Serve
from dial2vec.dialogue import Dialogue, RecordError, dialogue_from_record

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

METHODS = {"/invocations": "POST", "/health": "GET", "/ping": "GET", "/version": "GET"}
SHAPE = '{"inputs": [{"turns": [{"speaker": "...", "text": "..."}]}]}'
CLOSE = (b"connection", b"close")
# A body over the limit is read and thrown away, up to this multiple of the limit: most clients send all of it before
# they read the answer, and would otherwise see a broken connection.
PATIENCE = 8

log = logging.getLogger(__name__)


class RefusedError(Exception):
    """A request that gets no vectors: status, and reason in one sentence."""

    def __init__(self, status: int, reason: str, **headers: str) -> None:
        super().__init__(reason)
        self.status, self.headers = status, {name.replace("_", "-"): value for name, value in headers.items()}


class GoneError(Exception):
    """The client has closed the connection and waits for no answer."""


class Gate:
    """An ASGI application around MLflow's, which passes on only valid requests, one at a time.

    One encoding already uses every processor. Other requests wait in the order in which their bodies were complete.

    :param app: MLflow's scoring server.
    :param about: Answer to `GET /version`.
    :param count_long: Function that counts the dialogues longer than the encoder reads at once.
    :param settings: Limits.

    Attribute `leaving`: True once this server shall end; every answer then asks the client to connect again.
    """

    def __init__(
        self, app: App, *, about: dict[str, Any], count_long: Callable[[Sequence[Dialogue]], int], settings: Serve
    ) -> None:
        self.app, self.about, self.count_long, self.settings = app, about, count_long, settings
        self.leaving = False
        self._waiting = 0
        self._turn = asyncio.Lock()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def reply(message: Message) -> None:
            if self.leaving and message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), CLOSE]
            await send(message)

        try:
            await self._answer(scope, receive, reply)
        except RefusedError as refusal:
            await _refuse(refusal, scope, receive, reply)
        except GoneError:
            pass
        except Exception:
            log.exception("a request failed")
            await _refuse(RefusedError(500, "the request failed; the server's log says why."), scope, receive, reply)

    async def _answer(self, scope: Message, receive: Receive, send: Send) -> None:
        method = METHODS.get(scope["path"])
        if method is None:
            raise RefusedError(404, f"there is no {scope['path'][:100]}; expected one of {', '.join(METHODS)}.")
        if scope["method"] != method:
            raise RefusedError(405, f"{scope['path']} takes {method}, found {scope['method']}.", allow=method)
        if scope["path"] == "/version":
            await JSONResponse(self.about)(scope, receive, send)
        elif method == "GET":
            await self.app(scope, receive, send)
        else:
            headers = dict(scope["headers"])
            _check_type(headers.get(b"content-type", b"").decode("latin-1"))
            body = await self._body(headers, receive)
            await self._encode(body, scope, receive, send)

    async def _body(self, headers: dict[bytes, bytes], receive: Receive) -> bytes:
        """Return the complete body of a request within the limits of size and time."""
        limit, deadline = self.settings.max_body_bytes, self.settings.receive_seconds
        too_large = RefusedError(
            413, f"the body is over the limit of {limit} bytes; send fewer dialogues at a time.", connection="close"
        )
        # A client with the header Expect waits for permission to send.
        if b"expect" in headers and int(headers.get(b"content-length", b"0")) > limit:
            raise too_large
        size, parts, more = 0, [], True
        try:
            async with asyncio.timeout(deadline):
                while more and size <= PATIENCE * limit:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise GoneError
                    part, more = message.get("body", b""), message.get("more_body", False)
                    size += len(part)
                    if size <= limit:
                        parts.append(part)
                    else:
                        parts.clear()
        except TimeoutError:
            raise RefusedError(
                408, f"the body was not complete after {deadline:g} seconds, at {size} bytes.", connection="close"
            ) from None
        if size > limit:
            raise too_large
        return b"".join(parts)

    async def _encode(self, body: bytes, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a body to MLflow when it is next in the queue."""
        if self._waiting >= self.settings.max_waiting:
            raise RefusedError(503, f"{self._waiting} requests are waiting already; try again.", retry_after="1")
        gone = asyncio.create_task(_disconnect(receive))
        self._waiting += 1
        try:
            async with self._turn:
                # Clients that have left must not delay the others.
                if gone.done():
                    raise GoneError
                dialogues, long = await asyncio.to_thread(self._look_at, body)
                await self._invoke(_passed_on(dialogues), long, scope, gone, send)
        finally:
            self._waiting -= 1
            gone.cancel()

    def _look_at(self, body: bytes) -> tuple[list[Dialogue], int]:
        dialogues = read_request(body, max_dialogues=self.settings.max_dialogues)
        return dialogues, self.count_long(dialogues)

    async def _invoke(self, body: bytes, long: int, scope: Message, gone: asyncio.Task[Message], send: Send) -> None:
        """Call MLflow's server, and send its answer only if it holds vectors."""
        messages = [{"type": "http.request", "body": body, "more_body": False}]
        answer: list[Message] = []

        async def receive() -> Message:
            return messages.pop() if messages else await asyncio.shield(gone)

        async def keep(message: Message) -> None:
            answer.append(message)

        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await self.app({**scope, "headers": headers}, receive, keep)
        if not answer:
            raise GoneError
        start = answer[0]
        if start["status"] != 200:
            raise _failure(start["status"])
        if long:
            start["headers"] = [*start["headers"], (b"x-dialogues-long", str(long).encode())]
        for message in answer:
            await send(message)


def read_request(body: bytes, *, max_dialogues: int) -> list[Dialogue]:
    """Return the dialogues of a request, 1 to `max_dialogues`, in its order.

    :raises RefusedError: if it holds anything else; the message names a dialogue by its number (from 1) and its id.
    """
    try:
        request = json.loads(body.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise RefusedError(400, f"the body is not UTF-8 (byte {error.start}).") from None
    except json.JSONDecodeError as error:
        raise RefusedError(400, f"the body is not JSON ({error}).") from None
    except (ValueError, RecursionError):
        raise RefusedError(
            400, "the body is no readable JSON (a number of thousands of digits, or nesting without end)."
        ) from None
    if not isinstance(request, dict) or list(request) != ["inputs"] or not isinstance(request["inputs"], list):
        raise RefusedError(400, f"expected {SHAPE} and no other keys beside 'inputs'.")
    records = request["inputs"]
    if not 1 <= len(records) <= max_dialogues:
        raise RefusedError(400, f"found {len(records)} dialogues; expected 1 to {max_dialogues} in a request.")
    return [_dialogue(record, number) for number, record in enumerate(records, start=1)]


def _dialogue(record: object, number: int) -> Dialogue:
    name = f"dialogue {number}"
    if isinstance(record, dict):
        # The registered model names dialogues in the same way. Other keys of a record do not change its vector.
        name += f" ({str(record['dialogue_id'])[:40]!r})" if record.get("dialogue_id") else ""
        record = {"dialogue_id": name} | {key: record[key] for key in record if key == "turns"}
    try:
        return dialogue_from_record(record)
    except RecordError as error:
        raise RefusedError(400, f"{name}: {error}.") from None


def _passed_on(dialogues: Sequence[Dialogue]) -> bytes:
    """Return a request in MLflow's form, which allows no numbers as speakers, for example."""
    records = [
        {"turns": [{"speaker": turn.speaker, "text": turn.text} for turn in dialogue.turns]} for dialogue in dialogues
    ]
    return json.dumps({"inputs": records}).encode()


def _check_type(content_type: str) -> None:
    kind, _, parameter = (part.strip().lower() for part in content_type.partition(";"))
    if kind != "application/json" or parameter.replace('"', "") not in ("", "charset=utf-8"):
        raise RefusedError(415, f"found the content type {content_type[:100]!r}; expected application/json, in UTF-8.")


def _failure(status: int) -> RefusedError:
    """Return a refusal without MLflow's own text, which holds the whole request or a stack trace."""
    if status == HTTPStatus.GATEWAY_TIMEOUT:
        return RefusedError(504, "the vectors took too long; send fewer dialogues at a time.")
    if status < 500:
        return RefusedError(status, "the model refuses these dialogues; the server's log says why.")
    return RefusedError(500, "the encoding failed; the server's log says why.")


async def _disconnect(receive: Receive) -> Message:
    while (message := await receive())["type"] != "http.disconnect":
        pass
    return message


async def _refuse(refusal: RefusedError, scope: Message, receive: Receive, send: Send) -> None:
    content = {"error_code": HTTPStatus(refusal.status).name, "message": str(refusal)}
    await JSONResponse(content, refusal.status, refusal.headers)(scope, receive, send)
