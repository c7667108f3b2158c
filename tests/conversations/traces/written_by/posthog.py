"""PostHog SDK 7.91.1 around OpenAI 3.57.0: `$ai_generation` events, as JSON lines and as the events' table."""

from __future__ import annotations

import csv
import json
from typing import Any

from posthog import Posthog
from posthog.ai.openai import OpenAI

from tests.conversations.traces.written_by.session_requests import FOLDER, requests, serving, write

if __name__ == "__main__":
    events: list[dict[str, Any]] = []
    answers: list[dict[str, Any]] = []
    calls = [{"id": "c", "type": "function", "function": {"name": "opening_hours", "arguments": "{}"}}]

    def completion() -> dict[str, Any]:
        choice = {"index": 0, "finish_reason": "stop", "message": answers[0]}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        return {
            "id": "x",
            "object": "chat.completion",
            "created": 1,
            "model": "gpt",
            "choices": [choice],
            "usage": usage,
        }

    address = serving([], [("/chat/completions", completion)])
    posthog = Posthog("key", host=address, sync_mode=True, before_send=lambda event: events.append(event) or event)
    client = OpenAI(api_key="x", base_url=address, posthog_client=posthog)
    for number, request in enumerate(requests()):
        called = {"role": "assistant", "content": None, "tool_calls": calls}
        result = {"role": "tool", "tool_call_id": "c", "content": "six"}
        for messages, answer in (
            (request.messages, called),
            ([*request.messages, called, result], {"role": "assistant", "content": request.answer}),
        ):
            answers[:] = [answer]
            client.chat.completions.create(
                model="gpt", messages=messages, posthog_distinct_id="p", posthog_trace_id=f"t-{number}",
                posthog_properties={"$ai_session_id": request.session},
            )  # fmt: skip
    rows = [json.loads(json.dumps(event, default=str)) for event in events]
    write(
        "posthog_events.jsonl",
        [{key: row[key] for key in ("uuid", "event", "distinct_id", "timestamp", "properties")} for row in rows],
    )
    with (FOLDER / "posthog_events.csv").open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle)
        writer.writerow(["uuid", "event", "properties", "timestamp", "distinct_id"])
        for row in reversed(rows):
            writer.writerow([row["uuid"], row["event"], json.dumps(row["properties"]), row["timestamp"], "p"])
