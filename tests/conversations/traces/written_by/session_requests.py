"""The requests of the sessions as they follow each other, a server that keeps what a library sends, and files."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

from tests.conversations.traces import SESSIONS

FOLDER = Path(__file__).parents[1]
SYSTEM = {"role": "system", "content": "You are kind."}


class Request(NamedTuple):
    """A question of a session with the messages before it, and its answer."""

    session: str
    before: list[dict[str, Any]]
    question: str
    answer: str

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Return the system's prompt, the history and the question."""
        return [SYSTEM, *self.before, {"role": "user", "content": self.question}]


def requests() -> Iterator[Request]:
    """Yield the requests of both sessions in turn."""
    for number in range(3):
        for name, exchanges in SESSIONS.items():
            before = [
                {"role": role, "content": text}
                for pair in exchanges[:number]
                for role, text in zip(("user", "assistant"), pair, strict=True)
            ]
            yield Request(name, before, *exchanges[number])


def write(name: str, value: Any) -> None:
    """Write a JSON file, or one object per line."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    if name.endswith("l"):
        text = "\n".join(json.dumps(item, ensure_ascii=False, default=str) for item in value)
    (FOLDER / name).write_text(text + "\n", encoding="utf-8")


def serving(sent: list[tuple[str, bytes]], answer: Iterable[tuple[str, Any]] = ()) -> str:
    """Start a server that keeps what it gets, and return its address.

    :param answer: What it answers, by the end of the path; {} otherwise.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            body = gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body
            sent.append((self.path, body))
            self._answer()

        do_PATCH = do_PUT = do_POST  # noqa: N815

        def do_GET(self) -> None:
            self._answer()

        def _answer(self) -> None:
            found = next((value for end, value in answer if self.path.split("?")[0].endswith(end)), {})
            content = json.dumps(found() if callable(found) else found, default=str).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"
