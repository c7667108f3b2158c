"""OpenAI Agents SDK 0.24.0 and OpenAI 3.57.0: a SQLiteSession, and Responses as the API returns them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from agents import SQLiteSession, agent_span, function_span, generation_span, set_trace_processors, trace
from agents.tracing import Span, Trace, TracingProcessor
from openai.types.responses import Response

from tests.conversations.traces.written_by.session_requests import FOLDER, Request, requests, write

THOUGHT: dict[str, Any] = {"id": "rs", "type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}
CALL: dict[str, Any] = {
    "id": "fc", "type": "function_call", "call_id": "c", "name": "opening_hours", "arguments": "{}"
}  # fmt: skip
RESULT = {"type": "function_call_output", "call_id": "c", "output": "six"}


def message(text: str) -> dict[str, Any]:
    """Return a message of a model."""
    parts = [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]
    return {"id": "msg", "type": "message", "role": "assistant", "status": "completed", "content": parts}


async def sessions() -> None:
    """Write the items of both sessions as an agent's run adds them."""
    path = FOLDER / "openai_agents_session.db"
    path.unlink(missing_ok=True)
    for request in requests():
        session = SQLiteSession(request.session, path)
        await session.add_items([{"role": "user", "content": request.question}])
        await session.add_items([THOUGHT, CALL, RESULT, message(request.answer)])
        session.close()


class Keeping(TracingProcessor):
    """Keeps what the tracer exports."""

    def __init__(self) -> None:
        self.exported: list[dict[str, Any]] = []

    def on_trace_start(self, trace: Trace) -> None:
        self.exported.append(trace.export() or {})

    def on_span_end(self, span: Span[Any]) -> None:
        self.exported.append(span.export() or {})

    def on_trace_end(self, trace: Trace) -> None:
        """Nothing is new at the end of a trace."""

    on_span_start, force_flush, shutdown = on_trace_end, lambda self: None, lambda self: None


def traces() -> None:
    """Write what the tracer exports of an agent that calls a tool and a model."""
    keeping = Keeping()
    set_trace_processors([keeping])
    for request in requests():
        with trace("shop", group_id=request.session), agent_span("clerk"):
            with function_span("opening_hours", input="{}", output="six"):
                pass
            answer = {"role": "assistant", "content": request.answer}
            with generation_span(input=request.messages, output=[answer], model="gpt"):
                pass
    write("openai_agents_traces.jsonl", keeping.exported)


def response(request: Request, number: int, **values: Any) -> dict[str, Any]:
    """Return a response as its type writes it."""
    fields = {
        "id": f"resp_{number}", "object": "response", "created_at": 1772704800 + 60 * number, "model": "gpt",
        "output": [THOUGHT, CALL, message(request.answer)], "parallel_tool_calls": True, "tool_choice": "auto",
        "tools": [], "status": "completed", "instructions": "You are kind.",
    }  # fmt: skip
    return json.loads(Response.model_validate(fields | values).model_dump_json(exclude_none=True))


if __name__ == "__main__":
    asyncio.run(sessions())
    traces()
    chained, conversations, batch = [], [], []
    last: dict[str, str] = {}
    for number, request in enumerate(requests()):
        asked = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": request.question}]}]
        own = response(request, number, previous_response_id=last.get(request.session))
        last[request.session] = own["id"]
        chained.append(own | {"input": asked})
        own = response(request, number, conversation={"id": request.session})
        conversations.append({"request": {"input": request.question}, "response": own})
        own = response(request, number, metadata={"session_id": request.session})
        body = {"model": "gpt", "input": request.messages, "metadata": {"session_id": request.session}}
        batch.append({"custom_id": f"r-{number}", "request": body, "response": {"status_code": 200, "body": own}})
    write("openai_responses_chain.jsonl", chained[::-1])
    write("openai_responses_conversations.jsonl", conversations)
    write("openai_responses_batch.jsonl", batch)
