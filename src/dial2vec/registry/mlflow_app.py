"""MLflow's server for pages of its own only: `mlflow server --app-name dial2vec` takes the application from here.

MLflow itself answers pages of every server on this machine, whatever their port, and lets them change what it holds.
Another account's server, or a page that some program shows, would be enough.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Callable[[], Awaitable[Any]], Send], Awaitable[None]]
# A browser says of each request where the page is that sends it; other programs say nothing.
OWN_SITE = (b"same-origin", b"none", b"")
REFUSAL = b"Pages of other servers may not send requests here."


def guarded() -> Application:
    """Return MLflow's application, which now refuses requests of pages that are not its own."""
    from mlflow.server.fastapi_app import app

    async def answer(scope: Scope, receive: Callable[[], Awaitable[Any]], send: Send) -> None:
        if scope["type"] == "http" and _from_elsewhere(scope):
            await send({"type": "http.response.start", "status": 403, "headers": [(b"content-type", b"text/plain")]})
            await send({"type": "http.response.body", "body": REFUSAL})
            return
        await app(scope, receive, send)

    return answer


def _from_elsewhere(scope: Scope) -> bool:
    """Return whether a page of another origin sends a request; a link from there to the page itself is none."""
    headers: dict[bytes, bytes] = dict(scope["headers"])
    host, origin = headers.get(b"host", b""), headers.get(b"origin")
    if origin is not None and origin not in (b"http://" + host, b"https://" + host):
        return True
    linked = scope["path"] == "/" and scope["method"] == "GET" and headers.get(b"sec-fetch-mode") == b"navigate"
    return headers.get(b"sec-fetch-site", b"") not in OWN_SITE and not linked
