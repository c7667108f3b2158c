"""Bodies of requests: complete, in time, within the limit of size, unpacked, and JSON."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any

from dial2vec.config import Serve
from dial2vec.operation.serving.refusals import GoneError, RefusedRequestError

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
# A body over the limit is read and thrown away, up to this multiple of the limit: most clients send all of it before
# they read the answer, and would otherwise see a broken connection.
PATIENCE = 8
# zlib's number for gzip with the largest window.
GZIP = 31


async def read_body(
    headers: dict[bytes, bytes], receive: Receive, settings: Serve, forms: Sequence[str] = ("application/json",)
) -> bytes:
    """Return the complete body of a request, unpacked if it is gzip.

    :param forms: Content types that are taken.
    :raises RefusedRequestError: if the head announces another form, or the body is large, slow or damaged.
    :raises GoneError: if the client closes the connection.
    """
    _check_type(headers.get(b"content-type", b"").decode("latin-1"), forms)
    coding = headers.get(b"content-encoding", b"identity").decode("latin-1").strip().lower()
    if coding not in ("identity", "gzip", "x-gzip"):
        reason = f"found the content encoding {coding[:100]!r}; expected gzip or none."
        raise RefusedRequestError(415, "content_encoding", reason, accept_encoding="gzip")
    # A client with the header Expect waits for permission to send.
    if b"expect" in headers and int(headers.get(b"content-length", b"0")) > settings.max_body_bytes:
        raise _too_large(settings)
    body = await _received(receive, settings)
    return body if coding == "identity" else _unpacked(body, settings)


async def _received(receive: Receive, settings: Serve) -> bytes:
    limit, deadline = settings.max_body_bytes, settings.receive_seconds
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
        reason = f"the body was not complete after {deadline:g} seconds, at {size} bytes."
        raise RefusedRequestError(408, "slow_body", reason, connection="close") from None
    if size > limit:
        raise _too_large(settings)
    return b"".join(parts)


def _unpacked(body: bytes, settings: Serve) -> bytes:
    """Unpack gzip; one byte over the limit ends it, however large the rest."""
    unpacker = zlib.decompressobj(GZIP)
    try:
        content = unpacker.decompress(body, settings.max_body_bytes + 1)
    except zlib.error:
        raise RefusedRequestError(400, "gzip", "the body is not gzip, though its content encoding says so.") from None
    if len(content) > settings.max_body_bytes:
        raise _too_large(settings)
    if not unpacker.eof or unpacker.unused_data:
        raise RefusedRequestError(400, "gzip", "the gzip of the body is cut short, or more follows it.")
    return content


def _too_large(settings: Serve) -> RefusedRequestError:
    reason = f"the body is over the limit of {settings.max_body_bytes} bytes; send fewer dialogues at a time."
    return RefusedRequestError(413, "body_too_large", reason, connection="close")


def _check_type(content_type: str, forms: Sequence[str]) -> None:
    kind, _, parameter = (part.strip().lower() for part in content_type.partition(";"))
    if kind not in forms or parameter.replace('"', "") not in ("", "charset=utf-8"):
        reason = f"found the content type {content_type[:100]!r}; expected {' or '.join(forms)}, in UTF-8."
        raise RefusedRequestError(415, "content_type", reason)


def decode(body: bytes) -> Any:
    """Return the value of a body of JSON.

    :raises RefusedRequestError: if it is not JSON in UTF-8.
    """
    try:
        return json.loads(body.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise RefusedRequestError(400, "json", f"the body is not UTF-8 (byte {error.start}).") from None
    except json.JSONDecodeError as error:
        raise RefusedRequestError(400, "json", f"the body is not JSON ({error}).") from None
    except (ValueError, RecursionError):
        reason = "the body is no readable JSON (a number of thousands of digits, or nesting without end)."
        raise RefusedRequestError(400, "json", reason) from None
