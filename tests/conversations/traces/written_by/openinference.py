"""Spans of openinference-instrumentation-openai 0.1.66, as the collector and as a data frame of Phoenix has them.

python -m tests.conversations.traces.written_by.openinference
"""

from __future__ import annotations

import json
from pathlib import Path

import openai
from openinference.instrumentation import using_session
from openinference.instrumentation.openai import OpenAIInstrumentor
from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.conversations.traces.written_by.model import requests, serve, talk

FOLDER = Path(__file__).parents[1]


def main() -> None:
    """Write the spans of agents around calls of the model, and those of agents alone."""
    path = FOLDER / "openinference_otlp.jsonl"
    path.unlink(missing_ok=True)
    provider, kept = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(FileSpanExporter(path)))
    provider.add_span_processor(SimpleSpanProcessor(kept))
    OpenAIInstrumentor().instrument(tracer_provider=provider)
    client, tracer = openai.OpenAI(base_url=serve(), api_key="none"), provider.get_tracer("shop")
    for session, messages, _ in requests():
        with using_session(session), tracer.start_as_current_span("answer") as span:
            question = messages[-1]["content"]
            span.set_attributes({"openinference.span.kind": "AGENT", "session.id": session, "input.value": question})
            span.set_attribute("output.value", talk(client, messages))
    provider.shutdown()
    rows = []
    for span in kept.get_finished_spans():
        attributes = dict(span.attributes or {})
        row = {
            "name": span.name,
            "span_kind": attributes["openinference.span.kind"],
            "parent_id": f"{span.parent.span_id:016x}" if span.parent else None,
            "start_time": span.start_time // 1_000_000,
            "context.span_id": f"{span.context.span_id:016x}",
            "context.trace_id": f"{span.context.trace_id:032x}",
        }
        rows.append(row | {f"attributes.{key}": value for key, value in attributes.items()})
    agents = [row for row in rows if row["span_kind"] == "AGENT"]
    (FOLDER / "openinference_agents.json").write_text(json.dumps(agents, indent=1))
    (FOLDER / "openinference_rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main()
