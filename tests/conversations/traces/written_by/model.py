"""A model with OpenAI's interface that gives the answers of the sessions, after a call of a tool in the first one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import zip_longest
from threading import Thread
from typing import Any

from tests.conversations.traces import SESSIONS

ANSWERS = dict(exchange for session in SESSIONS.values() for exchange in session)
TOOL = {
    "type": "function",
    "function": {"name": "opening_hours", "description": "Hours", "parameters": {"type": "object", "properties": {}}},
}
CALL = {"id": "call_1", "type": "function", "function": {"name": "opening_hours", "arguments": "{}"}}
SYSTEM = {"role": "system", "content": "You are kind."}


class Model(BaseHTTPRequestHandler):
    """Answers the last question among the messages."""

    def do_POST(self) -> None:
        """Answer one request."""
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        asked = request["messages"][-1]
        if asked["role"] == "user" and asked["content"] == "Is the shop open?" and request.get("tools"):
            message: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [CALL]}
        else:
            question = next(item["content"] for item in reversed(request["messages"]) if item["role"] == "user")
            message = {"role": "assistant", "content": ANSWERS[question], "reasoning_content": "hm"}
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        answer = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        body = json.dumps(answer | {"usage": usage}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def serve() -> str:
    """Start the model, and return its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}/v1"


def requests() -> Iterator[tuple[str, list[dict[str, Any]], str]]:
    """Yield the session, the messages before the answer, and the answer of each request; the sessions are mixed."""
    before: dict[str, list[dict[str, Any]]] = {name: [SYSTEM] for name in SESSIONS}
    for exchanges in zip_longest(*SESSIONS.values()):
        for name, (question, answer) in zip(SESSIONS, exchanges, strict=True):
            before[name].append({"role": "user", "content": question})
            yield name, list(before[name]), answer
            if question == "Is the shop open?":
                before[name].append({"role": "assistant", "content": None, "tool_calls": [CALL]})
                before[name].append({"role": "tool", "tool_call_id": "call_1", "content": "six"})
            before[name].append({"role": "assistant", "content": answer})


def talk(client: Any, messages: list[dict[str, Any]]) -> str:
    """Ask the model by OpenAI's client until it answers."""
    while True:
        message = client.chat.completions.create(model="m", messages=messages, tools=[TOOL]).choices[0].message
        if message.content:
            return str(message.content)
        messages += [
            message.model_dump(exclude_none=True),
            {"role": "tool", "tool_call_id": "call_1", "content": "six"},
        ]
