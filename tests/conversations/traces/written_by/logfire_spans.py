"""Spans of agents by pydantic-ai 2.68.0 and logfire 5.4.0.

python -m tests.conversations.traces.written_by.logfire_spans
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import logfire
from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from pydantic_ai import (
    Agent,
    InstrumentationSettings,
    ModelMessage,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.conversations.traces.written_by.model import ANSWERS, requests

FOLDER = Path(__file__).parents[1]


def model(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """Answer the last question, the first one with a tool."""
    last = messages[-1].parts[-1]
    questions = [part.content for message in messages for part in message.parts if part.part_kind == "user-prompt"]
    if last.part_kind == "user-prompt" and questions[-1] == "Is the shop open?":
        return ModelResponse(parts=[ToolCallPart("opening_hours", {})])
    return ModelResponse(parts=[ThinkingPart("hm"), TextPart(ANSWERS[questions[-1]])])


def main() -> None:
    """Write the spans of each version of the instrumentation."""
    for version in (2, 5):
        path = FOLDER / f"pydantic_ai_{version}.jsonl"
        path.unlink(missing_ok=True)
        exporter = SimpleSpanProcessor(FileSpanExporter(path))
        logfire.configure(send_to_logfire=False, console=False, additional_span_processors=[exporter])
        Agent.instrument_all(InstrumentationSettings(version=version))  # type: ignore[arg-type]
        agent = Agent(FunctionModel(model), instructions="You are kind.")
        agent.tool_plain(opening_hours)
        history: dict[str, Any] = {}
        for session, messages, _ in requests():
            with logfire.span("chat", session_id=session):
                result = agent.run_sync(messages[-1]["content"], message_history=history.get(session))
            history[session] = result.all_messages()


def opening_hours() -> str:
    """Return the hours."""
    return "six"


if __name__ == "__main__":
    main()
