"""Opik SDK 2.2.122: traces of threads and their spans, as they are sent and exported."""

from __future__ import annotations

import json
import os

from tests.conversations.traces.written_by.session_requests import requests, serving, write

sent: list[tuple[str, bytes]] = []
os.environ["OPIK_URL_OVERRIDE"] = serving(sent)

import opik  # noqa: E402

if __name__ == "__main__":
    client = opik.Opik(project_name="shop", _show_misconfiguration_message=False)
    for request in requests():
        asked, answered = {"question": request.question}, {"output": request.answer}
        trace = client.trace(name="chat", thread_id=request.session, input=asked, output=answered)
        trace.span(name="opening_hours", type="tool", input={"place": "shop"}, output={"output": "six"})
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": request.answer}}
        trace.span(
            name="llm", type="llm", input={"messages": request.messages}, output={"choices": [choice]}, model="gpt"
        )
    client.flush()
    client.end()
    found: dict[str, list[dict]] = {"traces": [], "spans": []}
    for path, body in sent:
        for name, items in json.loads(body or "{}").items():
            if name in found and path.rstrip("/").endswith("batch"):
                found[name] += items
    write("opik_traces.json", {"page": 1, "size": 10, "total": 6, "content": found["traces"]})
    threads = {trace["id"]: trace["thread_id"] for trace in found["traces"]}
    write("opik_spans.jsonl", [span | {"thread_id": threads[span["trace_id"]]} for span in found["spans"]])
