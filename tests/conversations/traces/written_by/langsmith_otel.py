"""Runs of LangChain as spans of langsmith 0.15.1, with LangChain's objects in gen_ai.prompt; langchain-core 1.8.3.

    LANGSMITH_TRACING=true LANGSMITH_OTEL_ENABLED=true LANGSMITH_OTEL_ONLY=true LANGSMITH_API_KEY=none \\
        python -m tests.conversations.traces.written_by.langsmith_otel
"""

from __future__ import annotations

from pathlib import Path

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tracers.langchain import wait_for_all_tracers
from opentelemetry import trace
from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from tests.conversations.traces.written_by.model import requests

PATH = Path(__file__).parents[1] / "langsmith_otel.jsonl"
KINDS = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}


def as_message(message: dict) -> AnyMessage:
    """Return a message as LangChain's object."""
    if message["role"] == "tool":
        return ToolMessage("six", tool_call_id="call_1")
    if message.get("tool_calls"):
        return AIMessage("", tool_calls=[{"name": "opening_hours", "args": {}, "id": "call_1"}])
    return KINDS[message["role"]](message["content"])


def main() -> None:
    """Write the spans of a chain around a model."""
    PATH.unlink(missing_ok=True)
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(FileSpanExporter(PATH)))
    trace.set_tracer_provider(provider)
    for session, messages, answer in requests():
        model = GenericFakeChatModel(messages=iter([AIMessage(answer)]))
        chain = RunnableLambda(lambda given: given["messages"]) | model
        chain.invoke({"messages": [*map(as_message, messages)]}, {"metadata": {"thread_id": session}})
    wait_for_all_tracers()
    provider.shutdown()


if __name__ == "__main__":
    main()
