"""Weave SDK 0.54.0: calls in calls, as it sends them and as `calls/stream_query` returns them."""

from __future__ import annotations

import json
import os
from typing import Any

from tests.conversations.traces.written_by.session_requests import Request, requests, serving, write

sent: list[tuple[str, bytes]] = []
started = {"id": "x", "trace_id": "x"}
os.environ["WF_TRACE_SERVER_URL"] = serving(sent, [("/call/start", started), ("/obj/create", {"digest": "d"})])

import weave  # noqa: E402
from weave.trace import weave_client, weave_init  # noqa: E402
from weave.trace.context import weave_client_context  # noqa: E402
from weave.trace.weave_init import ApiKeyCredentials  # noqa: E402


@weave.op
def opening_hours(place: str) -> str:
    """Return when a place closes."""
    return "six"


@weave.op(name="openai.chat.completions.create", kind="llm")
def completion(messages: list[dict[str, Any]], answer: str) -> dict[str, Any]:
    """Answer as a model does."""
    message = {"role": "assistant", "content": answer, "reasoning": "hm"}
    return {"object": "chat.completion", "choices": [{"index": 0, "finish_reason": "stop", "message": message}]}


@weave.op
def chat(question: str, request: Request) -> str:
    """Ask a tool and a model."""
    opening_hours("shop")
    completion(request.messages, request.answer)
    return request.answer


if __name__ == "__main__":
    server = weave_init.init_weave_get_server(ApiKeyCredentials("x" * 40), should_batch=False)
    client = weave_client.WeaveClient("shop", "shop", server, ensure_project_exists=False)
    weave_client_context.set_weave_client_global(client)
    for request in requests():
        with weave.thread(request.session):
            chat(request.question, request)
    client.finish()
    calls: dict[str, dict[str, Any]] = {}
    for path, body in sent:
        content = json.loads(body) if "/call" in path else {}
        for item in content.get("batch", [content]):
            for value in (item.get("req", item), item.get("req", item).get("start"), item.get("req", item).get("end")):
                if isinstance(value, dict) and "project_id" in value and "id" in value:
                    calls.setdefault(value["id"], {}).update({k: v for k, v in value.items() if v is not None})
    for call in calls.values():
        call["inputs"].pop("request", None)
        call["inputs"].pop("answer", None)
        call["attributes"] = {}
    write("weave_calls.jsonl", list(calls.values()))
