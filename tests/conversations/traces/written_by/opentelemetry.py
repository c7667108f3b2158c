"""OTLP/JSON by opentelemetry-sdk 1.45.2 and opentelemetry-exporter-otlp-json-file 0.66b1.

python -m tests.conversations.traces.written_by.opentelemetry
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from opentelemetry._logs import LogRecord
from opentelemetry.exporter.otlp.json.file._log_exporter import FileLogExporter
from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SimpleSpanProcessor

from tests.conversations.traces.written_by.model import requests

FOLDER = Path(__file__).parents[1]
RESOURCE = Resource.create({"service.name": "shop"})


def parts(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message as the conventions have it since version 1.37."""
    if message["role"] == "tool":
        return {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1", "response": "six"}]}
    if message.get("tool_calls"):
        call = {"type": "tool_call", "id": "call_1", "name": "opening_hours", "arguments": {}}
        return {"role": "assistant", "parts": [call]}
    return {"role": message["role"], "parts": [{"type": "text", "content": message["content"]}]}


def of_today(span: Any, messages: list[dict[str, Any]], answer: str) -> None:
    thought = {"type": "reasoning", "content": "hm"}
    said = {"role": "assistant", "parts": [thought, {"type": "text", "content": answer}], "finish_reason": "stop"}
    span.set_attribute("gen_ai.system_instructions", json.dumps([{"type": "text", "content": "You are kind."}]))
    span.set_attribute("gen_ai.input.messages", json.dumps([parts(item) for item in messages[1:]]))
    span.set_attribute("gen_ai.output.messages", json.dumps([said]))


def encoded_twice(span: Any, messages: list[dict[str, Any]], answer: str) -> None:
    """As Mistral's client writes them (mistralai/client-python, issue 493)."""
    inner = [json.dumps(parts(item)) for item in messages[1:]]
    span.set_attribute("gen_ai.input.messages", json.dumps(json.dumps(inner)))
    span.set_attribute(
        "gen_ai.output.messages", json.dumps([json.dumps(parts({"role": "assistant", "content": answer}))])
    )


def numbered(span: Any, messages: list[dict[str, Any]], answer: str) -> None:
    """As OpenLLMetry wrote them until version 0.49."""
    for number, message in enumerate(messages):
        span.set_attribute(f"gen_ai.prompt.{number}.role", message["role"])
        if message["content"]:
            span.set_attribute(f"gen_ai.prompt.{number}.content", message["content"])
        if message.get("tool_calls"):
            span.set_attribute(f"gen_ai.prompt.{number}.tool_calls.0.name", "opening_hours")
    span.set_attribute("gen_ai.completion.0.role", "assistant")
    span.set_attribute("gen_ai.completion.0.content", answer)


def events_of_messages(span: Any, messages: list[dict[str, Any]], answer: str) -> None:
    """As the conventions had them from version 1.28 to 1.36, on the span."""
    for message in messages:
        content = {"content": message["content"]} if message["content"] else {}
        calls = {"tool_calls": json.dumps(message["tool_calls"])} if message.get("tool_calls") else {}
        span.add_event(f"gen_ai.{message['role']}.message", {"gen_ai.system": "openai"} | content | calls)
    message = json.dumps({"role": "assistant", "content": answer})
    span.add_event("gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": message})


def events_of_contents(span: Any, messages: list[dict[str, Any]], answer: str) -> None:
    """As the conventions had them until version 1.27."""
    said = [{"role": "assistant", "content": answer}]
    span.add_event("gen_ai.content.prompt", {"gen_ai.prompt": json.dumps(messages)})
    span.add_event("gen_ai.content.completion", {"gen_ai.completion": json.dumps(said)})


def write(
    name: str, attribute: str, put: Callable[[Any, list[dict[str, Any]], str], None], exporter: Any = None
) -> None:
    path = FOLDER / name
    path.unlink(missing_ok=True)
    provider = TracerProvider(resource=RESOURCE)
    if exporter is None:
        provider.add_span_processor(BatchSpanProcessor(FileSpanExporter(path)))
    else:
        provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("shop")
    for session, messages, answer in requests():
        around = tracer.start_as_current_span("POST /chat", attributes={"http.route": "/chat", attribute: session})
        with around, tracer.start_as_current_span("chat m", attributes={"gen_ai.operation.name": "chat"}) as span:
            put(span, messages, answer)
    provider.shutdown()


def write_logs() -> None:
    path = FOLDER / "otlp_logs.jsonl"
    path.unlink(missing_ok=True)
    provider = TracerProvider(resource=RESOURCE)
    logs = LoggerProvider(resource=RESOURCE)
    logs.add_log_record_processor(SimpleLogRecordProcessor(FileLogExporter(path)))
    logger, tracer = logs.get_logger("shop"), provider.get_tracer("shop")
    for session, messages, answer in requests():
        with tracer.start_as_current_span("chat m"):
            attributes = {"gen_ai.system": "openai", "gen_ai.conversation.id": session}
            for item in messages:
                body = {key: value for key, value in item.items() if key != "role" and value}
                logger.emit(LogRecord(event_name=f"gen_ai.{item['role']}.message", body=body, attributes=attributes))
            body = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": answer}}
            logger.emit(LogRecord(event_name="gen_ai.choice", body=body, attributes=attributes))
    logs.shutdown()


def main() -> None:
    write("otlp_today.jsonl", "gen_ai.conversation.id", of_today)
    write("otlp_encoded_twice.jsonl", "session.id", encoded_twice)
    write("otlp_numbered.jsonl", "conversation.id", numbered)
    write("otlp_events.jsonl", "thread_id", events_of_messages)
    write("otlp_contents.jsonl", "langfuse.session.id", events_of_contents)
    write_logs()
    path = FOLDER / "otel_console.json"
    with path.open("w") as file:
        write("otel_console.json.tmp", "session.id", of_today, ConsoleSpanExporter(out=file))


if __name__ == "__main__":
    main()
