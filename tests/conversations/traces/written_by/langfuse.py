"""Langfuse SDK 5.0.4: observations in observations, as `GET /api/public/v2/observations` returns them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from langfuse import Langfuse, propagate_attributes
from langfuse.api import ObservationV2
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.conversations.traces.written_by.session_requests import requests, write


def observation(span: ReadableSpan) -> dict[str, Any]:
    """Return what the service makes of a span."""
    known = dict(span.attributes or {})
    return ObservationV2(
        id=f"{span.context.span_id:016x}",
        trace_id=f"{span.context.trace_id:032x}",
        start_time=datetime.fromtimestamp(span.start_time / 1e9, UTC),
        end_time=datetime.fromtimestamp(span.end_time / 1e9, UTC),
        project_id="p",
        parent_observation_id=f"{span.parent.span_id:016x}" if span.parent else None,
        type=str(known["langfuse.observation.type"]).upper(),
        name=span.name,
        level="DEFAULT",
        session_id=known.get("session.id"),
        input=known.get("langfuse.observation.input"),
        output=known.get("langfuse.observation.output"),
        metadata={},
    ).dict()


if __name__ == "__main__":
    spans = InMemorySpanExporter()
    client = Langfuse(public_key="pk", secret_key="sk", base_url="http://127.0.0.1:9", span_exporter=spans)
    for request in requests():
        with (
            propagate_attributes(session_id=request.session),
            client.start_as_current_observation(
                as_type="agent", name="chat", input={"question": request.question}
            ) as chat,
        ):
            with client.start_as_current_observation(as_type="tool", name="opening_hours", input="{}") as tool:
                tool.update(output="six")
            with client.start_as_current_observation(as_type="generation", name="llm", input=request.messages) as llm:
                llm.update(output={"role": "assistant", "content": request.answer, "reasoning_content": "hm"})
            chat.update(output=request.answer)
    client.flush()
    observations = [observation(span) for span in spans.get_finished_spans()]
    write("langfuse_observations.json", {"data": observations[::-1], "meta": {"cursor": None}})
    # Only what a filter by the type leaves, in the names of the blob storage export.
    snake = {
        "traceId": "trace_id",
        "startTime": "start_time",
        "endTime": "end_time",
        "projectId": "project_id",
        "parentObservationId": "parent_observation_id",
        "sessionId": "session_id",
    }
    write(
        "langfuse_generations.jsonl",
        [
            {snake.get(key, key): value for key, value in item.items()}
            for item in observations
            if item["type"] == "GENERATION"
        ],
    )
